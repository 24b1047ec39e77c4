"""Class shares of the target by expectation maximisation over its probabilities."""

import numpy as np
from numpy.typing import ArrayLike

from shiftbench.metrics.forecasts._checks import Floats, NoForecastError, probability_table

_ROUNDS, _CLOSE = 10_000, 1e-8


def shares_by_em(target: ArrayLike, source_prior: ArrayLike) -> Floats:
    """Estimate the target's class shares: those that make its texts most likely.

    Each round adjusts the probabilities to the shares so far, ``p_k q_k / prior_k``, and averages them to new shares.
    It assumes label shift, and probabilities that are calibrated at home.

    Args:
        target: probabilities of the target texts under the source's shares, shape (n, n_classes).
        source_prior: share of each class that the probabilities hold for, shape (n_classes,), summing to 1.
    Returns: shares, shape (n_classes,), summing to 1; a class without a share at home has none.
    Raises: NoForecastError when the rounds do not settle; ValueError when a shape does not fit.
    Source: Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities"
        (2002), eq. 2.9.

    >>> shares_by_em([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]], [0.5, 0.5]).round(4).tolist()
    [0.5, 0.5]
    """
    table, prior = probability_table("target", target), np.asarray(source_prior, dtype=np.float64)
    if prior.shape != table.shape[1:] or np.any(prior < 0) or abs(prior.sum() - 1) > 1e-6:
        raise ValueError(f"source_prior must be {table.shape[1]} shares that sum to 1, got {prior.tolist()}")
    ratios = np.divide(table, prior, out=np.zeros_like(table), where=prior > 0)
    shares = prior
    for _ in range(_ROUNDS):
        weighted = ratios * shares
        totals = weighted.sum(axis=1, keepdims=True)
        if not np.all(totals > 0):
            raise NoForecastError("a target text has probability 0 for every class of the source")
        after = (weighted / totals).mean(axis=0)
        if np.abs(after - shares).max() < _CLOSE:
            return np.asarray(after)
        shares = after
    raise NoForecastError(f"the target's class shares did not settle in {_ROUNDS:,} rounds")
