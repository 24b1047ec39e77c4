"""Jensen-Shannon divergence of domains' word distributions, and its correlation with drops.

Domain Robustness paper, appendix A.1 and Table 8: frequencies of the 10,000 most frequent words, without stop words.
The paper does not state which texts are counted, nor over which texts the 10,000 words are selected. Here the caller
counts words (of training texts, without stop words), and each task has one vocabulary: the most frequent words over all
its domains, so that all pairs of domains are compared on the same words.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.correlation import spearman
from shiftbench.metrics.robustness import shift_scores

Floats = NDArray[np.float64]

N_WORDS = 10_000
"""Size of the vocabulary (appendix A.1)."""


def frequent_words(counts: ArrayLike, n_words: int = N_WORDS) -> NDArray[np.int64]:
    """Select the most frequent words over all domains.

    Args:
        counts: word counts per domain, shape (n_domains, n_vocabulary), finite and >= 0.
        n_words: maximum number of words, at least 1; words that never occur are not selected.
    Returns: column indices of the selected words, ascending, shape (at most n_words,). Ties at the cut go to the
        earlier columns, so sort the vocabulary for reproducible results.
    Raises: ValueError when counts are malformed or n_words < 1.
    Source: appendix A.1.

    >>> frequent_words([[5, 0, 1, 0], [0, 2, 1, 0]], 2).tolist()
    [0, 1]
    """
    table = _counts("counts", counts)
    if table.ndim != 2:
        raise ValueError(f"counts must have shape (n_domains, n_vocabulary), got {table.shape}")
    if n_words < 1:
        raise ValueError(f"n_words must be at least 1, got {n_words}")
    totals = table.sum(axis=0)
    chosen = np.argsort(-totals, kind="stable")[:n_words]
    return np.asarray(np.sort(chosen[totals[chosen] > 0]), dtype=np.int64)


def js_divergence(counts_a: ArrayLike, counts_b: ArrayLike) -> Floats:
    """Compute the Jensen-Shannon divergence of two word distributions, in bits.

    ``JS = KL(p || m) / 2 + KL(q || m) / 2`` with ``m = (p + q) / 2`` and logarithms to base 2. It is the square
    of the Jensen-Shannon distance.

    Args:
        counts_a: word counts or frequencies, shape (..., n_words), finite, >= 0, not all 0; normalised to sum to 1.
        counts_b: the same for the other side, same words, broadcastable shape.
    Returns: divergences in [0, 1], shape (...,): 0 for equal distributions, 1 without a common word.
    Raises: ValueError when the words differ in number, a count is negative or not finite, or a side has no word.
    Source: appendix A.1.

    >>> float(js_divergence([1, 1, 0], [1, 1, 0])), float(js_divergence([1, 0], [0, 3]))
    (0.0, 1.0)
    >>> float(js_divergence([1, 1], [1, 0]).round(4))
    0.3113
    """
    p, q = _shares("counts_a", counts_a), _shares("counts_b", counts_b)
    if p.shape[-1] != q.shape[-1]:
        raise ValueError(f"both sides must count the same words, got {p.shape[-1]} and {q.shape[-1]} of them")
    p, q = np.broadcast_arrays(p, q)
    return np.asarray(np.clip((_half_kl(p, q) + _half_kl(q, p)).sum(axis=-1), 0.0, 1.0))


def js_divergence_matrix(counts: ArrayLike) -> Floats:
    """Compute the Jensen-Shannon divergence of every pair of domains.

    Args:
        counts: word counts, shape (n_domains, n_words), finite and >= 0; every row has a positive count.
    Returns: divergences in [0, 1], symmetric with zeros on the diagonal, shape (n_domains, n_domains).
    Raises: ValueError when counts are malformed, with the row of a domain that has no word.
    Source: appendix A.1, Table 8.

    >>> js_divergence_matrix([[1, 1], [1, 0], [0, 1]]).round(3).tolist()
    [[0.0, 0.311, 0.311], [0.311, 0.0, 1.0], [0.311, 1.0, 0.0]]
    """
    if np.ndim(counts) != 2:
        raise ValueError(f"counts must have shape (n_domains, n_words), got {np.shape(counts)}")
    shares = _shares("counts", counts)
    upper = np.triu(np.stack([js_divergence(row, shares) for row in shares]), k=1)
    return np.asarray(upper + upper.T)


@dataclass(frozen=True)
class DivergenceCorrelations:
    """Correlations of drops with divergence over the shifts of a task, arrays of shape ``scores.shape[:-2]``.

    Attributes:
        n_shifts: number of shifts used.
        mean_divergence: mean over these shifts, in [0, 1]; NaN without shifts.
        spearman_divergence_sd: with SD, in [-1, 1]; NaN if a side is constant or fewer than two shifts are known.
        spearman_divergence_td: the same with TD.
    """

    n_shifts: int
    mean_divergence: float
    spearman_divergence_sd: Floats
    spearman_divergence_td: Floats


def divergence_correlations(scores: ArrayLike, divergence: ArrayLike) -> DivergenceCorrelations:
    """Compute the correlation of the drops of a task's shifts with the divergence of source and target.

    For the IDD rows of Table 8 see ``robustness.TaskSummary``. Each pair of domains enters twice (once per direction)
    with the same divergence, and shifts share domains, so p values of ordinary correlation tests are invalid here.

    Args:
        scores: shape (..., n_domains, n_domains), row = source, column = target, diagonal = in-domain; fractions
            in [0, 1], NaN where unknown. A cell that is NaN in one matrix is ignored in all.
        divergence: divergence of every pair of domains, shape (n_domains, n_domains), in [0, 1], symmetric or not; NaN
            where unknown.
    Returns: the correlations over the shifts with known ST, SS, TT and divergence.
    Raises: ValueError when the shapes do not fit or a value is outside [0, 1].
    Source: appendix A.1, Table 8 (which averages the correlations over models).

    >>> scores = [[0.9, 0.8, 0.5], [0.8, 0.9, 0.4], [0.5, 0.4, 0.9]]
    >>> found = divergence_correlations(scores, [[0, 0.1, 0.3], [0.1, 0, 0.4], [0.3, 0.4, 0]])
    >>> found.n_shifts, float(found.spearman_divergence_td.round(6))
    (6, 1.0)
    """
    st, ss, tt = shift_scores(scores)
    matrix = np.asarray(divergence, dtype=np.float64)
    n = np.shape(scores)[-1]
    if matrix.shape != (n, n):
        raise ValueError(f"divergence must have shape {(n, n)}, as the scores, got {matrix.shape}")
    if np.any((matrix < 0) | (matrix > 1)):
        raise ValueError("divergences must lie in [0, 1]; were they computed with base e, or as percentages?")
    pairs = matrix[~np.eye(n, dtype=bool)]
    known = ~np.isnan((st + ss + tt + pairs).reshape(-1, pairs.size)).any(axis=0)
    if not known.any():
        undefined = np.full(st.shape[:-1], np.nan)
        return DivergenceCorrelations(0, float("nan"), undefined, undefined)
    st, ss, tt, pairs = st[..., known], ss[..., known], tt[..., known], pairs[known]
    return DivergenceCorrelations(
        n_shifts=int(known.sum()),
        mean_divergence=float(pairs.mean()),
        spearman_divergence_sd=spearman(ss - st, pairs),
        spearman_divergence_td=spearman(tt - st, pairs),
    )


def _half_kl(p: Floats, q: Floats) -> Floats:
    """Compute the terms of KL(p || (p + q) / 2) / 2; 0 log 0 = 0."""
    used = p > 0
    ratio = np.divide(2 * p, p + q, out=np.ones(p.shape), where=used)
    return np.asarray(0.5 * p * np.log2(ratio))


def _shares(name: str, values: ArrayLike) -> Floats:
    table = _counts(name, values)
    totals = table.sum(axis=-1, keepdims=True)
    if np.any(totals == 0):
        row = int(np.flatnonzero(totals.ravel() == 0)[0])
        raise ValueError(
            f"{name} row {row} contains no word of the vocabulary, so it has no distribution; is the "
            "vocabulary of another task?"
        )
    return np.asarray(table / totals)


def _counts(name: str, values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim < 1 or table.shape[-1] == 0:
        raise ValueError(f"{name} must have a last axis of at least one word, got shape {table.shape}")
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ValueError(f"{name} must be finite and not negative")
    return table
