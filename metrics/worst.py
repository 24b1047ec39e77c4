"""The largest of several true drops, from drops that are noisy.

The largest observed drop overstates the largest true one. Selecting on one half of the texts and estimating on the
other (``bootstrap.split_half_worst``) is right for another question, how bad the shift is that *looks* worst, and
that is on average less bad than the shift that *is* worst. Here the true drops are estimated together.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_N_SPREADS = 60
_WIDEST = 3.0


def posterior_worst(drops: ArrayLike, covariance: ArrayLike, rng: np.random.Generator, *, n_draws: int = 4000) -> float:
    """Compute the posterior mean of the largest true drop, under a normal model over shifts.

    Observed drops are normal around true ones with a known covariance, and true ones normal around a common mean with
    a spread ``tau``. Mean and tau are not known: both have flat priors and are integrated over (tau on a grid), so
    that drops which differ no more than noise makes them are drawn together, and drops far apart hardly.

    Args:
        drops: observed, shape (k,), k >= 1, finite, any unit.
        covariance: of the noise in them over test sets, shape (k, k), symmetric, none below 0.
        rng: draws true drops from their posterior.
        n_draws: how many.
    Returns: the mean over draws of the largest drop; of a single shift, or without any noise, the largest drop itself.
    Raises: ValueError when shapes do not fit or a value is not finite.
    Source: the hierarchical normal model of Gelman et al., "Bayesian Data Analysis", sec. 5.4, with correlated noise.

    >>> rng = np.random.default_rng(0)
    >>> noise = 0.02**2 * np.eye(3)
    >>> [round(posterior_worst(drops, noise, rng), 2) for drops in ([0.1, 0.11, 0.12], [0.1, 0.2, 0.3])]
    [0.12, 0.3]
    """
    seen, noise = np.asarray(drops, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if seen.ndim != 1 or seen.size == 0 or noise.shape != (seen.size, seen.size):
        raise ValueError(f"drops need shape (k,) and covariance (k, k), got {seen.shape} and {noise.shape}")
    if not (np.all(np.isfinite(seen)) and np.all(np.isfinite(noise))):
        raise ValueError("drops and their covariance must be finite; leave out shifts that lack one")
    # In the noise's own axes all shifts are independent, whatever tau is.
    lengths, axes = np.linalg.eigh((noise + noise.T) / 2)
    lengths = np.maximum(lengths, 0.0)
    largest = float(np.sqrt(lengths.max()))
    if seen.size == 1 or largest == 0.0:
        return float(seen.max())
    turned, ones = axes.T @ seen, axes.T @ np.ones(seen.size)
    widest = _WIDEST * max(float(seen.std(ddof=1)), float(np.sqrt(np.diag(noise).mean())))
    spreads = (np.arange(_N_SPREADS) + 0.5) / _N_SPREADS * widest
    weights, means, precisions = _spread_posterior(turned, ones, lengths, spreads)
    chosen = rng.choice(_N_SPREADS, n_draws, p=weights)
    centre = means[chosen] + rng.standard_normal(n_draws) / np.sqrt(precisions[chosen])
    square = spreads[chosen, None] ** 2
    total = lengths + square  # (n_draws, k)
    expected = (square * turned + lengths * centre[:, None] * ones) / total
    drawn = expected + np.sqrt(square * lengths / total) * rng.standard_normal(total.shape)
    return float((drawn @ axes.T).max(axis=1).mean())


def _spread_posterior(turned: Floats, ones: Floats, lengths: Floats, spreads: Floats) -> tuple[Floats, Floats, Floats]:
    """Compute each spread's posterior weight, and mean and precision of the common mean given it."""
    total = lengths + spreads[:, None] ** 2  # (n_spreads, k)
    precisions = (ones**2 / total).sum(axis=1)
    means = (ones * turned / total).sum(axis=1) / precisions
    away = turned - means[:, None] * ones
    log = -0.5 * (np.log(total).sum(axis=1) + np.log(precisions) + (away**2 / total).sum(axis=1))
    weights = np.exp(log - log.max())
    return weights / weights.sum(), means, precisions
