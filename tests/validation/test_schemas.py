"""Schemas of examples and depth tables, and how a failing check is reported."""

import polars as pl
import pytest

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
from tests import wording

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


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("id", "own/sa/books/test/0", "column 'id', row 3: a value is malformed; found 'own/sa/books/test/0'"),
        ("id", "own/sa/books/test/000000000000\n", "column 'id', row 3: a value is malformed"),
        ("id", "own/sa/books/test/000000000000", "column 'id', row 1: a value is repeated"),
        ("domain", "", "column 'domain', row 3: an empty text"),
        ("group", "", "column 'group', row 3: an empty text"),
        ("text", None, f"column 'text', row 3: {wording.VALUE_MISSING}; found None"),
        ("label", 2, f"column 'label', row 3: {wording.VALUE_OUT_RANGE}; found 2"),
        ("label", -1, f"column 'label', row 3: {wording.VALUE_OUT_RANGE}; found -1"),
    ],
)
def test_a_bad_value_names_column_and_row(column: str, value: object, words: str) -> None:
    assert words in refusal(with_value(EXAMPLES, 3, **{column: value}))


def test_columns_that_are_missing_or_too_many() -> None:
    assert wording.A_COLUMN_IS_MISSING in refusal(EXAMPLES.drop("group"))
    assert "'group'" in refusal(EXAMPLES.drop("group")) or "found group" in refusal(EXAMPLES.drop("group"))
    assert "unknown column" in refusal(EXAMPLES.with_columns(note=pl.lit("x")))


def test_a_column_of_another_type_is_reported() -> None:
    assert "column 'label'" in refusal(EXAMPLES.with_columns(pl.col("label").cast(pl.String)))


def test_more_bad_rows_are_counted_and_the_cure_given() -> None:
    frame = EXAMPLES.with_columns(label=pl.Series([0, 5, 6, 7]))
    schema = example_schema(TaskKind.CLASSIFICATION, ("text",), LABELS)
    with pytest.raises(InvalidInput) as refused:
        check_rows(frame, schema, "test.parquet", {"label": "there are two labels"})
    assert str(refused.value) == (
        "test.parquet, column 'label', row 2: a value is out of range; found 5 (and 2 more rows); there are two labels"
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"depth": 2.5}, f"column 'depth', row 2: {wording.VALUE_OUT_RANGE}; found 2.5"),
        ({"depth": -0.1}, f"column 'depth', row 2: {wording.VALUE_OUT_RANGE}"),
        ({"weight": 1.5}, f"column 'weight', row 2: {wording.VALUE_OUT_RANGE}"),
        ({"id": "a"}, "column 'id', row 1: a value is repeated"),
    ],
)
def test_depth_tables(values: dict[str, object], words: str) -> None:
    assert words in refusal(with_value(DEPTHS, 2, **values), depth_schema())


def test_a_depth_that_is_not_a_number_is_refused() -> None:
    assert "column 'depth', row 2" in refusal(with_value(DEPTHS, 2, depth=float("nan")), depth_schema())


def test_predictions_may_lack_confidence_but_not_seed() -> None:
    frame = pl.DataFrame({"source": ["a"], "id": ["b"], "prediction": [""], "seed": [0]})
    check_rows(frame, prediction_schema(), "p.csv")
    assert wording.A_COLUMN_IS_MISSING in refusal(frame.drop("seed"), prediction_schema())


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


@pytest.mark.parametrize(
    ("tokens", "tags", "words"),
    [
        (None, [0], f"column 'tokens', row 2: {wording.VALUE_MISSING}; found None"),
        (["x"], None, f"column 'tags', row 2: {wording.VALUE_MISSING}; found None"),
        (["x", None], [0, 1], "column 'tokens', row 2: a token is missing; found ['x', None]"),
        (["x", "y"], [0, None], "column 'tags', row 2: a tag is missing; found [0, None]"),
        (["x"], [None], "column 'tags', row 2: a tag is missing; found [None]"),
        ([], [], f"column 'tokens', row 2: {wording.ROW_HAS_NO_TOKENS}; found []"),
        ([], [0], f"column 'tokens', row 2: {wording.ROW_HAS_NO_TOKENS}; found []"),
        (["x", "y"], [1], f"column 'tags', row 2: {wording.NUMBERS_TAGS_TOKENS_DIFFER}; found [1]"),
        (["x"], [2], "column 'tags', row 2: a tag code is out of range; found [2]"),
        (["x"], [-1], "column 'tags', row 2: a tag code is out of range; found [-1]"),
    ],
)
def test_each_fault_of_a_tagged_row_is_one_line(tokens: object, tags: object, words: str) -> None:
    assert told(tagged(tokens, tags), TaskKind.TAGGING, ("tokens",)) == [f"f, {words}"]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (None, f"{wording.VALUE_MISSING}; found None"),
        ({"text": None, "answer_start": [1]}, f"{wording.ANSWER_OR_ITS_OFFSET}; found {{'text': None, "),
        ({"text": ["b"], "answer_start": None}, wording.ANSWER_OR_ITS_OFFSET),
        ({"text": [None], "answer_start": [1]}, wording.ANSWER_OR_ITS_OFFSET),
        ({"text": ["b"], "answer_start": [None]}, wording.ANSWER_OR_ITS_OFFSET),
        ({"text": [""], "answer_start": [1]}, "an answer is empty; found {'text': [''], 'answer_start': [1]}"),
        ({"text": ["b"], "answer_start": []}, "the numbers of answers and offsets differ"),
        ({"text": ["x"], "answer_start": [1]}, "an answer is not at its offset"),
        ({"text": ["c"], "answer_start": [-1]}, "an answer is not at its offset"),
    ],
)
def test_each_fault_of_an_answered_row_is_one_line(answers: object, words: str) -> None:
    (line,) = told(answered(answers), TaskKind.EXTRACTIVE_QA, ("title", "context", "question"))
    assert line.startswith(f"f, column 'answers', row 2: {words}")


def test_an_empty_input_is_refused_but_for_a_title() -> None:
    blank = EXAMPLES.with_columns(text=pl.Series(["null", "", " \n", "fine"]))
    assert told(blank, TaskKind.CLASSIFICATION, ("text",)) == [
        "f, column 'text', row 2: an empty text; found '' (and 1 more row)"
    ]
    (line,) = told(
        answered({"text": [], "answer_start": []}, ""), TaskKind.EXTRACTIVE_QA, ("title", "context", "question")
    )
    assert line.startswith("f, column 'context', row 2: an empty text")


def test_faults_of_schema_and_of_rows_come_at_once() -> None:
    frame = tagged(["x"], [7]).with_columns(domain=pl.Series(["", "a", "b"]))
    assert [line.split(":")[0] for line in told(frame, TaskKind.TAGGING, ("tokens",))] == [
        "f, column 'domain', row 1",
        "f, column 'tags', row 2",
    ]
    assert len(told(frame.drop("tags"), TaskKind.TAGGING, ("tokens",))) == 2
