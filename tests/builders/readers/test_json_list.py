"""A JSON list read piece by piece: texts stay what they are, and faults are named. Every text here is invented."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers import json_list as module
from shiftbench.builders.readers.json_list import JsonList, json_list
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

READ = json_list("premise", "label")
CUT = "fetch the file again; it may be truncated"
RELEASE = "is this the upstream release that the build expects?"


def read(path: Path, content: bytes, reader: JsonList = READ) -> list[pl.DataFrame]:
    path.write_bytes(content)
    with UpstreamFile(path) as file:
        return list(reader(file))


PIECES = (1, 7, 1 << 24)


@pytest.fixture(params=PIECES)
def _pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", request.param)


@pytest.mark.usefixtures("_pieces")
def test_texts_stay_what_they_are_wherever_a_piece_ends(tmp_path: Path) -> None:
    items = [
        {"premise": text, "hypothesis": ["left", {"out": 1}], "label": label}
        for text, label in [
            ("n/a", "null"),
            ("", "None"),
            ('q"\\}],[{', "ö\u2028\U0001f600"),
            ("NA", 12),
            ("a\r\nb", 0),
        ]
    ]
    for content in (
        json.dumps(items),
        json.dumps(items, ensure_ascii=False, indent=1),
        "\ufeff \r\n" + json.dumps(items, indent=0).replace("\n", "\r\n") + "\r\n \n",
    ):
        frames = read(tmp_path / "a.json", content.encode())
        rows = [(str(item["premise"]), str(item["label"])) for item in items]
        assert pl.concat(frames).rows() == rows


@given(texts=st.lists(st.text()), size=st.integers(1, 40))
def test_any_texts_come_back(texts: list[str], size: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = json.dumps([{"premise": text, "label": "x"} for text in texts], ensure_ascii=False).encode(
        errors="replace"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", size)
        frame = pl.concat(read(tmp_path_factory.mktemp("any") / "a", content, json_list("premise")))
    assert frame["premise"].to_list() == texts


@pytest.mark.usefixtures("_pieces")
def test_an_empty_list_has_no_rows_but_its_columns(tmp_path: Path) -> None:
    (frame,) = read(tmp_path / "a.json", b" [ ] ")
    assert (frame.height, frame.schema) == (0, {"premise": pl.String, "label": pl.String})


REFUSED = (
    b"",
    b'[{"premise": "a", "label": "b"}\n',
    b'[\n{"premise": "a", "la',
    b'[\n{"premise": "a"]',
    b'[{"premise": "\\ud83d", "label": "b"}]',
    b'{"premise": "a"}',
    b'[{"premise": "a", "label": "b"} {}]',
    b'[{"premise": "a", "label": "b"},]',
    b"[]\n\n]",
    b'[{"premise": "a"}]',
    b'[{"premise": 1.5, "label": "a"}]',
    b'[{"premise": true, "label": "a"}]',
    b'[{"premise": "a", "label": "b"}, 12]',
    b'["a", []]',
)


def test_what_is_refused_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    said = {repr(content): refusal(InvalidInput, read, tmp_path / "a.json", content) for content in REFUSED}
    assert said == wording
    for size in PIECES:  # of the text no more is shown than was read
        monkeypatch.setattr(module, "BLOCK", size)
        for content in REFUSED:
            message = refusal(InvalidInput, read, tmp_path / "a.json", content)
            assert message.partition("; found ")[0] == said[repr(content)].partition("; found ")[0]


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"row 1: .*caf.xe9"):
        read(tmp_path / "a.json", b'[{"premise": "caf\xe9"}]')


def test_an_item_without_an_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 8)
    monkeypatch.setattr(module, "LONGEST_LINE", 40)
    with pytest.raises(InvalidInput, match=r"row 1: .*'.{40,60}'"):
        read(tmp_path / "a.json", b'[{"premise": "' + b"a" * 1_000)


def test_readers_of_the_same_keys_are_the_same_key() -> None:
    assert repr(READ) == "JsonList(keys=('premise', 'label'))"
