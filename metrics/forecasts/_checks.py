"""What the forecasts share: checks of their arrays, a straight line, and the error of a method without a meaning."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.correlation import fit_line

Floats = NDArray[np.float64]

MIN_POINTS = 3
"""Points that a straight line needs: through two of them it always goes."""


class NoForecastError(ValueError):
    """A method has no meaning for these inputs; the message is the reason, in a few words."""


def probability_table(name: str, values: ArrayLike) -> Floats:
    """Return probabilities as an array.

    Args:
        name: what messages call them.
        values: shape (n, n_classes), n > 0, in [0, 1], rows summing to 1 within 1e-3; they are scaled to 1.
    Raises: ValueError naming the first row that is no distribution.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"{name} must have shape (n, n_classes), n > 0, got {table.shape}")
    sums = table.sum(axis=1)
    bad = ~((table >= 0).all(axis=1) & (np.abs(sums - 1) <= 1e-3))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name} row {row} is no distribution: {table[row].tolist()}; did you pass logits?")
    return np.asarray(table / sums[:, None])


def shares(name: str, values: ArrayLike) -> Floats:
    """Return scores or outcomes as an array.

    Args:
        name: what messages call them.
        values: shape (n,), n > 0, in [0, 1].
    Raises: ValueError when the shape or a value is wrong.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must have shape (n,), n > 0, got {array.shape}")
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{name} must lie in [0, 1]; did you pass points (x100)?")
    return array


def class_codes(name: str, values: ArrayLike, n: int, n_codes: int) -> NDArray[np.int64]:
    """Return codes of classes as an array.

    Args:
        name: what messages call them.
        values: whole numbers in [0, n_codes), shape (n,).
        n: how many there must be.
        n_codes: number of codes.
    Raises: ValueError when the shape or a code is wrong.
    """
    codes = np.asarray(values)
    if codes.shape != (n,) or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"{name} must be {n} whole numbers, got shape {codes.shape} of {codes.dtype}")
    if codes.min() < 0 or codes.max() >= n_codes:
        raise ValueError(f"{name} must be codes from 0 to {n_codes - 1}")
    return codes.astype(np.int64)


def fit_shift_line(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """Fit a straight line through known shifts by least squares (``metrics.correlation.fit_line``).

    Args:
        x: shape (n,), finite.
        y: same shape, finite.
    Returns: slope and intercept.
    Raises: NoForecastError with fewer than ``MIN_POINTS`` points, or where x does not vary; ValueError when
        shapes differ or a value is not finite.

    >>> [round(part, 6) for part in fit_shift_line([0.0, 1.0, 2.0], [1.0, 3.0, 5.0])]
    [2.0, 1.0]
    """
    a = np.asarray(x, dtype=np.float64)
    if a.size < MIN_POINTS:
        raise NoForecastError(f"a line needs {MIN_POINTS} labelled shifts between other domains, there are {a.size}")
    if float(np.square(a - a.mean()).sum()) <= 1e-12 * max(1.0, float(np.square(a).sum())):
        raise NoForecastError("a line needs shifts that differ in what it is drawn over")
    return fit_line(x, y, axis="linear")
