"""Models that differ only in their training texts, or in their domains too: their flips, and their drops."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.ledger import FlipLedger, flip_counts, flip_ledger
from shiftbench.metrics.placebo import placebo_domains

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Domains(NamedTuple):
    """Two domains of Gaussian texts; ``shift`` turns the direction that tells the classes apart, in radians."""

    name: str
    shift: float = 0.0
    n_train: int = 60
    n_test: int = 1000
    dimensions: int = 60
    near_duplicates: float = 0.0
    """Share of test texts that are a train text of their domain with a little noise."""


class Texts(NamedTuple):
    vectors: Floats
    labels: Codes


def _draw(rng: np.random.Generator, setting: Domains, domain: int) -> tuple[Texts, Texts]:
    angle = setting.shift * domain
    direction = np.zeros(setting.dimensions)
    direction[:2] = np.cos(angle), np.sin(angle)

    def texts(n: int) -> Texts:
        labels = rng.integers(2, size=n)
        return Texts(rng.normal(size=(n, setting.dimensions)) + 0.8 * np.outer(2 * labels - 1, direction), labels)

    train, test = texts(setting.n_train), texts(setting.n_test)
    repeats = rng.random(setting.n_test) < setting.near_duplicates
    of = rng.integers(setting.n_train, size=setting.n_test)
    vectors = np.where(repeats[:, None], train.vectors[of] + 0.02 * rng.normal(size=test.vectors.shape), test.vectors)
    return train, Texts(vectors, np.where(repeats, train.labels[of], test.labels))


def _right(train: Texts, test: Texts) -> NDArray[np.bool_]:
    """Fit class means without randomness, so that two seeds always agree. Return which test texts are right."""
    ahead, behind = (train.vectors[train.labels == label].mean(axis=0) for label in (1, 0))
    weights = ahead - behind
    predicted = (test.vectors - (ahead + behind) / 2) @ weights > 0
    return np.asarray(predicted == test.labels)


def _nearest(train: Texts, test: Texts) -> NDArray[np.bool_]:
    """Predict the label of the nearest train text, which remembers what it has seen. Return which texts are right."""
    squares = (train.vectors**2).sum(axis=1)[None] - 2 * test.vectors @ train.vectors.T
    return np.asarray(train.labels[squares.argmin(axis=1)] == test.labels)


def _dealt(rng: np.random.Generator, parts: list[tuple[Texts, Texts]]) -> list[tuple[Texts, Texts]]:
    """Split the rows of both domains at random between two placebo domains; every text is its own group."""
    pools = [Texts(*map(np.concatenate, zip(*split, strict=True))) for split in zip(*parts, strict=True)]
    codes = [placebo_domains(np.arange(len(pool.labels)), np.zeros(len(pool.labels), int), 2, rng) for pool in pools]
    train, test = (
        [Texts(pool.vectors[code == domain], pool.labels[code == domain]) for domain in range(2)]
        for pool, code in zip(pools, codes, strict=True)
    )
    return list(zip(train, test, strict=True))


def _ledger(parts: list[tuple[Texts, Texts]]) -> FlipLedger:
    (source, _), (target, test) = parts
    return flip_ledger(flip_counts(_right(target, test)[None], _right(source, test)[None]).sum(axis=0))


def mean_turnover(setting: Domains, n_tasks: int, seed: int) -> dict[str, float]:
    """Average flips of the shift and of its placebo, and what exceeds seeds (none here) and the placebo."""
    rng = np.random.default_rng([seed, *setting.name.encode()])
    rows = []
    for _ in range(n_tasks):
        parts = [_draw(rng, setting, domain) for domain in range(2)]
        real, placebo = _ledger(parts), _ledger(_dealt(rng, parts))
        rows.append((real.turnover, placebo.turnover, real.turnover, real.excess_turnover(placebo.turnover)))
    means = np.mean(rows, axis=0)
    return dict(zip(("flips", "placebo", "beyond seeds", "beyond placebo"), map(float, means), strict=True))


def mean_drops(setting: Domains, n_tasks: int, seed: int) -> dict[str, float]:
    """Average TD of a shift and of its placebo, for models that remember what they have seen."""
    rng = np.random.default_rng([seed, *setting.name.encode()])
    rows = []
    for _ in range(n_tasks):
        parts = [_draw(rng, setting, domain) for domain in range(2)]
        drops = []
        for (source, _), (target, test) in (parts, _dealt(rng, parts)):
            drops.append(_nearest(target, test).mean() - _nearest(source, test).mean())
        rows.append(drops)
    return dict(zip(("real", "placebo"), map(float, np.mean(rows, axis=0)), strict=True))
