"""CSV and JSON lines that are not as they should be: separators, encodings, quotes, ragged rows, cut-off lines."""

import json
import re
from pathlib import Path

import pytest

from shiftbench.validation.prediction_files import read_predictions
from tests import wording

from .prediction_content import HEAD, ROW, A, B, json_lines, refusal

# CSVs that a spreadsheet had in hand

CURE = "export it again as comma-separated UTF-8 text, without opening it in a spreadsheet"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(tmp_path: Path, separator: str, mark: str) -> None:
    path = tmp_path / "p.csv"
    rows = f'fiction,{A},"neutral{separator} ""yes"""\nfiction,{B},one, two\n'
    path.write_text(mark + HEAD.replace(",", separator) + re.sub(r",(?! )", separator, rows), encoding="utf-8")
    read = read_predictions(path)
    assert read["prediction"].to_list() == [f'neutral{separator} "yes"', "one, two"]


@pytest.mark.parametrize(("separator", "name"), [(";", "semicolons"), ("\t", "tabs")])
def test_ragged_rows_of_other_separators(tmp_path: Path, separator: str, name: str) -> None:
    message = refusal(tmp_path / "p.csv", (HEAD + f"fiction,{A},neutral,more\n").replace(",", separator))
    assert message.startswith("p.csv, row 1: this row has 4 fields, the header 3; found ")
    assert message.endswith(f"put texts that contain {name} or quotes in quotes")


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
    assert message.endswith("put texts that contain commas or quotes in quotes")


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
        "p.csv: the CSV cannot be read; found a misplaced or unclosed quote after row 0; "
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
        ("{", wording.LINE_NOT_JSON_TEXT),
        ("source,id,prediction", wording.LINE_NOT_JSON_TEXT),
        ("[" * 100_000, wording.LINE_NOT_JSON_TEXT),
        (json.dumps({**ROW, "prediction": "\ud800"}), wording.LINE_NOT_JSON_TEXT),
        ("[1]", wording.LINE_NOT_JSON_OBJECT),
        ('"text"', wording.LINE_NOT_JSON_OBJECT),
        ("NaN", wording.LINE_NOT_JSON_OBJECT),
        ('{"source": "a", "source": "b", "id": "c", "prediction": "d"}', wording.LINE_NOT_JSON_TEXT),
    ],
)
def test_a_line_that_is_no_json_object(tmp_path: Path, line: str, words: str) -> None:
    message = refusal(tmp_path / "p.jsonl", json_lines(ROW) + line + "\n")
    assert message.startswith(f"p.jsonl, row 2: {words}; found b")
    assert message.endswith("write one JSON object per line, each key once")
    assert len(message) < 400


def test_json_lines_in_latin_1_or_cut_off(tmp_path: Path) -> None:
    text = json.dumps({**ROW, "prediction": "café"}, ensure_ascii=False)
    assert f"row 1: {wording.LINE_NOT_JSON_TEXT}" in refusal(tmp_path / "p.jsonl", text.encode("latin-1"))
    assert f"row 2: {wording.LINE_NOT_JSON_TEXT}" in refusal(tmp_path / "p.jsonl", json_lines(ROW, ROW)[:-20])


def test_escaped_characters_outside_the_basic_plane_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json_lines({**ROW, "prediction": "\U0001f600"}))
    assert "\\ud83d" in path.read_text()
    assert read_predictions(path)["prediction"].to_list() == ["\U0001f600"]
