"""JSON lines: texts stay what they are, and a bad line is named by file and row however far into the file it is."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.json_lines import JsonLines, json_lines
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

GOOD = b'{"text": "a", "label": "x"}\n'
TEXT_AND_LABEL = json_lines("text", "label")


def frames(path: Path, read: JsonLines = TEXT_AND_LABEL) -> list[pl.DataFrame]:
    with UpstreamFile(path) as file:
        return list(read(file))


def rows(path: Path, content: bytes, read: JsonLines = TEXT_AND_LABEL) -> list[tuple[str | None, ...]]:
    path.write_bytes(content)
    return pl.concat(frames(path, read)).rows()


def refusal(path: Path, content: bytes, read: JsonLines = TEXT_AND_LABEL) -> str:
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        frames(path, read)
    return str(refused.value).removeprefix(f"{path.parent}/")


def test_the_keys_asked_for_are_kept_as_text_whatever_they_say(tmp_path: Path) -> None:
    texts = ["n/a", "null", "None", "", "a\tb", "ö\u2028ü", "[x](y)", "{z}", "[1]", "nul\0", "\U0001f600", " 5.0 "]
    for ascii_only in (True, False):
        content = "".join(json.dumps({"text": x, "label": "x", "n": 1}, ensure_ascii=ascii_only) + "\n" for x in texts)
        assert [text for text, _ in rows(tmp_path / "a.jsonl", content.encode())] == texts
    assert frames(tmp_path / "a.jsonl", json_lines("label", "text"))[0].schema == {
        "label": pl.String,
        "text": pl.String,
    }


@given(texts=st.lists(st.tuples(st.text(), st.text()), min_size=1))
def test_any_text_comes_back_as_the_standard_library_reads_it(
    texts: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in texts).encode()
    assert rows(tmp_path_factory.mktemp("any") / "a", content) == texts


def test_numbers_and_truth_values_come_as_text(tmp_path: Path) -> None:
    content = b'{"text": 5, "label": 5.0}\n{"text": 4.5, "label": 4}\n{"text": true, "label": -1.25}\n'
    assert rows(tmp_path / "a", content) == [("5", "5.0"), ("4.5", "4.0"), ("true", "-1.25")]


def test_blank_lines_and_a_missing_last_line_break_are_no_rows(tmp_path: Path) -> None:
    content = b'{"text": "a", "label": "x"}\r\n\n \t\r\n{"text": "b", "label": "y"}'
    assert rows(tmp_path / "a", content, json_lines("label", "text")) == [("x", "a"), ("y", "b")]
    assert "row 4: " in refusal(tmp_path / "a", content[:-9])


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    assert rows(tmp_path / "a", b"\xef\xbb\xbf" + GOOD) == [("a", "x")]


BAD_LINES = {
    "cut off": b'{"text": "cut o',
    "half a surrogate": b'{"text": "\\ud800", "label": "x"}',
    "half a surrogate inside": b'{"text": "\\ud800 half", "label": "x"}',
    "deep": b"[" * 100_000,
    "two objects": GOOD[:-1] + GOOD[:-1],
    "Latin-1": ('{"text": "' + "a" * 200 + ' café", "label": "x"}').encode("latin-1"),
    "a list": b'["text", "label"]',
}


def test_a_line_that_is_refused_is_named(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {name: refusal(tmp_path / "a", GOOD + b"\n" + line + b"\n" + GOOD) for name, line in BAD_LINES.items()}
    assert max(map(len, said.values())) < 500
    said["a list alone"] = refusal(tmp_path / "a", b'["text", "label"]')
    said["text among numbers"] = refusal(
        tmp_path / "a", b'{"text": "a", "label": 5.0}\n{"text": "a", "label": "5.0"}\n'
    )
    assert said == wording
    # What polars refuses is in its words.
    assert refusal(tmp_path / "a", GOOD + b'{"text": "a", "label": "x", "n": NaN}\n').startswith("a, row 2: ")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"text": "a"}', "None"),
        (b'{"text": "a", "label": null}', "None"),
        (b'{"text": "a", "label": ["b"]}', "['b']"),
        (b'{"text": "a", "label": {"b": 1}}', "{'b': 1}"),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_a_key_that_is_missing_or_no_text_is_named(line: bytes, found: str, before: int, tmp_path: Path) -> None:
    message = refusal(tmp_path / "a.jsonl", before * GOOD + line + b"\n" + GOOD)
    assert message.startswith(f"a.jsonl, column 'label', row {before + 1}: ")
    assert f" {found};" in message


def test_a_bad_line_deep_in_the_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(UpstreamFile.__init__.__kwdefaults__, "block", 100)
    path = tmp_path / "a"
    for bad in (b"{\n", b'{"text": "a", "label": null}\n'):
        assert "row 21: " in refusal(path, 20 * GOOD + bad)
    path.write_bytes(20 * GOOD)
    assert sum(len(frame) for frame in frames(path)) == 20 < 4 * len(frames(path))


def test_an_optional_key_may_be_absent_but_not_from_all_rows(tmp_path: Path) -> None:
    read = json_lines("text", optional=("label",))
    assert rows(tmp_path / "a", b'{"text": "a"}\n{"text": "b", "label": null}\n' + GOOD, read) == [
        ("a", None),
        ("b", None),
        ("a", "x"),
    ]
    absent = refusal(tmp_path / "a", b'{"text": "a"}\n{"text": "b", "label": null}\n', read)
    assert absent.startswith("a, key 'label': ")
    assert "row 2: " in refusal(tmp_path / "a", GOOD + b'{"text": "a", "label": []}', read)


def test_an_optional_key_is_looked_for_before_the_place_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "a"
    read = json_lines("text", optional=("label",))
    for content, seen in ((GOOD, True), (b'{"text": "a"}\n', False)):
        path.write_bytes(content + b'{"text": "b"}\n')
        with UpstreamFile(path) as file:
            next(file.blocks(len(content)))
        with UpstreamFile(path, start=file.position) as rest:
            if seen:
                assert pl.concat(read(rest)).rows() == [("b", None)]
            else:
                with pytest.raises(InvalidInput, match="key"):
                    list(read(rest))


def test_an_empty_file_has_no_rows_but_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (frame,) = frames(tmp_path / "a", json_lines("text", optional=("label",)))
    assert (frame.columns, len(frame)) == (["text", "label"], 0)


def test_a_reader_tells_what_it_reads() -> None:
    assert repr(json_lines("a", optional=["b"])) == "JsonLines(keys=('a',), optional=('b',), lists=())"
