"""Scores of generated text: ROUGE-L, and BERTScore from given token embeddings.

ROUGE-L is that of the ``rouge-score`` package without stemming: words are the runs of ``[a-z0-9]`` after
lower casing, so text in other scripts has none. BERTScore is greedy matching by cosine, without idf weighting and
without baseline rescaling.

Both functions return per-example scores, to be averaged with or without weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_LETTERS_AND_DIGITS = b"abcdefghijklmnopqrstuvwxyz0123456789"
_SEPARATED = bytes(byte if byte in _LETTERS_AND_DIGITS else ord(" ") for byte in range(256))
_BLOCK_CELLS = 2**22
"""Approximate maximum number of values in one block of BERTScore: padded token vectors and cosines."""


@dataclass(frozen=True)
class MatchScores:
    """Scores per pair of candidate and reference, arrays of shape (n,).

    Attributes:
        precision: fraction (or mean similarity) of the candidate's tokens matched in the reference.
        recall: fraction (or mean similarity) of the reference's tokens matched in the candidate.
        f1: their harmonic mean.
    """

    precision: Floats
    recall: Floats
    f1: Floats


def rouge_l(candidates: Sequence[str], references: Sequence[str]) -> MatchScores:
    """Compute ROUGE-L of each candidate: length of the longest common subsequence relative to either text's length.

    The longest common subsequence is computed bit-parallel, with one integer per reference. Each distinct text is
    tokenised once.

    Args:
        candidates: n generated texts.
        references: n reference texts.
    Returns: fractions in [0, 1], higher is better. All three are 0 when either text has no words, as in the
        ``rouge-score`` package.
    Raises: ValueError when the lengths differ.
    Source: ROUGE as ``rouge-score`` computes it (``use_stemmer=False``).

    >>> scores = rouge_l(["a red car"], ["the red old car"])
    >>> scores.precision.round(3).tolist(), scores.recall.tolist(), scores.f1.round(3).tolist()
    ([0.667], [0.5], [0.571])
    """
    if len(candidates) != len(references):
        raise ValueError(f"{len(candidates)} candidates but {len(references)} references")
    distinct = list(dict.fromkeys([*candidates, *references]))
    words_of = dict(zip(distinct, _split_words(distinct), strict=True))
    rows_of: dict[str, dict[bytes, int]] = {}
    common = np.zeros(len(candidates))
    for pair, (candidate, reference) in enumerate(zip(candidates, references, strict=True)):
        rows = rows_of.get(reference)
        if rows is None:
            rows = rows_of[reference] = _positions(words_of[reference])
        common[pair] = _common_length(words_of[candidate], rows, len(words_of[reference]))
    candidate_length = np.array([len(words_of[text]) for text in candidates], dtype=np.float64)
    reference_length = np.array([len(words_of[text]) for text in references], dtype=np.float64)
    precision = common / np.maximum(candidate_length, 1)
    recall = common / np.maximum(reference_length, 1)
    return MatchScores(precision, recall, _harmonic(precision, recall))


def bert_score(
    candidate_tokens: ArrayLike,
    candidate_offsets: ArrayLike,
    reference_tokens: ArrayLike,
    reference_offsets: ArrayLike,
    pairs: ArrayLike | None = None,
) -> MatchScores:
    """Compute BERTScore from token embeddings: each token is matched to the most similar token of the other text.

    Precision is the mean over the candidate's tokens of the highest cosine with any reference token; recall
    is the same with the sides exchanged. Token vectors of all texts are concatenated, so that each distinct text is
    embedded only once even if it occurs in several pairs.

    Args:
        candidate_tokens: token embeddings of the candidates, shape (n_candidate_tokens, d); they are normalised to
            unit length here. float32 stays float32.
        candidate_offsets: start of each candidate, and the end of the last, shape (n_candidates + 1,).
        reference_tokens: the same for the references, shape (n_reference_tokens, d).
        reference_offsets: start of each reference, and the end of the last, shape (n_references + 1,).
        pairs: indices (candidate, reference) of the texts to compare, shape (n, 2). Default: the i-th with the
            i-th.
    Returns: precision and recall in [-1, 1] and F1 in [0, 1], higher is better, shape (n,). All three are 0 for a
        candidate without tokens. F1 is 0 if precision or recall is not positive, where the harmonic mean is undefined.
    Raises: ValueError when a compared reference has no tokens, a vector is zero or not finite, dimensions differ, or
        offsets or pairs are malformed.
    Source: Domain Robustness paper, sec. 5 (metric of QG, AS and TG).

    >>> scores = bert_score([[1.0, 0.0], [0.0, 2.0]], [0, 2], [[3.0, 0.0]], [0, 1])
    >>> scores.precision.tolist(), scores.recall.tolist(), scores.f1.round(3).tolist()
    ([0.5], [1.0], [0.667])
    """
    candidate, candidate_bounds = _checked_texts("candidate", candidate_tokens, candidate_offsets)
    reference, reference_bounds = _checked_texts("reference", reference_tokens, reference_offsets)
    if candidate.size and reference.size and candidate.shape[1] != reference.shape[1]:
        raise ValueError(
            f"candidates have {candidate.shape[1]} dimensions, references {reference.shape[1]}: "
            "were they embedded by the same encoder?"
        )
    first, second = _checked_pairs(pairs, candidate_bounds.size - 1, reference_bounds.size - 1)
    candidate_length = np.diff(candidate_bounds)[first]
    reference_length = np.diff(reference_bounds)[second]
    if np.any(reference_length == 0):
        row = int(second[np.flatnonzero(reference_length == 0)[0]])
        raise ValueError(f"reference {row} has no tokens: BERTScore against an empty reference is undefined")
    precision, recall = np.zeros(first.size), np.zeros(first.size)
    # Sort by length so that blocks contain little padding.
    order = np.lexsort((reference_length, candidate_length))
    order = order[candidate_length[order] > 0]
    while order.size:
        width = max(1, candidate.shape[1])
        longest = np.maximum.accumulate(np.maximum(candidate_length[order], reference_length[order]))
        cells = longest * (2 * width + longest) * np.arange(1, order.size + 1)
        taken = max(1, int(np.searchsorted(cells, _BLOCK_CELLS, side="right")))
        block, order = order[:taken], order[taken:]
        left, left_real = _padded(candidate, candidate_bounds[first[block]], candidate_length[block])
        right, right_real = _padded(reference, reference_bounds[second[block]], reference_length[block])
        cosines = left @ right.transpose(0, 2, 1)  # (block, candidate tokens, reference tokens)
        precision[block] = _mean_where(cosines.max(axis=2), left_real)
        recall[block] = _mean_where(cosines.max(axis=1), right_real)
    return MatchScores(precision, recall, _harmonic(precision, recall))


def _split_words(texts: Sequence[str]) -> list[list[bytes]]:
    # Everything but ASCII letters and digits separates words, so one byte table is enough.
    return [text.lower().encode("ascii", "replace").translate(_SEPARATED).split() for text in texts]


def _positions(words: Sequence[bytes]) -> dict[bytes, int]:
    rows: dict[bytes, int] = {}
    bit = 1
    for word in words:
        rows[word] = rows.get(word, 0) | bit
        bit <<= 1
    return rows


def _common_length(words: Sequence[bytes], rows: dict[bytes, int], n_bits: int) -> int:
    """Compute the length of the longest common subsequence of ``words`` and a reference text of ``n_bits`` words.

    ``rows`` maps each word of the reference to its positions, as bits. Bit j of ``row`` is 0 if the common subsequence
    grows by one at word j of the reference. Each of ``words`` updates all bits with one addition (Crochemore et al.
    2001; Hyyrö 2004).
    """
    full = (1 << n_bits) - 1
    row = full
    for word in words:
        if word in rows:
            hits = row & rows[word]
            row = (row + hits) | (row - hits)
    return n_bits - (row & full).bit_count()


def _harmonic(precision: Floats, recall: Floats) -> Floats:
    both = (precision > 0) & (recall > 0)
    total = np.where(both, precision + recall, 1.0)
    return np.asarray(np.where(both, 2 * precision * recall / total, 0.0))


def _padded(
    tokens: NDArray[np.floating], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    # Short texts are padded with their last token, which changes no maximum; the mask excludes it from means.
    position = np.arange(int(lengths.max()))
    inside = starts[:, None] + np.minimum(position, lengths[:, None] - 1)
    return tokens[inside], position < lengths[:, None]


def _mean_where(values: NDArray[np.floating], real: NDArray[np.bool_]) -> Floats:
    total = np.where(real, values, 0.0).sum(axis=1, dtype=np.float64)
    # Rounding may move a cosine of 1 a few ulp above it.
    return np.asarray(np.clip(total / real.sum(axis=1), -1.0, 1.0))


def _checked_texts(name: str, tokens: ArrayLike, offsets: ArrayLike) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
    vectors = np.asarray(tokens)
    if vectors.dtype not in (np.float32, np.float64):
        vectors = vectors.astype(np.float64)
    bounds = np.asarray(offsets, dtype=np.int64)
    if vectors.size == 0:
        vectors = vectors.reshape(0, vectors.shape[-1] if vectors.ndim == 2 else 0)
    if vectors.ndim != 2:
        raise ValueError(f"{name}_tokens must have shape (n_tokens, d), got {vectors.shape}")
    if (
        bounds.ndim != 1
        or bounds.size < 1
        or bounds[0] != 0
        or bounds[-1] != len(vectors)
        or np.any(np.diff(bounds) < 0)
    ):
        raise ValueError(
            f"{name}_offsets must rise from 0 to the number of tokens, {len(vectors)}; "
            "did you pass lengths instead of start offsets?"
        )
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    if not np.all(np.isfinite(norms)) or np.any(norms == 0):
        row = int(np.flatnonzero(~np.isfinite(norms) | (norms == 0))[0])
        raise ValueError(f"{name} token {row} is a zero or non-finite vector and has no direction")
    return vectors / norms[:, None], bounds


def _checked_pairs(
    pairs: ArrayLike | None, n_candidates: int, n_references: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if pairs is None:
        if n_candidates != n_references:
            raise ValueError(f"{n_candidates} candidates but {n_references} references; pass the pairs to compare")
        every = np.arange(n_candidates)
        return every, every
    table = np.asarray(pairs, dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(f"pairs must have shape (n, 2), got {table.shape}")
    if table.size and (table.min() < 0 or np.any(table.max(axis=0) >= (n_candidates, n_references))):
        raise ValueError(
            f"pairs must contain candidate indices below {n_candidates} and reference indices below {n_references}"
        )
    return table[:, 0], table[:, 1]
