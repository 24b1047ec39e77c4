"""Average thresholded confidence (ATC): the share of target texts above the threshold that fits the source."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, probability_table, shares

Score = Literal["confidence", "entropy"]
_LEAST = 1e-20


def thresholded_confidence(
    source: ArrayLike, correct: ArrayLike, target: ArrayLike, score: Score = "confidence"
) -> float:
    """Forecast the share of target texts whose score reaches a threshold set at home.

    The threshold is the score of the ``n_wrong``-th least sure source text: as many texts lie at or below it as were
    predicted wrong. It assumes that the same threshold fits the target. Texts at the threshold count as right, as in
    the authors' code, so that on the source itself the forecast is ``1 / n`` above its accuracy.

    Args:
        source: probabilities of held-out source texts, shape (n_source, n_classes).
        correct: whether each was predicted right, 0 or 1, shape (n_source,).
        target: probabilities of the target texts, shape (n_target, n_classes).
        score: the highest probability, or the negative entropy.
    Returns: a fraction in [0, 1]; 1 where no source text was wrong.
    Raises: ValueError when shapes differ or a table holds no distributions.
    Source: Garg et al., "Leveraging unlabeled data to predict out-of-distribution performance" (2022), ATC-MC and
        ATC-NE; with ties as in their code (`ATC_helper.py`).

    >>> thresholded_confidence([[0.9, 0.1], [0.6, 0.4]], [1, 0], [[0.5, 0.5], [0.8, 0.2]])
    0.5
    """
    home, right = probability_table("source", source), shares("correct", correct)
    if right.size != len(home):
        raise ValueError(f"source and correct differ in length: {len(home)} and {right.size}")
    n_wrong = round(float((1 - right).sum()))
    if not n_wrong:
        return 1.0
    threshold = np.partition(_score_sureness(home, score), n_wrong - 1)[n_wrong - 1]
    return float((_score_sureness(probability_table("target", target), score) >= threshold).mean())


def _score_sureness(table: Floats, score: Score) -> Floats:
    if score == "confidence":
        return np.asarray(table.max(axis=1))
    return np.asarray((table * np.log(table + _LEAST)).sum(axis=1))
