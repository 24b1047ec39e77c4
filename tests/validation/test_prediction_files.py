"""Reading prediction files: three formats that say the same, and every way in which a file can be broken."""

import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from validation import prediction_lines
from validation.limits import MAX_CHARACTERS
from validation.prediction_files import read_predictions
from validation.report import InvalidInput

HEAD = "source,id,prediction\n"
A = "dr/nli/fiction/test/00000000000a"
B = "dr/nli/fiction/test/00000000000b"
ROW = {"source": "fiction", "id": A, "prediction": "neutral"}
TEXTS_LIKE_NOTHING = ["null", "NA", "None", "nan", "N/A", "", "TRUE", "1", "a, b", 'say "so"', "two\nlines", "ü"]


def frame_of(predictions: list[str], **more: Any) -> pl.DataFrame:
    n = len(predictions)
    ids = [f"dr/nli/fiction/test/{number:012x}" for number in range(n)]
    return pl.DataFrame({"source": ["fiction"] * n, "id": ids, "prediction": predictions, **more})


def write(frame: pl.DataFrame, path: Path) -> Path:
    {".parquet": frame.write_parquet, ".jsonl": frame.write_ndjson, ".csv": frame.write_csv}[path.suffix](path)
    return path


def refusal(path: Path, content: str | bytes | None = None) -> str:
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InvalidInput) as refused:
        read_predictions(path)
    # The reader of a message should find the file in each of its lines, and each problem on one line.
    assert all(line.startswith(str(path)) for line in str(refused.value).splitlines())
    return str(refused.value).replace(str(path), path.name)


def json_lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


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
        == f"p{suffix}: the file is empty; found 0 bytes; run the program that writes it again"
    )


@pytest.mark.parametrize("content", [HEAD, HEAD.strip(), "\ufeff" + HEAD, "\n\n"])
def test_a_csv_without_rows(tmp_path: Path, content: str) -> None:
    message = refusal(tmp_path / "p.csv", content)
    assert message == "p.csv: the file holds no predictions; found 0 rows; run the program that writes it again"


def test_the_other_formats_without_rows(tmp_path: Path) -> None:
    assert "the file holds no predictions; found 0 rows" in refusal(tmp_path / "p.jsonl", "\n\n")
    assert "the file holds no predictions; found 0 rows" in refusal(
        write(frame_of(["a"]).clear(), tmp_path / "p.parquet")
    )


def test_no_file_a_folder_and_an_unknown_kind(tmp_path: Path) -> None:
    assert refusal(tmp_path / "p.csv") == "p.csv: there is no such prediction file; check the path"
    (tmp_path / "d.csv").mkdir()
    assert "there is no such prediction file" in refusal(tmp_path / "d.csv")
    assert refusal(tmp_path / "p.csv", b"PK\x03\x04") == (
        "p.csv: this is neither parquet, nor JSON lines, nor CSV; found a zip archive (or a spreadsheet); "
        "send predictions as a parquet, JSON lines or CSV file"
    )
    assert "column 'source': a column is missing; found columns x" in refusal(tmp_path / "p", b"x")


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
    assert missing.endswith(
        "the columns are source, id, prediction and, if you like, seed, confidence and probabilities"
    )


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_column_too_many_is_refused(tmp_path: Path, suffix: str) -> None:
    message = refusal(write(frame_of(["a"], index=[0]), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column 'index': unknown column; found 'index'")


def test_a_repeated_header_and_spaces_in_the_header(tmp_path: Path) -> None:
    assert refusal(tmp_path / "p.csv", "source,id,prediction,prediction\na,b,c,d\n") == (
        "p.csv, column 'prediction': two columns have this name; found columns source, id, prediction, prediction; "
        "rename or drop one"
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
        "the columns are source, id, prediction and, if you like, seed, confidence and probabilities"
    )


# Values


@pytest.mark.parametrize("column", ["source", "id", "prediction"])
def test_null_and_nan_are_missing_values_with_their_row(tmp_path: Path, column: str) -> None:
    cure = "write '__unparsed__' where" if column == "prediction" else "fill it in"
    frame = frame_of(["a", "b", "c", "d"])
    holed = frame.with_columns(pl.when(pl.int_range(4) < 2).then(pl.col(column)).alias(column))
    message = refusal(write(holed, tmp_path / "p.parquet"))
    assert message.startswith(
        f"p.parquet, column '{column}', row 3: a value is missing; found None (2 such rows); {cure}"
    )
    for value, shown in ((None, "None"), (math.nan, "nan")):
        message = refusal(tmp_path / "p.jsonl", json_lines(ROW, {**ROW, column: value}))
        assert message.startswith(f"p.jsonl, column '{column}', row 2: a value is missing; found {shown}; {cure}")
    left_out = {name: value for name, value in ROW.items() if name != column}
    assert "row 2: a value is missing; found None" in refusal(tmp_path / "p.jsonl", json_lines(ROW, left_out))


def test_a_column_of_nulls_alone_is_missing_values(tmp_path: Path) -> None:
    message = refusal(write(frame_of(["a", "b"]).with_columns(prediction=None), tmp_path / "p.parquet"))
    assert message.startswith("p.parquet, column 'prediction', row 1: a value is missing; found None (2 such rows)")


def test_class_numbers_are_not_label_names(tmp_path: Path) -> None:
    numbers = frame_of(["a", "b"]).with_columns(prediction=pl.Series([2, 0]))
    assert refusal(write(numbers, tmp_path / "p.parquet")) == (
        "p.parquet, column 'prediction', row 1: this column must hold text; found Int64, first value 2; "
        "write label names, not class numbers"
    )
    message = refusal(write(numbers, tmp_path / "p.jsonl"))
    assert message.startswith("p.jsonl, column 'prediction', row 1: a value is not text; found 2")
    assert message.endswith("write label names, not class numbers")


@pytest.mark.parametrize(
    ("value", "cure"),
    [({"label": "neutral"}, "write the label as text"), (["O", 1], "write the tags as a list of texts")],
)
def test_records_and_mixed_lists_are_no_predictions(tmp_path: Path, value: Any, cure: str) -> None:
    message = refusal(tmp_path / "p.jsonl", json_lines({**ROW, "prediction": value}))
    assert message == f"p.jsonl, column 'prediction', row 1: a value is not text; found {value!r}; {cure}"


@pytest.mark.parametrize("value", [[[1], [2]], [b"a", b"b"], [True, False]])
def test_predictions_of_another_type(tmp_path: Path, value: list[Any]) -> None:
    message = refusal(write(frame_of(["a", "b"]).with_columns(prediction=pl.Series(value)), tmp_path / "p.parquet"))
    assert message.startswith("p.parquet, column 'prediction', row 1: this column must hold text; found ")
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
    assert message.startswith(f"p{suffix}, column 'seed', row {row}: a seed is not a whole number; found ")
    assert message.endswith("give every row a whole number, or leave the column out")


@pytest.mark.parametrize("confidences", [[0.5, None], [0.5, math.nan], ["0.5", "0,9"], ["0.5", "high"], ["0.5", ""]])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_a_confidence_that_is_no_number(tmp_path: Path, confidences: list[Any], suffix: str) -> None:
    message = refusal(write(frame_of(["a", "b"], confidence=confidences), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column 'confidence', row 2: a confidence is not a number; found ")
    assert message.endswith("(1 such row); give every row a number from 0 to 1, or leave the column out")


@pytest.mark.parametrize("value", [[1], {"a": 1}, True])
@pytest.mark.parametrize("column", ["seed", "confidence"])
@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_lists_records_and_booleans_are_no_numbers(tmp_path: Path, value: Any, column: str, suffix: str) -> None:
    message = refusal(write(frame_of(["a"], **{column: [value]}), tmp_path / f"p{suffix}"))
    assert message.startswith(f"p{suffix}, column '{column}', row 1: a {column} is not a ")
    assert f"found {value!r} (1 such row)" in message


def test_a_date_is_no_seed(tmp_path: Path) -> None:
    dates = frame_of(["a"], seed=["2024-01-31"]).with_columns(pl.col("seed").str.to_date())
    message = refusal(write(dates, tmp_path / "p.parquet"))
    assert "column 'seed', row 1: a seed is not a whole number; found datetime.date(2024, 1, 31)" in message


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
        ["p.jsonl, column 'source', row 1: a value is missing", "found None"],
        ["p.jsonl, column 'prediction', row 3: a value is missing", "found None"],
        ["p.jsonl, column 'prediction', row 2: a value is not text", "found 1 (2 such rows)"],
        ["p.jsonl, column 'seed', row 1: a seed is not a whole number", "found None (4 such rows)"],
    ]


# CSVs that a spreadsheet had in hand

CURE = "export it again as comma-separated UTF-8 text, without opening it in a spreadsheet"


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_other_separators(tmp_path: Path, separator: str, name: str) -> None:
    message = refusal(tmp_path / "p.csv", (HEAD + f"fiction,{A},neutral\n").replace(",", separator))
    assert message.startswith(f"p.csv: the columns are separated by {name}, as spreadsheets do in some countries")
    assert f"found header {'source,id,prediction'.replace(',', separator)!r}; {CURE}" in message


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(tmp_path: Path, encoding: str) -> None:
    mark = "" if encoding == "utf-16" else "\ufeff"
    message = refusal(tmp_path / "p.csv", (mark + HEAD + f"fiction,{A},neutral\n").encode(encoding))
    assert message == f"p.csv: the file is UTF-16, as spreadsheets save 'Unicode text'; {CURE}"


def test_latin_1_names_the_row(tmp_path: Path) -> None:
    content = (HEAD + f"fiction,{A},neutral\nfiction,{B},café\n").encode("latin-1")
    told = (
        "the file is not UTF-8; found byte 0xe9, which is 'é' in Windows-1252; save it as UTF-8, as "
        "'iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv' does"
    )
    assert refusal(tmp_path / "p.csv", content) == f"p.csv, row 2: {told}"
    header = HEAD.replace("source", "sourcé").encode("latin-1")
    assert refusal(tmp_path / "p.csv", header) == f"p.csv: {told}"


def test_bare_carriage_returns(tmp_path: Path) -> None:
    message = refusal(tmp_path / "p.csv", (HEAD + f"fiction,{A},neutral\n").replace("\n", "\r"))
    assert message.startswith("p.csv: the lines end in bare carriage returns, as spreadsheets save 'CSV (Macintosh)'")
    assert message.endswith(CURE)


@pytest.mark.parametrize(
    ("bad", "n"), [("fiction,b", 2), ("fiction", 1), ("fiction,b,c,d", 4), ("fiction,b,c,", 4), ('"fic\ntion",b', 2)]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_ragged_row_is_counted_and_named(tmp_path: Path, bad: str, n: int, end: str) -> None:
    # U+2028 and the form feed end a line for str.splitlines, but not in a CSV.
    good = f'fiction,{A},"two\nlines"\nfiction,{A},\u2028\x0c\nfiction,{A},\n'
    message = refusal(tmp_path / "p.csv", (HEAD + good + bad + "\nfiction,x,y\n").replace("\n", end))
    assert message.startswith(f"p.csv, row 4: this row has {n} fields, the header 3; found ")
    assert message.endswith("put texts that hold commas or quotes in quotes")


@pytest.mark.parametrize("empty", ["", ",,", '"","",""'])
def test_an_empty_row_is_named(tmp_path: Path, empty: str) -> None:
    content = HEAD + f"fiction,{A},neutral\n{empty}\nfiction,{B},neutral\n"
    assert refusal(tmp_path / "p.csv", content) == "p.csv, row 2: this row is empty; delete the line"


@pytest.mark.parametrize("n_rows", [3, 30_000])
def test_a_quote_left_open(tmp_path: Path, n_rows: int) -> None:
    message = refusal(tmp_path / "p.csv", HEAD + f'fiction,{A},"neutral\n' + f"fiction,{B},neutral\n" * n_rows)
    # Over as many lines it is a row without end.
    what = ": the CSV cannot be read; found " if n_rows == 3 else ", row 1: this row is too long; found more than "
    assert message.startswith(f"p.csv{what}")
    assert "close every quote" in message


@pytest.mark.parametrize("field", ['a"b', '"a"b', 'a"', '"a" '])
def test_a_quote_out_of_place_is_refused_where_readers_differ(tmp_path: Path, field: str) -> None:
    message = refusal(tmp_path / "p.csv", HEAD + f"fiction,{A},{field}\n")
    assert message == (
        "p.csv: the CSV cannot be read; found a quote out of place, or left open, after row 0; "
        "put quotes around whole fields, close every quote, and write a quote in a field twice"
    )


def test_words_that_a_spreadsheet_writes_in_capitals_reach_the_label_check(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(HEAD + f"fiction,{A},TRUE\n")
    assert read_predictions(path)["prediction"].to_list() == ["TRUE"]


# JSON lines that are none


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "this line is not JSON text"),
        ("source,id,prediction", "this line is not JSON text"),
        ("[" * 100_000, "this line is not JSON text"),
        (json.dumps({**ROW, "prediction": "\ud800"}), "this line is not JSON text"),
        ("[1]", "this line is not a JSON object"),
        ('"text"', "this line is not a JSON object"),
        ("NaN", "this line is not a JSON object"),
        ('{"source": "a", "source": "b", "id": "c", "prediction": "d"}', "this line is not JSON text"),
    ],
)
def test_a_line_that_is_no_json_object(tmp_path: Path, line: str, words: str) -> None:
    message = refusal(tmp_path / "p.jsonl", json_lines(ROW) + line + "\n")
    assert message.startswith(f"p.jsonl, row 2: {words}; found b")
    assert message.endswith("write one JSON object a line, each key once")
    assert len(message) < 400


def test_json_lines_in_latin_1_or_cut_off(tmp_path: Path) -> None:
    text = json.dumps({**ROW, "prediction": "café"}, ensure_ascii=False)
    assert "row 1: this line is not JSON text" in refusal(tmp_path / "p.jsonl", text.encode("latin-1"))
    assert "row 2: this line is not JSON text" in refusal(tmp_path / "p.jsonl", json_lines(ROW, ROW)[:-20])


def test_escaped_characters_outside_the_basic_plane_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json_lines({**ROW, "prediction": "\U0001f600"}))
    assert "\\ud83d" in path.read_text()
    assert read_predictions(path)["prediction"].to_list() == ["\U0001f600"]


# Parquet files that are none


def zip_bytes() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("p.csv", HEAD)
    return content.getvalue()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (zip_bytes(), "found a zip archive (or a spreadsheet)"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "found a Git LFS pointer: fetch the real"),
        (b"<!DOCTYPE html><html></html>", "found a web page: was it the download link?"),
        (b"\n<html></html>", "found a web page: was it the download link?"),
        (b"\x80\x04\x95\x0b\x00\x00", "found bytes b'\\x80\\x04\\x95\\x0b\\x00\\x00'"),
    ],
)
def test_what_is_none_of_the_formats_says_what_it_seems_to_be(tmp_path: Path, content: bytes, found: str) -> None:
    message = refusal(tmp_path / "p.parquet", content)
    assert message.startswith(f"p.parquet: this is neither parquet, nor JSON lines, nor CSV; {found}")
    assert message.endswith("send predictions as a parquet, JSON lines or CSV file")


def test_a_parquet_that_breaks_off(tmp_path: Path) -> None:
    path = write(frame_of(["neutral"] * 50), tmp_path / "p.parquet")
    message = refusal(path, path.read_bytes()[:-10])
    assert message.startswith("p.parquet: the parquet file breaks off; found b")
    assert message.endswith(" at its end; write or copy it again")


@pytest.mark.parametrize("content", [b"PAR1", b"PAR1PAR1", b"PAR1" + b"\x00" * 40 + b"PAR1"])
def test_a_parquet_with_nothing_between_its_ends(tmp_path: Path, content: bytes) -> None:
    message = refusal(tmp_path / "p.parquet", content)
    assert message.startswith("p.parquet: the parquet file cannot be read; found damaged content")
    assert message.endswith("write it again; the copy may be cut off")


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_too_many_rows_are_refused(tmp_path: Path, suffix: str) -> None:
    path = write(frame_of(["a", "b", "c"]), tmp_path / f"p{suffix}")
    assert len(read_predictions(path, max_rows=3)) == 3
    with pytest.raises(InvalidInput, match="more rows than any grid of shifts has; found 3 rows; keep it under 2"):
        read_predictions(path, max_rows=2)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
@pytest.mark.parametrize("column", ["source", "id", "prediction"])
def test_a_value_that_is_too_long_is_named(tmp_path: Path, suffix: str, column: str) -> None:
    most = MAX_CHARACTERS[column]
    texts = pl.Series(column, ["a", "ü" * most, "b", "ü" * (most + 1), "c" * (5 * most)])
    path = write(frame_of(["x"] * 5).with_columns(texts), tmp_path / f"p{suffix}")
    message = refusal(path)
    # So long a text in parquet is not even read.
    row, found = (5, f"more than {4 * most:,} bytes") if suffix == ".parquet" else (4, f"{most + 1:,} characters (2 ")
    assert message.startswith(f"p{suffix}, column '{column}', row {row}: a value is too long; found {found}")
    assert message.endswith(f"keep it under {most:,} characters")
    assert read_predictions(write(frame_of(["x"] * 3).with_columns(texts.head(3)), path))[column][1] == "ü" * most


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl", ".csv"])
def test_files_of_many_parts_read_as_one(tmp_path: Path, suffix: str) -> None:
    n = 250_000
    texts = ["neutral", 'say "so"', "two\nlines", "ü" * 40, ""] * (n // 5)
    frame = frame_of(texts, seed=list(range(n)), confidence=[0.5] * n)
    path = write(frame, tmp_path / f"p{suffix}")
    assert path.stat().st_size > 4 * 2**20 or suffix == ".parquet"
    assert_frame_equal(read_predictions(path), frame)
    holed = frame.with_columns(pl.when(pl.col("seed") != n - 3).then("seed").cast(pl.String).fill_null("x"))
    message = refusal(write(holed, path))
    assert message.startswith(f"p{suffix}, column 'seed', row {n - 2}: a seed is not a whole number; found 'x' (1 such")


def test_seeds_that_only_some_json_lines_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_lines, "BATCH_LINES", 2)
    seeds = [{}, {}, {"seed": 1}, {"seed": 2}, {}]
    message = refusal(tmp_path / "p.jsonl", json_lines(*({**ROW, **seed} for seed in seeds)))
    assert message.startswith("p.jsonl, column 'seed', row 1: a seed is not a whole number; found None (3 such rows)")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=3))
def test_a_damaged_parquet_is_refused_or_read_but_never_a_crash(
    tmp_path: Path, damage: list[tuple[float, int]]
) -> None:
    path = write(frame_of(["a", "b", "c"] * 100, seed=list(range(300))), tmp_path / "p.parquet")
    content = bytearray(path.read_bytes())
    for place, byte in damage:
        content[4 + int(place * (len(content) - 8))] = byte
    path.write_bytes(content)
    try:
        read_predictions(path)
    except InvalidInput as refused:
        assert str(refused).startswith(str(path))  # noqa: PT017 - a lucky flip leaves the file readable


def test_pages_are_compared_with_their_checksums(tmp_path: Path) -> None:
    """Before, a changed letter of a page that is not compressed was read as it was."""
    path, rows = tmp_path / "p.parquet", frame_of(["neutral"] * 9).to_arrow()
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    for checksum in (False, True):
        pq.write_table(rows, path, write_page_checksum=checksum, **options)
        assert read_predictions(path)["prediction"].to_list() == ["neutral"] * 9
        path.write_bytes(path.read_bytes().replace(b"neutral", b"neutrml", 1))
        if checksum:
            assert "the parquet file cannot be read; found damaged content" in refusal(path)
        else:
            assert read_predictions(path)["prediction"][0] == "neutrml"


@pytest.mark.parametrize("kind", [pa.decimal128(38, 2), pa.decimal256(76, 2), pa.float64(), pa.float32()])
def test_decimals_are_what_floats_are(tmp_path: Path, kind: pa.DataType) -> None:
    """Before, a seed of 1.5 in decimals was read as 1, and decimals of 256 bits ended the process."""

    def written(**columns: list[float]) -> Path:
        rows = frame_of(["a", "b"]).to_arrow()
        for name, values in columns.items():
            rows = rows.drop_columns([name]) if name in rows.column_names else rows
            rows = rows.append_column(name, pa.array(values).cast(kind))
        pq.write_table(rows, tmp_path / "p.parquet")
        return tmp_path / "p.parquet"

    found = read_predictions(written(seed=[1.0, 2.0], confidence=[0.25, 1.0]))
    assert found["seed"].to_list() == [1, 2]
    assert found["confidence"].to_list() == [0.25, 1.0]
    assert "column 'seed', row 2: a seed is not a whole number; found " in refusal(written(seed=[1.0, 1.5]))
    message = refusal(written(prediction=[1.0, 2.0]))
    assert "column 'prediction', row 1: this column must hold text; found " in message
    assert message.endswith("write label names, not class numbers")


def test_metadata_of_a_schema_is_not_looked_at(tmp_path: Path) -> None:
    table = frame_of(["neutral"]).to_arrow().replace_schema_metadata({b"\xff\xfe": b"\xc2"})
    pq.write_table(table, tmp_path / "p.parquet")
    assert read_predictions(tmp_path / "p.parquet")["prediction"].to_list() == ["neutral"]
