"""Reading prediction files: three formats that say the same, and every way in which a file can be broken."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.prediction_files import read_predictions

from .prediction_content import HEAD, ROW, A, B, frame_of, json_lines, refusal, write

TEXTS_LIKE_NOTHING = ["null", "NA", "None", "nan", "N/A", "", "TRUE", "1", "a, b", 'say "so"', "two\nlines", "ü"]


# Good files


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@pytest.mark.parametrize("optional", [(), ("seed",), ("confidence",), ("seed", "confidence")])
def test_a_good_file_reads_to_the_same_frame_in_every_format(
    tmp_path: Path, suffix: str, optional: tuple[str, ...]
) -> None:
    n = len(TEXTS_LIKE_NOTHING)
    extra = {"seed": list(range(n)), "confidence": [number / n for number in range(n)]}
    frame = frame_of(TEXTS_LIKE_NOTHING, **{name: extra[name] for name in optional})
    found = read_predictions(write(frame, tmp_path / f"p{suffix}"))
    expected = frame.with_columns(seed=pl.Series(extra["seed"] if "seed" in optional else [0] * n, dtype=pl.Int64))
    expected = expected.select("source", "id", "prediction", "seed", *({"confidence"} & set(optional)))
    assert_frame_equal(found, expected)


def test_columns_may_come_in_any_order_and_suffixes_in_any_case(tmp_path: Path) -> None:
    frame = frame_of(["neutral"], seed=[3])
    path = tmp_path / "P.CSV"
    path.write_text(frame.select("seed", "prediction", "id", "source").write_csv())
    assert_frame_equal(read_predictions(path), frame)
    path = tmp_path / "p.ndjson"
    frame.write_ndjson(path)
    assert_frame_equal(read_predictions(path), frame)


@pytest.mark.parametrize("before", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", ["", "\n"])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(
    tmp_path: Path, before: str, end: str, last: str
) -> None:
    path = tmp_path / "p.csv"
    text = HEAD + f'fiction,{A},neutral\nfiction,{B},""' + last
    path.write_bytes((before + text.replace("\n", end)).encode())
    assert read_predictions(path)["prediction"].to_list() == ["neutral", ""]
    path = tmp_path / "p.jsonl"
    path.write_bytes((before + json_lines(ROW, {**ROW, "id": B}).replace("\n", end)).encode())
    assert read_predictions(path)["prediction"].to_list() == ["neutral", "neutral"]


def test_all_fields_may_be_quoted_and_blank_lines_between_json_lines_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    frame_of(["neutral", ""], seed=[1, 2]).write_csv(path, quote_style="always")
    assert read_predictions(path)["seed"].to_list() == [1, 2]
    path = tmp_path / "p.jsonl"
    path.write_text(json_lines(ROW) + "\n\n" + json_lines({**ROW, "id": B}))
    assert read_predictions(path)["id"].to_list() == [A, B]


def test_whole_seeds_of_any_type_and_dictionary_columns_are_read(tmp_path: Path) -> None:
    frame = frame_of(["a", "b"], seed=[1.0, 2.0])
    for seeds in (frame, frame.cast({"seed": pl.UInt8}), frame.cast({"seed": pl.Int32})):
        for suffix in (".parquet", ".jsonl"):
            assert read_predictions(write(seeds, tmp_path / f"p{suffix}"))["seed"].to_list() == [1, 2]
    codes = frame.with_columns(pl.col("prediction").cast(pl.Categorical), pl.col("source").cast(pl.Enum(["fiction"])))
    found = read_predictions(write(codes, tmp_path / "c.parquet"))
    assert found.dtypes == [pl.String] * 3 + [pl.Int64]
    assert found["prediction"].to_list() == ["a", "b"]


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(any_text, min_size=1, max_size=6), st.sampled_from([".parquet", ".jsonl", ".csv"]), st.booleans())
def test_any_text_survives_any_format(tmp_path: Path, texts: list[str], suffix: str, seeds: bool) -> None:
    frame = frame_of(texts, **({"seed": list(range(len(texts)))} if seeds else {}))
    found = read_predictions(write(frame, tmp_path / f"p{suffix}"))
    assert found["prediction"].to_list() == texts
    assert found["id"].to_list() == frame["id"].to_list()


# Nothing there


SUFFIXES = (".parquet", ".jsonl", ".csv")


def each_format(tmp_path: Path, frame: pl.DataFrame) -> str:
    """Return the one refusal of a frame as a file of any format."""
    said = {refusal(write(frame, tmp_path / f"p{suffix}")).replace(f"p{suffix}", "p") for suffix in SUFFIXES}
    (message,) = said
    return message


def test_refusals_of_whole_files(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (empty,) = {refusal(tmp_path / f"p{suffix}", b"").replace(f"p{suffix}", "p") for suffix in SUFFIXES}
    (rowless,) = {refusal(tmp_path / "p.csv", text) for text in (HEAD, HEAD.strip(), "\ufeff" + HEAD, "\n\n")}
    (tmp_path / "d.csv").mkdir()
    said = {
        "empty": empty,
        "no rows, CSV": rowless,
        "no rows, JSON lines": refusal(tmp_path / "p.jsonl", "\n\n"),
        "no rows, Parquet": refusal(write(frame_of(["a"]).clear(), tmp_path / "p.parquet")),
        "no file": refusal(tmp_path / "none.csv"),
        "a folder": refusal(tmp_path / "d.csv"),
        "a zip archive": refusal(tmp_path / "p.csv", b"PK\x03\x04"),
        "one word": refusal(tmp_path / "p", b"x"),
        "a wrong column": each_format(tmp_path, frame_of(["a"]).rename({"prediction": "predicted"})),
        "a column too many": each_format(tmp_path, frame_of(["a"], index=[0])),
        "a column twice": refusal(tmp_path / "p.csv", "source,id,prediction,prediction\na,b,c,d\n"),
        "spaces in the header": refusal(tmp_path / "p.csv", "source, id, prediction\na,b,c\n"),
    }
    for name in ("", "Unnamed: 0", "__index_level_0__", "zzz"):  # three are how an index of pandas is called
        said[f"a column '{name}'"] = refusal(tmp_path / "p.csv", f"{name},{HEAD}0,fiction,{A},neutral\n")
    assert said == wording


def test_refusals_of_values(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for column in ("source", "id", "prediction"):
        holed = frame_of(["a", "b", "c", "d"]).with_columns(
            pl.when(pl.int_range(4) < 2).then(pl.col(column)).alias(column)
        )
        said[f"null, {column}, Parquet"] = refusal(write(holed, tmp_path / "p.parquet"))
        for value in (None, math.nan):
            said[f"{value}, {column}"] = refusal(tmp_path / "p.jsonl", json_lines(ROW, {**ROW, column: value}))
        left_out = {name: value for name, value in ROW.items() if name != column}
        assert refusal(tmp_path / "p.jsonl", json_lines(ROW, left_out)) == said[f"None, {column}"]
    rows = frame_of(["a", "b"])
    for suffix in (".parquet", ".jsonl"):
        numbers = rows.with_columns(prediction=pl.Series([2, 0]))
        said[f"numbers, {suffix}"] = refusal(write(numbers, tmp_path / f"p{suffix}"))
    for mixed in ({"label": "neutral"}, ["O", 1]):
        said[str(mixed)] = refusal(tmp_path / "p.jsonl", json_lines({**ROW, "prediction": mixed}))
    for values in (None, [[1.5], [2.5]], [b"a", b"b"], [True, False]):
        prediction = pl.Series(values) if values else pl.lit(None)
        said[str(values)] = refusal(write(rows.with_columns(prediction=prediction), tmp_path / "p.parquet"))
    dates = frame_of(["a"], seed=["2024-01-31"]).with_columns(pl.col("seed").str.to_date())
    said["a date as a seed"] = refusal(write(dates, tmp_path / "p.parquet"))
    assert said == wording


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.parquet", "p.txt", "p"])
def test_the_content_says_what_a_file_is_and_not_its_name(tmp_path: Path, suffix: str, name: str) -> None:
    frame = frame_of(["neutral", ""], seed=[1, 2])
    path = write(frame, tmp_path / f"written{suffix}").rename(tmp_path / name)
    assert_frame_equal(read_predictions(path), frame)


# Columns


# Values


@pytest.mark.parametrize(
    "seeds", [[1.0, 1.5], [1.0, math.nan], [1, None], ["1", "x"], ["1", "1.0"], ["1", ""], ["1", " 1"], [1, 2**63]]
)
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_seed_that_is_no_whole_number(tmp_path: Path, seeds: list[Any], suffix: str) -> None:
    path = write(frame_of(["a", "b"], seed=pl.Series(seeds, strict=False)), tmp_path / f"p{suffix}")
    # In a CSV 1.0 is text; that it was a number is not guessed.
    row = 1 if suffix == ".csv" and isinstance(seeds[0], float) else 2
    message = refusal(path)
    assert message.startswith(f"p{suffix}, column 'seed', row {row}: ")


@pytest.mark.parametrize("confidences", [[0.5, None], [0.5, math.nan], ["0.5", "0,9"], ["0.5", "high"], ["0.5", ""]])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_confidence_that_is_no_number(tmp_path: Path, confidences: list[Any], suffix: str) -> None:
    message = refusal(write(frame_of(["a", "b"], confidence=confidences), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column 'confidence', row 2: ")


@pytest.mark.parametrize("value", [[1], {"a": 1}, True])
@pytest.mark.parametrize("column", ["seed", "confidence"])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_lists_records_and_booleans_are_no_numbers(tmp_path: Path, value: Any, column: str, suffix: str) -> None:
    message = refusal(write(frame_of(["a"], **{column: [value]}), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column '{column}', row 1: ")
    assert f" {value!r} " in message


def test_bad_values_of_all_columns_come_at_once(tmp_path: Path, wording: SnapshotAssertion) -> None:
    rows = frame_of(["a", "b", "c"], seed=["0", "x", "y"], confidence=["high", "1", "1"])
    in_csv = refusal(write(rows, tmp_path / "p.csv"))
    in_lines = refusal(
        tmp_path / "p.jsonl",
        json_lines(
            {**ROW, "source": None},
            {**ROW, "prediction": 1, "seed": "x"},
            {**ROW, "prediction": None},
            {**ROW, "prediction": 2},
        ),
    )
    assert [in_csv, in_lines] == wording
