"""Fingerprints of upstream splits, and overlaps between two splits.

A row's hash covers only its inputs and gold, so it does not depend on compression, the order of rows, keys or columns,
or on annotators' votes. Row hashes are summed, so their order does not matter and they can be computed while streaming.
They detect mistakes, not forgeries.
"""

import heapq
from collections import Counter
from collections.abc import Iterable

import numpy as np
import polars as pl
from polars.datatypes import DataTypeClass
from xxhash import xxh3_64_intdigest

from shiftbench.builders.specs.spec import Fingerprint
from shiftbench.builders.specs.transforms import VOTES
from shiftbench.builders.stored_rows import Rows, slices_of
from shiftbench.validation.vocabulary import GOLD, TaskKind

N_HASHES = 10


def measure_rows(frame: pl.DataFrame, kind: TaskKind) -> Fingerprint:
    """Compute the fingerprint of rows.

    Args:
        frame: rows after the named steps, in any order: inputs, gold, ``group``, optionally votes; labels are not
            counted if a later step adds the gold column.
    Returns: a fingerprint that does not depend on row order or votes.

    >>> frame = pl.DataFrame({"text": ["so good", "so bad", "so so"], "label": ["yes", "no", "yes"]})
    >>> found = measure_rows(frame, TaskKind.CLASSIFICATION)
    >>> found.rows, found.labels, len(found.hashes)
    (3, {'no': 1, 'yes': 2}, 3)
    """
    hashes = row_hashes(frame.drop("group", VOTES, strict=False))
    return Fingerprint(
        rows=len(frame),
        labels=_count_labels(frame, kind),
        hashes=tuple(map(_hex, np.unique(hashes)[:N_HASHES])),
        total=_hex(hashes.sum()),
        groups=_hex((hashes * _group_factors(frame)).sum()),
    )


def merge_fingerprints(parts: Iterable[Fingerprint]) -> Fingerprint:
    """Return the fingerprint of the concatenation of several parts."""
    parts = list(parts)
    labels = sum((Counter(part.labels) for part in parts), Counter[str]())
    hashes = heapq.nsmallest(N_HASHES, {found for part in parts for found in part.hashes})
    return Fingerprint(
        rows=sum(part.rows for part in parts),
        labels=dict(sorted(labels.items())),
        hashes=tuple(hashes),
        total=_hex(sum(int(part.total, 16) for part in parts)),
        groups=_hex(sum(int(part.groups, 16) for part in parts)),
    )


def count_overlap(rows: Rows, other: Rows, inputs: Iterable[str]) -> int:
    """Count the rows of a split whose inputs also occur verbatim in another split."""
    names = list(inputs)
    hashes, others = (
        np.concatenate([np.empty(0, np.uint64), *(row_hashes(part.select(names)) for part in slices_of(split))])
        for split in (rows, other)
    )
    return int(np.isin(hashes, others).sum())


def row_hashes(frame: pl.DataFrame) -> np.ndarray:
    """Hash whole rows to 64 bits, independent of column order, polars version and platform.

    Args:
        frame: columns of texts or numbers, lists of these, and structs of these; null equals the empty text.
    Returns: XXH3 hashes, unsigned, shape (n_rows,).
    """
    columns = [_as_text(pl.col(name), frame.schema[name]) for name in sorted(frame.columns)]
    texts = frame.select(pl.concat_str(columns, separator="\x1f").cast(pl.Binary)).to_series().to_list()
    return np.fromiter(map(xxh3_64_intdigest, texts), np.uint64, len(texts))


def _as_text(column: pl.Expr, dtype: pl.DataType | DataTypeClass) -> pl.Expr:
    """Return a vectorised expression that formats values as text: a list as its length and elements."""
    if isinstance(dtype, pl.Struct):
        fields = [_as_text(column.struct.field(field.name), field.dtype) for field in dtype.fields]
        return pl.concat_str(fields, separator="\x1d")
    if isinstance(dtype, pl.List):
        elements = column.cast(pl.List(pl.String)).list.eval(pl.element().fill_null("")).list.join("\x1e")
        return pl.concat_str(column.list.len(), elements, separator="\x1e").fill_null("")
    return column.cast(pl.String).fill_null("")


def _group_factors(frame: pl.DataFrame) -> np.ndarray:
    """Return an odd number for each row, determined by its group; 1 without groups."""
    if "group" not in frame.columns:
        return np.ones(len(frame), np.uint64)
    return row_hashes(frame.select("group")) | np.uint64(1)


def _hex(number: int) -> str:
    return f"{int(number) % 2**64:016x}"


def _count_labels(frame: pl.DataFrame, kind: TaskKind) -> dict[str, int]:
    gold = GOLD[kind]
    if kind is TaskKind.GENERATION or gold not in frame.columns:
        return {}
    labels = frame[gold]
    if kind is TaskKind.TAGGING:
        labels = labels.explode(empty_as_null=False)
    if kind is TaskKind.EXTRACTIVE_QA:
        answered = labels.struct.field("text").list.len() > 0
        labels = answered.replace_strict({True: "answer", False: "no answer"}, return_dtype=pl.String)
    return dict(sorted(labels.value_counts().iter_rows()))
