"""Print how a score under shift varies over training runs, and the smallest detectable difference between recipes.

For prediction files of one task of labels, each trained on one source and tested on the other domains, such as those of
``grids/dr-nli-lodo.toml``. The smallest difference is of two recipes with equally many runs, from the runs alone: a
t test of their means at 5% finds it in four of five studies (``leaderboard.metrics.power.minimum_detectable``). Runs of
one seed draw the same train rows in every file, so differences from the first file are taken seed by seed; their
intervals (t, runs - 1 degrees of freedom) are over training runs, with the same test texts.

    python baselines/results/run_spread.py build/dr a.parquet b.parquet
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from scipy.special import stdtrit

from builders.folder.reader import DatasetFolder
from leaderboard.metrics.classification import confusion_counts, macro_f1
from leaderboard.metrics.power import minimum_detectable
from validation.vocabulary import UNPARSED

PLANNED_SD = 0.02
"""Standard deviation of a score over training runs, assumed before any was trained."""


def scores_by_run(folder: DatasetFolder, predictions: pl.DataFrame) -> dict[int, float]:
    """Compute macro-F1 of each seed on the test rows of all domains but the sources."""
    task, source = predictions["id"][0].split("/")[1], predictions["source"].unique().item()
    labels = folder.task(task).labels
    codes = {name: code for code, name in enumerate((*labels, UNPARSED))}
    gold = folder.test(task).filter(~pl.col("domain").is_in(source.split("+"))).select("id", "label")
    runs = predictions.join(gold, on="id").partition_by("seed", as_dict=True)
    return {
        int(seed): float(macro_f1(confusion_counts(run["label"], run["prediction"].replace_strict(codes), len(labels))))
        for (seed,), run in sorted(runs.items())
    }


def smallest_difference(run_sd: float, n_runs: int) -> float:
    """Return the smallest detectable difference between two recipes of ``n_runs`` runs each, in ``run_sd``'s unit."""
    return float(minimum_detectable(run_sd * np.sqrt(2 / n_runs), 2 * (n_runs - 1)))


def mean_interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean of values and its 95% interval by Student's t; NaN ends below two values."""
    reach = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return float(values.mean()), float(values.mean() - reach), float(values.mean() + reach)


def main(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Dataset folder.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Prediction files of two runs at least.")],
) -> None:
    """Print the smallest detectable difference, then each file's scores by run in points."""
    folder = DatasetFolder.open(data)
    scores = [(path.stem, scores_by_run(folder, pl.read_parquet(path))) for path in files]
    n_runs = min(len(runs) for _, runs in scores)
    pooled_sd = float(np.sqrt(np.mean([np.var(list(runs.values()), ddof=1) for _, runs in scores])))
    print(f"smallest detectable difference in points, {n_runs} runs each:")
    for title, run_sd in ("planned", PLANNED_SD), ("measured", pooled_sd):
        print(f"  {100 * smallest_difference(run_sd, n_runs):.1f} ({title} standard deviation {100 * run_sd:.1f})")
    first, first_runs = scores[0]
    for number, (name, runs) in enumerate(scores):
        values = ", ".join(f"{100 * score:.1f}" for score in runs.values())
        print(f"{name}: {values}; mean {100 * np.mean(list(runs.values())):.1f}")
        if number > 0:
            shared = sorted(set(runs) & set(first_runs))
            mean, low, high = mean_interval(100 * np.array([runs[seed] - first_runs[seed] for seed in shared]))
            print(f"  minus {first}, by seed: {mean:+.1f} [{low:+.1f}, {high:+.1f}]")


if __name__ == "__main__":
    typer.run(main)
