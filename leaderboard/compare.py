"""Comparing prediction files on the shifts that they share: paired swap test by group, Holm over all tests."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pydantic
from tqdm import tqdm

from builders.encoder import Encoder
from builders.folder import DatasetFolder
from leaderboard.metrics.comparison import N_SWAPS, holm, swap_test
from leaderboard.outcomes import Outcomes
from leaderboard.scores import METRIC_VERSION
from leaderboard.scoring import checked_predictions
from leaderboard.uncertainty import known
from leaderboard.values import Floats, TargetRuns, target_runs
from validation.report import InvalidInput, Problem
from validation.vocabulary import source_parts

ByTarget = dict[tuple[str, str], TargetRuns]
Shift = tuple[str, str, str]
"""Task, source and target."""
FIGURES = ("ST", "SD", "TD")
MEAN_OOD = "mean OOD"
LEVEL = 0.05
"""A corrected p below this says that two entries differ."""
_LEAST_SHOWN = 0.0001


class Difference(pydantic.BaseModel):
    """A minus B in one figure of one shift. ``p`` is two-sided, ``p_holm`` corrected over the whole comparison."""

    figure: str
    value: float | None
    p: float | None
    p_holm: float | None


class ShiftComparison(pydantic.BaseModel):
    """Two entries on one shift, over as many runs as both have; drops only where both have them.

    ``runs`` are those of ST; drops are over as many as all of their scores have.
    """

    task: str
    source: str
    target: str
    n: int
    runs: int
    differences: tuple[Difference, ...]


class MeanComparison(pydantic.BaseModel):
    """Two entries by their mean score on the OOD domains (``targets``) that both have, of a task with an ID domain."""

    task: str
    source: str
    targets: tuple[str, ...]
    difference: Difference


class Comparison(pydantic.BaseModel):
    """All shared shifts. For scores a positive difference favours A; for SD and TD a negative one does."""

    a: str
    b: str
    data: str
    subset: str
    metric_version: str
    n_swaps: int
    seed: int
    shifts: tuple[ShiftComparison, ...]
    means: tuple[MeanComparison, ...] = ()
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def compare_files(
    a: Path,
    b: Path,
    folder: DatasetFolder,
    subset: str = "all",
    *,
    encoder: Encoder | None = None,
    n_swaps: int = N_SWAPS,
    seed: int = 0,
) -> Comparison:
    """Compare two prediction files.

    Args:
        a: one file.
        b: the other.
        folder: the dataset that both are for.
        subset: the subset that both cover.
        encoder: needed for BERTScore alone.
        n_swaps: random swaps a shift.
        seed: seed of the swaps; a shift's swaps do not depend on which other shifts there are.
    Raises: InvalidInput when a file is not sound, or no shift is shared.
    """
    folder.refuse_withheld()
    runs_a, runs_b = (_by_target(path, folder, subset, encoder) for path in (a, b))
    shifts_a, shifts_b = (_shifts(runs) for runs in (runs_a, runs_b))
    shared = sorted(shifts_a & shifts_b)
    if not shared:
        raise InvalidInput(
            Problem("the two files share no shift", f"{a} and {b}", cure="predict the same shifts with both")
        )
    tested = [
        _compare_shift(
            shift,
            folder.task(shift[0]).metric,
            (runs_a, runs_b),
            n_swaps,
            np.random.default_rng([seed, *"/".join(shift).encode()]),
        )
        for shift in tqdm(shared, desc="comparing", unit="shift", disable=None, file=sys.stderr)
    ]
    found = Comparison(
        a=str(a),
        b=str(b),
        data=folder.content_hash,
        subset=subset,
        metric_version=METRIC_VERSION,
        n_swaps=n_swaps,
        seed=seed,
        shifts=tuple(tested),
        means=tuple(_compare_means(shared, (runs_a, runs_b), folder, n_swaps, seed)),
        only_a=tuple("/".join(shift) for shift in sorted(shifts_a - shifts_b)),
        only_b=tuple("/".join(shift) for shift in sorted(shifts_b - shifts_a)),
    )
    return corrected([found])[0]


def corrected(comparisons: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """Correct all p values of some comparisons together, as one family of tests (Holm)."""
    p_values = [np.nan if each.p is None else each.p for comparison in comparisons for each in _differences(comparison)]
    holms = iter(holm(p_values).tolist())

    def correct(difference: Difference) -> Difference:
        return difference.model_copy(update={"p_holm": known(next(holms))})

    found = []
    for comparison in comparisons:
        shifts = tuple(
            shift.model_copy(update={"differences": tuple(map(correct, shift.differences))})
            for shift in comparison.shifts
        )
        means = tuple(each.model_copy(update={"difference": correct(each.difference)}) for each in comparison.means)
        found.append(comparison.model_copy(update={"shifts": shifts, "means": means}))
    return tuple(found)


def of_task(comparison: Comparison, task: str) -> Comparison:
    """Keep one task of a comparison; its p values must be corrected again."""
    update: dict[str, object] = {
        name: tuple(each for each in getattr(comparison, name) if each.task == task) for name in ("shifts", "means")
    }
    update |= {
        name: tuple(each for each in getattr(comparison, name) if each.startswith(f"{task}/"))
        for name in ("only_a", "only_b")
    }
    if not update["shifts"]:
        cure = f"they share {', '.join(dict.fromkeys(shift.task for shift in comparison.shifts))}"
        what = f"the two entries share no shift of task '{task[:40]}'"
        raise InvalidInput(Problem(what, f"{comparison.a} and {comparison.b}", cure=cure))
    return comparison.model_copy(update=update)


def winner(difference: Difference) -> str | None:
    """Say who is better where the corrected p is below ``LEVEL``: 'a', 'b', or None where nothing is decided.

    >>> winner(Difference(figure="TD", value=-0.2, p=0.001, p_holm=0.01))
    'a'
    """
    if difference.p_holm is None or difference.p_holm >= LEVEL or not difference.value:
        return None
    favours_a = difference.value < 0 if difference.figure in ("SD", "TD") else difference.value > 0
    return "a" if favours_a else "b"


def p_text(p: float | None) -> str:
    """Write a p value; random swaps cannot tell the smallest ones from 0.

    >>> p_text(0.0312), p_text(0.00001), p_text(None)
    ('0.0312', '< 0.0001', 'n/a')
    """
    if p is None:
        return "n/a"
    return f"{p:.4f}" if p >= _LEAST_SHOWN else f"< {_LEAST_SHOWN}"


def _differences(comparison: Comparison) -> Iterator[Difference]:
    for shift in comparison.shifts:
        yield from shift.differences
    for each in comparison.means:
        yield each.difference


def _by_target(path: Path, folder: DatasetFolder, subset: str, encoder: Encoder | None) -> ByTarget:
    predictions = checked_predictions(path, folder, subset)
    return {
        (str(task), runs.target): runs
        for (task,), rows in predictions.group_by("task", maintain_order=True)
        for runs in target_runs(str(task), rows, folder, subset, encoder=encoder)
    }


def _shifts(by_target: ByTarget) -> set[Shift]:
    return {
        (task, source, target)
        for (task, target), runs in by_target.items()
        for source, _ in runs.runs
        if target not in source_parts(source)
    }


def _compare_shift(
    shift: Shift,
    metric: str,
    entries: tuple[ByTarget, ByTarget],
    n_swaps: int,
    rng: np.random.Generator,
) -> ShiftComparison:
    """Test ST, SD and TD of one shift; the three share their swaps.

    TT stands beside ST in the counts of the target's test set. SS of a joined source is the mean over its parts. Drops
    are over as many runs as all of their scores have, ST over all its own.
    """
    task, source, target = shift
    on_target = [entry[task, target] for entry in entries]
    n_st = min(len(runs.of_source(source)) for runs in on_target)
    n_tt = min(len(runs.of_source(target)) for runs in on_target)
    # A source's test set counts only where both entries predicted it with a model trained on the source.
    at_home = [[entry[task, part] for entry in entries if (task, part) in entry] for part in source_parts(source)]
    n_ss = min((len(runs.of_source(source)) if len(both) == 2 else 0 for both in at_home for runs in both), default=0)
    at_home = at_home if n_ss and all(at_home) else []
    n_sd, n_td = min(n_st, n_ss), min(n_st, n_tt)

    def mean_score(totals: Floats, first: int, n: int, outcomes: Outcomes) -> Floats:
        """Mean over n runs of a table's columns, from the given run on; NaN where there is nothing."""
        if not n:
            return np.full(totals.shape[:-1], np.nan)
        width = outcomes.n_counts
        return _mean_score(totals[..., first * width : (first + n) * width], metric, outcomes)

    def finish(*totals: Floats) -> Floats:
        here = on_target[0].outcomes
        st, tt = mean_score(totals[0], 0, n_st, here), mean_score(totals[0], n_st, n_td, here)
        each = [mean_score(total, 0, n_sd, both[0].outcomes) for total, both in zip(totals[1:], at_home, strict=True)]
        ss = np.mean(each, axis=0) if each else np.full_like(st, np.nan)
        sd, td = ss - mean_score(totals[0], 0, n_sd, here), tt - mean_score(totals[0], 0, n_td, here)
        return np.stack([st, sd, td], axis=-1)

    tables = [
        [
            _group_table(entry[task, target], {source: n_st, target: n_tt}),
            *(_group_table(both[number], {source: n_ss}) for both in at_home),
        ]
        for number, entry in enumerate(entries)
    ]
    result = swap_test(tables[0], tables[1], finish, rng, n_swaps=n_swaps)
    differences = tuple(
        Difference(figure=figure, value=known(float(value)), p=known(float(p)), p_holm=None)
        for figure, value, p in zip(FIGURES, result.difference, result.p_value, strict=True)
    )
    n = len(on_target[0].ids)
    return ShiftComparison(task=task, source=source, target=target, n=n, runs=n_st, differences=differences)


def _compare_means(
    shared: Sequence[Shift], entries: tuple[ByTarget, ByTarget], folder: DatasetFolder, n_swaps: int, seed: int
) -> Iterator[MeanComparison]:
    """Compare the mean score away from home of tasks that have an ID domain, for each source that both have."""
    for task, source in dict.fromkeys((task, source) for task, source, _ in shared):
        info = folder.task(task)
        targets = [target for *trained, target in shared if trained == [task, source] and target != info.id_domain]
        if info.id_domain is None or len(targets) < 2:
            continue
        metric = info.metric
        n_runs = [min(len(entry[task, target].of_source(source)) for entry in entries) for target in targets]

        def finish(*totals: Floats, task: str = task, targets: Sequence[str] = targets, metric: str = metric) -> Floats:
            each = [
                _mean_score(total, metric, entries[0][task, target].outcomes)
                for total, target in zip(totals, targets, strict=True)
            ]
            return np.asarray(np.mean(each, axis=0))[..., None]

        tables = [
            [_group_table(entry[task, target], {source: n}) for target, n in zip(targets, n_runs, strict=True)]
            for entry in entries
        ]
        rng = np.random.default_rng([seed, *f"{task}/{source}/{MEAN_OOD}".encode()])
        result = swap_test(tables[0], tables[1], finish, rng, n_swaps=n_swaps)
        value, p = known(float(result.difference[0])), known(float(result.p_value[0]))
        difference = Difference(figure=MEAN_OOD, value=value, p=p, p_holm=None)
        yield MeanComparison(task=task, source=source, targets=tuple(targets), difference=difference)


def _mean_score(totals: Floats, metric: str, outcomes: Outcomes) -> Floats:
    """Mean over all the runs whose columns a table holds; NaN where the metric is not there."""
    if metric not in outcomes.formulas:
        return np.full(totals.shape[:-1], np.nan)
    counts = totals.reshape(*totals.shape[:-1], -1, outcomes.n_counts)
    return np.asarray(outcomes.score(metric, counts).mean(axis=-1))


def _group_table(runs: TargetRuns, n_runs: Mapping[str, int]) -> Floats:
    """Counts by group of the first runs of each source, side by side, shape (n_groups, k)."""
    chosen = [index for source, n in n_runs.items() for index in runs.of_source(source)[:n]]
    return np.concatenate([runs.outcomes.by_group(index, runs.groups)[:, 0] for index in chosen], axis=1)
