"""Models ranked by their scores on units: ties for first place, significant differences, influential units.

The unit determines the population that ranks generalise to. Items: other items of these tasks. Tasks: another sample of
such tasks. Families of tasks, if these are given and at least 8: another sample of such families.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.power import POWER
from shiftbench.metrics.ranking import MIN_UNITS, UnitRanks, rank_units
from shiftbench.scoring.scores.shape import Record
from shiftbench.scoring.scores.values import Floats
from shiftbench.validation.report import InvalidInput, Problem, plural

N_DRAWS = 4000
"""Number of random sign flips; half as many with more than 200 models. A corrected p of 0.05 is then within 0.7
percentage points of the p over all sign patterns (1.0 with half as many).
"""
_NORMAL_MAD, _FAR_OFF = 1.4826, 10.0
"""Factor from a median absolute deviation to a standard deviation, and standard deviations that count as far."""
_UNEQUAL_SPREADS, _UNEQUAL_SIZES = 20.0, 5.0
"""Ratios of standard deviations and of median absolute scores above which two tasks are on different scales."""
MAX_ORDERS = 200
"""With more units, leave-one-out computes only the first place, not the whole order."""
LEVEL = 0.05


class Unit(StrEnum):
    """The kind of a table's columns; it determines the population that claims are about."""

    ITEMS = "items"
    TASKS = "tasks"


@dataclass(frozen=True)
class ScoreTable:
    """Scores of models on units, as read.

    Attributes:
        models: their names.
        units: names of the units.
        scores: shape (n_models, n_units), on any scale, NaN if missing.
        unit: the kind of units.
        groups: family of each task, or cluster of each item; None without.
        weights: weights of the units; None if equal.
        lower: whether lower is better on a unit, shape (n_units,).
        notes: irregularities in the table and how they were handled, a sentence each, without a full stop.
    """

    models: Sequence[str]
    units: Sequence[str]
    scores: Floats
    unit: Unit
    groups: Sequence[str] | None = None
    weights: Floats | None = None
    lower: NDArray[np.bool_] | None = None
    notes: tuple[str, ...] = ()


class RankedModel(Record):
    """A model with a score on every unit: its mean, and its ranks by mean and by win rate; null without ranks."""

    name: str
    score: float
    rank: int
    best_rank: int | None
    worst_rank: int | None
    win_rate: float
    win_rank: int
    win_best_rank: int | None
    win_worst_rank: int | None


class PairTest(Record):
    """A's mean minus B's over the units that both have; ``p_corrected`` is over all pairs of the table (max-t)."""

    a: str
    b: str
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None
    n_units: int


class LeftOut(Record):
    """A model without a score on some units: not ranked, but compared with every other model on common units."""

    name: str
    n_units: int
    missing: tuple[str, ...]
    own_mean: float
    better_than: int
    worse_than: int
    undecided: int
    against_first: PairTest | None


class Needed(Record):
    """Number of units needed to separate first from second with 80% power.

    ``about`` assumes the observed difference (null if it is 0); ``at_least`` assumes the upper end of the uncorrected
    interval.
    """

    first: str
    second: str
    about: int | None
    at_least: int


class WithoutUnit(Record):
    """The order without one unit or group: who is first, and the share of pairs whose order changes."""

    unit: str
    first: str
    changed: float | None


class ModelFamily(Record):
    """Models whose names start with the same word."""

    name: str
    models: tuple[str, ...]


class Ranking(Record):
    """The significant differences in a table of scores.

    Attributes:
        unit: the sampled units: items, tasks, clusters of items or families of tasks.
        claim: the population that ranks are about.
        n_units: number of these units.
        n_columns: number of items or tasks.
        standardised: whether scores were standardised on each unit before averaging.
        models: complete models, best first.
        left_out: the other models, sorted by the mean over the units that they have.
        leads_left_out: an incomplete model whose mean is better than that of all complete models; null without one.
        no_ranks: why there are no ranks; null if there are.
        tied_first: models not significantly different from the first, which is listed first.
        pairs: for each complete model, a string with a sign per complete model, from corrected tests: + the string's
            model is significantly better, - it is significantly worse, . undecided.
        neighbours: the test of each complete model against the next one.
        needed: number of units needed to separate first from second; null without ranks.
        without: leave-one-out over units or groups, the largest changes first.
        without_by: the units that ``without`` leaves out: families of tasks if these are given, even if tasks are the
            sampled units.
        win_tied_first: the same as ``tied_first``, by win rate.
        opposite: number of pairs that are significant in opposite directions by mean and by win rate.
        changed_by_win_rate: share of pairs whose order differs between mean and win rate.
        families: models grouped by organisation and first word of their names.
        duplicates: models with equal scores on every unit.
        notes: irregularities in the table, as in ``ScoreTable.notes``.
    """

    unit: Literal["items", "tasks", "clusters", "families"]
    claim: str
    n_units: int
    n_columns: int
    standardised: bool
    models: tuple[RankedModel, ...]
    left_out: tuple[LeftOut, ...]
    leads_left_out: str | None
    no_ranks: str | None
    tied_first: tuple[str, ...]
    pairs: tuple[str, ...]
    neighbours: tuple[PairTest, ...]
    needed: Needed | None
    without: tuple[WithoutUnit, ...]
    without_by: Literal["items", "tasks", "clusters", "families"]
    win_tied_first: tuple[str, ...]
    opposite: int
    changed_by_win_rate: float
    families: tuple[ModelFamily, ...]
    duplicates: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def decided(self) -> int:
        """Return the number of adjacent pairs that differ significantly after correction over all pairs."""
        return sum(pair.p_corrected is not None and pair.p_corrected <= LEVEL for pair in self.neighbours)

    @property
    def decided_uncorrected(self) -> int:
        """Return the number of adjacent pairs that differ significantly without correction."""
        return sum(pair.p is not None and pair.p <= LEVEL for pair in self.neighbours)


@dataclass(frozen=True)
class _Drawn:
    """The sampled units: names, weights, and the matrix that pools columns into units (None: each column is a unit)."""

    names: Sequence[str]
    weights: Floats
    pool: Floats | None = None

    def values(self, columns: Floats) -> Floats:
        """Average columns within each unit; NaN where a model lacks one of them."""
        if self.pool is None:
            return columns
        missing = np.isnan(columns) @ (self.pool > 0)
        means = np.nan_to_num(columns) @ self.pool
        return np.asarray(np.where(missing, np.nan, means))


def rank_table(table: ScoreTable, *, standardised: bool = False) -> Ranking:
    """Rank the models of a table.

    Args:
        table: the scores.
        standardised: whether to standardise scores on each unit over complete models before averaging.

    Returns: the ranking; incomplete models are compared with every other model on the units that both have.

    Raises: InvalidInput with fewer than 2 models, or fewer than 2 that have a score on every unit.
    """
    _refuse_too_few(table)
    higher = table.scores * np.where(table.lower, -1.0, 1.0) if table.lower is not None else table.scores
    complete = np.flatnonzero(np.isfinite(higher).all(axis=1))
    if standardised:
        spread = higher[complete].std(axis=0, ddof=1)
        higher = (higher - higher[complete].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    weights = np.ones(len(table.units)) if table.weights is None else table.weights
    weights = weights / weights.sum()
    drawn, unit, claim = _drawn_units(table, weights)
    values = drawn.values(higher)
    order = np.array(sorted(complete.tolist(), key=lambda row: (-float(higher[row] @ weights), table.models[row])))
    points = higher[order] @ weights
    shown = points if table.lower is None or not table.lower.all() or standardised else -points
    wins = _wins(higher[order])
    win_points = wins @ weights
    others = [row for row in range(len(table.models)) if row not in set(order.tolist())]
    no_ranks = None
    if len(drawn.names) < MIN_UNITS:
        no_ranks = f"{plural(len(drawn.names), 'unit')} are too few for ranks: {MIN_UNITS} are needed"
    ranks = win_ranks = None
    n_draws = N_DRAWS if len(table.models) <= 200 else N_DRAWS // 2
    if no_ranks is None:
        ranks = rank_units(values[[*order, *others]], drawn.weights, n_draws=n_draws)
        win_ranks = rank_units(drawn.values(wins), drawn.weights, n_draws=n_draws)
    names = [table.models[row] for row in order]
    left_out = _left_out(table, higher, others, names, ranks, weights)
    leads = next((each.name for each in left_out if each.own_mean > float(shown[0])), None) if left_out else None
    if table.lower is not None and table.lower.all() and not standardised:
        leads = next((each.name for each in left_out if each.own_mean < float(shown[0])), None)
    return Ranking(
        unit=unit,
        claim=claim,
        n_units=len(drawn.names),
        n_columns=len(table.units),
        standardised=standardised,
        models=tuple(_models(names, shown, points, win_points, ranks, win_ranks)),
        left_out=tuple(left_out),
        leads_left_out=leads,
        no_ranks=no_ranks,
        tied_first=_tied(names, ranks),
        pairs=tuple(_letters(ranks, len(names))) if ranks else (),
        neighbours=tuple(_pair(names, ranks, row, row + 1, len(drawn.names)) for row in range(len(names) - 1))
        if ranks
        else (),
        needed=_needed(names, ranks, len(drawn.names)) if ranks else None,
        without_by=unit if table.groups is None or unit != "tasks" else "families",
        without=tuple(_without(table, higher[order], weights, names, drawn)),
        win_tied_first=_tied_by(names, win_ranks, win_points),
        opposite=_opposite(ranks, win_ranks, len(names)),
        changed_by_win_rate=_changed(points, win_points),
        families=tuple(_families(table.models)),
        duplicates=tuple(_duplicates(table)),
        notes=(*table.notes, *_far_off_words(table), *_scale_words(table, standardised=standardised)),
    )


def _scale_words(table: ScoreTable, *, standardised: bool) -> Iterator[str]:
    """Report tasks on different scales: both the size and the standard deviation of their scores differ widely."""
    if standardised or table.unit is not Unit.TASKS:
        return
    size, spread = np.nanmedian(np.abs(table.scores), axis=0), np.nanstd(table.scores, axis=0)
    order = np.flatnonzero((size > 0) & (spread > 0))
    order = order[np.argsort(size[order], kind="stable")]
    best, small, large = _UNEQUAL_SPREADS, -1, -1
    n_smaller = np.searchsorted(size[order], size[order] / _UNEQUAL_SIZES, side="right")
    for column, n in zip(order[n_smaller > 0], n_smaller[n_smaller > 0], strict=True):
        least = order[:n][np.argmin(spread[order[:n]])]
        if spread[column] > best * spread[least]:
            best, small, large = float(spread[column] / spread[least]), int(least), int(column)
    if small >= 0:
        yield (
            f"Scores vary {best:,.0f} times as much on '{table.units[large]}' (standard deviation {spread[large]:.2g}) "
            f"as on '{table.units[small]}' ({spread[small]:.2g}), so tasks of the larger scale decide the mean; "
            "--standardise gives tasks equal influence"
        )


def _far_off_words(table: ScoreTable) -> Iterator[str]:
    """Report outliers relative to model and unit (two-way medians), which may be typing errors or rare failures."""
    if np.isin(table.scores[np.isfinite(table.scores)], (0.0, 1.0)).all():
        return
    rest = table.scores - np.nanmedian(table.scores, axis=0)
    rest = rest - np.nanmedian(rest, axis=1, keepdims=True)
    spread = _NORMAL_MAD * np.nanmedian(np.abs(rest))
    far = np.abs(np.nan_to_num(rest)) > _FAR_OFF * spread if spread > 0 else np.zeros(rest.shape, dtype=bool)
    if not far.any():
        return
    rows, columns = np.nonzero(far)
    worst = np.argsort(-np.abs(rest[rows, columns]), kind="stable")[:3]
    cells = [(int(rows[each]), int(columns[each])) for each in worst]
    listed = ", ".join(f"'{table.models[i]}' on '{table.units[j]}' ({table.scores[i, j]:.4g})" for i, j in cells)
    yield (
        f"{plural(len(rows), 'outlier')}, given the model and the unit, such as {listed}: check for typing errors; if "
        "a model fails rarely but badly, the error rate of its tests is not guaranteed"
    )


def _refuse_too_few(table: ScoreTable) -> None:
    place, is_known = "the table", np.isfinite(table.scores)
    if len(table.models) < 2:
        raise InvalidInput(Problem("ranks need at least 2 models", place, plural(len(table.models), "model")))
    n_complete = int(is_known.all(axis=1).sum())
    if n_complete < 2:
        lacking = np.argsort(is_known.sum(axis=0), kind="stable")[:3]
        worst = ", ".join(f"'{table.units[unit]}' ({is_known[:, unit].sum()} models have it)" for unit in lacking)
        what = f"{plural(n_complete, 'model')} of {len(table.models)} have a score on every unit, so none can be ranked"
        cure = "exclude the units that most models lack (--without UNIT), or add their scores"
        raise InvalidInput(Problem(what, place, f"fewest scores: {worst}", cure))


def _drawn_units(
    table: ScoreTable, weights: Floats
) -> tuple[_Drawn, Literal["items", "tasks", "clusters", "families"], str]:
    """Choose the sampled units, and state the population of the resulting claim."""
    is_items = table.unit is Unit.ITEMS
    if table.groups is None:
        single = _Drawn(table.units, weights)
        if is_items:
            return single, "items", "other items of these tasks"
        return single, "tasks", "another sample of such tasks, if tasks are independent"
    names, codes = np.unique(list(table.groups), return_inverse=True)
    if not is_items and names.size < MIN_UNITS:
        claim = (
            f"other tasks of the same {names.size} families, but not to other families, for which {MIN_UNITS} are "
            "needed"
        )
        return _Drawn(table.units, weights), "tasks", claim
    pool = np.zeros((len(table.units), names.size))
    pool[np.arange(len(table.units)), codes] = weights
    of_group = pool.sum(axis=0)
    drawn = _Drawn(names.tolist(), of_group, pool / of_group)
    if is_items:
        return drawn, "clusters", "other items of these tasks, in other clusters"
    return drawn, "families", "another sample of such families of tasks"


def _wins(higher: Floats) -> Floats:
    """Compute each model's share of wins against the other models on each unit, ties counting a half."""
    ordered = np.sort(higher, axis=0)
    wins = np.empty_like(higher)
    for unit in range(higher.shape[1]):
        below = np.searchsorted(ordered[:, unit], higher[:, unit], side="left")
        upto = np.searchsorted(ordered[:, unit], higher[:, unit], side="right")
        wins[:, unit] = (below + upto - 1) / 2
    return np.asarray(wins / (len(higher) - 1))


def _models(
    names: Sequence[str],
    shown: Floats,
    points: Floats,
    win_points: Floats,
    ranks: UnitRanks | None,
    win_ranks: UnitRanks | None,
) -> Iterator[RankedModel]:
    for row, name in enumerate(names):
        # Equal means may differ in their last digits; they must share a rank.
        yield RankedModel(
            name=name,
            score=float(shown[row]),
            rank=1 + int((points > points[row] + 1e-12).sum()),
            best_rank=int(ranks.best[row]) if ranks else None,
            worst_rank=int(ranks.worst[row]) if ranks else None,
            win_rate=float(win_points[row]),
            win_rank=1 + int((win_points > win_points[row] + 1e-12).sum()),
            win_best_rank=int(win_ranks.best[row]) if win_ranks else None,
            win_worst_rank=int(win_ranks.worst[row]) if win_ranks else None,
        )


def _pair(names: Sequence[str], ranks: UnitRanks, a: int, b: int, n_units: int) -> PairTest:
    from scipy.special import stdtrit

    value, reach = float(ranks.difference[a, b]), float(stdtrit(ranks.size - 1, 1 - LEVEL / 2) * ranks.se[a, b])
    known = np.isfinite(value)
    return PairTest(
        a=names[a],
        b=names[b],
        difference=value if known else 0.0,
        low=value - reach if known else None,
        high=value + reach if known else None,
        p=float(ranks.p[a, b]) if known else None,
        p_corrected=float(ranks.p_corrected[a, b]) if known else None,
        n_units=n_units,
    )


def _tied(names: Sequence[str], ranks: UnitRanks | None) -> tuple[str, ...]:
    if ranks is None:
        return ()
    return tuple(name for row, name in enumerate(names) if not ranks.decided[0, row])


def _tied_by(names: Sequence[str], ranks: UnitRanks | None, points: Floats) -> tuple[str, ...]:
    """Return the model with the most ``points``, then the models not significantly different from it."""
    if ranks is None:
        return ()
    first = int(np.argmax(points))
    tied = sorted(np.flatnonzero(~ranks.decided[first]).tolist(), key=lambda row: -float(points[row]))
    return tuple(names[row] for row in tied)


def _letters(ranks: UnitRanks, n: int) -> Iterator[str]:
    for row in range(n):
        signs = np.where(ranks.decided[row, :n], np.where(ranks.difference[row, :n] > 0, "+", "-"), ".")
        yield "".join(signs)


def _needed(names: Sequence[str], ranks: UnitRanks, n_units: int) -> Needed:
    """Compute how many units would separate first from second, with this table's critical value, at 80% power."""
    from scipy.special import ndtri, stdtrit

    gap, se = float(ranks.difference[0, 1]), float(ranks.se[0, 1])
    root = se * np.sqrt(n_units)
    multiple = min(ranks.multiple, 10.0) + float(ndtri(POWER))  # infinite if no difference can be significant
    largest = abs(gap) + float(stdtrit(ranks.size - 1, 1 - LEVEL / 2)) * se
    about = int(np.ceil((multiple * root / gap) ** 2)) if abs(gap) > 1e-9 * (abs(largest) + 1e-300) else None
    at_least = int(np.ceil((multiple * root / largest) ** 2)) if largest > 0 else 1
    return Needed(first=names[0], second=names[1], about=about, at_least=max(at_least, 1))


def _left_out(
    table: ScoreTable,
    higher: Floats,
    others: Sequence[int],
    names: Sequence[str],
    ranks: UnitRanks | None,
    weights: Floats,
) -> list[LeftOut]:
    found = []
    for place, row in enumerate(others, start=len(names)):
        known = np.isfinite(higher[row])
        share = weights[known] / weights[known].sum() if known.any() else weights[known]
        has_tests = ranks is not None and np.isfinite(ranks.difference[place, 0])
        decided = ranks.decided[place, : len(names)] if ranks else np.zeros(len(names), dtype=bool)
        better = ranks.difference[place, : len(names)] > 0 if ranks else decided
        pair = None
        if has_tests and ranks is not None:
            both = int(known.sum())
            pair = _pair([*names, *(table.models[each] for each in others)], ranks, place, 0, both)
        found.append(
            LeftOut(
                name=table.models[row],
                n_units=int(known.sum()),
                missing=tuple(name for name, has in zip(table.units, known, strict=True) if not has)[:10],
                own_mean=float(table.scores[row, known] @ share) if known.any() else float("nan"),
                better_than=int((decided & better).sum()),
                worse_than=int((decided & ~better).sum()),
                undecided=int((~decided).sum()),
                against_first=pair,
            )
        )
    sign = 1 if table.lower is not None and table.lower.all() else -1
    return sorted(found, key=lambda each: sign * each.own_mean)


def _without(
    table: ScoreTable, higher: Floats, weights: Floats, names: Sequence[str], drawn: _Drawn
) -> Iterator[WithoutUnit]:
    """Rank again without each unit or group; the largest changes first."""
    points = higher @ weights
    groups = table.groups if table.groups is not None else table.units
    labels = drawn.names if len(drawn.names) != len(table.units) else sorted(set(groups), key=list(groups).index)
    of_label = np.array([groups[column] for column in range(len(table.units))], dtype=object)
    found = []
    for label in labels:
        inside = of_label == label
        rest = points - higher[:, inside] @ weights[inside]
        first = names[int(np.argmax(rest))]
        changed = _changed(points, rest) if len(labels) <= MAX_ORDERS else None
        if changed is not None or first != names[0]:
            found.append(WithoutUnit(unit=str(label), first=first, changed=changed))
    yield from sorted(found, key=lambda each: (each.first == names[0], -(each.changed or 0.0), each.unit))


def _changed(points: Floats, others: Floats) -> float:
    """Compute the share of pairs whose order differs between two lists of points."""
    n = len(points)
    signs = np.sign(points[:, None] - points) * np.sign(others[:, None] - others)
    return float((signs < 0).sum() / (n * (n - 1)))


def _opposite(ranks: UnitRanks | None, win_ranks: UnitRanks | None, n: int) -> int:
    if ranks is None or win_ranks is None:
        return 0
    both = ranks.decided[:n, :n] & win_ranks.decided
    return int((both & (ranks.difference[:n, :n] * win_ranks.difference < 0)).sum()) // 2


def _families(models: Sequence[str]) -> Iterator[ModelFamily]:
    """Group models of one organisation whose names start with the same word, ignoring trailing digits."""
    members: dict[str, list[str]] = defaultdict(list)
    for name in models:
        organisation, _, own = name.rpartition("/")
        word = re.split(r"[-_ ]", own, maxsplit=1)[0]
        stem = word.rstrip("0123456789.") or word
        members[f"{organisation}/{stem}" if organisation else stem].append(name)
    for name, each in sorted(members.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        if len(each) > 1:
            yield ModelFamily(name=name, models=tuple(each))


def _duplicates(table: ScoreTable) -> Iterator[tuple[str, ...]]:
    rows: dict[bytes, list[str]] = defaultdict(list)
    for name, row in zip(table.models, table.scores, strict=True):
        rows[row.tobytes()].append(name)
    yield from (tuple(each) for each in rows.values() if len(each) > 1)


class HeldClaim(Record):
    """A claim of an earlier table, and whether the new one still supports it."""

    claim: str
    holds: bool


class Standing(Record):
    """Which of an earlier table's claims a new table still supports.

    Attributes:
        claims: ties for first and significant adjacent pairs, each with whether it still holds.
        n_pairs: significant pairs of the earlier table, of models that are in both.
        n_held: how many of these are still significant in the same direction.
        entered: new models.
        gone: models that are no longer ranked.
        changed: models whose score differs.
    """

    claims: tuple[HeldClaim, ...]
    n_pairs: int
    n_held: int
    entered: tuple[str, ...]
    gone: tuple[str, ...]
    changed: tuple[str, ...]


def compare_rankings(old: Ranking, new: Ranking) -> Standing:
    """Check which claims of an earlier table still hold in a new one.

    Args:
        old: the ranking of the earlier table.
        new: the ranking of the new table; models may have been added or removed.
    """
    places = {model.name: row for row, model in enumerate(new.models)}
    before = {model.name: row for row, model in enumerate(old.models)}
    shared = [name for name in before if name in places]

    def letter(ranking: Ranking, rows: dict[str, int], a: str, b: str) -> str:
        return ranking.pairs[rows[a]][rows[b]] if ranking.pairs else "."

    claims = []
    first = old.models[0].name
    if old.pairs:
        alone = len(old.tied_first) == 1
        words = f"'{first}' is first, significantly better than all others" if alone else f"'{first}' is tied for first"
        holds = first in new.tied_first and (not alone or len(new.tied_first) == 1)
        claims.append(HeldClaim(claim=words, holds=holds))
        for name in old.tied_first[1:]:
            claims.append(HeldClaim(claim=f"'{name}' is tied for first", holds=name in new.tied_first))
    for pair in old.neighbours:
        if pair.p_corrected is not None and pair.p_corrected <= LEVEL:
            kept = pair.a in places and pair.b in places and letter(new, places, pair.a, pair.b) == "+"
            claims.append(HeldClaim(claim=f"'{pair.a}' is better than its neighbour '{pair.b}'", holds=kept))
    n_pairs = n_held = 0
    for a in shared:
        for b in shared:
            if letter(old, before, a, b) == "+":
                n_pairs += 1
                n_held += letter(new, places, a, b) == "+"
    scores = {model.name: model.score for model in new.models}
    changed = [name for name in shared if abs(scores[name] - old.models[before[name]].score) > 1e-9]
    everyone = {*before, *(each.name for each in old.left_out)}
    return Standing(
        claims=tuple(claims),
        n_pairs=n_pairs,
        n_held=n_held,
        entered=tuple(name for name in [*places, *(each.name for each in new.left_out)] if name not in everyone),
        gone=tuple(name for name in before if name not in places),
        changed=tuple(changed),
    )


def family_counts(ranking: Ranking) -> Counter[str]:
    """Count the models of each family among those tied for first."""
    tied = set(ranking.tied_first)
    return Counter({family.name: len(tied & set(family.models)) for family in ranking.families})
