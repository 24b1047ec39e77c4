"""Models compared by their scores on the same items: paired tests by cluster, intervals, ranks, detectable differences.

For benchmarks without training domains: there is no shift, hence no drop. All claims are about these trained models,
because logs do not contain other training runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pydantic
from numpy.typing import NDArray

from shiftbench.metrics.precision import effective_groups, effective_n, group_influences, sum_by_group
from shiftbench.metrics.ranking import MIN_UNITS, holm, rank_units
from shiftbench.scoring.comparing.shape import LEVEL, NOTHING_DRAWN
from shiftbench.scoring.comparing.unit_ranks import N_DRAWS
from shiftbench.scoring.scores.figures import (
    Figure,
    Part,
    Score,
    detectable_drop,
    difference,
    estimate,
    none_if_nan,
    refusal,
    single,
)
from shiftbench.scoring.scores.shape import Estimate, Record
from shiftbench.scoring.scores.values import Floats
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem

_UNBOUNDED = (-np.inf, np.inf)


@dataclass(frozen=True)
class ItemScores:
    """The scores of models on the same items.

    Attributes:
        names: names of the models, at least 2.
        scores: shape (n_models, n_items), finite.
        clusters: cluster of each item, consecutive codes from 0, shape (n_items,); items of a cluster are dependent.
        domains: names of the items' domains; empty if items have none.
        domain_of: each item's index into ``domains``, shape (n_items,); all 0 without domains.
        lower_is_better: True for errors and perplexities.
    """

    names: Sequence[str]
    scores: Floats
    clusters: NDArray[np.int64]
    domains: Sequence[str]
    domain_of: NDArray[np.int64]
    lower_is_better: bool = False

    @property
    def is_bounded(self) -> bool:
        """Return whether all scores lie between 0 and 1."""
        return bool(self.scores.min() >= 0 and self.scores.max() <= 1)


class ModelScore(Record):
    """A model's mean score, the range of its rank (null with fewer than 8 clusters), and its scores by domain."""

    name: str
    score: Estimate
    rank: int
    best_rank: int | None
    worst_rank: int | None
    domains: dict[str, Estimate]


class ModelDifference(Record):
    """The difference A minus B on the items of one ``domain``, or on all items (null).

    ``p`` is two-sided, and below 0.05 if the interval excludes 0. ``p_corrected`` is Holm-corrected over all pairs, for
    single domains over all pairs and tested domains. ``detectable`` is the smallest true difference that the corrected
    test detects with 80% power. All are null without an interval, that is with fewer than 5 effective clusters.
    """

    a: str
    b: str
    domain: str | None
    difference: Estimate
    p: float | None
    p_corrected: float | None
    detectable: float | None

    @property
    def is_significant(self) -> bool:
        """Return whether the corrected p is below 0.05."""
        return self.p_corrected is not None and self.p_corrected < LEVEL


class DomainSize(Record):
    """Number of items and clusters of a domain."""

    domain: str
    n_items: int
    n_clusters: int


class ItemComparison(Record):
    """Models on the same items, best first, and the differences of all pairs: overall, then by domain.

    ``is_bounded``: whether all scores are between 0 and 1; only these are shown in points.
    """

    n_items: int
    n_clusters: int
    is_bounded: bool
    lower_is_better: bool
    domains: tuple[DomainSize, ...]
    models: tuple[ModelScore, ...]
    differences: tuple[ModelDifference, ...]
    n_swaps: None = pydantic.Field(default=None, description=NOTHING_DRAWN)
    seed: None = pydantic.Field(default=None, description=NOTHING_DRAWN)

    @property
    def overall(self) -> tuple[ModelDifference, ...]:
        """Return the differences over all items."""
        return tuple(each for each in self.differences if each.domain is None)

    @property
    def by_domain(self) -> tuple[ModelDifference, ...]:
        """Return the differences on single domains, tested or not."""
        return tuple(each for each in self.differences if each.domain is not None)

    @property
    def n_domain_tests(self) -> int:
        """Return the number of tests on single domains, which are corrected together."""
        return sum(each.p is not None for each in self.by_domain)


class _UnboundedFigure(Figure):
    """A mean of scores outside [0, 1], or a difference of two, with a Student's t interval from influences."""

    @cached_property
    def _variances(self) -> tuple[list[float], list[float]]:
        moved = sum(part.weight * part.score.influences for part in self.parts)
        return [float(np.sum(np.square(moved)))], [self.parts[0].score.df]

    def _reach(self, quantile: float) -> tuple[float, float]:
        reach = quantile * float(np.sqrt(self._variances[0][0]))
        return reach, reach


def compare_items(items: ItemScores) -> ItemComparison:
    """Compare all pairs of models on the same items.

    A difference's p value inverts its interval, computed from the clusters' influences (``scoring.scores.figures``).
    Tests over all items are one family, tests on single domains another; each family is Holm-corrected.

    Args:
        items: the models' scores.

    Returns: the models best first; in each pair the first is not worse. Means over all items are micro means.

    Raises: InvalidInput if all items are in one cluster.
    """
    n_clusters = len(np.unique(items.clusters))
    _refuse_one_cluster(n_clusters)
    everything = np.ones(len(items.clusters), dtype=bool)
    parts = [everything, *(items.domain_of == domain for domain in range(len(items.domains)))]
    scores = [_scores(items, number, part) for number, part in enumerate(parts)]
    points = np.array([score.value for score in scores[0]]) * (-1 if items.lower_is_better else 1)
    order = sorted(range(len(items.names)), key=lambda model: (-points[model], items.names[model]))
    return ItemComparison(
        n_items=len(items.clusters),
        n_clusters=n_clusters,
        is_bounded=items.is_bounded,
        lower_is_better=items.lower_is_better,
        domains=tuple(_sizes(items)),
        models=tuple(_models(items, scores, points, order)),
        differences=tuple(_differences(items, scores, list(combinations(order, 2)))),
    )


def _scores(items: ItemScores, number: int, part: NDArray[np.bool_]) -> list[Score]:
    """Score each model on a subset of the items, with the precision of its mean over their clusters."""
    scores, groups = items.scores[:, part], np.unique(items.clusters[part], return_inverse=True)[1]
    size, means = float(effective_groups(np.bincount(groups))), scores.mean(axis=1)
    if reason := refusal(size):
        return [Score(float(mean), groups=size, no_interval=reason) for mean in means]
    moved = (scores - means[:, None]) / groups.size
    influences, right = group_influences(moved, groups), sum_by_group(scores / groups.size, groups)
    n = np.full(means.shape, np.inf)  # not used by the intervals of unbounded scores
    if items.is_bounded:
        holding = [effective_groups(sum_by_group(each, groups)) for each in (scores, 1 - scores)]
        variance, least = ((each**2).sum(axis=1) for each in (influences, moved))
        n = effective_n(means, variance, least, size, np.minimum(*holding))
    return [
        Score(float(mean), float(n[row]), size - 1, number, influences[row], right[row], size)
        for row, mean in enumerate(means)
    ]


def _figure(score: Score, *, is_bounded: bool) -> Figure:
    return single(score) if is_bounded else _UnboundedFigure((Part(1.0, score),), _UNBOUNDED)


def _difference(a: Score, b: Score, *, is_bounded: bool) -> Figure:
    if is_bounded:
        return difference(single(a), single(b))
    return _UnboundedFigure((Part(1.0, a), Part(-1.0, b)), _UNBOUNDED)


def _models(
    items: ItemScores, scores: Sequence[Sequence[Score]], points: Floats, order: Sequence[int]
) -> list[ModelScore]:
    best: Sequence[int | None] = [None] * len(order)
    worst: Sequence[int | None] = best
    _, groups, sizes = np.unique(items.clusters, return_inverse=True, return_counts=True)
    if scores[0][0].no_interval is None and sizes.size >= MIN_UNITS:
        means = sum_by_group(items.scores, groups) / sizes * (-1 if items.lower_is_better else 1)
        ranks = rank_units(means, sizes, n_draws=N_DRAWS)
        best, worst = ranks.best.tolist(), ranks.worst.tolist()
    estimates = [[estimate(_figure(score, is_bounded=items.is_bounded)) for score in part] for part in scores]
    return [
        ModelScore(
            name=items.names[model],
            score=estimates[0][model],
            rank=1 + int((points > points[model]).sum()),
            best_rank=best[model],
            worst_rank=worst[model],
            domains={name: part[model] for name, part in zip(items.domains, estimates[1:], strict=True)},
        )
        for model in order
    ]


def _differences(
    items: ItemScores, scores: Sequence[Sequence[Score]], pairs: Sequence[tuple[int, int]]
) -> list[ModelDifference]:
    figures = [
        [_difference(part[a], part[b], is_bounded=items.is_bounded) for a, b in pairs]
        for part in progress(scores, desc="comparing", unit="part")
    ]
    p = np.array([[figure.p_value() for figure in row] for row in figures])
    families = [slice(0, 1), slice(1, None)]
    corrected = np.concatenate([holm(p[family]) for family in families])
    n_tests = [int(np.isfinite(p[family]).sum()) for family in families]
    return [
        ModelDifference(
            a=items.names[a],
            b=items.names[b],
            domain=domain,
            difference=estimate(figures[part][row]),
            p=none_if_nan(p[part, row]),
            p_corrected=none_if_nan(corrected[part, row]),
            detectable=smallest.models_corrected if smallest else None,
        )
        for part, domain in enumerate([None, *items.domains])
        for row, (a, b) in enumerate(pairs)
        for smallest in [detectable_drop(figures[part][row], n_tests=n_tests[part > 0])]
    ]


def _sizes(items: ItemScores) -> list[DomainSize]:
    return [
        DomainSize(
            domain=name,
            n_items=int((items.domain_of == number).sum()),
            n_clusters=len(np.unique(items.clusters[items.domain_of == number])),
        )
        for number, name in enumerate(items.domains)
    ]


def _refuse_one_cluster(n_clusters: int) -> None:
    if n_clusters < 2:
        what = "all items are in one cluster, so results do not generalise to others"
        raise InvalidInput(Problem(what, "--cluster", cure="choose a field with more values, or omit --cluster"))
