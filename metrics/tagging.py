"""Scores of span tagging (named entities, aspect terms), computed from counts of spans.

A span is correct if its first token, its last token and its type (for aspects: its polarity) all match
gold. Three notations are supported:

- ``bio``: ``B-X`` opens a span of type X and ``I-X`` continues an open span of type X. With the strict rule (the
  default), an ``I-X`` that continues nothing (after ``O``, after another type, at the start of a sequence)
  belongs to no span. With the lenient rule (seqeval's default), such an ``I-X`` opens a span.
- ``io``: ``I-X`` only. A span is a maximal run of one type, so adjacent spans of one type are merged.
- ``polarity``: ``T-POS``, ``T-NEG``, ``T-NEU``. As ``io``: a span is a maximal run of one polarity.

Tags are integer codes of concatenated sequences; ``offsets`` contains the start of each sequence. Span
counts are additive: ``span_f1`` accepts sums over examples, weighted by depth or not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.float64]
Codes = NDArray[np.int64]
Notation = Literal["bio", "io", "polarity"]

_PREFIXES: dict[str, tuple[str, ...]] = {"bio": ("B", "I"), "io": ("I",), "polarity": ("T",)}

RARER_TO_MISCELLANEOUS = {
    "building": "miscellaneous",
    "art": "miscellaneous",
    "product": "miscellaneous",
    "event": "miscellaneous",
}
"""Map from BOSS-NER's eight types to the four of CoNLL, as in the paper's cross-evaluation."""


@dataclass(frozen=True)
class TagScheme:
    """Interpretation of tag codes; created by ``tag_scheme``.

    Attributes:
        types: names of the span types, in the order of their type codes.
        type_of: type code of each tag (before merging), -1 for ``O``, shape (n_tags,).
        opens: whether the tag always opens a span, shape (n_tags,).
        may_open: whether the tag opens a span when it cannot continue one, shape (n_tags,).
        renamed: type code after merging, for each type code before merging.
    """

    types: tuple[str, ...]
    type_of: Codes
    opens: NDArray[np.bool_]
    may_open: NDArray[np.bool_]
    renamed: Codes


@dataclass(frozen=True)
class Spans:
    """Spans of many sequences, ordered by position; every array has shape (n_spans,).

    Attributes:
        start: index of the first token in the concatenated codes.
        end: index after the last token.
        type_code: index of the span's type in the scheme's ``types``.
        sequence: index of the sequence.
    """

    start: Codes
    end: Codes
    type_code: Codes
    sequence: Codes


def tag_scheme(
    tags: Sequence[str],
    notation: Notation,
    *,
    strict: bool = True,
    merge: Mapping[str, str] | None = None,
) -> TagScheme:
    """Parse a task's tag names.

    Args:
        tags: names of the tags in the order of their codes; ``O`` is outside.
        notation: ``bio``, ``io`` or ``polarity`` (see the module docstring).
        strict: for ``bio``, whether an ``I-X`` that continues nothing is ignored (True) or opens a span
            (False).
        merge: old type name -> new type name; other types are unchanged. Types are renamed after spans are found,
            so merging never joins two spans.
    Returns: the scheme.
    Raises: ValueError on a tag that does not belong to the notation, a duplicate tag, or a type in
        ``merge`` that no tag has.

    >>> tag_scheme(["O", "T-POS", "T-NEG"], "polarity").types
    ('POS', 'NEG')
    >>> tag_scheme(["O", "B-art", "I-art", "B-event"], "bio", merge={"art": "misc", "event": "misc"}).types
    ('misc',)
    """
    if notation not in _PREFIXES:
        raise ValueError(f"unknown notation {notation!r}, expected one of {', '.join(_PREFIXES)}")
    if len(set(tags)) != len(tags):
        raise ValueError(f"a tag occurs twice in {list(tags)}")
    prefixes = [None if tag == "O" else _split(tag, notation)[0] for tag in tags]
    names = [None if tag == "O" else _split(tag, notation)[1] for tag in tags]
    before = list(dict.fromkeys(name for name in names if name is not None))
    merged = dict(merge or {})
    unknown = sorted(set(merged) - set(before))
    if unknown:
        raise ValueError(
            f"merge contains types that no tag has: {', '.join(unknown)}; the types are {', '.join(before)}"
        )
    after = list(dict.fromkeys(merged.get(name, name) for name in before))
    is_bio = notation == "bio"
    return TagScheme(
        types=tuple(after),
        type_of=np.array([-1 if name is None else before.index(name) for name in names], dtype=np.int64),
        opens=np.array([prefix == "B" for prefix in prefixes], dtype=bool),
        may_open=np.array([p is not None and not (is_bio and strict and p == "I") for p in prefixes], dtype=bool),
        renamed=np.array([after.index(merged.get(name, name)) for name in before], dtype=np.int64),
    )


def tag_notation(tags: Sequence[str]) -> Notation:
    """Infer a task's notation from its tag names; see the module docstring.

    Args:
        tags: all tags of the task.
    Returns: ``bio`` if a tag has the prefix B, else ``polarity`` if one has the prefix T, else ``io``.

    >>> tag_notation(("O", "T-POS")), tag_notation(("O", "B-person", "I-person"))
    ('polarity', 'bio')
    """
    prefixes = {tag.partition("-")[0] for tag in tags} - {"O"}
    return "bio" if "B" in prefixes else "polarity" if "T" in prefixes else "io"


def spans(codes: ArrayLike, offsets: ArrayLike, scheme: TagScheme) -> Spans:
    """Find the spans of many tag sequences at once.

    Args:
        codes: tag codes of the concatenated sequences, shape (n_tokens,), integers in [0, n_tags).
        offsets: start of each sequence, and the end of the last, shape (n_sequences + 1,), from 0 to
            n_tokens, non-decreasing; a sequence may be empty.
        scheme: interpretation of the codes.
    Returns: the spans, ordered by position.
    Raises: ValueError when a code is out of range or the offsets do not divide the codes into sequences.

    >>> scheme = tag_scheme(["O", "B-X", "I-X"], "bio")
    >>> found = spans([1, 2, 0, 2, 1], [0, 4, 5], scheme)
    >>> found.start.tolist(), found.end.tolist(), found.sequence.tolist()
    ([0, 4], [2, 5], [0, 1])
    """
    flat = _checked_codes("codes", codes, len(scheme.type_of))
    bounds = _checked_offsets(offsets, flat.size)
    if flat.size == 0:
        none = np.zeros(0, dtype=np.int64)
        return Spans(none, none, none, none)
    types = scheme.type_of[flat]
    # Split tokens into runs of one type (or outside) within one sequence, in which only the first tag may open a span.
    begins = scheme.opens[flat]
    begins[1:] |= types[1:] != types[:-1]
    begins[bounds[:-1][bounds[:-1] < flat.size]] = True
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], flat.size)
    real = scheme.may_open[flat[starts]]
    starts, ends = starts[real], ends[real]
    return Spans(
        start=starts,
        end=ends,
        type_code=scheme.renamed[types[starts]],
        sequence=np.searchsorted(bounds, starts, side="right") - 1,
    )


def span_counts(
    gold: ArrayLike, predicted: ArrayLike, offsets: ArrayLike, scheme: TagScheme, *, per_type: bool = False
) -> Counts:
    """Count correct, gold and predicted spans of each sequence.

    An unusable output is represented as all ``O``: no predicted spans.

    Args:
        gold: tag codes of the concatenated sequences, shape (n_tokens,).
        predicted: tag codes in the same layout, shape (n_tokens,).
        offsets: start of each sequence, and the end of the last, shape (n_sequences + 1,).
        scheme: interpretation of the codes.
        per_type: whether to count each type separately.
    Returns: ``[correct, gold, predicted]`` of each sequence, shape (n_sequences, 3), or with ``per_type``
        (n_sequences, n_types, 3), whose sum over types equals the former.
    Raises: ValueError when gold and predicted differ in length, or as ``spans``.

    >>> scheme = tag_scheme(["O", "B-X", "I-X"], "bio")
    >>> span_counts([1, 2, 0, 1], [1, 2, 1, 0], [0, 3, 4], scheme)
    array([[1., 1., 2.],
           [0., 1., 0.]])
    """
    gold_codes = np.asarray(gold)
    predicted_codes = np.asarray(predicted)
    if gold_codes.shape != predicted_codes.shape:
        raise ValueError(
            f"gold and predicted must both have one tag per token, got {gold_codes.shape} and "
            f"{predicted_codes.shape}; is a predicted sequence shorter than its tokens?"
        )
    gold_spans = spans(gold_codes, offsets, scheme)
    predicted_spans = spans(predicted_codes, offsets, scheme)
    n_sequences = np.asarray(offsets).size - 1
    n_types = len(scheme.types)
    # At most one gold span starts at each token, so spans can be matched by start position.
    gold_key = np.full(gold_codes.size, -1, dtype=np.int64)
    gold_key[gold_spans.start] = gold_spans.end * n_types + gold_spans.type_code
    right = gold_key[predicted_spans.start] == predicted_spans.end * n_types + predicted_spans.type_code
    n_cells = n_sequences * n_types if per_type else n_sequences

    def tally(counted_spans: Spans) -> Codes:
        return counted_spans.sequence * n_types + counted_spans.type_code if per_type else counted_spans.sequence

    predicted_cells = tally(predicted_spans)
    columns = [
        np.bincount(predicted_cells[right], minlength=n_cells),
        np.bincount(tally(gold_spans), minlength=n_cells),
        np.bincount(predicted_cells, minlength=n_cells),
    ]
    counts = np.stack(columns, axis=-1).astype(np.float64)
    return counts.reshape(n_sequences, n_types, 3) if per_type else counts


def span_f1(counts: ArrayLike) -> Counts:
    """Compute span F1, ``2 correct / (gold + predicted)``, from summed counts.

    The result is micro F1 for counts summed over types, otherwise the F1 of each type. Precision and recall are
    ``correct / predicted`` and ``correct / gold``.

    Args:
        counts: sums of ``[correct, gold, predicted]``, weighted or not, shape (..., 3), finite and >= 0.
    Returns: fractions in [0, 1], higher is better, shape (...,); NaN if there is neither a gold nor a predicted span.
    Raises: ValueError when the last axis is not 3, a count is negative or not finite, or more spans are correct
        than are gold or predicted.
    Source: the micro form of both papers; with depth weights, equations 4-6 of the Depth F1 paper over spans.

    >>> round(float(span_f1([1.0, 2.0, 2.0])), 4)
    0.5
    >>> span_f1([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]).tolist()
    [nan, 0.0]
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim < 1 or table.shape[-1] != 3:
        raise ValueError(f"counts must have shape (..., 3) for [correct, gold, predicted], got {table.shape}")
    if not np.all(np.isfinite(table)) or np.any(table < 0):
        raise ValueError("span counts must be finite and not negative")
    right = table[..., 0]
    # Tolerance for single-precision rounding of weighted sums.
    if np.any(right > np.minimum(table[..., 1], table[..., 2]) * (1 + 1e-5)):
        raise ValueError("more correct spans than gold or predicted ones; the order is [correct, gold, predicted]")
    claims = table[..., 1] + table[..., 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(claims > 0, 2 * right / claims, np.nan))


def _split(tag: str, notation: Notation) -> tuple[str, str]:
    prefix, dash, name = tag.partition("-")
    if not dash or not name or prefix not in _PREFIXES[notation]:
        expected = " or ".join(f"{p}-<type>" for p in _PREFIXES[notation])
        raise ValueError(f"tag {tag!r} does not belong to the {notation} notation, expected O or {expected}")
    return prefix, name


def _checked_codes(name: str, values: ArrayLike, n_tags: int) -> Codes:
    codes = np.asarray(values)
    if codes.size == 0:
        return np.zeros(0, dtype=np.int64)
    if codes.ndim != 1 or not np.issubdtype(codes.dtype, np.integer):
        raise ValueError(f"{name} must be integers of shape (n_tokens,), got {codes.dtype} {codes.shape}")
    if codes.min() < 0 or codes.max() >= n_tags:
        raise ValueError(f"{name} must lie in [0, {n_tags}), got {codes.min()} to {codes.max()}")
    return codes.astype(np.int64, copy=False)


def _checked_offsets(offsets: ArrayLike, n_tokens: int) -> Codes:
    bounds = np.asarray(offsets, dtype=np.int64)
    if bounds.ndim != 1 or bounds.size < 1 or bounds[0] != 0 or bounds[-1] != n_tokens or np.any(np.diff(bounds) < 0):
        raise ValueError(
            f"offsets must rise from 0 to the number of tokens, {n_tokens}; "
            "did you pass lengths instead of start offsets?"
        )
    return bounds
