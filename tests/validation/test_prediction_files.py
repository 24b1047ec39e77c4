"""Reading prediction files: three formats that say the same, and every way in which a file can be broken."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from shiftbench.validation.prediction_files import read_predictions
from tests import wording

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


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_an_empty_file(tmp_path: Path, suffix: str) -> None:
    assert (
        refusal(tmp_path / f"p{suffix}", b"")
        == f"p{suffix}: {wording.FILE_EMPTY}; found 0 bytes; run the program that writes it again"
    )


@pytest.mark.parametrize("content", [HEAD, HEAD.strip(), "\ufeff" + HEAD, "\n\n"])
def test_a_csv_without_rows(tmp_path: Path, content: str) -> None:
    message = refusal(tmp_path / "p.csv", content)
    assert message == "p.csv: the file contains no predictions; found 0 rows; run the program that writes it again"


def test_the_other_formats_without_rows(tmp_path: Path) -> None:
    assert f"{wording.FILE_CONTAINS_NO_PREDICTIONS}; found 0 rows" in refusal(tmp_path / "p.jsonl", "\n\n")
    assert f"{wording.FILE_CONTAINS_NO_PREDICTIONS}; found 0 rows" in refusal(
        write(frame_of(["a"]).clear(), tmp_path / "p.parquet")
    )


def test_no_file_a_folder_and_an_unknown_kind(tmp_path: Path) -> None:
    assert refusal(tmp_path / "p.csv") == f"p.csv: {wording.NO_SUCH_PREDICTION_FILE}; check the path"
    (tmp_path / "d.csv").mkdir()
    assert wording.NO_SUCH_PREDICTION_FILE in refusal(tmp_path / "d.csv")
    assert refusal(tmp_path / "p.csv", b"PK\x03\x04") == (
        f"p.csv: {wording.NEITHER_PARQUET_NOR_JSON}; found a zip archive (or a spreadsheet); "
        "send predictions as a parquet, JSON lines or CSV file"
    )
    assert f"column 'source': {wording.A_COLUMN_IS_MISSING}; found columns x" in refusal(tmp_path / "p", b"x")


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.parquet", "p.txt", "p"])
def test_the_content_says_what_a_file_is_and_not_its_name(tmp_path: Path, suffix: str, name: str) -> None:
    frame = frame_of(["neutral", ""], seed=[1, 2])
    path = write(frame, tmp_path / f"written{suffix}").rename(tmp_path / name)
    assert_frame_equal(read_predictions(path), frame)


# Columns


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_wrong_column_is_named_with_the_right_ones(tmp_path: Path, suffix: str) -> None:
    message = refusal(write(frame_of(["a"]).rename({"prediction": "predicted"}), tmp_path / f"p{suffix}"))
    wrong, missing = message.splitlines()
    assert wrong.startswith(f"p{suffix}, column 'predicted': unknown column; found 'predicted'; did you mean")
    assert "'prediction'?" in wrong
    assert missing.startswith(f"p{suffix}, column 'prediction': a column is missing; found columns source, id, predict")
    assert missing.endswith("columns: source, id, prediction; optional: seed, confidence, probabilities")


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_column_too_many_is_refused(tmp_path: Path, suffix: str) -> None:
    message = refusal(write(frame_of(["a"], index=[0]), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column 'index': unknown column; found 'index'")


def test_a_repeated_header_and_spaces_in_the_header(tmp_path: Path) -> None:
    assert refusal(tmp_path / "p.csv", "source,id,prediction,prediction\na,b,c,d\n") == (
        "p.csv, column 'prediction': two columns have this name; found columns source, id, prediction, prediction; "
        f"{wording.RENAME_OR_DROP_ONE}"
    )
    message = refusal(tmp_path / "p.csv", "source, id, prediction\na,b,c\n")
    assert "column ' id': unknown column; found ' id'; did you mean 'id'?" in message


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_the_index_of_a_pandas_frame_is_called_that(tmp_path: Path, name: str) -> None:
    assert refusal(tmp_path / "p.csv", f"{name},{HEAD}0,fiction,{A},neutral\n") == (
        f"p.csv, column '{name}': unknown column; found '{name}'; "
        "it seems to be the index of a pandas frame: write the file with index=False"
    )


def test_a_column_like_none_of_ours_gets_the_list_once(tmp_path: Path) -> None:
    assert refusal(tmp_path / "p.csv", f"zzz,{HEAD}0,fiction,{A},neutral\n") == (
        "p.csv, column 'zzz': unknown column; found 'zzz'; "
        "columns: source, id, prediction; optional: seed, confidence, probabilities"
    )


# Values


@pytest.mark.parametrize("column", ["source", "id", "prediction"])
def test_null_and_nan_are_missing_values_with_their_row(tmp_path: Path, column: str) -> None:
    cure = "write '__unparsed__' where" if column == "prediction" else "fill it in"
    frame = frame_of(["a", "b", "c", "d"])
    holed = frame.with_columns(pl.when(pl.int_range(4) < 2).then(pl.col(column)).alias(column))
    message = refusal(write(holed, tmp_path / "p.parquet"))
    assert message.startswith(
        f"p.parquet, column '{column}', row 3: {wording.VALUE_MISSING}; found None (2 such rows); {cure}"
    )
    for value, shown in ((None, "None"), (math.nan, "nan")):
        message = refusal(tmp_path / "p.jsonl", json_lines(ROW, {**ROW, column: value}))
        assert message.startswith(f"p.jsonl, column '{column}', row 2: {wording.VALUE_MISSING}; found {shown}; {cure}")
    left_out = {name: value for name, value in ROW.items() if name != column}
    assert f"row 2: {wording.VALUE_MISSING}; found None" in refusal(tmp_path / "p.jsonl", json_lines(ROW, left_out))


def test_a_column_of_nulls_alone_is_missing_values(tmp_path: Path) -> None:
    message = refusal(write(frame_of(["a", "b"]).with_columns(prediction=None), tmp_path / "p.parquet"))
    assert message.startswith("p.parquet, column 'prediction', row 1: a value is missing; found None (2 such rows)")


def test_class_numbers_are_not_label_names(tmp_path: Path) -> None:
    numbers = frame_of(["a", "b"]).with_columns(prediction=pl.Series([2, 0]))
    assert refusal(write(numbers, tmp_path / "p.parquet")) == (
        f"p.parquet, column 'prediction', row 1: {wording.VALUE_NOT_TEXT}; found 2 (2 such rows); "
        "write texts as JSON strings in quotes, and label names, not class numbers"
    )
    message = refusal(write(numbers, tmp_path / "p.jsonl"))
    assert message.startswith(f"p.jsonl, column 'prediction', row 1: {wording.VALUE_NOT_TEXT}; found 2")
    assert message.endswith("not class numbers")


@pytest.mark.parametrize(
    ("value", "cure"),
    [({"label": "neutral"}, "write the label as text"), (["O", 1], "write the tags as a list of texts")],
)
def test_records_and_mixed_lists_are_no_predictions(tmp_path: Path, value: Any, cure: str) -> None:
    message = refusal(tmp_path / "p.jsonl", json_lines({**ROW, "prediction": value}))
    assert message == f"p.jsonl, column 'prediction', row 1: {wording.VALUE_NOT_TEXT}; found {value!r}; {cure}"


@pytest.mark.parametrize("value", [[[1.5], [2.5]], [b"a", b"b"], [True, False]])
def test_predictions_of_another_type(tmp_path: Path, value: list[Any]) -> None:
    message = refusal(write(frame_of(["a", "b"]).with_columns(prediction=pl.Series(value)), tmp_path / "p.parquet"))
    assert message.startswith(f"p.parquet, column 'prediction', row 1: {wording.COLUMN_MUST_CONTAIN_TEXT}; found ")
    assert f"first value {value[0]!r}; write text" in message


@pytest.mark.parametrize(
    "seeds", [[1.0, 1.5], [1.0, math.nan], [1, None], ["1", "x"], ["1", "1.0"], ["1", ""], ["1", " 1"], [1, 2**63]]
)
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_seed_that_is_no_whole_number(tmp_path: Path, seeds: list[Any], suffix: str) -> None:
    path = write(frame_of(["a", "b"], seed=pl.Series(seeds, strict=False)), tmp_path / f"p{suffix}")
    # In a CSV 1.0 is text; that it was a number is not guessed.
    row = 1 if suffix == ".csv" and isinstance(seeds[0], float) else 2
    message = refusal(path)
    assert message.startswith(f"p{suffix}, column 'seed', row {row}: {wording.SEED_NOT_INTEGER}; found ")
    assert message.endswith("give every row an integer, or omit the column")


@pytest.mark.parametrize("confidences", [[0.5, None], [0.5, math.nan], ["0.5", "0,9"], ["0.5", "high"], ["0.5", ""]])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_confidence_that_is_no_number(tmp_path: Path, confidences: list[Any], suffix: str) -> None:
    message = refusal(write(frame_of(["a", "b"], confidence=confidences), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column 'confidence', row 2: {wording.CONFIDENCE_NOT_NUMBER}; found ")
    assert message.endswith("(1 such row); give every row a number from 0 to 1, or omit the column")


@pytest.mark.parametrize("value", [[1], {"a": 1}, True])
@pytest.mark.parametrize("column", ["seed", "confidence"])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_lists_records_and_booleans_are_no_numbers(tmp_path: Path, value: Any, column: str, suffix: str) -> None:
    message = refusal(write(frame_of(["a"], **{column: [value]}), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column '{column}', row 1: a {column} is not a")
    assert f"found {value!r} (1 such row)" in message


def test_a_date_is_no_seed(tmp_path: Path) -> None:
    dates = frame_of(["a"], seed=["2024-01-31"]).with_columns(pl.col("seed").str.to_date())
    message = refusal(write(dates, tmp_path / "p.parquet"))
    assert f"column 'seed', row 1: {wording.SEED_NOT_INTEGER}; found datetime.date(2024, 1, 31)" in message


def test_bad_values_of_all_columns_come_at_once(tmp_path: Path) -> None:
    rows = frame_of(["a", "b", "c"], seed=["0", "x", "y"], confidence=["high", "1", "1"])
    places = [f"p.csv, column '{name}', row {row}" for name, row in (("seed", 2), ("confidence", 1))]
    assert [line.split(":")[0] for line in refusal(write(rows, tmp_path / "p.csv")).splitlines()] == places
    lines = refusal(
        tmp_path / "p.jsonl",
        json_lines(
            {**ROW, "source": None},
            {**ROW, "prediction": 1, "seed": "x"},
            {**ROW, "prediction": None},
            {**ROW, "prediction": 2},
        ),
    ).splitlines()
    assert [line.split("; ")[:2] for line in lines] == [
        [f"p.jsonl, column 'source', row 1: {wording.VALUE_MISSING}", "found None"],
        [f"p.jsonl, column 'prediction', row 3: {wording.VALUE_MISSING}", "found None"],
        [f"p.jsonl, column 'seed', row 1: {wording.SEED_NOT_INTEGER}", "found None (4 such rows)"],
        [f"p.jsonl, column 'prediction', row 2: {wording.VALUE_NOT_TEXT}", "found 1 (2 such rows)"],
    ]
