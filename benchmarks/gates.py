"""Failure rates of a gate: on domains exactly at the limit, where each failure is a false alarm, and beyond it.

Scores are those of texts that are right or wrong, with the intervals that scores stand with; texts have no groups.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from shiftbench.metrics.wilson import relative_square, wilson_interval
from shiftbench.scoring.scores.intervals import Figure

from shiftbench.metrics.crossed import influences
from shiftbench.metrics.limits import limit_p
from shiftbench.scoring.scores.limits import LEVEL, LimitName, LimitTest, check_drop, check_score, decide

_HOME, _LIMIT = 0.9, {"max_drop": 0.05, "min_score": 0.7, "max_regression": 0.01}
_CHURN = 0.05
"""Share of texts that only the new model has right; as many are lost in addition to the regression."""
_N_DRAWS = 200


class GateRates(NamedTuple):
    """Shares of simulated gates that failed: with Holm's correction over the domains, and without any."""

    corrected: float
    uncorrected: float


def simulate_gates(
    limit: LimitName,
    rng: np.random.Generator,
    *,
    n_runs: int,
    beyond: float = 0.0,
    n_beyond: int | None = None,
    n_domains: int = 20,
    n_texts: int = 500,
    step: Callable[[], object] = lambda: None,
) -> GateRates:
    """Simulate gates on domains whose true figures are known.

    Args:
        limit: drops of at most 5 points, scores of at least 70, or regressions of at most 1.
        rng: the generator.
        n_runs: simulated gates.
        beyond: how far beyond the limit domains truly are, a fraction.
        n_beyond: how many of them; the others are exactly at the limit. Default: all.
        n_domains: domains of a gate, home not counted.
        n_texts: test texts of each.
        step: is called after each gate.
    Returns: how often gates failed.
    """
    n_far = n_domains if n_beyond is None else n_beyond
    far = np.where(np.arange(n_domains) < n_far, beyond, 0.0)
    corrected = uncorrected = 0
    for _ in range(n_runs):
        tests = _TESTS[limit](far, n_texts, rng)
        corrected += any(each.outcome == "broken" for each in decide(tests))
        uncorrected += any(each.p_broken is not None and each.p_broken < LEVEL for each in tests)
        step()
    return GateRates(corrected / n_runs, uncorrected / n_runs)


def _drops(far: NDArray[np.float64], n_texts: int, rng: np.random.Generator) -> list[LimitTest]:
    home = _figure(_HOME, n_texts, rng)
    limit = _LIMIT["max_drop"]
    return [check_drop([home], _figure(_HOME - limit - more, n_texts, rng), "simulated", limit) for more in far]


def _score_tests(far: NDArray[np.float64], n_texts: int, rng: np.random.Generator) -> list[LimitTest]:
    limit = _LIMIT["min_score"]
    return [check_score(_figure(limit - more, n_texts, rng), "simulated", limit) for more in far]


def _regressions(far: NDArray[np.float64], n_texts: int, rng: np.random.Generator) -> list[LimitTest]:
    limit, tests = _LIMIT["max_regression"], []
    for more in far:
        drawn = rng.random(n_texts)
        apart = np.where(drawn < _CHURN, -1.0, np.where(drawn < 2 * _CHURN + limit + more, 1.0, 0.0))
        moves = influences(np.stack([apart, np.ones(n_texts)], axis=1), lambda sums: sums[..., 0] / sums[..., 1])
        value = float(apart.mean())
        p = limit_p(value, float(np.sqrt((moves**2).sum())), n_texts, limit)
        shown = LimitTest(limit="max_regression", domain="simulated", bound=limit, value=value)
        tests.append(shown.model_copy(update={"p_broken": p.above, "p_kept": p.below}))
    return tests


_TESTS = {"max_drop": _drops, "min_score": _score_tests, "max_regression": _regressions}


def _figure(share: float, n_texts: int, rng: np.random.Generator) -> Figure:
    """Draw a score of a true share of right answers, with its replicates and its interval."""
    score = rng.binomial(n_texts, share) / n_texts
    square = relative_square(n_texts, n_texts - 1)
    low, high = wilson_interval(score, square)
    drawn = rng.binomial(n_texts, score, size=_N_DRAWS) / n_texts
    return Figure(np.append(score, drawn), float(n_texts), low=low, high=high, square=square)
