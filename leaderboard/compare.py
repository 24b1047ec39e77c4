"""Comparing two prediction files on the shifts that both have: paired swap test by group, Holm over all tests."""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pydantic
from tqdm import tqdm

from builders.encoder import Encoder
from builders.folder import DatasetFolder
from leaderboard.metrics.comparison import N_SWAPS, holm, swap_test
from leaderboard.outcomes import Outcomes
from leaderboard.scoring import checked_predictions
from leaderboard.uncertainty import known
from leaderboard.values import Floats, TargetRuns, target_runs
from validation.report import InvalidInput, Problem
from validation.vocabulary import source_parts

ByTarget = dict[tuple[str, str], TargetRuns]
FIGURES = ("ST", "SD", "TD")


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


class Comparison(pydantic.BaseModel):
    """All shared shifts. For ST a positive difference favours A; for SD and TD a negative one does."""

    a: str
    b: str
    data: str
    subset: str
    n_swaps: int
    shifts: tuple[ShiftComparison, ...]
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
    corrected = holm([[np.nan if d.p is None else d.p for d in shift.differences] for shift in tested])
    shifts = tuple(
        shift.model_copy(
            update={
                "differences": tuple(
                    difference.model_copy(update={"p_holm": known(p)})
                    for difference, p in zip(shift.differences, row, strict=True)
                )
            }
        )
        for shift, row in zip(tested, corrected, strict=True)
    )
    return Comparison(
        a=str(a),
        b=str(b),
        data=folder.content_hash,
        subset=subset,
        n_swaps=n_swaps,
        shifts=shifts,
        only_a=tuple("/".join(shift) for shift in sorted(shifts_a - shifts_b)),
        only_b=tuple("/".join(shift) for shift in sorted(shifts_b - shifts_a)),
    )


def _by_target(path: Path, folder: DatasetFolder, subset: str, encoder: Encoder | None) -> ByTarget:
    predictions = checked_predictions(path, folder, subset)
    return {
        (str(task), runs.target): runs
        for (task,), rows in predictions.group_by("task", maintain_order=True)
        for runs in target_runs(str(task), rows, folder, subset, encoder=encoder)
    }


def _shifts(by_target: ByTarget) -> set[tuple[str, str, str]]:
    return {
        (task, source, target)
        for (task, target), runs in by_target.items()
        for source, _ in runs.runs
        if target not in source_parts(source)
    }


def _compare_shift(
    shift: tuple[str, str, str],
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
        if metric not in outcomes.formulas or not n:
            return np.full(totals.shape[:-1], np.nan)
        width = outcomes.n_counts
        counts = totals[..., first * width : (first + n) * width].reshape(*totals.shape[:-1], n, width)
        return np.asarray(outcomes.score(metric, counts).mean(axis=-1))

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


def _group_table(runs: TargetRuns, n_runs: Mapping[str, int]) -> Floats:
    """Counts by group of the first runs of each source, side by side, shape (n_groups, k)."""
    chosen = [index for source, n in n_runs.items() for index in runs.of_source(source)[:n]]
    return np.concatenate([runs.outcomes.by_group(index, runs.groups)[:, 0] for index in chosen], axis=1)
