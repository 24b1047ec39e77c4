"""Schemas of examples and depth tables, and how a failing check is reported."""

import polars as pl
import pytest

from validation.report import InvalidInput
from validation.schemas import check_rows, depth_schema, example_schema, prediction_schema
from validation.vocabulary import TaskKind

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
        ("id", "own/sa/books/test/0", "column 'id', row 3: a value has the wrong form; found 'own/sa/books/test/0'"),
        ("id", "own/sa/books/test/000000000000\n", "column 'id', row 3: a value has the wrong form"),
        ("id", "own/sa/books/test/000000000000", "column 'id', row 1: a value is repeated"),
        ("domain", "", "column 'domain', row 3: an empty text"),
        ("group", "", "column 'group', row 3: an empty text"),
        ("text", None, "column 'text', row 3: a value is missing; found None"),
        ("label", 2, "column 'label', row 3: a value is out of range; found 2"),
        ("label", -1, "column 'label', row 3: a value is out of range; found -1"),
    ],
)
def test_a_bad_value_names_column_and_row(column: str, value: object, words: str) -> None:
    assert words in refusal(with_value(EXAMPLES, 3, **{column: value}))


def test_columns_that_are_missing_or_too_many() -> None:
    assert "a column is missing" in refusal(EXAMPLES.drop("group"))
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
        ({"depth": 2.5}, "column 'depth', row 2: a value is out of range; found 2.5"),
        ({"depth": -0.1}, "column 'depth', row 2: a value is out of range"),
        ({"weight": 1.5}, "column 'weight', row 2: a value is out of range"),
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
    assert "a column is missing" in refusal(frame.drop("seed"), prediction_schema())
