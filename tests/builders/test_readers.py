"""Readers of upstream files: texts stay what they are, and a bad line is named by file and row."""

from pathlib import Path

import pytest

from builders.readers import json_lines
from validation.report import InvalidInput


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        json_lines("text", "label")(path)
    return str(refused.value).removeprefix(f"{path.parent}/")


def test_the_keys_asked_for_are_kept_as_text_whatever_they_say(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    texts = ("n/a", "null", "None", "", "a\tb", "ö\u2028ü")
    path.write_text("".join(f'{{"text": "{text}", "label": "x", "n": 1}}\n' for text in texts).replace("\t", "\\t"))
    frame = json_lines("text", "label")(path)
    assert frame.columns == ["text", "label"]
    assert frame["text"].to_list() == list(texts)


def test_blank_lines_and_a_missing_last_line_break_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a", "label": "x"}\r\n\n{"text": "b", "label": "y"}')
    assert json_lines("label", "text")(path).rows() == [("x", "a"), ("y", "b")]


@pytest.mark.parametrize(
    "line",
    [b'{"text": "cut o', b'{"text": "\xff", "label": "x"}', b'{"text": "\\ud800", "label": "x"}', b"[" * 100_000],
    ids=["cut-off", "not-utf8", "half-surrogate", "deep"],
)
def test_a_line_that_is_not_json_text_is_named(line: bytes, tmp_path: Path) -> None:
    message = refusal(tmp_path / "a.jsonl", b'{"text": "a", "label": "x"}\n' + line + b"\n")
    assert message.startswith(f"a.jsonl, row 2: this line is not JSON; found {line[:20]!r}"[:-1])
    assert message.endswith("fetch the file again; it may be cut off")
    assert len(message) < 500


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"text": "a"}', "None"),
        (b'{"text": "a", "label": 3}', "3"),
        (b'{"text": "a", "label": null}', "None"),
    ],
)
def test_a_key_that_is_missing_or_not_text_is_named(line: bytes, found: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.jsonl", line) == (
        f"a.jsonl, column 'label', row 1: a key is missing or not text; found {found}; "
        "is this the upstream release that the build expects?"
    )


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    assert "row 1: a key is missing or not text; found list" in refusal(tmp_path / "a.jsonl", b'["text", "label"]')


def test_an_empty_file_has_no_rows_but_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    frame = json_lines("text", "label")(tmp_path / "a.jsonl")
    assert (frame.columns, len(frame)) == (["text", "label"], 0)
