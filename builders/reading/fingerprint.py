"""Measuring upstream splits: what tells their rows from others, and the rows that two of them share.

A row's hash covers its inputs and gold together, nothing else, so it is the same whatever file brought the row: another
packing, another order of rows, keys or columns, a copy without annotators' votes. Hashes of rows are added up, so that
their order does not matter and they are computed while a file is read. They find mistakes, not forgeries.
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
    """Measure rows.

    Args:
        frame: rows after the named steps, in any order: inputs, gold, ``group``, maybe votes; no label is counted where
            a later step adds the gold column.
    Returns: the same for the same rows in any order, with or without votes.

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
    """Return the fingerprint of the rows of several parts together."""
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
    """Count the rows of a split whose inputs are in another split, word for word."""
    names = list(inputs)
    hashes, others = (
        np.concatenate([np.empty(0, np.uint64), *(row_hashes(part.select(names)) for part in slices_of(split))])
        for split in (rows, other)
    )
    return int(np.isin(hashes, others).sum())


def row_hashes(frame: pl.DataFrame) -> np.ndarray:
    """Hash rows whole, whatever the order of their columns, to 64 bits: the same for all versions and platforms.

    Args:
        frame: columns of texts or numbers, lists of them, and structs of these; null is the empty text.
    Returns: XXH3 hashes, unsigned, shape (n_rows,).
    """
    columns = [_as_text(pl.col(name), frame.schema[name]) for name in sorted(frame.columns)]
    texts = frame.select(pl.concat_str(columns, separator="\x1f").cast(pl.Binary)).to_series().to_list()
    return np.fromiter(map(xxh3_64_intdigest, texts), np.uint64, len(texts))


def _as_text(column: pl.Expr, dtype: pl.DataType | DataTypeClass) -> pl.Expr:
    """Write values as texts without a loop over rows: a list as its length and its elements."""
    if isinstance(dtype, pl.Struct):
        fields = [_as_text(column.struct.field(field.name), field.dtype) for field in dtype.fields]
        return pl.concat_str(fields, separator="\x1d")
    if isinstance(dtype, pl.List):
        elements = column.cast(pl.List(pl.String)).list.eval(pl.element().fill_null("")).list.join("\x1e")
        return pl.concat_str(column.list.len(), elements, separator="\x1e").fill_null("")
    return column.cast(pl.String).fill_null("")


def _group_factors(frame: pl.DataFrame) -> np.ndarray:
    """Return an odd number for each row that its group decides; 1 where rows have none."""
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
