"""Tests of one task's figures: a t test of recipes where both entries have enough runs, otherwise swap tests."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.comparison import flip_signs
from shiftbench.metrics.crossed import MIN_RUNS, RunScores, SourcePair, crossed_test
from shiftbench.metrics.multiplicity import draw_sizes, normal_sizes, step_down
from shiftbench.scoring.comparing.cells import EntryTask, Place, path_contributions
from shiftbench.scoring.comparing.figures import Statistic, TaskFigure, weight_table
from shiftbench.scoring.comparing.shape import AtFloor
from shiftbench.scoring.scores.values import Floats

_BLOCKS = 512
"""Groups of larger test sets are exchanged in so many random blocks: as valid, and much less to draw."""
_CORRELATED = "correlated"


class Tested(NamedTuple):
    """A figure's difference, its p value, and p corrected among the figures that do not rank; NaN where none."""

    value: float
    p: float
    p_others: float
    at_floor: AtFloor | None


def fewest_runs(entry: EntryTask, sources: Sequence[str]) -> int:
    """Return the fewest runs of a source that are on all of its targets."""
    return min(len(entry.common_seeds(source)) for source in sources)


def run_tests(figures: Sequence[TaskFigure], a: EntryTask, b: EntryTask, n_swaps: int, seed: int) -> list[Tested]:
    """Test all figures of a task together.

    Args:
        figures: the first is the one that ranks.
        a: one entry.
        b: the other.
        n_swaps: random swaps, or draws of correlated normal variables behind the t tests.
        seed: with the names of task and target, the seed of what is drawn.
    Returns: a test of each figure; drops of scores that are at chance are not tested.
    """
    floors = [_at_floor(figure, a, b) for figure in figures]
    chosen = [number for number, figure in enumerate(figures) if figure.weights and floors[number] is None]
    values = [_value(figure.weights, a, b) for figure in figures]
    p_values, others = np.full(len(figures), np.nan), np.full(len(figures), np.nan)
    if chosen:
        places, weights = weight_table([figures[number].weights or {} for number in chosen])
        test = _test_recipes if has_enough_runs(places, a, b) else _test_trained_models
        p_value, sizes, drawn = test(places, weights, a, b, n_swaps, seed)
        p_values[chosen] = p_value
        rest = np.array([number != 0 for number in chosen])
        others[np.array(chosen)[rest]] = step_down(np.where(np.isnan(p_value), np.nan, sizes)[rest], drawn[:, rest])
    return [Tested(*each) for each in zip(values, p_values.tolist(), others.tolist(), floors, strict=True)]


def _value(weights: Statistic | None, a: EntryTask, b: EntryTask) -> float:
    return (
        float("nan") if weights is None else sum(weight * _difference(place, a, b) for place, weight in weights.items())
    )


def _difference(place: Place, a: EntryTask, b: EntryTask) -> float:
    return float(_run_scores(a, place).scores.mean() - _run_scores(b, place).scores.mean())


def _run_scores(entry: EntryTask, place: Place) -> RunScores:
    scores = entry.run_scores(place)
    assert scores is not None
    return scores


def _at_floor(figure: TaskFigure, a: EntryTask, b: EntryTask) -> AtFloor | None:
    """Return the entries of which a score behind a drop is at chance."""
    if not figure.has_drop:
        return None
    weights = figure.weights or {}
    signs = [
        {place: sign * weight for place, weight in weights.items() if sign * weight > 0 and not place[2]}
        for sign in (1, -1)
    ]
    marked = [any(entry.is_at_floor(_to_one(part)) for part in signs if part) for entry in (a, b)]
    names: dict[tuple[bool, bool], AtFloor] = {(True, True): "both", (True, False): "a", (False, True): "b"}
    return names.get((marked[0], marked[1]))


def _to_one(weights: dict[Place, float]) -> dict[Place, float]:
    total = sum(weights.values())
    return {place: weight / total for place, weight in weights.items()}


def _test_recipes(
    places: Sequence[Place], weights: Floats, a: EntryTask, b: EntryTask, n_draws: int, seed: int
) -> tuple[Floats, Floats, NDArray[np.float32]]:
    """Compute p values of the t test on crossed components, their sizes as normal variables, and draws of these."""
    tested = crossed_test(*source_pairs(places, weights, a, b))
    rng = np.random.default_rng([seed, *f"{a.name}/{_CORRELATED}".encode()])
    return tested.p_value, normal_sizes(tested.p_value), draw_sizes(tested.correlation, n_draws, rng)


def source_pairs(
    places: Sequence[Place], weights: Floats, a: EntryTask, b: EntryTask
) -> tuple[list[SourcePair], list[float]]:
    """Join the runs of both entries by source, with the effective number of groups of each test set.

    Args:
        places: whose scores both entries have.
        weights: of each place in each statistic, shape (n_places, n_statistics).
        a: one entry.
        b: the other.
    """
    targets = list(dict.fromkeys(target for _, target, _ in places))
    pairs = []
    for source in dict.fromkeys(place[0] for place in places):
        rows = [row for row, place in enumerate(places) if place[0] == source]
        first, second = (_joined([_run_scores(entry, places[row]) for row in rows]) for entry in (a, b))
        pairs.append(SourcePair(first, second, [targets.index(places[row][1]) for row in rows], weights[rows]))
    return pairs, [a.effective_groups(target) for target in targets]


def has_enough_runs(places: Sequence[Place], a: EntryTask, b: EntryTask) -> bool:
    """Return whether both entries have enough runs of every source for claims about recipes."""
    return about_recipes(sorted({source for source, _, _ in places}), a, b)


def about_recipes(sources: Sequence[str], a: EntryTask, b: EntryTask) -> bool:
    """Return whether tests on these sources are about recipes.

    They are not where one entry stands in for shifts: its runs are the same on every source, and training runs that are
    crossed with texts are taken to be others on each.
    """
    if a.outside or b.outside:
        return False
    return min(fewest_runs(entry, sources) for entry in (a, b)) >= MIN_RUNS


def _joined(parts: Sequence[RunScores]) -> RunScores:
    return RunScores(np.hstack([part.scores for part in parts]), [part.influences[0] for part in parts])


def _test_trained_models(
    places: Sequence[Place], weights: Floats, a: EntryTask, b: EntryTask, n_swaps: int, seed: int
) -> tuple[Floats, Floats, NDArray[np.float32]]:
    """Compute p values of the swap test, and the standardised sizes observed and drawn."""
    drawn, observed = np.zeros((n_swaps, weights.shape[1]), dtype=np.float32), np.zeros(weights.shape[1])
    for target in dict.fromkeys(target for _, target, _ in places):
        rows = [row for row, place in enumerate(places) if place[1] == target]
        rng = np.random.default_rng([seed, *f"{a.name}/{target}".encode()])
        moved = np.stack([path_contributions(a, b, places[row]) for row in rows], axis=1)
        blocks = _sum_by_block(moved, rng)
        observed += moved.sum(axis=0) @ weights[rows]
        drawn += flip_signs(blocks, n_swaps, rng) @ weights[rows].astype(np.float32)
    np.abs(drawn, out=drawn)
    sizes = np.abs(observed)
    hits = (drawn >= sizes * (1 - 1e-5) - 1e-9).sum(axis=0)
    spread = np.sqrt(np.mean(np.square(drawn, dtype=np.float64), axis=0))
    scale = np.where(spread > 0, spread, 1.0)
    drawn /= scale.astype(np.float32)
    return np.asarray((1 + hits) / (1 + n_swaps)), sizes / scale, drawn


def _sum_by_block(contributions: Floats, rng: np.random.Generator) -> Floats:
    """Sum the contributions of groups by random blocks, where there are many groups."""
    if len(contributions) <= _BLOCKS:
        return contributions
    order = rng.permutation(len(contributions))
    starts = np.linspace(0, len(order), _BLOCKS, endpoint=False).astype(np.int64)
    return np.add.reduceat(contributions[order], starts, axis=0)
