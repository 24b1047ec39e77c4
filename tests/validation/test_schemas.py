"""Schemas of examples and depth tables, and how a failing check is reported."""

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.report import InvalidInput
from shiftbench.validation.schemas import (
    ANSWERS,
    check_examples,
    check_rows,
    depth_schema,
    example_schema,
    prediction_schema,
)
from shiftbench.validation.vocabulary import TaskKind

LABELS = ("negative", "positive")
EXAMPLES = pl.DataFrame(
    {
        "id": [f"own/sa/books/test/{number:012x}" for number in range(4)],
        "domain": ["books"] * 4,
        "group": ["a", "a", "b", "c"],
        "text": ["null", "NA", "", "fine"],
        "label": [0, 1, 0, 1],
    }
)
DEPTHS = pl.DataFrame(
    {"id": ["a", "b"], "source": ["books", "books"], "depth": [1.0, 2.0], "weight": [None, 1.0]},
    schema_overrides={"weight": pl.Float64},
)


def refusal(frame: pl.DataFrame, schema=None) -> str:  # type: ignore[no-untyped-def]
    schema = schema or example_schema(TaskKind.CLASSIFICATION, ("text",), LABELS)
    with pytest.raises(InvalidInput) as refused:
        check_rows(frame, schema, "test.parquet")
    return str(refused.value)


def with_value(frame: pl.DataFrame, row: int, **values: object) -> pl.DataFrame:
    here = pl.int_range(pl.len()) == row - 1
    return frame.with_columns(
        pl.when(here).then(pl.lit(value)).otherwise(pl.col(name)).alias(name) for name, value in values.items()
    )


def test_good_rows_pass_texts_like_null_included() -> None:
    check_rows(EXAMPLES, example_schema(TaskKind.CLASSIFICATION, ("text",), LABELS), "test.parquet")
    check_rows(DEPTHS, depth_schema(), "depth.parquet")


def test_refusals_of_rows(wording: SnapshotAssertion) -> None:
    schema = example_schema(TaskKind.CLASSIFICATION, ("text",), LABELS)
    with pytest.raises(InvalidInput) as refused:
        check_rows(EXAMPLES.with_columns(label=pl.Series([0, 5, 6, 7])), schema, "f", {"label": "there are two labels"})
    said = {
        "a cure": str(refused.value),
        "a column missing": refusal(EXAMPLES.drop("group")),
        "a column too many": refusal(EXAMPLES.with_columns(note=pl.lit("x"))),
    }
    for column, value in (
        ("id", "own/sa/books/test/0"),
        ("id", "own/sa/books/test/000000000000\n"),
        ("id", "own/sa/books/test/000000000000"),
        ("domain", ""),
        ("group", ""),
        ("text", None),
        ("label", 2),
        ("label", -1),
    ):
        said[f"{column} {value!r}"] = refusal(with_value(EXAMPLES, 3, **{column: value}))
    for values in ({"depth": 2.5}, {"depth": -0.1}, {"weight": 1.5}, {"id": "a"}):
        said[f"depths, {values}"] = refusal(with_value(DEPTHS, 2, **values), depth_schema())
    assert said == wording


def test_a_column_of_another_type_is_reported() -> None:
    assert "column 'label'" in refusal(EXAMPLES.with_columns(pl.col("label").cast(pl.String)))


def test_a_depth_that_is_not_a_number_is_refused() -> None:
    assert "column 'depth', row 2" in refusal(with_value(DEPTHS, 2, depth=float("nan")), depth_schema())


def test_predictions_may_lack_confidence_but_not_seed() -> None:
    frame = pl.DataFrame({"source": ["a"], "id": ["b"], "prediction": [""], "seed": [0]})
    check_rows(frame, prediction_schema(), "p.csv")
    assert "seed" in refusal(frame.drop("seed"), prediction_schema())


# What a row predicts, against its inputs

BASE = EXAMPLES.head(3).select("id", "domain", "group")
GOOD_ANSWER = {"text": ["b"], "answer_start": [1]}


def told(frame: pl.DataFrame, kind: TaskKind, inputs: tuple[str, ...]) -> list[str]:
    with pytest.raises(InvalidInput) as refused:
        check_examples(frame, kind, inputs, LABELS, "f")
    return str(refused.value).splitlines()


def tagged(tokens: object, tags: object) -> pl.DataFrame:
    """Return three rows, of which the second is this one."""
    return BASE.with_columns(
        pl.Series("tokens", [["a"], tokens, ["b"]], dtype=pl.List(pl.String)),
        pl.Series("tags", [[0], tags, [1]], dtype=pl.List(pl.Int64)),
    )


def answered(answers: object, context: str | None = "abc") -> pl.DataFrame:
    """Return three rows, of which the second is this one."""
    return BASE.with_columns(
        pl.Series("title", ["", "t", "t"]),
        pl.Series("context", ["abc", context, "abc"]),
        pl.Series("question", ["?"] * 3),
        pl.Series("answers", [GOOD_ANSWER, answers, GOOD_ANSWER], dtype=ANSWERS),
    )


def test_sound_rows_of_every_kind_pass() -> None:
    check_examples(tagged(["x", "y"], [0, 1]), TaskKind.TAGGING, ("tokens",), LABELS, "f")
    qa = ("title", "context", "question")
    for answers in (GOOD_ANSWER, {"text": [], "answer_start": []}):
        check_examples(answered(answers), TaskKind.EXTRACTIVE_QA, qa, (), "f")


def test_each_fault_of_tagged_and_answered_rows_is_one_line(wording: SnapshotAssertion) -> None:
    said = {}
    for tokens, tags in (
        (None, [0]),
        (["x"], None),
        (["x", None], [0, 1]),
        (["x", "y"], [0, None]),
        (["x"], [None]),
        ([], []),
        ([], [0]),
        (["x", "y"], [1]),
        (["x"], [2]),
        (["x"], [-1]),
    ):
        (said[f"{tokens}, {tags}"],) = told(tagged(tokens, tags), TaskKind.TAGGING, ("tokens",))
    inputs = ("title", "context", "question")
    for answers in (
        None,
        {"text": None, "answer_start": [1]},
        {"text": ["b"], "answer_start": None},
        {"text": [None], "answer_start": [1]},
        {"text": ["b"], "answer_start": [None]},
        {"text": [""], "answer_start": [1]},
        {"text": ["b"], "answer_start": []},
        {"text": ["x"], "answer_start": [1]},
        {"text": ["c"], "answer_start": [-1]},
    ):
        (said[str(answers)],) = told(answered(answers), TaskKind.EXTRACTIVE_QA, inputs)
    blank = EXAMPLES.with_columns(text=pl.Series(["null", "", " \n", "fine"]))
    (said["an empty text"],) = told(blank, TaskKind.CLASSIFICATION, ("text",))
    (said["no context"],) = told(answered({"text": [], "answer_start": []}, ""), TaskKind.EXTRACTIVE_QA, inputs)
    assert said == wording


def test_faults_of_schema_and_of_rows_come_at_once() -> None:
    frame = tagged(["x"], [7]).with_columns(domain=pl.Series(["", "a", "b"]))
    assert [line.split(":")[0] for line in told(frame, TaskKind.TAGGING, ("tokens",))] == [
        "f, column 'domain', row 1",
        "f, column 'tags', row 2",
    ]
    assert len(told(frame.drop("tags"), TaskKind.TAGGING, ("tokens",))) == 2
