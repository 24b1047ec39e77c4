"""pandera schemas of the rows that rooms exchange: examples by task kind, predictions, depths.

``class_labels`` in an example frame are integer codes into the task's label names, as ``datasets`` stores them.
"""

from collections.abc import Sequence
from typing import Any

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from validation.report import InvalidInput, Problem
from validation.vocabulary import TaskKind

IDENTITY = {"id": pl.String, "domain": pl.String, "group": pl.String}


def example_schema(kind: TaskKind, inputs: Sequence[str], labels: Sequence[str]) -> pa.DataFrameSchema:
    """Build the schema of a split's rows.

    Args:
        kind: the task kind; classification for now is what builders produce.
        inputs: names of the text columns, ``("text",)`` or ``("premise", "hypothesis")``.
        labels: label names; ``label`` holds codes into them.
    """
    if kind is not TaskKind.CLASSIFICATION:
        raise ValueError(f"no example schema for task kind {kind.value!r}")
    columns: dict[str, Any] = {
        "id": pa.Column(pl.String, pa.Check.str_matches(r"^[^/]+/[^/]+/[^/]+/[^/]+/[0-9a-f]{12}$"), unique=True),
        "domain": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
        "group": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
        **{name: pa.Column(pl.String) for name in inputs},
        "label": pa.Column(pl.Int64, pa.Check.in_range(0, len(labels) - 1)),
    }
    return pa.DataFrameSchema(columns, strict=True)


def prediction_schema() -> pa.DataFrameSchema:
    """Build the schema of a long prediction file after its columns were read."""
    return pa.DataFrameSchema(
        {
            "source": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
            "id": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
            "prediction": pa.Column(pl.String),
            "seed": pa.Column(pl.Int64, pa.Check.ge(0)),
            "confidence": pa.Column(pl.Float64, pa.Check.in_range(0, 1), nullable=True, required=False),
        },
        strict=True,
    )


def depth_schema() -> pa.DataFrameSchema:
    """Build the schema of a depth table: weights only where the row is a target test text."""
    return pa.DataFrameSchema(
        {
            "id": pa.Column(pl.String, unique=True),
            "source": pa.Column(pl.String),
            "depth": pa.Column(pl.Float64, pa.Check.in_range(0, 2)),
            "weight": pa.Column(pl.Float64, pa.Check.in_range(0, 1), nullable=True),
        },
        strict=True,
    )


def check_rows(frame: pl.DataFrame, schema: pa.DataFrameSchema, file: str, cures: dict[str, str] | None = None) -> None:
    """Check a frame against a schema.

    Args:
        frame: the rows.
        schema: what they must be.
        file: the file's name, for the report.
        cures: what to do about a bad column, by column name.
    Raises: InvalidInput with one problem per failing check: the first bad row and how many more there are.
    """
    try:
        schema.validate(frame, lazy=True)
    except SchemaErrors as error:
        raise InvalidInput(_problems(frame, error.failure_cases, file, cures or {})) from error


def _problems(frame: pl.DataFrame, failures: pl.DataFrame, file: str, cures: dict[str, str]) -> list[Problem]:
    problems = []
    for (column, check), cases in failures.group_by("column", "check", maintain_order=True):
        first = cases.row(0, named=True)
        name = None if column is None else str(column)
        rows = cases["index"].drop_nulls()
        row = int(rows[0]) + 1 if len(rows) else None
        found = repr(frame[name][row - 1]) if name in frame.columns and row is not None else str(first["failure_case"])
        more = f" (and {len(cases) - 1:,} more rows)" if len(cases) > 1 else ""
        problems.append(
            Problem(
                _WORDS.get(str(check).split("(")[0], f"fails the check {check}"),
                file,
                found[:200] + more,
                cures.get(name or "", ""),
                column=name,
                row=row,
            )
        )
    return problems


_WORDS = {
    "not_nullable": "a value is missing",
    "field_uniqueness": "a value is repeated",
    "column_in_schema": "unknown column",
    "column_in_dataframe": "a column is missing",
    "str_length": "an empty text",
    "str_matches": "a value has the wrong form",
    "in_range": "a value is out of range",
    "greater_than_or_equal_to": "a value is too small",
}
