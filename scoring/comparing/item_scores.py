"""Models by their scores of the same items: paired tests by cluster, intervals, ranks, detectable differences.

For benchmarks of which nothing is known but what each model scored on each item: no source, no shift, hence no drop.
Everything is about the models as they are; other training runs are in no log.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from shiftbench.metrics.resampling import replicate_counts
from shiftbench.metrics.wilson import (
    MIN_GROUPS,
    effective_n,
    intraclass_correlation,
    relative_square,
    run_moments,
    wilson_interval,
)
from shiftbench.scoring.scores.intervals import (
    SCORE,
    Figure,
    Reason,
    detectable_drop,
    difference,
    estimate,
    none_if_nan,
)
from shiftbench.scoring.scores.replicates import N_DRAWS, Floats

from shiftbench.metrics.comparison import N_SWAPS, holm, swap_test
from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.multiplicity import LEVEL
from shiftbench.metrics.ranking import rank_intervals
from shiftbench.scoring.comparing.shape import refuse_many_swaps
from shiftbench.scoring.scores.estimate import Estimate, Record
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem

_UNBOUNDED = (-np.inf, np.inf)


@dataclass(frozen=True)
class ItemScores:
    """The scores of models on the same items.

    Attributes:
        names: of the models, at least 2.
        scores: shape (n_models, n_items), finite.
        clusters: of each item, codes from 0 without a gap, shape (n_items,); items of a cluster are not independent.
        domains: names of the items' domains; empty where items have none.
        domain_of: of each item, an index into ``domains``, shape (n_items,); all 0 where there are none.
        lower_is_better: as of errors and perplexities.
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
    """A model's mean score, the ranks that it may hold (null with too few clusters), and its scores by domain."""

    name: str
    score: Estimate
    rank: int
    best_rank: int | None
    worst_rank: int | None
    domains: dict[str, Estimate]


class ModelDifference(Record):
    """A minus B on the same items: of one domain, or of all (null).

    ``p`` is two-sided. ``p_corrected`` is Holm's: over all pairs, or over all pairs and tested domains. Both are null
    on domains of fewer than ``MIN_GROUPS`` effective clusters, where nothing could be found. ``detectable`` is the
    smallest true difference that the corrected test finds in four studies of five; null without an interval.
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

    ``is_bounded`` says that scores lie between 0 and 1; others have no points.
    """

    n_items: int
    n_clusters: int
    is_bounded: bool
    lower_is_better: bool
    domains: tuple[DomainSize, ...]
    models: tuple[ModelScore, ...]
    differences: tuple[ModelDifference, ...]
    n_swaps: int
    seed: int

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
        """Count the tests of domains that share the level."""
        return sum(each.p is not None for each in self.by_domain)

    @property
    def least_p(self) -> float:
        """Return the smallest corrected p that all items could reach: with n clusters no test rejects below 2 / 2^n."""
        return min(1.0, 2.0 ** (1 - self.n_clusters) * len(self.overall))


def compare_items(
    items: ItemScores, *, n_swaps: int = N_SWAPS, seed: int = 0, n_draws: int = N_DRAWS
) -> ItemComparison:
    """Compare all pairs of models on the same items.

    Outputs of two models are exchanged on random clusters (``metrics.comparison.swap_test``). Means over all items are
    one family of tests, those of domains another; each is corrected by Holm.

    Args:
        items: the models' scores.
        n_swaps: random swaps of each pair.
        seed: seed of the swaps and of the resampled clusters.
        n_draws: resampled sets of clusters behind intervals and ranks.
    Returns: the models best first; of each pair the first is not worse. Means over all items are micro means.
    Raises: InvalidInput when all items are of one cluster, or no corrected p could be below 0.05 with so few swaps.
    """
    table = _sums_by_cluster(items)
    pairs = list(combinations(range(len(items.names)), 2))
    _refuse_one_cluster(len(table))
    refuse_many_swaps(n_swaps)
    _refuse_few_swaps(n_swaps, len(pairs) * max(len(items.domains), 1))
    rng = np.random.default_rng([seed, *b"items"])
    figures = _score_figures(items, table, replicate_counts(table, n_draws, rng))
    points = np.array([figure.values[0] for figure in figures[0]]) * (-1 if items.lower_is_better else 1)
    order = sorted(range(len(items.names)), key=lambda model: (-points[model], items.names[model]))
    ranked = [(order[first], order[second]) for first, second in pairs]
    return ItemComparison(
        n_items=items.scores.shape[1],
        n_clusters=len(table),
        is_bounded=items.is_bounded,
        lower_is_better=items.lower_is_better,
        domains=tuple(_sizes(items)),
        models=tuple(_models(items, figures, points, order)),
        differences=tuple(_differences(items, table, figures, ranked, n_swaps, seed)),
        n_swaps=n_swaps,
        seed=seed,
    )


def _sums_by_cluster(items: ItemScores) -> Floats:
    """Sum scores by cluster: shape (n_clusters, 1 + n_domains, n_models + 1), all items first, counts of items last."""
    n_domains = max(len(items.domains), 1)
    cells = items.clusters * n_domains + items.domain_of
    n_cells = (int(items.clusters.max()) + 1) * n_domains
    columns = [np.bincount(cells, weights=row, minlength=n_cells) for row in (*items.scores, np.ones(len(cells)))]
    by_domain = np.stack(columns, axis=1).reshape(-1, n_domains, len(columns))
    whole = by_domain.sum(axis=1, keepdims=True)
    return np.concatenate([whole, by_domain], axis=1) if items.domains else whole


def _score_figures(items: ItemScores, table: Floats, drawn: Floats) -> list[list[Figure]]:
    """Return each model's mean score on all items, then on each domain, with replicates and intervals."""
    every = np.concatenate([table.sum(axis=0)[None], drawn])
    with np.errstate(invalid="ignore", divide="ignore"):
        means = every[..., :-1] / every[..., -1:]
    counts = table[..., -1]
    groups = [effective_size(counts[:, part]) for part in range(counts.shape[1])]
    if not items.is_bounded:
        return [
            [Figure.of_percentiles(column, size, _UNBOUNDED) for column in means[:, part].T]
            for part, size in enumerate(groups)
        ]
    parts = [np.ones(len(items.clusters), dtype=bool)]
    parts += [items.domain_of == domain for domain in range(len(items.domains))]
    moments = [
        run_moments(items.scores[:, part], np.unique(items.clusters[part], return_inverse=True)[1]) for part in parts
    ]
    single = [[each.of([model]) for model in range(len(items.names))] for each in moments]
    alike = intraclass_correlation(single[0])
    return [
        [
            _score(means[:, part, model], each.dispersion, float(each.n), groups[part], alike)
            for model, each in enumerate(row)
        ]
        for part, row in enumerate(single)
    ]


def _score(values: Floats, dispersion: float, n: float, groups: float, correlation: float) -> Figure:
    """Return a mean of scores in [0, 1] with Wilson's interval, as ``scoring.precision`` makes it."""
    if groups < MIN_GROUPS:
        return Figure(values, groups, no_interval=Reason.FEW_GROUPS)
    square = relative_square(effective_n(n, groups, correlation, dispersion or 1.0), groups - 1)
    low, high = wilson_interval(float(np.clip(values[0], *SCORE)), square)
    return Figure(values, groups, low=low, high=high, square=square)


def _models(
    items: ItemScores, figures: Sequence[Sequence[Figure]], points: Floats, order: Sequence[int]
) -> list[ModelScore]:
    sign = -1 if items.lower_is_better else 1
    replicates = np.stack([sign * figure.values[1:] for figure in figures[0]])
    best: Sequence[int | None] = [None] * len(order)
    worst: Sequence[int | None] = best
    if figures[0][0].effective_groups >= MIN_GROUPS:
        best, worst = (ends.tolist() for ends in rank_intervals(points, replicates))
    return [
        ModelScore(
            name=items.names[model],
            score=estimate(figures[0][model]),
            rank=1 + int((points > points[model]).sum()),
            best_rank=best[model],
            worst_rank=worst[model],
            domains={name: estimate(part[model]) for name, part in zip(items.domains, figures[1:], strict=True)},
        )
        for model in order
    ]


def _differences(
    items: ItemScores,
    table: Floats,
    figures: Sequence[Sequence[Figure]],
    pairs: Sequence[tuple[int, int]],
    n_swaps: int,
    seed: int,
) -> list[ModelDifference]:
    p = _p_values(table, pairs, n_swaps, seed)
    tested = np.array([part == 0 or row[0].effective_groups >= MIN_GROUPS for part, row in enumerate(figures)])
    p[:, ~tested] = np.nan
    corrected = np.concatenate([holm(p[:, :1]), holm(p[:, 1:])], axis=1)
    differences = []
    for part, domain in enumerate([None, *items.domains]):
        n_tests = len(pairs) * (1 if domain is None else max(int(tested[1:].sum()), 1))
        for row, (a, b) in enumerate(pairs):
            figure = _difference(figures[part][a], figures[part][b], is_bounded=items.is_bounded)
            smallest = detectable_drop(figure, n_tests=n_tests)
            differences.append(
                ModelDifference(
                    a=items.names[a],
                    b=items.names[b],
                    domain=domain,
                    difference=estimate(figure),
                    p=none_if_nan(p[row, part]),
                    p_corrected=none_if_nan(corrected[row, part]),
                    detectable=smallest.models_corrected if smallest else None,
                )
            )
    return differences


def _p_values(table: Floats, pairs: Sequence[tuple[int, int]], n_swaps: int, seed: int) -> Floats:
    """Test each pair on all items and on each domain, shape (n_pairs, 1 + n_domains)."""
    sizes = table[..., -1].sum(axis=0)

    def means(*sums: Floats) -> Floats:
        return np.asarray(sums[0] / sizes)

    # The same swaps for each pair: its p does not depend on what else is compared.
    tests = [
        swap_test([table[..., a]], [table[..., b]], means, np.random.default_rng(seed), n_swaps=n_swaps)
        for a, b in progress(pairs, desc="comparing", unit="pair")
    ]
    return np.stack([test.p_value for test in tests])


def _difference(a: Figure, b: Figure, *, is_bounded: bool) -> Figure:
    if is_bounded:
        return difference(a, b)
    return Figure.of_percentiles(a.values - b.values, a.effective_groups, _UNBOUNDED)


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
        what = "all items are in one cluster, so nothing can be concluded about others"
        raise InvalidInput(Problem(what, "--cluster", cure="choose a field with more values, or leave --cluster out"))


def _refuse_few_swaps(n_swaps: int, n_tests: int) -> None:
    least = int(np.ceil(n_tests / LEVEL))
    if n_swaps < least:
        what = "with so few swaps no difference can reach a corrected p below 0.05"
        raise InvalidInput(
            Problem(what, "--swaps", f"{n_swaps:,}", f"compare fewer logs or domains: {n_tests:,} tests need {least:,}")
        )
