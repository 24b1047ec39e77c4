"""Scores of single-label classification, computed from confusion counts.

Conventions: classes are codes ``0 .. n_classes - 1``; the prediction code ``n_classes`` means "unusable output"
and always counts as wrong. All scores are fractions in [0, 1], higher is better. Confusion counts may have leading axes
(shifts, runs, depth cuts), which every score keeps.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.float64]


def confusion_counts(
    gold: ArrayLike,
    predicted: ArrayLike,
    n_classes: int,
    *,
    cells: ArrayLike | None = None,
    n_cells: int | None = None,
    weights: ArrayLike | None = None,
) -> Counts:
    """Count examples by gold class and predicted class.

    Args:
        gold: class codes, shape (n,), integers in [0, n_classes).
        predicted: class codes, shape (n,), integers in [0, n_classes]; ``n_classes`` = unusable output.
        n_classes: number of classes of the task, at least 1.
        cells: index of the table that each example counts in, shape (n,), integers in [0, n_cells). Default: one
            table.
        n_cells: number of tables; required with ``cells``.
        weights: weight of each example, shape (n,), finite and >= 0. Default: 1 each.
    Returns: counts, shape (n_classes, n_classes + 1), or (n_cells, n_classes, n_classes + 1) with ``cells``.
    Raises: ValueError when shapes differ, a code is out of range, or a weight is negative or not finite.

    >>> confusion_counts([0, 0, 1], [0, 1, 1], 2)
    array([[1., 1., 0.],
           [0., 1., 0.]])
    """
    gold_codes = np.asarray(gold, dtype=np.int64)
    predicted_codes = np.asarray(predicted, dtype=np.int64)
    if gold_codes.ndim != 1 or gold_codes.shape != predicted_codes.shape:
        raise ValueError(
            f"gold and predicted must be 1-d and of equal length, got {gold_codes.shape} and {predicted_codes.shape}"
        )
    _check_codes("gold", gold_codes, n_classes)
    _check_codes("predicted", predicted_codes, n_classes + 1)
    flat = gold_codes * (n_classes + 1) + predicted_codes
    tables = 1
    if cells is not None:
        if n_cells is None:
            raise ValueError("cells needs n_cells, the number of tables")
        cell_codes = np.asarray(cells, dtype=np.int64)
        if cell_codes.shape != gold_codes.shape:
            raise ValueError(f"cells must have the shape of gold {gold_codes.shape}, got {cell_codes.shape}")
        _check_codes("cells", cell_codes, n_cells)
        flat = cell_codes * (n_classes * (n_classes + 1)) + flat
        tables = n_cells
    example_weights = None if weights is None else _checked_weights(weights, gold_codes.shape)
    counts = np.bincount(flat, weights=example_weights, minlength=tables * n_classes * (n_classes + 1))
    shape = (n_classes, n_classes + 1) if cells is None else (tables, n_classes, n_classes + 1)
    return counts.reshape(shape).astype(np.float64)


def accuracy(counts: ArrayLike) -> Counts:
    """Compute accuracy: ``sum of the diagonal / sum of all``.

    With exactly one label per example this equals micro-averaged F1 (each misclassified example is one false positive
    and one false negative; an unusable output counts as both), and with depth weights it is Depth F1.

    Args:
        counts: confusion counts, shape (..., n_classes, n_classes + 1).
    Returns: fractions, shape (...,).
    Raises: ValueError when a table has no example.

    >>> float(accuracy([[3, 1, 0], [0, 4, 0]]))
    0.875
    """
    table = _checked_counts(counts)
    total = _sum(table.reshape(*table.shape[:-2], -1))
    if np.any(total <= 0):
        raise ValueError("accuracy is undefined without examples (all counts or weights are 0)")
    return np.asarray(_sum(_right(table)) / total)


def per_class_f1(counts: ArrayLike) -> Counts:
    """Compute F1 of each class: ``2 tp / (gold + predicted)``.

    Args:
        counts: confusion counts, shape (..., n_classes, n_classes + 1).
    Returns: fractions, shape (..., n_classes); NaN where a class is neither in gold nor predicted.

    >>> per_class_f1([[3, 1, 0], [0, 4, 0]]).round(4).tolist()
    [0.8571, 0.8889]
    """
    table = _checked_counts(counts)
    n_classes = table.shape[-2]
    # Number of gold plus predicted examples per class, as one matrix product (see _sum).
    belongs = np.zeros((n_classes, n_classes + 1, n_classes))
    every = np.arange(n_classes)
    belongs[every, :, every] += 1
    belongs[:, every, every] += 1
    claims = table.reshape(*table.shape[:-2], -1) @ belongs.reshape(-1, n_classes)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(claims > 0, 2 * _right(table) / claims, np.nan))


def macro_f1(counts: ArrayLike, classes: ArrayLike | None = None) -> Counts:
    """Compute macro F1, the unweighted mean of the classes' F1.

    A class in ``classes`` that is predicted but absent from gold scores 0; one absent from both is skipped.
    Averaging over the classes of the full gold split, rather than those of a subset, keeps subsets comparable.

    Args:
        counts: confusion counts, shape (..., n_classes, n_classes + 1).
        classes: mask of the classes to average, shape (n_classes,) or (..., n_classes).
            Default: the classes with gold examples in ``counts``.
    Returns: fractions, shape (...,).
    Raises: ValueError when no class remains to average over.

    >>> round(float(macro_f1([[3, 1, 0], [0, 4, 0]])), 4)
    0.873
    """
    table = _checked_counts(counts)
    in_mean = table.sum(axis=-1) > 0 if classes is None else np.asarray(classes, dtype=bool)
    f1 = per_class_f1(table)
    counted = in_mean & ~np.isnan(f1)
    n_counted = _sum(counted.astype(np.float64))
    if np.any(n_counted == 0):
        raise ValueError("macro F1 is undefined: no class of the gold split occurs in these counts")
    return np.asarray(_sum(np.where(counted, f1, 0.0)) / n_counted)


def _sum(values: Counts) -> Counts:
    """Sum over the last axis by a matrix product: ``np.sum`` is slow over short axes."""
    return np.asarray(values @ np.ones(values.shape[-1]))


def _right(table: Counts) -> Counts:
    return np.asarray(np.diagonal(table[..., :-1], axis1=-2, axis2=-1))


def _checked_counts(counts: ArrayLike) -> Counts:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2] + 1:
        raise ValueError(
            f"counts must have shape (..., n_classes, n_classes + 1), got {table.shape}; "
            "is the last column, for unusable outputs, missing?"
        )
    return table


def _check_codes(name: str, codes: NDArray[np.int64], limit: int) -> None:
    if codes.size and (codes.min() < 0 or codes.max() >= limit):
        raise ValueError(f"{name} codes must lie in [0, {limit}), got {codes.min()} to {codes.max()}")


def _checked_weights(weights: ArrayLike, shape: tuple[int, ...]) -> Counts:
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != shape:
        raise ValueError(f"weights must have shape {shape}, got {values.shape}")
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError("weights must be finite and not negative")
    return values
