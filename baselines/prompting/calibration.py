"""Contextual calibration: a prompt's preference for some labels, whatever the input, is divided out of its answers.

Zhao et al. 2021, "Calibrate Before Use: Improving Few-Shot Performance of Language Models", sec. 5. The same prompt,
with the same demonstrations, is asked about inputs without content; a label's probability is divided by the one that it
has there, and the quotients are normalised. Needs no labelled row. Of several input columns each is left without
content, where the authors replace the whole example.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONTENT_FREE = ("N/A", "[MASK]", "")
"""The inputs without content over which the paper averages."""


def calibrated_scores(scores: ArrayLike, content_free: ArrayLike) -> NDArray[np.float64]:
    """Divide labels' probabilities by their mean probability for inputs without content.

    The means are of probabilities among all texts, as in the authors' code, not of shares among the labels.

    Args:
        scores: labels' log-probabilities, natural logarithms, shape (..., C).
        content_free: those for F inputs without content after the same prompts, shape (..., F, C).
    Returns: the logarithms of the quotients, shape (..., C); their softmax are the calibrated probabilities.
    Raises: ValueError when a log-probability is not finite, or shapes do not fit.
    Source: equation 1 with b = 0 and the diagonal matrix of sec. 5.

    >>> from scipy.special import softmax
    >>> softmax(calibrated_scores(np.log([0.6, 0.2]), np.log([[0.6, 0.1], [0.6, 0.1]]))).round(3).tolist()
    [0.333, 0.667]
    """
    from scipy.special import logsumexp

    asked, free = np.asarray(scores, dtype=np.float64), np.asarray(content_free, dtype=np.float64)
    if not (np.isfinite(asked).all() and np.isfinite(free).all()):
        raise ValueError("labels' log-probabilities must be finite; was a label never scored?")
    if free.ndim != asked.ndim + 1 or free.shape[-1] != asked.shape[-1] or free.shape[-2] == 0:
        raise ValueError(f"scores (..., C) and content_free (..., F, C) must fit, got {asked.shape} and {free.shape}")
    return np.asarray(asked - logsumexp(free, axis=-2) + np.log(free.shape[-2]))
