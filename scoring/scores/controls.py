"""Controls for effects that occur without a shift: placebo flips, test texts seen in training, single annotators.

A placebo's domains are random samples of one domain, so models trained on two of them differ only by their training
samples. Near-duplicates between train and test of one domain raise in-domain scores. The placebo does not show this,
because it assigns the duplicates to different domains; so scores and drops are also reported without these test texts,
with the number of texts removed. A domain in a model's pretraining data is not out of domain: if a card lists such
domains, means are also reported over the shifts whose source and target are not among them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import DuplicateCounts, data_path, read_statistics
from shiftbench.metrics.precision import square_of_interval, student
from shiftbench.scoring.scores.figures import Figure, Reason, Score, difference, estimate, mean, single
from shiftbench.scoring.scores.shape import (
    Annotators,
    Estimate,
    NearDuplicates,
    Scores,
    Shift,
    ShiftWithoutRepeats,
    TaskScores,
    WithoutRepeats,
)
from shiftbench.scoring.scores.summary import task_scores
from shiftbench.scoring.scores.values import TaskValues
from shiftbench.validation.cards import Card
from shiftbench.validation.vocabulary import PLACEBO

_MEANS = ("mean_ss", "mean_st", "mean_sd", "mean_td", "average_drop")


def add_controls(scores: Scores, folder: DatasetFolder, task_values: Mapping[str, TaskValues]) -> Scores:
    """Add two controls to a file's scores: excess flips, and near-duplicates.

    Excess flips are answers that change under shift, beyond those that change on the placebo. Near-duplicates are test
    texts that repeat a train text.

    Args:
        scores: scores of one or more tasks of the dataset.
        folder: the dataset.
        task_values: the values from which the scores were computed, by task.

    Returns: the scores with ``flips.without_shift``, ``flips.excess`` and ``near_duplicates``.
    """
    by_name = {task.task: task for task in scores.tasks}
    tasks = [_beside_placebo(task, by_name) for task in scores.tasks]
    marked = [
        task.model_copy(
            update={"near_duplicates": near_duplicates(folder, task.task, task_values[task.task].unrepeated)}
        )
        for task in tasks
    ]
    return scores.model_copy(update={"tasks": tuple(marked)})


def near_duplicates(folder: DatasetFolder, task: str, unrepeated: TaskValues | None = None) -> NearDuplicates | None:
    """Return the shares of a task's test texts that repeat, nearly or exactly, a train text of their own domain.

    Args:
        folder: the dataset.
        task: its name.
        unrepeated: scores on the test texts that repeat no train text; None if no text repeats one, or if the folder
            does not list the texts that do.

    Returns: the shares; None for a placebo, in a folder without statistics, and if no domain has both splits.
    """
    if task.endswith(PLACEBO) or not (folder.path / data_path(task)).is_file():
        return None
    shares = repeated_shares(read_statistics(folder.path, task).duplicates)
    repeated = folder.repeated_tests(task)
    if shares is None or unrepeated is None or repeated is None:
        return shares
    return shares.model_copy(update={"without": _without_repeats(unrepeated, folder.manifest, len(repeated))})


def _without_repeats(values: TaskValues, manifest: Manifest, left_out: int) -> WithoutRepeats:
    if not values.scores.get(values.info.metric):
        means = {name: Estimate(value=None) for name in _MEANS}
        return WithoutRepeats(left_out=left_out, total={}, shifts=(), **means)
    scores = task_scores(values, manifest)
    return WithoutRepeats(
        left_out=left_out,
        total=scores.summary.total,
        shifts=tuple(
            ShiftWithoutRepeats(**{name: getattr(shift, name) for name in ShiftWithoutRepeats.model_fields})
            for shift in scores.shifts
        ),
        **{name: getattr(scores.summary, name) for name in _MEANS},
    )


def repeated_shares(duplicates: DuplicateCounts) -> NearDuplicates | None:
    """Pool the shares of test texts that repeat a train text of their domain; None without such domains."""
    counts = [count for count in duplicates.across_splits if (count.split, count.other) == ("test", "train")]
    rows = sum(count.rows for count in counts)
    if not rows:
        return None
    return NearDuplicates(
        near=sum(count.near for count in counts) / rows, exact=sum(count.exact for count in counts) / rows
    )


def _beside_placebo(task: TaskScores, by_name: Mapping[str, TaskScores]) -> TaskScores:
    placebo = by_name.get(task.task + PLACEBO)
    turnovers = [
        shift.flips.loss + shift.flips.gain for shift in (placebo.shifts if placebo else ()) if shift.flips is not None
    ]
    if not turnovers:
        return task
    without = float(np.mean(turnovers))
    return task.model_copy(update={"shifts": tuple(_with_excess(shift, without) for shift in task.shifts)})


def _with_excess(shift: Shift, without: float) -> Shift:
    if shift.flips is None:
        return shift
    excess = shift.flips.loss + shift.flips.gain - without
    flips = shift.flips.model_copy(update={"without_shift": without, "excess": excess})
    return shift.model_copy(update={"flips": flips})


def add_annotators(scores: Scores, folder: DatasetFolder) -> Scores:
    """Add single annotators' scores on the same test texts to a file's scores.

    Args:
        scores: of any tasks of the dataset.
        folder: the dataset.
    Returns: the scores with ``annotators`` in every task with annotators' votes.
    """
    tasks = [
        task.model_copy(update={"annotators": single_annotators(folder, task.task, task.metric)})
        for task in scores.tasks
    ]
    return scores.model_copy(update={"tasks": tuple(tasks)})


def single_annotators(folder: DatasetFolder, task: str, metric: str) -> Annotators | None:
    """Return single annotators' scores by a task's metric.

    Args:
        folder: the dataset.
        task: its name.
        metric: the task's metric.
    Returns: the scores; None for a placebo, in a folder without statistics, if upstream has no votes, and for metrics
        other than accuracy and macro-F1.
    """
    if task.endswith(PLACEBO) or not (folder.path / data_path(task)).is_file():
        return None
    by_domain = {domain: facts.annotators for domain, facts in read_statistics(folder.path, task).domains.items()}
    others = {domain: each.others[metric] for domain, each in by_domain.items() if each and metric in each.others}
    gold = {domain: each.gold[metric] for domain, each in by_domain.items() if each and metric in each.gold}
    if not others:
        return None
    return Annotators(
        others=others,
        gold=gold,
        mean_others=float(np.mean(list(others.values()))),
        mean_gold=float(np.mean(list(gold.values()))),
    )


Floats = NDArray[np.float64]
Scored = dict[tuple[str, str], Floats]
"""Scores of cells with their replicates, shape (1 + n_replicates,)."""


@dataclass(frozen=True)
class Unseen:
    """Means over the shifts between domains that are not known to be in the pretraining data, fractions.

    Attributes:
        seen: domains of the task that are known to be in it.
        n_shifts: shifts between the other domains that have ST.
        n_all: shifts of single sources that have ST.
        st: mean ST, with the test-sampling interval.
        sd: mean SD over the shifts that have one.
        td: mean TD over the shifts that have one; equal to ``sd`` if every shift between the other domains is present.
    """

    seen: tuple[str, ...]
    n_shifts: int
    n_all: int
    st: Estimate
    sd: Estimate
    td: Estimate


def seen_domains(card: Card, task: str, domains: Iterable[str]) -> tuple[str, ...]:
    """List the task's domains that a card names as seen in pretraining (``books`` or ``sa.books``, in any case)."""
    named = {text.casefold() for text in card.pretraining_domains}
    return tuple(domain for domain in domains if named & {domain, f"{task}.{domain}"})


def unseen_drops(table: pl.DataFrame, card: Card, folder: DatasetFolder, task: TaskScores) -> Unseen | None:
    """Compute the means over shifts between domains that a card does not list as seen in pretraining.

    Args:
        table: the entry's long table of scores (``shiftbench.scoring.scores.score.SCORE_COLUMNS``), whose stored
            replicates give the intervals.
        card: the entry's card.
        folder: the dataset.
        task: the task's scores; shifts without ST are skipped.
    Returns: the means; None if the card lists no domain of the task, or no shift remains.
    """
    seen = seen_domains(card, task.task, task.domains)
    single = [
        (shift.source, shift.target) for shift in task.shifts if _has_value(shift.st) and shift.source in task.domains
    ]
    unseen = [cell for cell in single if not set(cell) & set(seen)]
    if not seen or not unseen:
        return None
    homes = {(own.domain, own.domain) for own in task.in_domain if _has_value(own.score)}
    scores = _primary_scores(table, task, {*unseen, *homes})
    unseen = [cell for cell in unseen if cell in scores]
    if not unseen:
        return None
    figures = _with_intervals(scores, task)
    st = _mean([figures[cell] for cell in unseen])
    sd = _mean(_differences(figures, [((source, source), (source, target)) for source, target in unseen]))
    td = _mean(_differences(figures, [((target, target), (source, target)) for source, target in unseen]))
    return Unseen(seen, len(unseen), len(single), st, sd, td)


def _has_value(estimate: Estimate) -> bool:
    return estimate.value is not None


def _primary_scores(table: pl.DataFrame, task: TaskScores, cells: set[tuple[str, str]]) -> Scored:
    """Read the primary scores of cells, each averaged over the runs that its source has on all of these cells."""
    sources = sorted({source for source, _ in cells})
    wanted = (pl.col("task") == task.task) & (pl.col("metric") == task.metric) & pl.col("source").is_in(sources)
    columns = ["source", "target", "seed", "value", "replicates"]
    rows = table.lazy().filter(wanted).select(columns).collect()
    runs: dict[str, list[set[int]]] = {}
    for _, part in rows.group_by("source", "target", maintain_order=True):
        runs.setdefault(part["source"][0], []).append(set(part["seed"]))
    # The same runs as in the scores: those on all targets, otherwise all (see values.averaged_seeds).
    seeds_of = {source: set.intersection(*seeds) or set.union(*seeds) for source, seeds in runs.items()}
    scores: Scored = {}
    for (source, target), part in rows.group_by("source", "target", maintain_order=True):
        if (source, target) in cells:
            chosen = part.filter(pl.col("seed").is_in(list(seeds_of[str(source)])))
            scores[str(source), str(target)] = _over_runs(chosen)
    return scores


def _over_runs(runs: pl.DataFrame) -> Floats:
    values = runs["value"].to_numpy()[:, None]
    if runs["replicates"].null_count() or runs["replicates"].list.len().n_unique() > 1:
        return np.asarray(values.mean(axis=0))
    replicates = np.array(runs["replicates"].to_list(), dtype=np.float64)
    return np.asarray(np.concatenate([values, replicates], axis=1).mean(axis=0))


def _with_intervals(scores: Scored, task: TaskScores) -> dict[tuple[str, str], Figure]:
    """Combine stored replicates with the intervals of the scores."""
    known = {(own.domain, own.domain): own.score for own in task.in_domain}
    known |= {(shift.source, shift.target): shift.st for shift in task.shifts}
    return {cell: single(_score(cell[1], values, known[cell])) for cell, values in scores.items()}


def _score(target: str, values: Floats, score: Estimate) -> Score:
    """Return a score whose influences are its replicates' deviations, so that scores correlate as over groups."""
    value = float(values[0])
    if len(values) == 1 or score.low is None or score.high is None:
        return Score(value, no_interval=Reason(score.no_interval or Reason.FEW_GROUPS))
    square = square_of_interval(value, score.low, score.high)
    moved = (values[1:] - value) / np.sqrt(len(values) - 1)
    # It is not known on which texts two models differ, so every replicate counts as a group on which they do.
    return Score(value, float(student(np.inf)) ** 2 / square, np.inf, target, moved, moved)


def _differences(
    figures: Mapping[tuple[str, str], Figure], pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]]
) -> list[Figure]:
    """Compute in-domain minus cross-domain score, for pairs of cells whose in-domain score is known."""
    return [difference(figures[home], figures[away]) for home, away in pairs if home in figures]


def _mean(figures: Sequence[Figure]) -> Estimate:
    return estimate(mean(figures)) if figures else Estimate(value=None)
