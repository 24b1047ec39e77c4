"""Discovered (unlabelled) slices of a test set: each is tested against the rest, with one correction over all tests.

The tested metric is the mean score over texts, as over time, because a slice may lack a class. A slice and the rest
share groups, and their intervals account for the resulting correlation. Candidates defined without labels or
predictions are tested on all texts. Rules found by searching the model's errors are tested on the half of the groups
that the search has not seen. The correction always counts ``SEARCHED`` of them, because the number found depends on the
scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shiftbench.metrics.precision import Floats, effective_groups, effective_n, exact_p, group_influences
from shiftbench.metrics.ranking import holm
from shiftbench.metrics.slices import Ints, Mask
from shiftbench.scoring.scores.figures import (
    Figure,
    Score,
    detectable_drop,
    difference,
    estimate,
    refusal,
    single,
)
from shiftbench.scoring.scores.limits import as_student
from shiftbench.scoring.scores.shape import Slice, SlicesFound

LEVEL = 0.05
SEARCHED = 5
"""Maximum number of rules that a search of the model's errors returns."""
LEAST_GROUPS = 20
"""Minimum number of groups of a slice, and of its rest, to be a candidate."""
_NEW = 0.5
"""Minimum share of a slice's texts that are in no earlier slice; their difference must be this share of the slice's."""


class Candidate(NamedTuple):
    """Texts that may be a slice.

    Attributes:
        name: description of what they have in common.
        kind: ``column``, ``length``, ``language``, ``cluster`` or ``errors``.
        members: mask of shape (n,).
    """

    name: str
    kind: str
    members: Mask


@dataclass(frozen=True)
class Texts:
    """The texts that slices are subsets of.

    Attributes:
        measure: name of the metric of their scores.
        scores: in [0, 1], shape (n,).
        groups: consecutive codes from 0, shape (n,); texts of a group are dependent.
    """

    measure: str
    scores: Floats
    groups: Ints

    def of(self, members: Mask) -> "Texts":
        """Return a subset of the texts."""
        return Texts(self.measure, self.scores[members], np.unique(self.groups[members], return_inverse=True)[1])


class Tested(NamedTuple):
    """A slice's score, that of the rest, and their difference."""

    own: Figure
    rest: Figure
    apart: Figure


def mean_score(texts: Texts, members: Mask) -> Figure:
    """Return the mean score over some texts, with influences for all groups, so that differences can be paired.

    Args:
        texts: all texts.
        members: mask of the averaged texts, at least one, shape (n,).
    """
    weights = members.astype(np.float64)
    sizes = np.bincount(texts.groups, weights=weights)
    sums = np.bincount(texts.groups, weights=weights * texts.scores)
    whole, size = sizes.sum(), float(effective_groups(sizes))
    value = float(sums.sum() / whole)
    if reason := refusal(size):
        return single(Score(value, 1.0, 1.0, groups=size, no_interval=reason))
    # Groups without a member must not dilute the jackknife of those that have one.
    held = sizes > 0
    moved = np.zeros(sizes.size)
    own = np.arange(int(held.sum()))
    moved[held] = group_influences((sums - sizes * value)[held] / whole, own, sizes[held])
    holding = min(float(effective_groups(each)) for each in (sums, sizes - sums))
    n = effective_n(value, float((moved**2).sum()), value * (1 - value) / whole, size, holding)
    # ``right`` stays empty: a slice and the rest share groups but no texts, so they are not paired as two models are.
    return single(Score(value, float(n), size - 1, test_set="texts", groups=size, influences=moved))


def compare_slice(texts: Texts, members: Mask) -> Tested:
    """Compare some texts with the others; neither may be empty."""
    own, rest = mean_score(texts, members), mean_score(texts, ~members)
    return Tested(own, rest, difference(own, rest))


def slice_p(tested: Tested) -> float:
    """Return the two-sided p value for a slice and the rest having equal scores; NaN without an interval.

    It is the larger of the interval's p value and an exact mid-p value at the effective numbers of texts, as for the
    limits of a gate (``limits.check_score``). The correction over many candidates makes the level small, and there the
    intervals are too short if errors are few.
    """
    p = tested.apart.p_value()
    if not np.isfinite(p):
        return p
    (_, own, _), (_, rest, _) = tested.own.parts[0], tested.rest.parts[0]
    whole = own.n + rest.n
    is_right_rarer = own.n * own.value + rest.n * rest.value < whole / 2
    here, there = (each.n * (each.value if is_right_rarer else 1 - each.value) for each in (own, rest))
    held = here + there
    if held <= 0:
        return 1.0
    # Effective numbers are not integers, so Fisher's test is replaced by one of a proportion whose effective n gives
    # the hypergeometric variance.
    sides = exact_p(here / held, held * (whole - 1) / max(whole - held, 1.0), own.n / whole)
    one_sided = min(1 + sides.above - sides.below, 1 + sides.below - sides.above) / 2
    return max(p, min(1.0, 2 * as_student(one_sided, tested.apart.df)))


def is_candidate(members: Mask, groups: Ints, least: int) -> bool:
    """Return whether a slice and its rest have enough texts and groups to be tested, irrespective of scores."""
    sides = (members, ~members)
    return all(int(side.sum()) >= least and np.unique(groups[side]).size >= LEAST_GROUPS for side in sides)


def find_slices(
    texts: Texts,
    blind: Sequence[Candidate],
    searched: Sequence[Candidate] = (),
    tested_half: Mask | None = None,
    least: int = 30,
) -> tuple[SlicesFound, tuple[Mask, ...]]:
    """Test candidates and select those that differ significantly and do not repeat the texts of others.

    Args:
        texts: all texts.
        blind: candidates defined without labels and predictions.
        searched: rules found by a search in the other half, at most ``SEARCHED``.
        tested_half: mask of the texts that the search has not seen; needed with ``searched``.
        least: minimum number of texts of a slice and of its rest.

    Returns: slices that score lower than the rest (or higher, if none scores lower), most significant first, without
        words and texts; and each slice's members.
    """
    trials: list[tuple[Candidate, Texts, Mask]] = [
        (each, texts, each.members) for each in blind if is_candidate(each.members, texts.groups, least)
    ]
    n_blind, half = len(trials), None
    if searched and tested_half is not None:
        half = texts.of(tested_half)
        trials += [
            (each, half, each.members[tested_half])
            for each in searched
            if is_candidate(each.members[tested_half], half.groups, least)
        ]
    found = [compare_slice(part, members) for _, part, members in trials]
    p_values = [slice_p(each) for each in found]
    corrected = holm([*p_values, *[1.0] * (n_blind + SEARCHED - len(trials))])[: len(trials)]
    # Sorted by uncorrected p values, because Holm's correction makes ties. Slices with fewer errors than the rest are
    # listed only if none has more: most texts are then hard, and no candidate contains them all.
    shown = [at for at in range(len(trials)) if corrected[at] < LEVEL]
    lower = [at for at in shown if found[at].apart.value < 0]
    order = sorted(lower or shown, key=lambda at: (p_values[at], -abs(found[at].apart.value)))
    slices: list[Slice] = []
    masks: list[Mask] = []
    seen = np.zeros(texts.scores.size, dtype=bool)
    for at in order:
        (candidate, part, _), tested, p = trials[at], found[at], float(corrected[at])
        fresh = candidate.members & ~seen
        if fresh.sum() < _NEW * candidate.members.sum() or not _is_apart(texts, fresh, seen, tested.apart.value):
            continue
        n_alike = sum(each.name.startswith(candidate.name) for each in slices)
        slices.append(
            Slice(
                name=f"{candidate.name} ({n_alike + 1})" if n_alike else candidate.name,
                kind=candidate.kind,
                n=int(candidate.members.sum()),
                n_tested=None if part is texts else int((candidate.members & np.asarray(tested_half)).sum()),
                score=estimate(tested.own),
                rest=estimate(tested.rest),
                difference=estimate(tested.apart),
                p=p,
            )
        )
        masks.append(candidate.members)
        seen |= candidate.members
    smallest = [
        drop.models_corrected
        for each in found[:n_blind]
        if (drop := detectable_drop(each.apart, n_blind + SEARCHED)) is not None
    ]
    return SlicesFound(
        measure=texts.measure,
        n=texts.scores.size,
        n_groups=int(texts.groups.max()) + 1,
        score=estimate(mean_score(texts, np.ones(texts.scores.size, dtype=bool))),
        n_candidates=n_blind,
        n_searched=SEARCHED,
        detectable=(min(smallest), max(smallest)) if smallest else None,
        slices=tuple(slices),
    ), tuple(masks)


def nothing_found(texts: Texts, reason: str) -> SlicesFound:
    """Return the result if no search is possible.

    Args:
        texts: the texts.
        reason: why they were not searched, for the user.
    """
    every = np.ones(texts.scores.size, dtype=bool)
    return SlicesFound(
        measure=texts.measure,
        n=texts.scores.size,
        n_groups=int(texts.groups.max()) + 1,
        score=estimate(mean_score(texts, every)),
        reason=reason,
    )


def _is_apart(texts: Texts, fresh: Mask, seen: Mask, whole: float) -> bool:
    """Return whether a slice's texts that are in no earlier slice differ from the remaining texts.

    The difference must be significant, and at least half as large as that of the complete slice.
    """
    left = ~seen
    if not seen.any():
        return True
    part, members = texts.of(left), fresh[left]
    if members.all():
        return False
    apart = compare_slice(part, members).apart
    if not apart.has_interval or apart.low is None or apart.high is None:
        return False
    is_clear = apart.high < 0 if whole < 0 else apart.low > 0
    return is_clear and abs(apart.value) >= _NEW * abs(whole)


def with_examples(found: SlicesFound, examples: Sequence[tuple[Sequence[str], Sequence[str]]]) -> SlicesFound:
    """Add examples to slices.

    Args:
        found: the slices.
        examples: for each slice, in order, its most typical words and its most typical texts.
    """
    slices = (
        each.model_copy(update={"words": tuple(words), "texts": tuple(texts)})
        for each, (words, texts) in zip(found.slices, examples, strict=True)
    )
    return found.model_copy(update={"slices": tuple(slices)})
