"""What an analysis finds: tidy rows, and what had to be left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

Draw = Callable[[pl.DataFrame, Sequence[str]], bytes]
"""Draws found rows, with notes below, as a PNG."""


class Found(NamedTuple):
    """Rows of numbers (fractions) that a picture is drawn from, and what is not among them, with the reason.

    Without a row the reasons say why there is nothing to draw.
    """

    rows: pl.DataFrame
    left_out: tuple[str, ...]


def found(
    rows: Sequence[Mapping[str, Any]], left_out: Sequence[str], why_nothing: str, numbers: Sequence[str] = ()
) -> Found:
    """Gather rows of one shape.

    Args:
        rows: all with the same keys.
        left_out: what is not among them, and why.
        why_nothing: the reason where there is no row.
        numbers: columns of fractions, in which no value may be known.
    """
    frame = pl.DataFrame(list(rows), infer_schema_length=None)
    frame = frame.with_columns(pl.col(name).cast(pl.Float64) for name in numbers if name in frame.columns)
    return Found(frame, tuple(left_out) if rows else (why_nothing, *left_out))
