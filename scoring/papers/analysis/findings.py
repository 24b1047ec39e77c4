"""The result of an analysis: tidy rows, and the list of what had to be left out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

Draw = Callable[[pl.DataFrame, Sequence[str]], bytes]
"""A function that draws the rows, with notes below, as a PNG."""


class Findings(NamedTuple):
    """Rows of numbers (fractions) that a picture is drawn from, and what is left out of them, with the reason.

    The columns are those of the schema beside each analysis (``find_scenarios``: ``scenarios.SCHEMA``, and so on).
    Without a row the reasons say why there is nothing to draw.
    """

    rows: pl.DataFrame
    left_out: tuple[str, ...]


def build_findings(
    rows: Sequence[Mapping[str, Any]], left_out: Sequence[str], why_nothing: str, schema: pl.Schema
) -> Findings:
    """Build the result of an analysis from its rows.

    Args:
        rows: each with a value, or None, for every column.
        left_out: what is not among them, and why.
        why_nothing: the reason where there is no row.
        schema: the columns, in order.
    """
    frame = pl.DataFrame([[row[name] for name in schema] for row in rows], schema=schema, orient="row")
    return Findings(frame, tuple(left_out) if rows else (why_nothing, *left_out))
