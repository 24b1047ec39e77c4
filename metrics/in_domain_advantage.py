"""Home advantage: how much better models are on the domain that they were trained on, on three scales.

Good models raise a row of the score matrix, hard targets lower a column. If both added up, whatever the diagonal has
beyond that would be home advantage, and its mean is ``mean diagonal - mean off-diagonal``. But scores need not add up:
where they multiply (``S = a_i b_j``, no home advantage at all) the raw difference is above 0 whenever good models are
at home on easy targets. On the scale of logarithms that product is a sum; on that of logits odds are. So a home
advantage is claimed only where all three scales show one.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.robustness import shift_scores

Floats = NDArray[np.float64]
Scale = Literal["raw", "log", "logit"]

SCALES: tuple[Scale, ...] = ("raw", "log", "logit")


class Advantage(NamedTuple):
    """A home advantage in units of its scale: score, log score or log odds.

    Attributes:
        mean: mean diagonal less mean off-diagonal, shape (...,).
        by_domain: of each domain, shape (..., n_domains), their mean being ``mean``; NaN with 2 domains.
    """

    mean: Floats
    by_domain: Floats


def home_advantage(scores: ArrayLike, scale: Scale = "raw") -> Advantage:
    """Compute models' advantage at home beyond the model's level elsewhere and the domain's ease for other models.

    Rows and columns are fitted to the off-diagonal cells by least squares; a domain's home advantage is its diagonal
    cell less that fit. The mean over domains is the mean diagonal less the mean off-diagonal.

    Args:
        scores: shape (..., n_domains, n_domains), row = source, column = target, fractions in [0, 1]; NaN where
            unknown.
        scale: ``raw``, or logarithms or logits of the scores.
    Returns: the mean and the domains' own; NaN where a score is unknown, infinite or NaN where one has no logarithm.
    Raises: ValueError when the matrix is not square, has fewer than two domains or a score outside [0, 1], or the scale
        is unknown.
    Source: this project's, in place of the Domain Robustness paper's test (appendix C.8).

    >>> a, b = np.array([0.9, 0.8, 0.7]), np.array([0.9, 0.8, 0.7])
    >>> [round(float(home_advantage(np.outer(a, b), scale).mean), 3) for scale in ("raw", "log")]
    [0.01, 0.0]
    """
    shift_scores(scores)  # checks the matrix
    matrix = on_scale(scores, scale)
    weights = home_weights(matrix.shape[-1])
    with np.errstate(invalid="ignore"):
        advantages = np.einsum("...ij,kij->...k", matrix, weights)
    return Advantage(advantages[..., 0], advantages[..., 1:])


def on_scale(scores: ArrayLike, scale: Scale) -> Floats:
    """Convert scores to a scale.

    Args:
        scores: fractions in [0, 1], any shape.
        scale: ``raw``, ``log`` (natural) or ``logit``.
    Returns: the same shape; infinite where there is no logarithm.
    Raises: ValueError when the scale is unknown.

    >>> on_scale([0.5, 0.0], "logit").tolist()
    [0.0, -inf]
    """
    values = np.asarray(scores, dtype=np.float64)
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    with np.errstate(divide="ignore"):
        if scale == "raw":
            return values
        return np.asarray(np.log(values) if scale == "log" else np.log(values) - np.log1p(-values))


def home_weights(n_domains: int) -> Floats:
    """Compute each cell's weight in the home advantage, which is the weighted sum of the score matrix.

    Args:
        n_domains: at least 2.
    Returns: shape (1 + n_domains, n_domains, n_domains): of the mean first, then of each domain; NaN for the domains
        of 2, whose rows and columns no off-diagonal cells tell apart.
    Raises: ValueError with fewer than 2 domains.

    >>> home_weights(3)[0].round(2).tolist()
    [[0.33, -0.17, -0.17], [-0.17, 0.33, -0.17], [-0.17, -0.17, 0.33]]
    """
    n = n_domains
    if n < 2:
        raise ValueError(f"home advantage needs at least 2 domains, got {n}")
    off = 1.0 - np.eye(n)
    weights = np.full((1 + n, n, n), np.nan)
    weights[0] = np.eye(n) / n - off / (n * (n - 1))
    if n > 2:
        # Least squares off the diagonal: row d + column d = (their two sums - sum of all / (n - 1)) / (n - 2).
        for domain in range(n):
            cross = off / (1 - n)
            cross[domain] += off[domain]
            cross[:, domain] += off[:, domain]
            weights[1 + domain] = -cross / (n - 2)
            weights[1 + domain, domain, domain] += 1.0
    return weights
