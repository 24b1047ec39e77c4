"""Tagged text: how lines are parted, and what is refused where. Every line here is invented."""

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.tagged_text import SCHEMA, tagged_text
from shiftbench.builders.specs.transforms import count_untagged_words
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

ODD = "a\u2028b\u00a0c\x0cd\x85e\rf"
"""One word with characters that end lines or words elsewhere."""

GOOD = "the lid sticks .####the=O lid=T-NEG sticks=O .=O"


def read(path: Path, content: str) -> pl.DataFrame:
    path.write_bytes(content.encode())
    with UpstreamFile(path) as file:
        (frame,) = tagged_text(file)
    return frame


def refusal(path: Path, content: str) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, content)
    return str(refused.value).removeprefix(f"{path.parent}/")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_line_is_a_row(end: str, tmp_path: Path) -> None:
    frame = read(tmp_path / "a.txt", f"{GOOD}{end}null n/a####null=T-POS n/a=T-NEU{end}")
    assert frame.schema == SCHEMA
    assert frame.rows() == [
        (["the", "lid", "sticks", "."], ["O", "T-NEG", "O", "O"], "the lid sticks .", 0),
        (["null", "n/a"], ["T-POS", "T-NEU"], "null n/a", 0),
    ]


def test_the_last_line_may_lack_its_end_and_blank_lines_may_follow_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    assert read(path, GOOD).equals(read(path, f"{GOOD}\r\n \r\n\n\r\n"))
    assert read(path, f"\ufeff{GOOD}")["text"].to_list() == ["the lid sticks ."]


def test_an_empty_file_has_no_rows_but_its_columns(tmp_path: Path) -> None:
    frame = read(tmp_path / "a.txt", "")
    assert (frame.schema, frame.height) == (SCHEMA, 0)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("a = b####a=O ==O b=T-POS", (["a", "=", "b"], ["O", "O", "T-POS"], "a = b")),
        ("x==####x===T-NEG", (["x=="], ["T-NEG"], "x==")),
        ("a  b ####a=O =O b=T-POS =O", (["a", "b"], ["O", "T-POS"], "a  b ")),
        ("a b####a=O  b=O ", (["a", "b"], ["O", "O"], "a b")),
        ("see #### here####see=O here=O", (["see", "here"], ["O", "O"], "see #### here")),
        (f"{ODD}####{ODD}=O", ([ODD], ["O"], ODD)),
        ("####a=O", (["a"], ["O"], "")),
    ],
    ids=["equals", "ends-in-equals", "empty-words", "double-space", "hashes-in-text", "other-line-ends", "no-text"],
)
def test_words_and_tags_are_parted_from_the_right(
    line: str, row: tuple[list[str], list[str], str], tmp_path: Path
) -> None:
    assert read(tmp_path / "a.txt", f"{line}\n{GOOD}").drop("untagged").rows()[0] == row


def test_a_word_without_a_tag_is_outside_and_counted(tmp_path: Path) -> None:
    """Test a word without a tag, as the full stop at the end of line 375 of service's test file."""
    frame = read(tmp_path / "a.txt", f"it broke .####it=O broke=T-NEG .\n{GOOD}")
    assert frame["tokens"][0].to_list() == ["it", "broke", "."]
    assert frame["tags"][0].to_list() == ["O", "T-NEG", "O"]
    assert frame["untagged"].to_list() == [1, 0]
    step = count_untagged_words()
    assert step.n_changed(frame) == 1
    assert step.apply(frame).columns == ["tokens", "tags", "text"]


def test_two_readers_are_the_same_key() -> None:
    assert repr(tagged_text) == "TaggedText()"


REFUSED = (
    "the lid sticks",
    "a###a=O",
    "",
    " \t",
    "a b####a b",
    "a b####",
    " ####=O =O",
    "a####a=B-POS",
    "a####a=t-pos",
    "a####a=",
    "a####a=O\tb=T-NUE",
    "a####a=O =T-POS",
    "a####a=O ####=O b=O",
)


def test_what_is_refused_is_named_by_line(tmp_path: Path, wording: SnapshotAssertion) -> None:
    path = tmp_path / "a.txt"
    assert {line: refusal(path, f"{GOOD}\r\n{line}\r\n{GOOD}\r\n") for line in REFUSED} == wording


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(f"{GOOD}\n{GOOD}\n".encode() + b"caf\xe9####caf\xe9=O\n")
    with (
        pytest.raises(InvalidInput, match=r"a\.txt, row 3: .*caf\\xe9####"),
        UpstreamFile(tmp_path / "a.txt") as file,
    ):
        next(tagged_text(file))
