"""Drops on domains that are not known to be in a model's pretraining.

A model that has read a domain's texts before is not away from home there. A card says which domains its pretraining
is known to hold; here are the means over the shifts whose source and target are both not among them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from builders.folder.reader import DatasetFolder
from leaderboard.scoring.intervals import DROP, SCORE, Figure, estimates
from leaderboard.scoring.partial_grid import alike, mean
from leaderboard.scoring.replicates import Floats
from leaderboard.scoring.shape import Estimate, TaskScores
from validation.cards import Card

Scored = dict[tuple[str, str], Floats]
"""Scores of cells with their replicates, shape (1 + n_replicates,)."""


@dataclass(frozen=True)
class Unseen:
    """Means over the shifts between domains that are not known to be in pretraining, fractions.

    Attributes:
        seen: domains of the task that are known to be.
        n_shifts: shifts between the others that have ST.
        n_all: shifts of single sources that have it at all.
        st: mean ST, with the test-sampling interval.
        sd: mean SD over those that have one.
        td: mean TD likewise; equal to ``sd`` where every shift between the others is there.
    """

    seen: tuple[str, ...]
    n_shifts: int
    n_all: int
    st: Estimate
    sd: Estimate
    td: Estimate


def seen_domains(card: Card, task: str, domains: Iterable[str]) -> tuple[str, ...]:
    """List the domains of a task that a card names, as ``books`` or ``sa.books``; case does not matter."""
    named = {text.casefold() for text in card.pretraining_domains}
    return tuple(domain for domain in domains if named & {domain, f"{task}.{domain}"})


def unseen_drops(table: pl.DataFrame, card: Card, folder: DatasetFolder, task: TaskScores) -> Unseen | None:
    """Give the means over shifts between domains that a card does not name.

    Args:
        table: the entry's long table of scores (``leaderboard.scoring.score.SCORE_COLUMNS``), whose stored replicates
            give the intervals.
        card: the entry's card.
        folder: the dataset.
        task: the task's scores; a shift without ST takes no part.
    Returns: None where the card names no domain of the task, or none of its shifts is left.
    """
    seen = seen_domains(card, task.task, task.domains)
    single = [
        (shift.source, shift.target) for shift in task.shifts if _shown(shift.st) and shift.source in task.domains
    ]
    kept = [cell for cell in single if not set(cell) & set(seen)]
    if not seen or not kept:
        return None
    homes = {(own.domain, own.domain) for own in task.in_domain if _shown(own.score)}
    found = _scores(table, task, {*kept, *homes})
    kept = [cell for cell in kept if cell in found]
    if not kept:
        return None
    groups = _groups(folder, task, kept)
    st = _mean([found[cell] for cell in kept], groups, SCORE)
    sd = _mean(_drops(found, [((source, source), (source, target)) for source, target in kept]), groups, DROP)
    td = _mean(_drops(found, [((target, target), (source, target)) for source, target in kept]), groups, DROP)
    return Unseen(seen, len(kept), len(single), st, sd, td)


def _shown(estimate: Estimate) -> bool:
    return estimate.value is not None


def _scores(table: pl.DataFrame, task: TaskScores, cells: set[tuple[str, str]]) -> Scored:
    """Read the primary scores of cells, each averaged over the runs that its source has on all of them."""
    sources = sorted({source for source, _ in cells})
    wanted = (pl.col("task") == task.task) & (pl.col("metric") == task.metric) & pl.col("source").is_in(sources)
    columns = ["source", "target", "seed", "value", "replicates"]
    rows = table.lazy().filter(wanted).select(columns).collect()
    runs: dict[str, list[set[int]]] = {}
    for _, part in rows.group_by("source", "target", maintain_order=True):
        runs.setdefault(part["source"][0], []).append(set(part["seed"]))
    # As in the scores themselves: runs on all targets, or else whatever there is (see gaps.kept_seeds).
    kept = {source: set.intersection(*seeds) or set.union(*seeds) for source, seeds in runs.items()}
    found: Scored = {}
    for (source, target), part in rows.group_by("source", "target", maintain_order=True):
        if (source, target) in cells:
            chosen = part.filter(pl.col("seed").is_in(list(kept[str(source)])))
            found[str(source), str(target)] = _over_runs(chosen)
    return found


def _over_runs(runs: pl.DataFrame) -> Floats:
    values = runs["value"].to_numpy()[:, None]
    if runs["replicates"].null_count() or runs["replicates"].list.len().n_unique() > 1:
        return np.asarray(values.mean(axis=0))
    replicates = np.array(runs["replicates"].to_list(), dtype=np.float64)
    return np.asarray(np.concatenate([values, replicates], axis=1).mean(axis=0))


def _drops(found: Scored, pairs: Sequence[tuple[tuple[str, str], tuple[str, str]]]) -> list[Floats]:
    """Give the differences home - away of the pairs that have both."""
    both = [alike(found[home], found[away]) for home, away in pairs if home in found]
    return [home - away for home, away in both]


def _mean(scores: Sequence[Floats], groups: float, bounds: tuple[float, float]) -> Estimate:
    if not scores:
        return Estimate(value=None)
    return estimates({"mean": mean([Figure(values, groups, bounds) for values in scores], bounds)})["mean"]


def _groups(folder: DatasetFolder, task: TaskScores, cells: Sequence[tuple[str, str]]) -> float:
    """Give the smallest number of groups of the test sets that are used (of a subset no more than its texts)."""
    sizes = {shift.target: shift.n for shift in task.shifts} | {own.domain: own.n for own in task.in_domain}
    domains = folder.task(task.task).domains
    used = {domain for cell in cells for domain in cell if domain in sizes}
    return float(min(min(domains[domain].splits["test"].groups, sizes[domain]) for domain in used))
