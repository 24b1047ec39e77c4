"""Scores at a fixed class prior, and predictions adjusted to another prior.

Domains with different class priors differ in score even if the model is equally good on each class. To remove this,
gold rows of the confusion counts (or classes of examples) are reweighted to a fixed test prior. Drops between such
scores (prior-fixed drops in code) are computed by ``robustness`` from SS, ST and TT as usual. They still depend on the
training prior.

A class with a positive prior but without a gold example has an unknown recall: the score is NaN.

``adjust_to_prior`` measures the part of a drop due to label shift. If domains differ only in their class prior, the
model's p(y|x) is off by a known factor, the target prior over the training prior of each class, and multiplying by it
gives the correct p(y|x) on the target. The score of the adjusted predictions splits a drop in two: ``adjusted ST - ST``
is due to the class prior, ``TT - adjusted ST`` is the rest. Scores at a fixed test prior cannot separate the two parts
because these scores depend on the training prior.

The adjustment assumes probabilities calibrated in-domain, for which ``fit_temperature`` is used.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.classification import macro_f1

Floats = NDArray[np.float64]

NO_ANSWER_SHARE = 0.2
"""Fraction of unanswerable questions in the question-answering task (Domain Robustness paper, appendix C.7)."""

_SUM = 1e-9


def counts_at_prior(counts: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    """Reweight the gold classes of confusion counts to a prior.

    ``c'[k, j] = prior[k] c[k, j] / sum_j c[k, j]``: predictions given the gold class do not change.

    Args:
        counts: confusion counts (weighted, grouped or not), shape (..., n_classes, n_classes + 1), finite, >= 0.
        prior: probability of each class, shape (n_classes,), >= 0, summing to 1. Default: uniform. Classes with
            probability 0 are dropped from gold.
    Returns: counts that sum to 1, same shape; all NaN if a class with a positive prior has no gold example.
    Raises: ValueError when counts are malformed or the prior is not a distribution over the classes.

    >>> counts_at_prior([[3, 1, 0], [0, 4, 0]]).tolist()
    [[0.375, 0.125, 0.0], [0.0, 0.5, 0.0]]
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2] + 1:
        raise ValueError(
            f"counts must have shape (..., n_classes, n_classes + 1), got {table.shape}; "
            "is the last column, for unusable outputs, missing?"
        )
    _check_amounts("counts", table)
    shares = _prior(prior, table.shape[-2])
    gold = table.sum(axis=-1, keepdims=True)
    scaled = shares[:, None] * np.divide(table, gold, out=np.zeros(table.shape), where=gold > 0)
    lacking = _lacking(gold[..., 0], shares)
    return np.asarray(np.where(lacking[..., None, None], np.nan, scaled))


def prior_fixed_accuracy(counts: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    """Compute accuracy at a fixed prior: ``sum_k prior[k] recall[k]``; balanced accuracy when the prior is uniform.

    Args:
        counts: as for ``counts_at_prior``.
        prior: as for ``counts_at_prior``.
    Returns: fractions in [0, 1], higher is better, shape (...,); NaN if a class with a positive prior has no gold
        example.
    Raises: ValueError as ``counts_at_prior``.

    >>> float(prior_fixed_accuracy([[3, 1, 0], [0, 4, 0]])), float(prior_fixed_accuracy([[3, 1, 0], [0, 0, 0]]))
    (0.875, nan)
    """
    table = counts_at_prior(counts, prior)
    return np.asarray(np.diagonal(table[..., :-1], axis1=-2, axis2=-1).sum(axis=-1))


def prior_fixed_macro_f1(counts: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    """Compute macro-F1 at a fixed prior: F1 per class from reweighted counts, averaged over classes of positive prior.

    The prior affects precisions but not recalls.

    Args:
        counts: as for ``counts_at_prior``.
        prior: as for ``counts_at_prior``.
    Returns: fractions in [0, 1], higher is better, shape (...,); NaN if a class with a positive prior has no gold
        example.
    Raises: ValueError as ``counts_at_prior``.

    >>> float(prior_fixed_macro_f1([[3, 1, 0], [0, 4, 0]]).round(4))
    0.873
    """
    table = counts_at_prior(counts, prior)
    lacking = np.asarray(np.isnan(table).any(axis=(-2, -1)))
    classes = _prior(prior, table.shape[-2]) > 0
    placeholder = np.eye(table.shape[-2], table.shape[-1])
    f1 = macro_f1(np.where(lacking[..., None, None], placeholder, table), classes)
    return np.asarray(np.where(lacking, np.nan, f1))


def prior_fixed_mean(sums: ArrayLike, sizes: ArrayLike, prior: ArrayLike | None = None) -> Floats:
    """Compute the mean of a per-example score at a fixed prior: ``sum_k prior[k] sums[k] / sizes[k]``.

    Args:
        sums: sum of scores per class, shape (..., n_classes), finite.
        sizes: number (or total weight) of examples per class, same shape, finite and >= 0.
        prior: as for ``counts_at_prior``.
    Returns: means in the unit of the score, shape (...,); NaN if a class with a positive prior has size 0.
    Raises: ValueError when shapes differ, a value is malformed or the prior is not a distribution over the classes.

    >>> float(prior_fixed_mean([30.0, 5.0], [40.0, 5.0], [0.8, 0.2]).round(3))
    0.8
    """
    totals, amounts = np.asarray(sums, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if totals.ndim < 1 or totals.shape != amounts.shape:
        raise ValueError(f"sums and sizes must share a shape (..., n_classes), got {totals.shape} and {amounts.shape}")
    _check_amounts("sizes", amounts)
    if not np.all(np.isfinite(totals)):
        raise ValueError("sums must be finite; a missing score leaves the whole test set undefined")
    shares = _prior(prior, totals.shape[-1])
    means = np.divide(totals, amounts, out=np.zeros(totals.shape), where=amounts > 0)
    return np.asarray(np.where(_lacking(amounts, shares), np.nan, (means * shares).sum(axis=-1)))


def prior_fixed_qa(
    scores: ArrayLike,
    has_answer: ArrayLike,
    *,
    no_answer: float = NO_ANSWER_SHARE,
    weights: ArrayLike | None = None,
) -> Floats:
    """Compute a question-answering score at a fixed fraction of unanswerable questions.

    Args:
        scores: token F1 or exact match of each question, shape (..., n), finite; leading axes are runs.
        has_answer: whether gold has an answer, booleans, shape (n,).
        no_answer: fraction of unanswerable questions, in [0, 1].
        weights: weight of each question, shape (n,), finite and >= 0. Default: 1 each.
    Returns: fractions in [0, 1], higher is better, shape (...,); NaN if a kind of question with a positive fraction
        does not occur.
    Raises: ValueError when shapes do not fit, a value is malformed or ``no_answer`` is out of range.
    Source: the fractions are the Domain Robustness paper's, appendix C.7 and Table 10; reweighting instead of
        resampling is this project's.

    >>> float(prior_fixed_qa([1.0, 0.5, 0.0, 1.0], [True, True, False, False]).round(3))
    0.7
    """
    values, answerable = np.asarray(scores, dtype=np.float64), np.asarray(has_answer)
    if answerable.dtype != np.bool_ or answerable.ndim != 1 or values.shape[-1:] != answerable.shape:
        raise ValueError(
            f"scores (..., n) need has_answer of n booleans, got {values.shape} and {answerable.dtype} "
            f"{answerable.shape}"
        )
    if not 0 <= no_answer <= 1:
        raise ValueError(f"no_answer must be a proportion in [0, 1], got {no_answer:g}; did you pass percent?")
    amounts = np.ones(answerable.size) if weights is None else np.asarray(weights, dtype=np.float64)
    if amounts.shape != answerable.shape:
        raise ValueError(f"weights must have shape {answerable.shape}, got {amounts.shape}")
    _check_amounts("weights", amounts)
    kinds = np.stack([answerable, ~answerable], axis=1) * amounts[:, None]  # (n, 2)
    sums = values @ kinds
    return prior_fixed_mean(sums, np.broadcast_to(kinds.sum(axis=0), sums.shape), [1 - no_answer, no_answer])


def _prior(prior: ArrayLike | None, n_classes: int) -> Floats:
    if prior is None:
        return np.full(n_classes, 1.0 / n_classes)
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != (n_classes,):
        raise ValueError(f"prior must have shape {(n_classes,)}, one probability per class, got {shares.shape}")
    if not np.all(shares >= 0) or not abs(shares.sum() - 1) <= _SUM:
        raise ValueError(f"prior must be probabilities that sum to 1, got {shares.tolist()}; did you pass percent?")
    return shares


def _lacking(sizes: Floats, shares: Floats) -> NDArray[np.bool_]:
    return np.asarray(((sizes == 0) & (shares > 0)).any(axis=-1))


def _check_amounts(name: str, values: Floats) -> None:
    if not np.all(np.isfinite(values)) or np.any(values < 0):
        raise ValueError(f"{name} must be finite and not negative")


_LEAST = 1e-12
"""Minimum probability whose logarithm is taken."""
_COARSE = np.linspace(-3.0, 3.0, 25)
"""Initial grid of log temperatures, from 0.05 to 20."""
_ROUNDS = 40
"""Steps of the golden-section search for the temperature."""
_GOLDEN = (np.sqrt(5) - 1) / 2


def adjust_to_prior(
    probabilities: ArrayLike, train_prior: ArrayLike, test_prior: ArrayLike, temperature: float = 1.0
) -> Floats:
    """Adjust probabilities to another class prior: ``p'_k ~ p_k^(1 / temperature) test_prior_k / train_prior_k``.

    Args:
        probabilities: p(y|x) under the training prior, shape (..., n_classes), in [0, 1].
        train_prior: class prior in training, shape (n_classes,), summing to 1.
        test_prior: class prior to adjust to, same shape, summing to 1.
        temperature: divides the logarithms of the probabilities, above 0.
    Returns: probabilities, same shape, rows summing to 1.
    Raises: ValueError when a shape does not fit, a prior is not a distribution, or a class with a positive test prior
        does not occur in training.
    Source: Saerens, Latinne, Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities"
        (2002), eq. 2.4.

    >>> adjust_to_prior([0.8, 0.2], [0.8, 0.2], [0.5, 0.5]).round(6).tolist()
    [0.5, 0.5]
    """
    table = np.asarray(probabilities, dtype=np.float64)
    before, after = (_label_prior(prior, table.shape[-1]) for prior in (train_prior, test_prior))
    if np.any((before == 0) & (after > 0)):
        raise ValueError("a class of the test data has no training examples, so its prior cannot be corrected")
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, got {temperature:g}")
    with np.errstate(divide="ignore"):
        factor = np.log(np.divide(after, before, out=np.zeros_like(after), where=before > 0))
    scores = np.log(np.maximum(table, _LEAST)) / temperature + factor
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def fit_temperature(probabilities: ArrayLike, labels: ArrayLike) -> float:
    """Fit a temperature by maximum likelihood (temperature scaling).

    Args:
        probabilities: p(y|x) of held-out texts of the training domain, shape (n, n_classes), n > 0.
        labels: their class codes, shape (n,).
    Returns: a temperature in [0.05, 20], above 1 for overconfident models.
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

    # The loss is convex in 1 / temperature, so the neighbours of the best grid point bracket the minimum.
    best = int(np.argmin([loss(each) for each in _COARSE]))
    low, high = float(_COARSE[max(best - 1, 0)]), float(_COARSE[min(best + 1, _COARSE.size - 1)])
    for _ in range(_ROUNDS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return float(np.exp((low + high) / 2))


def _label_prior(prior: ArrayLike, n_classes: int) -> Floats:
    shares = np.asarray(prior, dtype=np.float64)
    if shares.shape != (n_classes,) or not np.all(shares >= 0) or abs(shares.sum() - 1) > 1e-9:
        raise ValueError(f"a prior must be {n_classes} probabilities that sum to 1, got {shares.tolist()}")
    return shares
