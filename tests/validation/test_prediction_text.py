"""CSV and JSON lines that are not as they should be: separators, encodings, quotes, ragged rows, cut-off lines."""

import json
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.prediction_files import read_predictions

from .prediction_content import HEAD, ROW, A, B, json_lines, refusal

# CSVs that a spreadsheet had in hand


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators(tmp_path: Path, separator: str, mark: str) -> None:
    path = tmp_path / "p.csv"
    rows = f'fiction,{A},"neutral{separator} ""yes"""\nfiction,{B},one, two\n'
    path.write_text(mark + HEAD.replace(",", separator) + re.sub(r",(?! )", separator, rows), encoding="utf-8")
    read = read_predictions(path)
    assert read["prediction"].to_list() == [f'neutral{separator} "yes"', "one, two"]


def test_csv_that_is_not_as_it_should_be(tmp_path: Path, wording: SnapshotAssertion) -> None:
    def of(content: str | bytes) -> str:
        return refusal(tmp_path / "p.csv", content)

    good = HEAD + f"fiction,{A},neutral\n"
    (utf_16,) = {
        of(text.encode(encoding))
        for encoding, text in {"utf-16": good, "utf-16-le": "\ufeff" + good, "utf-16-be": "\ufeff" + good}.items()
    }
    (empty,) = {of(f"{good}{row}\nfiction,{B},neutral\n") for row in ("", ",,", '"","",""')}
    (quote,) = {of(HEAD + f"fiction,{A},{field}\n") for field in ('a"b', '"a"b', 'a"', '"a" ')}
    said = {
        "UTF-16": utf_16,
        "Latin-1": of((good + f"fiction,{B},café\n").encode("latin-1")),
        "Latin-1 in the header": of(HEAD.replace("source", "sourcé").encode("latin-1")),
        "carriage returns": of(good.replace("\n", "\r")),
        "an empty row": empty,
        "a quote out of place": quote,
        "a quote left open": of(HEAD + f'fiction,{A},"neutral\n' + f"fiction,{B},neutral\n" * 3),
        "a quote left open, over many lines": of(HEAD + f'fiction,{A},"neutral\n' + f"fiction,{B},neutral\n" * 30_000),
    }
    for separator in (";", "\t"):
        said[f"ragged, {separator!r}"] = of((HEAD + f"fiction,{A},neutral,more\n").replace(",", separator))
    # U+2028 and the form feed end a line for str.splitlines, but not in a CSV.
    rows = HEAD + f'fiction,{A},"two\nlines"\nfiction,{A},\u2028\x0c\nfiction,{A},\n'
    for bad in ("fiction,b", "fiction", "fiction,b,c,d", "fiction,b,c,", '"fic\ntion",b'):
        texts = [(rows + bad + "\nfiction,x,y\n").replace("\n", end) for end in ("\n", "\r\n")]
        (message,) = {of(text).replace("\\r", "") for text in texts}
        said[f"ragged: {bad!r}"] = message
    assert said == wording


def test_lines_that_are_no_json_objects(tmp_path: Path, wording: SnapshotAssertion) -> None:
    def of(line: str) -> str:
        message = refusal(tmp_path / "p.jsonl", json_lines(ROW) + line + "\n")
        assert len(message) < 400
        return message

    lines = ["{", "source,id,prediction", json.dumps({**ROW, "prediction": "\ud800"}), "[1]", '"text"', "NaN"]
    lines.append('{"source": "a", "source": "b", "id": "c", "prediction": "d"}')
    said = {line: of(line) for line in lines} | {"brackets": of("[" * 100_000)}
    text = json.dumps({**ROW, "prediction": "café"}, ensure_ascii=False)
    said["Latin-1"] = refusal(tmp_path / "p.jsonl", text.encode("latin-1"))
    said["cut off"] = refusal(tmp_path / "p.jsonl", json_lines(ROW, ROW)[:-20])
    assert said == wording


def test_words_that_a_spreadsheet_writes_in_capitals_reach_the_label_check(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(HEAD + f"fiction,{A},TRUE\n")
    assert read_predictions(path)["prediction"].to_list() == ["TRUE"]


# JSON lines that are none


def test_escaped_characters_outside_the_basic_plane_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(json_lines({**ROW, "prediction": "\U0001f600"}))
    assert "\\ud83d" in path.read_text()
    assert read_predictions(path)["prediction"].to_list() == ["\U0001f600"]
