"""Contextual calibration: corrects label scores for the prompt's prior preference for some labels.

Zhao et al. 2021, "Calibrate Before Use: Improving Few-Shot Performance of Language Models", sec. 5. The same prompt,
with the same demonstrations, is sent with content-free inputs; each label's probability is divided by its probability
there, and the quotients are normalised. No labelled rows are needed. With several input columns, each is replaced by a
content-free input; the authors replace the whole example.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONTENT_FREE = ("N/A", "[MASK]", "")
"""Content-free inputs over which the paper averages."""


def calibrated_scores(scores: ArrayLike, content_free: ArrayLike) -> NDArray[np.float64]:
    """Divide label probabilities by their mean probability for content-free inputs.

    As in the authors' code, the mean is over unnormalised probabilities, not over probabilities normalised among
    labels.

    Args:
        scores: natural log-probabilities of the labels, shape (..., C).
        content_free: log-probabilities for F content-free inputs after the same prompts, shape (..., F, C).
    Returns: log quotients, shape (..., C); their softmax gives the calibrated probabilities.
    Raises: ValueError if a log-probability is not finite, or the shapes do not match.
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
