"""Failure rates of simulated gates, on domains exactly at the limit (every failure is a false alarm) or beyond it.

Correctness may be correlated within groups: each group has its own probabilities, sampled around the true ones
(Dirichlet), which no formula of the gate assumes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.scoring.scores.figures import Figure, difference, single
from shiftbench.scoring.scores.limits import LEVEL, LimitName, LimitTest, check_above, check_score, decide
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.values import sampled_scores

Floats = NDArray[np.float64]
_LIMIT = {"max_drop": 0.05, "max_regression": 0.01}
"""Limits of the simulated gates, as fractions."""
_CHURN = 0.05
"""Share of texts that only the new model predicts correctly; only the old one: this share plus the regression."""


class Texts(NamedTuple):
    """A domain's test texts: number of groups, their size, and the within-group correlation."""

    groups: int
    size: int = 1
    correlation: float = 0.0


class GateRates(NamedTuple):
    """Shares of simulated gates that failed: with Holm's correction over the domains, and without any."""

    corrected: float
    uncorrected: float


def simulate_gates(
    limit: LimitName,
    rng: np.random.Generator,
    *,
    n_runs: int,
    domains: Sequence[Texts] = (Texts(500),) * 20,
    share: float = 0.7,
    beyond: float = 0.0,
    n_beyond: int | None = None,
) -> GateRates:
    """Simulate gates on domains with known truth.

    Args:
        limit: drops of at most 5 points, scores of at least ``share``, or regressions of at most 1 point.
        rng: the generator.
        n_runs: number of simulated gates.
        domains: test sets of a gate; the source domain, which is not counted, is like the first.
        share: accuracy, in [0.5, 0.95]: the limit for scores, the in-domain score for drops, the old model's for
            regressions.
        beyond: how far domains are beyond the limit, a fraction.
        n_beyond: number of these domains; the others are exactly at the limit. Default: all.
    Returns: how often gates failed.
    """
    n_far = len(domains) if n_beyond is None else n_beyond
    far = np.where(np.arange(len(domains)) < n_far, beyond, 0.0)
    corrected = uncorrected = 0
    for _ in range(n_runs):
        tests = _TESTS[limit](domains, share, far, rng)
        corrected += any(each.outcome == "broken" for each in decide(tests))
        uncorrected += any(each.p_broken is not None and each.p_broken < LEVEL for each in tests)
    return GateRates(corrected / n_runs, uncorrected / n_runs)


def _drops(domains: Sequence[Texts], share: float, far: Floats, rng: np.random.Generator) -> list[LimitTest]:
    limit = _LIMIT["max_drop"]
    source = _score("home", domains[0], share, rng)
    return [
        check_above("max_drop", "", limit, difference(source, _score(str(number), texts, share - limit - more, rng)))
        for number, (texts, more) in enumerate(zip(domains, far, strict=True))
    ]


def _score_tests(domains: Sequence[Texts], share: float, far: Floats, rng: np.random.Generator) -> list[LimitTest]:
    return [
        check_score(_score("", texts, share - more, rng), "", share) for texts, more in zip(domains, far, strict=True)
    ]


def _regressions(domains: Sequence[Texts], share: float, far: Floats, rng: np.random.Generator) -> list[LimitTest]:
    limit, tests = _LIMIT["max_regression"], []
    churn = min(_CHURN, (1 - share) / 2)
    for texts, more in zip(domains, far, strict=True):
        lost = churn + limit + more
        # Correct by both, by the old only, by the new only, by neither.
        kinds = _kinds(texts, [share - lost, lost, churn, 1 - share - churn], rng)
        old, new = score_models("", texts, np.stack([kinds <= 1, (kinds == 0) | (kinds == 2)]))
        tests.append(check_above("max_regression", "", limit, difference(old, new)))
    return tests


_TESTS = {"max_drop": _drops, "min_score": _score_tests, "max_regression": _regressions}


def _score(name: str, texts: Texts, share: float, rng: np.random.Generator) -> Figure:
    (score,) = score_models(name, texts, (_kinds(texts, [share, 1 - share], rng) == 0)[None])
    return score


def _kinds(texts: Texts, shares: Sequence[float], rng: np.random.Generator) -> NDArray[np.int64]:
    """Sample the kind of each text, shape (groups * size,); ``shares`` are the probabilities of the kinds."""
    of_group = np.tile(shares, (texts.groups, 1))
    if texts.correlation:
        drawn = rng.standard_gamma(of_group * (1 / texts.correlation - 1))
        of_group = drawn / drawn.sum(axis=1, keepdims=True)
    ends = np.repeat(of_group.cumsum(axis=1)[:, :-1], texts.size, axis=0)
    return np.asarray((rng.random((len(ends), 1)) > ends).sum(axis=1))


def score_models(name: str, texts: Texts, right: NDArray[np.bool_]) -> list[Figure]:
    """Score models, as ``shiftbench gate`` does.

    Args:
        name: name of the domain.
        texts: its test set.
        right: whether each model is correct, shape (n_models, groups * size).
    """
    scores = right.astype(np.float64)
    outcomes = Outcomes(
        formulas={"accuracy": lambda sums: sums[..., 0] / sums.sum(axis=-1)},
        micro="accuracy",
        n_counts=2,
        example_scores=scores,
        unparsed=np.zeros_like(right),
        values=np.stack([scores, 1 - scores], axis=-1),
        example_metric="accuracy",
    )
    groups = np.repeat(np.arange(texts.groups), texts.size)
    runs = [("", model) for model in range(len(right))]
    target = TargetRuns("simulated", name, pl.Series(range(groups.size)), groups, runs, outcomes)
    return [single(score) for model in range(len(right)) for score in sampled_scores(target, [model], "accuracy")]
