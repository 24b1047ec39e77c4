"""The score released for a file and a target: mean ST on one half of the labels.

Only the rows of that half are scored, with the classes that occur in it; the other labels have no influence.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import half_of
from shiftbench.leaderboard.release.ladder import Measured, mean_of
from shiftbench.metrics.precision import group_influences
from shiftbench.scoring.scores.outcomes import outcomes
from shiftbench.validation.vocabulary import GOLD, OUTSIDE_SOURCES, UNPARSED, TaskKind, source_parts

MAX_UNPARSED = 0.01
"""Largest share of unusable outputs for feedback on a target: with more, a score would depend on a few texts only."""
TOO_MANY_UNPARSED = f"more than {100 * MAX_UNPARSED:.0f}% of its outputs are unusable"


@dataclass(frozen=True)
class Predicted:
    """A file's predictions on one target, for all shifts that its score averages, and the share of unusable outputs."""

    rows: pl.DataFrame
    unparsed: float


def predicted_targets(predictions: pl.DataFrame, task: str, info: TaskInfo) -> dict[str, Predicted]:
    """Group one task's checked predictions by target, for the sources that count for the ranks of its board.

    These sources are single domains (for a task with an ID domain, only the ID domain). If the file has none, they are
    its combinations of domains, or else ``none`` or ``elsewhere``. Models trained on the target itself are excluded.
    """
    mine = predictions.filter(pl.col("task") == task)
    chosen = _ranked_sources(info, mine["source"].unique().sort().to_list())
    targets = {}
    for (target,), rows in (
        mine.filter(pl.col("source").is_in(chosen)).sort("target").group_by("target", maintain_order=True)
    ):
        away = [source for source in chosen if target not in source_parts(source)]
        shifted = rows.filter(pl.col("source").is_in(away))
        if not shifted.is_empty():
            share = float((shifted["prediction"] == UNPARSED).sum()) / shifted.height
            targets[str(target)] = Predicted(shifted, share)
    return targets


def is_complete(predicted: Mapping[str, Predicted], info: TaskInfo) -> bool:
    """Return whether a file has every shift that the task's board ranks by."""
    tested = {domain for domain, facts in info.domains.items() if "test" in facts.splits}
    trained = {domain for domain, facts in info.domains.items() if "train" in facts.splits}
    sources = trained if info.id_domain is None else {info.id_domain}
    wanted = {(source, target) for source in sources for target in tested if source != target}
    pairs = {(source, target) for target, each in predicted.items() for source in each.rows["source"].unique()}
    return bool(wanted) and wanted <= pairs


def measure(
    predicted: Predicted,
    folder: DatasetFolder,
    task: str,
    subset: str,
    target: str,
    *,
    feedback: bool,
    encoder: Encoder | None = None,
) -> Measured | None:
    """Score predictions on one half of a target's labels: the mean over seeds, then over sources.

    Returns: None if the score is undefined: too few groups, or no token encoder.
    """
    rows = half_of(folder, task, subset, target, feedback=feedback)
    gold = folder.split(task, target, "test").select("id", GOLD[folder.task(task).kind])
    gold = gold.join(rows.select("id", "group"), on="id", how="inner").sort("id")
    sources = [_measured(part, gold, folder.task(task), encoder) for part in predicted.rows.partition_by("source")]
    known = [each for each in sources if each is not None]
    measured = mean_of(known) if known and len(known) == len(sources) else None
    return measured if measured is not None and measured.is_defined else None


def shuffle_predictions(predicted: Predicted, rng: np.random.Generator) -> Predicted:
    """Permute each run's predictions among texts, to estimate the score of guessing."""
    runs = predicted.rows.sort("source", "seed", "id").partition_by("source", "seed", maintain_order=True)
    permuted = [
        run.with_columns(pl.Series("prediction", rng.permutation(run["prediction"].to_numpy()))) for run in runs
    ]
    return Predicted(pl.concat(permuted), predicted.unparsed)


def can_be_guessed(info: TaskInfo) -> bool:
    """Return whether guessing scores above zero, so that a submitter could climb by guessing."""
    return info.kind is TaskKind.CLASSIFICATION


def _ranked_sources(info: TaskInfo, sources: list[str]) -> list[str]:
    homes = list(info.domains) if info.id_domain is None else [info.id_domain]
    joined = [source for source in sources if source not in (*info.domains, *OUTSIDE_SOURCES)]
    single = [source for source in sources if source in homes]
    return single or joined or [source for source in OUTSIDE_SOURCES if source in sources][:1]


def _measured(
    predictions: pl.DataFrame, gold: pl.DataFrame, info: TaskInfo, encoder: Encoder | None
) -> Measured | None:
    """Score one source's runs, also with each group left out (approximated by group influences)."""
    here = predictions.join(gold.select("id"), on="id", how="semi").sort("seed", "id")
    if gold.is_empty():
        return None
    counted = outcomes(info, gold, gold, here["prediction"], encoder)
    if info.metric not in counted.formulas:
        return None
    groups = gold["group"].rank("dense").cast(pl.Int64).to_numpy() - 1
    runs, ones = [], np.ones((1, groups.size))
    for run in range(counted.example_scores.shape[0]):
        totals = counted.totals(run, ones)
        value = float(counted.score(info.metric, totals)[0])
        moved = group_influences(counted.influences(info.metric, run, ones, totals)[0], groups)
        # Scaled so that the delete-one-group jackknife (``paired_error``) gives the standard error by influences.
        runs.append(Measured(value, value - moved * np.sqrt(moved.size / max(moved.size - 1, 1))))
    return mean_of(runs)
