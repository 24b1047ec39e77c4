"""Effective robustness against several baselines: how often its interval holds the truth, and what moves it."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit

from shiftbench.metrics.correlation import against_others, baseline_line, effective_interval
from shiftbench.metrics.precision import student, wilson_limits

Floats = NDArray[np.float64]
N_TEXTS = 1000


def with_ends(score: float) -> list[float]:
    return [score, *map(float, wilson_limits(score, student(N_TEXTS - 1) ** 2 / N_TEXTS))]


@pytest.mark.parametrize("n_baselines", [3, 5, 12])
@pytest.mark.parametrize("true", [0.0, 0.03])
def test_the_interval_holds_the_distance_to_the_baselines_line(n_baselines: int, true: float) -> None:
    rng = np.random.default_rng([n_baselines, int(100 * true)])
    times, held = 300, 0
    for _ in range(times):
        # Baselines scatter around a line on logits; all scores are seen on 1,000 texts each.
        home = expit(rng.uniform(0.3, 2.0, n_baselines))
        away = expit(0.9 * logit(home) - 0.5 + rng.normal(0, 0.1, n_baselines))
        line = baseline_line(*(rng.binomial(N_TEXTS, scores) / N_TEXTS for scores in (home, away)))
        own = float(expit(rng.uniform(0.6, 1.7)))
        ood = float(expit(0.9 * logit(own) - 0.5)) + true
        found = effective_interval(line, *(with_ends(rng.binomial(N_TEXTS, score) / N_TEXTS) for score in (own, ood)))
        held += found.low <= true <= found.high
    print(f"{n_baselines} baselines, {100 * true:.0f} points above: interval holds in {100 * held / times:.1f}%")
    assert held / times >= 0.93


def test_models_on_a_line_of_logits_are_not_above_it() -> None:
    home = np.array([0.5, 0.6, 0.7, 0.8, 0.9])
    away = expit(0.8 * logit(home) - 0.4)
    ends = [np.stack([scores, scores - 0.01, scores + 0.01], axis=1) for scores in (home, away)]
    found = against_others(*ends)
    for each in found:
        assert each is not None
        assert each[1].value == pytest.approx(0, abs=1e-9)
        assert each[1].low < 0 < each[1].high
        assert each[0].n == 4
    better = ends[1] + np.array([0, 0, 0.05, 0, 0])[:, None]
    lifted = against_others(ends[0], better)[2]
    assert lifted is not None
    assert lifted[1].value == pytest.approx(0.05)
    assert lifted[1].low > 0.02
    # A straight line in scores bends on logits, and would call the best model robust.
    slope, intercept = np.polyfit(home[:4], away[:4], 1)
    assert abs(away[4] - slope * home[4] - intercept) > 0.02


def test_too_few_others_or_scores_without_a_logit_are_not_compared() -> None:
    table = np.array([[score, score, score] for score in (0.5, 0.6, 0.7, 1.0)])
    assert against_others(table, table) == [None] * 4
    assert against_others(table[:0], table[:0]) == []
    unknown = np.array([[score, np.nan, np.nan] for score in (0.5, 0.6, 0.7, 0.8)])
    found = against_others(unknown, unknown)[0]
    assert found is not None
    assert np.isnan(found[1].low)
    with pytest.raises(ValueError, match="3 baselines"):
        baseline_line([0.5, 0.6], [0.5, 0.6])
