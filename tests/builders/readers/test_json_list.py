"""A JSON list read piece by piece: texts stay what they are, and faults are named. Every text here is invented."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.builders.readers import json_list as module
from shiftbench.builders.readers.json_list import JsonList, json_list
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests import wording

READ = json_list("premise", "label")
CUT = "fetch the file again; it may be truncated"
RELEASE = "is this the upstream release that the build expects?"


def read(path: Path, content: bytes, reader: JsonList = READ) -> list[pl.DataFrame]:
    path.write_bytes(content)
    with UpstreamFile(path) as file:
        return list(reader(file))


@pytest.fixture(params=[1, 7, 1 << 24])
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


@pytest.mark.usefixtures("_pieces")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", f"a.json, row 1: the list does not end; found ''; {CUT}"),
        (b'[{"premise": "a", "label": "b"}\n', f"a.json, row 2: the list does not end; found ''; {CUT}"),
        (b'[\n{"premise": "a", "la', 'a.json, row 2: the list is not JSON; found \'{"premise": "a", "la\'; ' + CUT),
        (b'[\n{"premise": "a"]', 'a.json, row 2: the list is not JSON; found \'{"premise": "a"]\'; ' + CUT),
        (b'[{"premise": "\\ud83d", "label": "b"}]', f"a.json, row 1: {wording.LIST_NOT_JSON}; found '{{"),
        (b'{"premise": "a"}', "a.json, row 1: the file is not a JSON list; found '"),
        (b'[{"premise": "a", "label": "b"} {}]', "a.json, row 1: the file is not a JSON list; found '"),
        (b'[{"premise": "a", "label": "b"},]', f"a.json, row 1: {wording.LIST_NOT_JSON}; found ']'; " + CUT),
        (b"[]\n\n]", f"a.json, row 3: there is more text after the list; found ']'; {RELEASE}"),
        (
            b'[{"premise": "a"}]',
            f"a.json, key 'label', row 1: {wording.KEY_MISSING_OR_NEITHER} a whole number; found None; {RELEASE}",
        ),
        (b'[{"premise": 1.5, "label": "a"}]', f"a.json, key 'premise', row 1: {wording.KEY_MISSING_OR_NEITHER}"),
        (b'[{"premise": true, "label": "a"}]', f"a.json, key 'premise', row 1: {wording.KEY_MISSING_OR_NEITHER}"),
        (
            b'[{"premise": "a", "label": "b"}, 12]',
            f"a.json, row 2: this item of the list is not an object with keys; found 12; {RELEASE}",
        ),
        (b'["a", []]', "a.json, row 1: this item of the list is not an object with keys; found 'a'"),
        (b'[\n{"premise": "caf\xe9"}]', "a.json, row "),
    ],
)
def test_what_is_refused_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path / "a.json", content)
    assert str(refused.value).removeprefix(f"{tmp_path}/").startswith(message)


def test_a_file_of_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"row 1: the file is not UTF-8 from about this line on; found b'.*caf.xe9"):
        read(tmp_path / "a.json", b'[{"premise": "caf\xe9"}]')


def test_an_item_without_an_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", 8)
    monkeypatch.setattr(module, "LONGEST_LINE", 40)
    with pytest.raises(InvalidInput, match=r"row 1: the list is not JSON; found '.{40,60}'; fetch"):
        read(tmp_path / "a.json", b'[{"premise": "' + b"a" * 1_000)


def test_readers_of_the_same_keys_are_the_same_key() -> None:
    assert repr(READ) == "JsonList(keys=('premise', 'label'))"
