"""Simulated domains that are harder, or shifted: which rows three models get right, and the verdict.

A row has a difficulty that all models share, and each model its own luck with it. A model gets a row right when its
ability is above difficulty and luck together; abilities are set so that a domain's true score is what is asked for.
Each trained model's true score is off by its own luck in training (``TRAINING_SD``), on every domain anew.
"""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from shiftbench.metrics.wilson import relative_square, wilson_interval
from shiftbench.scoring.scores.intervals import Figure

from shiftbench.metrics.difficulty import Verdict
from shiftbench.scoring.scores.difficulty import TwoScores, explain_drop

HOME = {"user": 0.85, "tfidf": 0.78, "embeddings": 0.81}
"""True scores at home."""
HARDER = dict.fromkeys(HOME, 0.10)
SHIFTED = {"user": 0.10, "tfidf": 0.0, "embeddings": 0.0}
BOTH = {"user": 0.20, "tfidf": 0.10, "embeddings": 0.10}
"""Lost on the other domain."""
SHARED = 0.5
"""Share of the variance of a row's difficulty that models share."""
TRAINING_SD = 0.007
"""Standard deviation of a score over trainings on 1,000 texts, a fraction."""
N_TEST, N_DRAWS = 500, 400


def verdicts(lost: Mapping[str, float], n_seeds: int, n_test: int = N_TEST) -> Counter[Verdict]:
    """Count the verdicts of seeds on a domain where each model loses so much."""
    return Counter(_verdict(lost, np.random.default_rng([7, seed]), n_test) for seed in range(n_seeds))


def _verdict(lost: Mapping[str, float], rng: np.random.Generator, n_test: int) -> Verdict:
    home = _figures(HOME, rng, n_test)
    away = _figures({name: score - lost[name] for name, score in HOME.items()}, rng, n_test)
    scores = {name: TwoScores(home[name], away[name]) for name in HOME}
    user = scores.pop("user")
    return explain_drop(user, scores, is_probe_at_chance=False).explanation.verdict


def _figures(true: Mapping[str, float], rng: np.random.Generator, n: int) -> dict[str, Figure]:
    """Draw a test set, and score every model on it and on its replicates."""
    shared = rng.standard_normal(n) * np.sqrt(SHARED)
    weights = rng.multinomial(n, np.full(n, 1 / n), size=N_DRAWS) / n
    found = {}
    for name, score in true.items():
        ability = ndtri(np.clip(score + TRAINING_SD * rng.standard_normal(), 0.01, 0.99))
        right = (shared + rng.standard_normal(n) * np.sqrt(1 - SHARED) < ability).astype(np.float64)
        found[name] = _figure(right, weights)
    return found


def _figure(right: NDArray[np.float64], weights: NDArray[np.float64]) -> Figure:
    values = np.concatenate([[right.mean()], weights @ right])
    low, high = wilson_interval(float(values[0]), relative_square(right.size, right.size - 1))
    return Figure(values, right.size, low=low, high=high)
