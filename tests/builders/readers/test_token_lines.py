"""One token a line: what parts sentences and documents, and what is refused where. Every line here is invented."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.readers import token_lines as module
from shiftbench.builders.readers.token_lines import SCHEMA, TokenLines, token_lines
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

AGAIN = "fetch the file again; it may be truncated or edited"
SPACES = token_lines(" ")
CONLL = token_lines(" ", tag=3)


def read(path: Path, content: str, reader: TokenLines) -> pl.DataFrame:
    path.write_bytes(content.encode())
    with UpstreamFile(path) as file:
        return pl.concat(reader(file))


def refusal(path: Path, content: str, reader: TokenLines = SPACES) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, content, reader)
    return str(refused.value).removeprefix(f"{path.parent}/")


def test_sentences_are_parted_by_empty_lines_and_by_lines_of_a_tab(tmp_path: Path) -> None:
    content = "Ana\tperson-other\nslept\tO\n\t\nNA\tO\n\n\n \t\nnull\tart-film\n\n\n"
    frame = read(tmp_path / "a.txt", content, token_lines())
    assert frame.schema == SCHEMA
    assert frame.rows() == [
        (["Ana", "slept"], ["person-other", "O"], "a.txt 1"),
        (["NA"], ["O"], "a.txt 2"),
        (["null"], ["art-film"], "a.txt 3"),
    ]


def test_quotes_are_characters_and_only_line_feeds_end_a_line(tmp_path: Path) -> None:
    content = '\ufeff""","""  O\r\n'.replace("  ", " ") + '"""1,000""" I-MISC\r\n\x97 O\r\na\u2028b\x85c\x0bd\re O\r\n'
    frame = read(tmp_path / "a.csv", content, SPACES)
    assert frame["tokens"].to_list() == [['""","""', '"""1,000"""', "\x97", "a\u2028b\x85c\x0bd\re"]]
    assert frame["tags"].to_list() == [["O", "I-MISC", "O", "O"]]


def test_a_document_line_is_no_sentence_and_numbers_those_after_it(tmp_path: Path) -> None:
    content = (
        "-DOCSTART- -X- O O\n\nAna NNP I-NP I-PER\n\nslept VBD I-VP O\n\n"
        "-DOCSTART- -X- -X- O\nand CC O O\n-DOCSTART- -X- O O\n\n"
    )
    frame = read(tmp_path / "eng.train", content, CONLL)
    assert frame.rows() == [
        (["Ana"], ["I-PER"], "eng.train 1"),
        (["slept"], ["O"], "eng.train 1"),
        (["and"], ["O"], "eng.train 2"),
    ]


def test_it_reads_on_over_blocks_and_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PER_FRAME", 2)
    (tmp_path / "a.txt").write_text("-DOCSTART- O\n\na O\nb O\n\nc O\n\nd O\ne O\n")
    with UpstreamFile(tmp_path / "a.txt", block=4) as file:
        frames = list(SPACES(file))
        assert not file.resumable  # a sentence may begin in one block and end in the next
    assert [frame.height for frame in frames] == [2, 1]
    assert pl.concat(frames)["tokens"].to_list() == [["a", "b"], ["c"], ["d", "e"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", f"a.txt: the file contains no sentence; {AGAIN}"),
        ("-DOCSTART- O\n\n \n", f"a.txt: the file contains no sentence; {AGAIN}"),
        ("a O\nb\n", f"a.txt, row 2: this line has 1 fields, a token line has 2; found 'b'; {AGAIN}"),
        ("a O\r\n\r\nb c O\r\n", f"a.txt, row 3: this line has 3 fields, a token line has 2; found 'b c O'; {AGAIN}"),
        ("a O\n O\n", f"a.txt, row 2: a token or its tag is empty; found ' O'; {AGAIN}"),
        ("a \n", f"a.txt, row 1: a token or its tag is empty; found 'a '; {AGAIN}"),
        (
            "a O\n\n-DOCSTART- O\n",
            "a.txt, row 3: a document begins here, but the sentences before it belong to no document; "
            f"found '-DOCSTART- O'; {AGAIN}",
        ),
    ],
)
def test_what_is_refused_is_named_by_line(content: str, message: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.txt", content) == message


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a O\n\x97 O\n")
    with (
        UpstreamFile(tmp_path / "a.txt") as file,
        pytest.raises(InvalidInput, match=r"a\.txt, row 2: "),
    ):
        list(SPACES(file))


def test_readers_of_the_same_form_are_the_same_key() -> None:
    assert repr(token_lines(" ", 3)) == "TokenLines(separator=' ', tag=3)"
    assert token_lines() == token_lines("\t", 1)
