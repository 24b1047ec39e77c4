"""Score matrices with and without home advantage, and two rules that claim one: exchanged sources, three scales."""

from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from shiftbench.metrics.wilson import relative_square, wilson_interval
from shiftbench.scoring.scores.intervals import Figure

from shiftbench.metrics.in_domain_advantage import SCALES
from shiftbench.scoring.scores.summary import mean_advantage, shown_sign

Floats = NDArray[np.float64]

GOOD, EASY = np.linspace(0.6, 1.0, 6), np.linspace(0.5, 0.97, 6)
"""How good models are, how easy targets are; good models are at home on easy targets."""


class Grid(NamedTuple):
    """A task's true scores, rows being sources."""

    name: str
    truth: Floats
    n: int = 400


def _logit(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1 - p)))


def _share(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


SUM = 0.25 * (GOOD - GOOD.mean())[:, None] + np.linspace(0.6, 0.85, 6)
LOGITS = np.linspace(-0.6, 0.6, 6)[:, None] + _logit(np.linspace(0.6, 0.92, 6))
WITHOUT = [
    Grid("product of row and column", np.outer(GOOD, EASY)),
    Grid("sum of row and column", SUM),
    Grid("sum on logits", _share(LOGITS)),
    Grid("nothing but hard targets", np.tile(EASY, (6, 1))),
]
WITH = [
    Grid("sum, 5 points at home", SUM + 0.05 * np.eye(6)),
    Grid("hard targets, 20 points at one home", np.tile(EASY, (6, 1)) + 0.2 * np.diag([1, 0, 0, 0, 0, 0])),
    Grid("3 domains, 8 points at home", np.full((3, 3), 0.75) + 0.08 * np.eye(3)),
]


def _draw(rng: np.random.Generator, grid: Grid, n_draws: int = 100) -> list[list[Figure]]:
    """Draw one task's cells: models of a target answer the same texts, of which some are easy for all."""
    n_sources, n_targets = grid.truth.shape
    columns = []
    for target in range(n_targets):
        ease = rng.random(grid.n)
        own = rng.random((n_sources, grid.n))
        right = np.where(rng.random((n_sources, grid.n)) < 0.5, ease, own) < grid.truth[:, target, None]
        weights = rng.multinomial(grid.n, np.full(grid.n, 1 / grid.n), size=n_draws)
        columns.append(np.concatenate([right.mean(axis=1)[:, None], right @ weights.T / grid.n], axis=1))
    square = relative_square(grid.n, grid.n - 1)
    return [
        [
            Figure(column[source], grid.n, low=low, high=high, square=square)
            for column in columns
            for low, high in [wilson_interval(float(column[source, 0]), square)]
        ]
        for source in range(n_sources)
    ]


def _exchanged(matrix: Floats) -> float:
    """Return the p value of the trace when sources are exchanged: the rule of metric version 4."""
    n = len(matrix)
    orders = np.array(list(permutations(range(n))))
    return float(np.mean(matrix[orders, np.arange(n)].sum(axis=1) >= np.trace(matrix) - 1e-12))


def claimed_shares(grid: Grid, n_tasks: int, seed: int) -> dict[str, float]:
    """Count in what share of tasks each rule claims a home advantage: exchanged sources, each scale, all three."""
    rng = np.random.default_rng([seed, *grid.name.encode()])
    found: dict[str, list[bool]] = {name: [] for name in ("exchanged", *SCALES, "all three")}
    for _ in range(n_tasks):
        cells = _draw(rng, grid)
        found["exchanged"].append(_exchanged(np.array([[cell.values[0] for cell in row] for row in cells])) <= 0.05)
        means = [mean_advantage(cells, scale) for scale in SCALES]
        ends = [(mean.low, mean.high) for mean in means]
        for scale, each in zip(SCALES, ends, strict=True):
            found[scale].append(shown_sign([each]) == "advantage")
        found["all three"].append(shown_sign(ends) == "advantage")
    return {name: float(np.mean(claims)) for name, claims in found.items()}
