"""Domains of texts with confidences and known errors, of which samples are drawn and labelled."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.label_sampling import (
    UNIFORM_SHARE,
    draw_groups,
    draw_probabilities,
    enough_expected,
    expected_width,
    sampled_accuracy,
)

Floats = NDArray[np.float64]


class Domain(NamedTuple):
    """Texts of one domain: confidences, whether the answers are right, and groups."""

    confidence: Floats
    correct: Floats
    groups: NDArray[np.int64]


class Simulated(NamedTuple):
    """The result of many samples.

    Attributes:
        covered, at_random: shares of 95% intervals that hold the truth, drawn by confidence and at random.
        narrower: 1 less the mean width over that of the random samples' intervals.
        expected: the same, as it was expected beforehand, on average.
        bias: mean estimate less the truth.
        tuned: share of draws by confidence for which enough errors and hits were expected.
    """

    covered: float
    at_random: float
    narrower: float
    expected: float
    bias: float
    tuned: float


def simulate(
    make: Callable[[np.random.Generator], Domain],
    truth: float,
    budget: int,
    n_draws: int,
    seed: int,
    uniform_share: float = UNIFORM_SHARE,
) -> Simulated:
    """Draw texts of ``make``'s domains by confidence and at random, and estimate the accuracy from each."""
    rng = np.random.default_rng(seed)
    rows = np.array([_one(make(rng), truth, budget, rng, uniform_share) for _ in range(n_draws)])
    covered, at_random, width, random_width, expected, error, tuned = rows.mean(axis=0)
    return Simulated(covered, at_random, 1 - width / random_width, 1 - expected, error, tuned)


def _one(
    domain: Domain, truth: float, budget: int, rng: np.random.Generator, uniform_share: float
) -> tuple[float, ...]:
    by_confidence = draw_probabilities(domain.confidence, domain.groups, budget, uniform_share)
    found = estimate(domain, by_confidence, rng)
    random = estimate(domain, draw_probabilities(domain.confidence, domain.groups, budget, 1), rng, trust=0)
    n_groups = budget * (domain.groups.max() + 1) / domain.groups.size
    return (
        float(found.low <= truth <= found.high),
        float(random.random_low <= truth <= random.random_high),
        found.high - found.low,
        random.random_high - random.random_low,
        expected_width(domain.confidence, by_confidence),
        found.value - truth,
        float(enough_expected(domain.confidence, n_groups)),
    )


def estimate(domain: Domain, probabilities: Floats, rng: np.random.Generator, trust: float | None = None):  # type: ignore[no-untyped-def]
    """Draw, and estimate the accuracy from what was drawn."""
    drawn = draw_groups(probabilities, domain.groups, rng)
    groups = np.unique(domain.groups[drawn], return_inverse=True)[1]
    return sampled_accuracy(
        domain.correct[drawn], domain.confidence[drawn], probabilities[drawn], groups, domain.confidence, trust=trust
    )
