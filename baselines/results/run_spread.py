"""Print how much training again changes a score under shift, and which difference between recipes it lets be found.

For prediction files of one task of labels, all trained on one source with the same seeds and tested on the same other
domains, such as those of ``grids/dr-nli-lodo.toml``. The smallest difference is of two recipes, from the runs alone: a
t test of their means at 5% finds it in four of five studies
(``shiftbench.metrics.power.minimum_detectable``), neither paired by seed nor corrected for several
recipes. Runs of one seed draw the same train rows in every file, so differences from the first file are taken seed by
seed; their intervals (t, runs - 1 degrees of freedom) are over training runs, with the same test texts, and each is a
95% interval by itself: of several, one more easily excludes 0 by chance.

    python baselines/results/run_spread.py build/dr a.parquet b.parquet
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray
from scipy.special import stdtrit

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.classification import confusion_counts, macro_f1
from shiftbench.metrics.power import minimum_detectable
from shiftbench.validation.predictions import check_prediction_file
from shiftbench.validation.report import InvalidInput, Problem, counted, quote_names
from shiftbench.validation.vocabulary import UNPARSED, TaskKind, source_parts

PLANNED_SD = 0.02
"""Standard deviation of a score over training runs, assumed before any was trained."""
COMPARED = ("task", "source", "targets", "seeds")
"""Properties in which files must agree to be compared."""


@dataclass(frozen=True)
class Runs:
    """Scores of one recipe, with the properties in which files must agree to be compared.

    Attributes:
        task: name of the task.
        source: the domains that were trained on, joined by ``+``.
        targets: the other domains that every run predicts, joined by commas.
        scores: macro-F1 of each seed, a fraction, on the test rows of all targets together.
    """

    task: str
    source: str
    targets: str
    scores: Mapping[int, float]

    @property
    def compared(self) -> tuple[str, str, str, str]:
        """Return the properties in which files must agree, in the order of ``COMPARED``."""
        return self.task, self.source, self.targets, ", ".join(map(str, self.scores))


def scores_by_run(folder: DatasetFolder, path: Path) -> Runs:
    """Compute macro-F1 of each seed on the test rows of all domains but the sources.

    Args:
        folder: the dataset, with its labels.
        path: a prediction file.
    Raises: InvalidInput when the file is not sound, has several tasks or sources, a task without labels, fewer than two
        runs away from the source, or runs on different domains.
    """
    rows = check_prediction_file(path, [folder.prediction_task(task) for task in folder.manifest.tasks])
    task, source = _only_value(rows, "task", path), _only_value(rows, "source", path)
    info = folder.task(task)
    if info.kind is not TaskKind.CLASSIFICATION:
        cure = "scores of other tasks are printed by 'shiftbench score'"
        raise InvalidInput(Problem("macro-F1 needs a task of labels", str(path), f"'{task}' ({info.kind})", cure))
    away = rows.filter(~pl.col("target").is_in(source_parts(source)))
    runs = away.join(folder.test(task, columns=["id", "label"]), on="id").partition_by("seed", as_dict=True)
    if len(runs) < 2:
        what = "a spread needs at least two runs on domains other than the source"
        cure = "train more seeds, and predict other domains, too"
        raise InvalidInput(Problem(what, str(path), counted(len(runs), "seed"), cure))
    targets = {", ".join(sorted(run["target"].unique())) for run in runs.values()}
    if len(targets) > 1:
        cure = "predict the same domains with every seed"
        raise InvalidInput(
            Problem("seeds are tested on different domains", str(path), " and ".join(sorted(targets)), cure)
        )
    codes = {name: code for code, name in enumerate((*info.labels, UNPARSED))}
    n_labels = len(info.labels)
    scores = {
        int(seed): float(macro_f1(confusion_counts(run["label"], run["prediction"].replace_strict(codes), n_labels)))
        for (seed,), run in sorted(runs.items())
    }
    return Runs(task, source, targets.pop(), scores)


def compared_runs(folder: DatasetFolder, files: Sequence[Path]) -> dict[str, Runs]:
    """Read the files that are compared.

    Args:
        folder: the dataset, with its labels.
        files: prediction files of one task, source, targets and seeds.
    Returns: the runs of each file, by its name without the suffix, in the order given.
    Raises: InvalidInput when a file is not sound, two have one name, or one differs from the first in what they share.
    """
    folder.refuse_withheld()
    runs: dict[str, Runs] = {}
    for path in files:
        if path.stem in runs:
            cure = "give every file once, under a name of its own"
            raise InvalidInput(Problem("the files are told apart by name", str(path), f"'{path.stem}' twice", cure))
        runs[path.stem] = scores_by_run(folder, path)
    expected = runs[files[0].stem]
    problems = [
        Problem(f"not the {what} of the first file", str(path), there, f"{files[0]} has {here}: compare like with like")
        for path in files
        for what, here, there in zip(COMPARED, expected.compared, runs[path.stem].compared, strict=True)
        if here != there
    ]
    if problems:
        raise InvalidInput(problems)
    return runs


def _only_value(rows: pl.DataFrame, column: str, path: Path) -> str:
    """Return the one value that a column of a prediction file must have."""
    values = rows[column].unique().sort().to_list()
    if len(values) > 1:
        cure = f"give a file for each {column}"
        raise InvalidInput(Problem(f"runs must have one {column}", str(path), quote_names(values, 3), cure))
    return str(values[0])


def smallest_difference(run_sd: float, n_runs: int) -> float:
    """Return the smallest detectable difference between two recipes of ``n_runs`` runs each, in ``run_sd``'s unit."""
    return float(minimum_detectable(run_sd * np.sqrt(2 / n_runs), 2 * (n_runs - 1)))


def mean_interval(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean of at least two values and its 95% interval by Student's t."""
    reach = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean()), float(values.mean() - reach), float(values.mean() + reach)


def main(
    data: Annotated[Path, typer.Argument(metavar="DIR", help="Dataset folder.")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Prediction files of two runs at least.")],
) -> None:
    """Print the smallest detectable difference, then each file's scores by run in points."""
    runs = compared_runs(DatasetFolder.open(data), files)
    scores = {name: np.array(list(each.scores.values())) for name, each in runs.items()}
    first, *_ = scores
    n_runs = len(scores[first])
    pooled_sd = float(np.sqrt(np.mean([values.var(ddof=1) for values in scores.values()])))
    print(f"smallest detectable difference in points, {n_runs} runs each:")
    for title, run_sd in ("planned", PLANNED_SD), ("measured", pooled_sd):
        print(f"  {100 * smallest_difference(run_sd, n_runs):.1f} ({title} standard deviation {100 * run_sd:.1f})")
    for name, values in scores.items():
        each = ", ".join(f"{100 * score:.1f}" for score in values)
        print(f"{name}: {each}; mean {100 * values.mean():.1f}")
        if name != first:
            mean, low, high = mean_interval(100 * (values - scores[first]))
            print(f"  minus {first}, by seed: {mean:+.1f} [{low:+.1f}, {high:+.1f}]")


if __name__ == "__main__":
    typer.run(main)
