"""pandera schemas of the rows that rooms exchange: examples by task kind, predictions, depths.

Labels and tags in an example frame are integer codes into the task's label names, as ``datasets`` stores them.
"""

from collections.abc import Sequence
from typing import Any

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaErrors

from validation.report import InvalidInput, Problem
from validation.vocabulary import GOLD, TOKENS, TaskKind

ANSWERS = pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})
"""Accepted answers and the characters where they begin, as in SQuAD; empty lists where there is no answer."""


def example_schema(kind: TaskKind, inputs: Sequence[str], labels: Sequence[str]) -> pa.DataFrameSchema:
    """Build the schema of a split's rows.

    Args:
        kind: the task kind; it decides the last column (see ``GOLD``).
        inputs: names of the input columns, as ``("text",)``, ``("premise", "hypothesis")``, ``("tokens",)``.
        labels: names of the labels or tags; ``label`` and ``tags`` hold codes into them.
    """
    columns: dict[str, Any] = {
        "id": pa.Column(pl.String, pa.Check.str_matches(r"^[^/]+/[^/]+/[^/]+/[^/]+/[0-9a-f]{12}$"), unique=True),
        "domain": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
        "group": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
        **{name: pa.Column(pl.List(pl.String) if name == TOKENS else pl.String) for name in inputs},
        GOLD[kind]: _gold_column(kind, len(labels)),
    }
    return pa.DataFrameSchema(columns, strict=True)


def _gold_column(kind: TaskKind, n_labels: int) -> Any:
    if kind is TaskKind.CLASSIFICATION:
        return pa.Column(pl.Int64, pa.Check.in_range(0, n_labels - 1))
    if kind is TaskKind.TAGGING:
        return pa.Column(pl.List(pl.Int64))
    if kind is TaskKind.EXTRACTIVE_QA:
        return pa.Column(ANSWERS)
    return pa.Column(pl.String, pa.Check.str_length(min_value=1))


def check_examples(
    frame: pl.DataFrame, kind: TaskKind, inputs: Sequence[str], labels: Sequence[str], file: str
) -> None:
    """Check a split's rows against their schema, and what they predict against their inputs.

    Args:
        frame: the rows.
        kind: the task kind.
        inputs: as for ``example_schema``.
        labels: as for ``example_schema``.
        file: the file's name, for the report.
    Raises: InvalidInput naming the first bad row of each kind of fault.
    """
    check_rows(frame, example_schema(kind, inputs, labels), file)
    problems = []
    for what, column, bad in _faults(frame, kind, len(labels)):
        rows = frame.select(bad.fill_null(value=True).arg_true()).to_series()
        if len(rows):
            row = int(rows[0])
            more = f" (and {len(rows) - 1:,} more rows)" if len(rows) > 1 else ""
            problems.append(Problem(what, file, repr(frame[column][row])[:200] + more, column=column, row=row + 1))
    if problems:
        raise InvalidInput(problems)


def _faults(frame: pl.DataFrame, kind: TaskKind, n_labels: int) -> list[tuple[str, str, pl.Expr]]:
    """List faults that a column alone does not show: what, the column, and which rows have it."""
    if kind is TaskKind.TAGGING:
        tags = pl.col("tags").list
        return [
            ("a row has no tokens", "tokens", pl.col("tokens").list.len() == 0),
            ("tags and tokens differ in number", "tags", tags.len() != pl.col("tokens").list.len()),
            ("a tag is out of range", "tags", (tags.min() < 0) | (tags.max() >= n_labels)),
        ]
    if kind is TaskKind.EXTRACTIVE_QA:
        texts, starts = (pl.col("answers").struct.field(name) for name in ("text", "answer_start"))
        # Characters are counted as Python counts them, which no expression of polars does.
        misplaced = pl.struct("context", "answers").map_elements(_misplaced, return_dtype=pl.Boolean)
        return [
            ("answers and their offsets differ in number", "answers", texts.list.len() != starts.list.len()),
            ("an answer does not stand where its offset says", "answers", misplaced),
        ]
    return []


def _misplaced(row: dict[str, Any]) -> bool:
    context, answers = row["context"], row["answers"]
    pairs = zip(answers["text"], answers["answer_start"], strict=False)
    return not all(start >= 0 and context.startswith(text, start) for text, start in pairs)


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
