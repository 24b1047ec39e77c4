"""Share of a drop that is a change of class shares: predictions adjusted to the target's shares.

When domains differ in how often classes occur and in nothing else, a model's p(y|x) is wrong by a known factor: the
target's share of each class over that in training. Multiplying by it gives the right p(y|x) of the target. So the
score of the adjusted predictions parts a drop in two: ``adjusted ST - ST`` is what class shares cost, and
``TT - adjusted ST`` the rest. Scores at one test prior (``priors``) cannot do that: they still depend on the shares
that the model was trained on.

The factor is right for probabilities that are calibrated at home, which a temperature sees to.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LEAST = 1e-12
_COARSE = np.linspace(-3.0, 3.0, 25)
"""Logarithms of the temperatures that are tried first, from 0.05 to 20."""
_ROUNDS = 40
_GOLDEN = (np.sqrt(5) - 1) / 2


def adjust_to_prior(
    probabilities: ArrayLike, train_prior: ArrayLike, test_prior: ArrayLike, temperature: float = 1.0
) -> Floats:
    """Compute probabilities for other class shares: ``p'_k ~ p_k^(1 / temperature) test_prior_k / train_prior_k``.

    Args:
        probabilities: p(y|x) under the training shares, shape (..., n_classes), in [0, 1].
        train_prior: share of each class in training, shape (n_classes,), summing to 1.
        test_prior: share of each class to adjust to, same shape, summing to 1.
        temperature: divides the logarithms of the probabilities, above 0.
    Returns: probabilities, same shape, rows summing to 1.
    Raises: ValueError when a shape does not fit, a prior is no distribution, or a class that occurs in the test was
        never trained on.
    Source: Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities"
        (2002), eq. 2.4.

    >>> adjust_to_prior([0.8, 0.2], [0.8, 0.2], [0.5, 0.5]).round(6).tolist()
    [0.5, 0.5]
    """
    table = np.asarray(probabilities, dtype=np.float64)
    before, after = (_prior(prior, table.shape[-1]) for prior in (train_prior, test_prior))
    if np.any((before == 0) & (after > 0)):
        raise ValueError("a class of the test was never trained on: no factor makes up for that")
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, got {temperature:g}")
    with np.errstate(divide="ignore"):
        factor = np.log(np.divide(after, before, out=np.zeros_like(after), where=before > 0))
    scores = np.log(np.maximum(table, _LEAST)) / temperature + factor
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def fit_temperature(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Find the temperature under which probabilities make labels most likely.

    Args:
        probabilities: p(y|x) of held-out texts of the training domain, shape (n, n_classes), n > 0.
        labels: their class codes, shape (n,).
    Returns: a temperature in [0.05, 20]: above 1 for models that are too sure.
    Raises: ValueError when shapes do not fit.
    Source: Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks" (2017), sec. 4.2.
    """
    table, gold = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    if table.ndim != 2 or gold.shape != table.shape[:1] or not gold.size:
        raise ValueError(f"probabilities (n, n_classes) need n labels, n > 0, got {table.shape} and {gold.shape}")
    logs = np.log(np.maximum(table, _LEAST))
    own = np.take_along_axis(logs, gold[:, None], axis=1)[:, 0]

    def loss(log_temperature: float) -> float:
        sharp = float(np.exp(-log_temperature))
        highest = logs.max(axis=1) * sharp
        normaliser = highest + np.log(np.exp(logs * sharp - highest[:, None]).sum(axis=1))
        return float((normaliser - own * sharp).mean())

    # The loss is convex in 1 / temperature, so the best of a grid brackets the minimum.
    best = int(np.argmin([loss(each) for each in _COARSE]))
    low, high = float(_COARSE[max(best - 1, 0)]), float(_COARSE[min(best + 1, _COARSE.size - 1)])
    for _ in range(_ROUNDS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return float(np.exp((low + high) / 2))


def _prior(prior: ArrayLike, n_classes: int) -> Floats:
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != (n_classes,) or not np.all(shares >= 0) or abs(shares.sum() - 1) > 1e-9:
        raise ValueError(f"a prior must be {n_classes} shares >= 0 that sum to 1, got {shares.tolist()}")
    return shares
