"""pandera schemas of exchanged rows: examples by task kind, predictions, depths.

Labels and tags in an example frame are integer codes into the task's label names, as ``datasets`` stores them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.validation.report import InvalidInput, Problem, and_more
from shiftbench.validation.vocabulary import GOLD, TOKENS, TaskKind

if TYPE_CHECKING:  # pandera imports pandas, half a second: paid by commands that check rows
    import pandera.polars as pa

ANSWERS = pl.Struct({"text": pl.List(pl.String), "answer_start": pl.List(pl.Int32)})
"""Accepted answers and their start characters, as in SQuAD; empty lists for unanswerable questions."""

MAY_BE_EMPTY = ("title",)
"""Inputs that may be empty: not every document has a title."""


def example_schema(kind: TaskKind, inputs: Sequence[str], labels: Sequence[str]) -> "pa.DataFrameSchema":
    """Build the schema of a split's rows.

    Columns, in this order, not null (except the gold column of a folder that withholds it):

    - ``id`` String: ``benchmark/task/domain/split/`` and 12 hex digits, unique; rows are sorted by it.
    - ``domain`` String: the same in all rows of a split.
    - ``group`` String: group of dependent rows; a group is in one split only.
    - the inputs: String, ``tokens`` a list of String.
    - the gold column (``GOLD``): ``label`` Int64 and ``tags`` List(Int64) are codes into the labels,
    ``answers`` is ``ANSWERS``, ``target_text`` String.

    Args:
        kind: the task kind; it determines the last column (see ``GOLD``).
        inputs: names of the input columns, e.g. ``("text",)``, ``("premise", "hypothesis")``, ``("tokens",)``.
        labels: names of the labels or tags, which ``label`` and ``tags`` encode.
    Returns: a pandera schema; other columns are refused.
    """
    import pandera.polars as pa

    columns: dict[str, Any] = {
        "id": pa.Column(pl.String, pa.Check.str_matches(r"^[^/]+/[^/]+/[^/]+/[^/]+/[0-9a-f]{12}$"), unique=True),
        "domain": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
        "group": pa.Column(pl.String, pa.Check.str_length(min_value=1)),
        **{name: pa.Column(pl.List(pl.String) if name == TOKENS else pl.String) for name in inputs},
        GOLD[kind]: _gold_column(kind, len(labels)),
    }
    return pa.DataFrameSchema(columns, strict=True)


def _gold_column(kind: TaskKind, n_labels: int) -> Any:
    import pandera.polars as pa

    if kind is TaskKind.CLASSIFICATION:
        return pa.Column(pl.Int64, pa.Check.in_range(0, n_labels - 1))
    if kind is TaskKind.TAGGING:
        return pa.Column(pl.List(pl.Int64))
    if kind is TaskKind.EXTRACTIVE_QA:
        return pa.Column(ANSWERS)
    return pa.Column(pl.String, pa.Check.str_length(min_value=1))


def check_examples(
    frame: pl.DataFrame,
    kind: TaskKind,
    inputs: Sequence[str],
    labels: Sequence[str],
    file: str,
    *,
    withheld: bool = False,
) -> None:
    """Check a split's rows against their schema, and their gold against their inputs.

    Args:
        frame: the rows.
        kind: the task kind.
        inputs: as for ``example_schema``.
        labels: as for ``example_schema``.
        file: the file's name, used in problems.
        withheld: whether gold is withheld and must be null.
    Raises: InvalidInput with the first invalid row of each kind of fault.
    """
    schema = example_schema(kind, inputs, labels)
    if withheld:
        schema = schema.update_column(GOLD[kind], nullable=True)
    problems = []
    try:
        check_rows(frame, schema, file)
    except InvalidInput as error:
        problems = error.problems
    if all(frame.schema.get(name) == column.dtype.type for name, column in schema.columns.items()):
        there = (
            "the folder contains test labels, although its manifest declares them withheld",
            GOLD[kind],
            pl.col(GOLD[kind]).is_not_null(),
        )
        for what, column, bad in [*_faults(kind, inputs, len(labels)), *([there] if withheld else [])]:
            # Missing values are already reported by the schema.
            rows = frame.select(bad.fill_null(value=False).arg_true()).to_series()
            if len(rows):
                found = _format_value(frame, column, int(rows[0])) + and_more(len(rows) - 1)
                problems.append(Problem(what, file, found, column=column, row=int(rows[0]) + 1))
    if problems:
        raise InvalidInput(problems)


def _faults(kind: TaskKind, inputs: Sequence[str], n_labels: int) -> list[tuple[str, str, pl.Expr]]:
    """List checks beyond the schema: message, column, and an expression for the invalid rows."""
    faults = [
        ("an empty text", name, pl.col(name).str.strip_chars() == "") for name in inputs if name not in MAY_BE_EMPTY
    ]
    if kind is TaskKind.TAGGING:
        tags, tokens = pl.col("tags").list, pl.col(TOKENS).list
        return [
            ("a row has no tokens", TOKENS, tokens.len() == 0),
            ("a token is missing", TOKENS, _any_of(pl.col(TOKENS), pl.element().is_null())),
            ("a tag is missing", "tags", _any_of(pl.col("tags"), pl.element().is_null())),
            ("the numbers of tags and tokens differ", "tags", (tokens.len() > 0) & (tags.len() != tokens.len())),
            ("a tag code is out of range", "tags", (tags.min() < 0) | (tags.max() >= n_labels)),
        ]
    if kind is TaskKind.EXTRACTIVE_QA:
        answers = pl.col("answers")
        texts, starts = (answers.struct.field(name) for name in ("text", "answer_start"))
        missing = [part.is_null() | _any_of(part, pl.element().is_null()) for part in (texts, starts)]
        # Offsets are in Python characters (code points), for which polars has no expression.
        misplaced = pl.struct("context", "answers").map_elements(_misplaced, return_dtype=pl.Boolean)
        faults += [
            ("an answer or its offset is missing", "answers", answers.is_not_null() & (missing[0] | missing[1])),
            ("an answer is empty", "answers", _any_of(texts, pl.element().str.strip_chars() == "")),
            ("the numbers of answers and offsets differ", "answers", texts.list.len() != starts.list.len()),
            ("the context does not contain an answer at its offset", "answers", misplaced),
        ]
    return faults


def _any_of(lists: pl.Expr, fault: pl.Expr) -> pl.Expr:
    return lists.list.eval(fault).list.any()


def _misplaced(row: dict[str, Any]) -> bool:
    context, answers = row["context"], row["answers"] or {}
    pairs = zip(answers.get("text") or (), answers.get("answer_start") or (), strict=False)
    return context is not None and any(
        start < 0 or not context.startswith(text, start)
        for text, start in pairs
        if text is not None and start is not None
    )


def _format_value(frame: pl.DataFrame, column: str, index: int) -> str:
    """Format a value of any type on one line of at most 200 characters."""
    return repr(frame[column][index : index + 1].to_list()[0])[:200]


def prediction_schema(*, holes: bool = False, of: Sequence[str] | None = None) -> "pa.DataFrameSchema":
    """Build the schema of a prediction file as read.

    Columns, in this order, not null except the last two; rows in file order:

    - ``source`` String: training domain; several joined by ``+`` in alphabetical order; ``none`` for zero-shot,
      ``elsewhere`` for models trained outside the dataset.
    - ``id`` String: a test id.
    - ``prediction`` String: a label, tags joined by spaces, a text, or ``__unparsed__``.
    - ``seed`` Int64: the run, from 0; 0 if the file has no seeds.
    - ``confidence`` Float64, only if the file has it: in [0, 1].
    - ``probabilities`` List(Float64), only if the file has it: one per label of the task, in order.

    Args:
        holes: allow nulls, for invalid values that were already reported while reading.
        of: the columns that were read. Default: all.
    Returns: a pandera schema; other columns are refused.
    """
    import pandera.polars as pa

    columns = {
        "source": pa.Column(pl.String, pa.Check.str_length(min_value=1), nullable=holes),
        "id": pa.Column(pl.String, pa.Check.str_length(min_value=1), nullable=holes),
        "prediction": pa.Column(pl.String, nullable=holes),
        "seed": pa.Column(pl.Int64, pa.Check.ge(0), nullable=holes),
        "confidence": pa.Column(pl.Float64, pa.Check.in_range(0, 1), nullable=True, required=False),
        "probabilities": pa.Column(pl.List(pl.Float64), nullable=True, required=False),
    }
    return pa.DataFrameSchema({name: columns[name] for name in of or columns}, strict=True)


def depth_schema() -> "pa.DataFrameSchema":
    """Build the schema of a depth table.

    Columns, in this order, not null except ``weight``:

    - ``id`` String: a train text of the source or a test text of the target, unique.
    - ``source`` String: a training domain, or several joined by ``+``; the same in all rows.
    - ``depth`` Float64: transformer-based text embedding depth in the source's train texts, in [0, 2].
    - ``weight`` Float64: the text's weight in Depth F1, in [0, 1]; null for the source's texts, and for all texts if
    every target text is at least as deep as the deepest source text.

    Rows: the source's texts, then the target's, each in id order.

    Returns: a pandera schema; other columns are refused.
    """
    import pandera.polars as pa

    return pa.DataFrameSchema(
        {
            "id": pa.Column(pl.String, unique=True),
            "source": pa.Column(pl.String),
            "depth": pa.Column(pl.Float64, pa.Check.in_range(0, 2)),
            "weight": pa.Column(pl.Float64, pa.Check.in_range(0, 1), nullable=True),
        },
        strict=True,
    )


def check_rows(
    frame: pl.DataFrame, schema: "pa.DataFrameSchema", file: str, cures: dict[str, str] | None = None, first: int = 0
) -> None:
    """Check a frame against a schema.

    Args:
        frame: the rows.
        schema: the schema.
        file: the file's name, used in problems.
        cures: suggested fixes by column name.
        first: number of rows of the file before these.
    Raises: InvalidInput with one problem per failing check: the first invalid row and the number of others.
    """
    from pandera.errors import SchemaErrors

    try:
        schema.validate(frame, lazy=True)
    except SchemaErrors as error:
        raise InvalidInput(_problems(frame, error.failure_cases, file, cures or {}, first)) from error


def _problems(
    frame: pl.DataFrame, failures: pl.DataFrame, file: str, cures: dict[str, str], before: int
) -> list[Problem]:
    problems = []
    # For a column of the wrong type, report only that.
    other_type = failures.filter(pl.col("check").str.starts_with("dtype("))["column"].to_list()
    for (column, check), cases in failures.group_by("column", "check", maintain_order=True):
        if column in other_type and not str(check).startswith("dtype("):
            continue
        first = cases.row(0, named=True)
        name = None if column is None else str(column)
        rows = cases["index"].drop_nulls()
        row = int(rows[0]) + 1 if len(rows) else None
        if name in frame.schema and name is not None and row is not None:
            found = _format_value(frame, name, row - 1)
        elif check == "column_in_dataframe":  # the failure is the name of the missing column
            name, found = str(first["failure_case"]), f"columns {', '.join(frame.columns)}"
        else:
            found = str(first["failure_case"])[:200]
        problems.append(
            Problem(
                _WORDS.get(str(check).split("(")[0], f"fails the check {check}"),
                file,
                found + and_more(len(cases) - 1),
                cures.get(name or "", ""),
                column=name,
                row=None if row is None else before + row,
            )
        )
    return problems


_WORDS = {
    "dtype": "the column has the wrong type",
    "not_nullable": "a value is missing",
    "field_uniqueness": "a value is repeated",
    "column_in_schema": "unknown column",
    "column_in_dataframe": "a column is missing",
    "str_length": "an empty text",
    "str_matches": "a value is malformed",
    "in_range": "a value is out of range",
    "greater_than_or_equal_to": "a value is too small",
}
