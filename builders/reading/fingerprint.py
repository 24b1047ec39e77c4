"""Measuring upstream splits: what tells their rows from others, and the rows that two of them share."""

import heapq
from collections import Counter
from collections.abc import Iterable

import numpy as np
import polars as pl

from shiftbench.builders.reading.sampling import hash_texts
from shiftbench.builders.specs.spec import Fingerprint
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.builders.stored_rows import Rows, slices_of
from shiftbench.validation.vocabulary import GOLD, TaskKind

N_HASHES = 10


def measure_rows(frame: pl.DataFrame, kind: TaskKind) -> Fingerprint:
    """Measure rows.

    Args:
        frame: rows after the named steps, in any order; no label is counted where a later step adds the gold column.
    Returns: the same for the same rows in any order.

    >>> frame = pl.DataFrame({"text": ["so good", "so bad", "so so"], "label": ["yes", "no", "yes"]})
    >>> found = measure_rows(frame, TaskKind.CLASSIFICATION)
    >>> found.rows, found.labels, len(found.hashes)
    (3, {'no': 1, 'yes': 2}, 3)
    """
    hashes = row_hashes(frame)
    return Fingerprint(
        rows=len(frame),
        labels=_count_labels(frame, kind),
        hashes=tuple(map(_hex, hashes.unique().sort()[:N_HASHES])),
        total=_hex(int(hashes.to_numpy().sum(dtype=np.uint64))),
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
    )


def count_overlap(rows: Rows, other: Rows, inputs: Iterable[str]) -> int:
    """Count the rows of a split whose inputs are in another split, word for word."""
    names = list(inputs)
    hashes, others = (
        np.concatenate([np.empty(0, np.uint64), *(row_hashes(part.select(names)) for part in slices_of(split))])
        for split in (rows, other)
    )
    return int(np.isin(hashes, others).sum())


def row_hashes(frame: pl.DataFrame) -> pl.Series:
    """Hash rows whole, whatever the order of their columns, to 64 bits: the same for all versions and platforms."""
    texts = as_texts(frame.select(pl.col(sorted(frame.columns))).with_columns(pl.col(pl.String).fill_null("")))
    return hash_texts(texts.cast(pl.Binary))


def _hex(number: int) -> str:
    return f"{number % 2**64:016x}"


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
