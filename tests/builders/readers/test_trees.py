"""Trees in brackets: their words and roots, and what is refused where. Every tree here is invented."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.readers.trees import SCHEMA, trees
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

AGAIN = "fetch the file again; it may be truncated or edited"


def read(path: Path, content: str) -> pl.DataFrame:
    path.write_bytes(content.encode())
    with UpstreamFile(path) as file:
        (frame,) = trees(file)
    return frame


def test_a_tree_is_its_words_and_the_label_of_its_root(tmp_path: Path) -> None:
    content = "\ufeff(3 (2 It) (4 (2 works) (2 .)))\r\n\r\n(0 null)\n (4 (2 a) (2 (1 NA) (0 b)) )"
    frame = read(tmp_path / "train.txt", content)
    assert frame.schema == SCHEMA
    assert frame.rows() == [("It works .", "3"), ("null", "0"), ("a NA b", "4")]


def test_words_are_unescaped_and_only_spaces_part_them(tmp_path: Path) -> None:
    content = r"(2 (2 -LRB-) (2 (2 and\/or) (2 (2 \*\*) (2 (2 8\xa01\/2) (2 -RRB-)))))".replace(r"\xa0", "\xa0")
    assert read(tmp_path / "a.txt", content)["text"].to_list() == ["( and/or ** 8\xa01/2 )"]


def test_trees_may_be_deep(tmp_path: Path) -> None:
    n = 20_000
    content = "(2 (2 w) " * n + "(1 end)" + ")" * n + "\n"
    frame = read(tmp_path / "a.txt", content)
    assert frame["text"][0].split(" ") == ["w"] * n + ["end"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("(3 (2 It)", "a bracket is not closed"),
        ("(3 (2 It)))", "there is more text after the tree"),
        ("(3 a) (2 b)", "there is more text after the tree"),
        ("3 a", "a tree must begin with a bracket"),
        (")", "a tree must begin with a bracket"),
        ("(5 a)", "the label of a node is '5', not one of 0 to 4"),
        ("(a)", "the label of a node is 'a', not one of 0 to 4"),
        ("(3 (2 a) (2))", "a node contains neither a word nor nodes"),
        ("()", "a node contains neither a word nor nodes"),
        ("((2 a))", "a node has no label"),
        ("(3 a b)", "a node contains more than one word, or a word next to nodes"),
        ("(3 a (2 b))", "a node contains more than one word, or a word next to nodes"),
        ("(3 (2 b) a)", "a node contains more than one word, or a word next to nodes"),
    ],
)
def test_a_malformed_tree_is_refused_by_line(line: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with pytest.raises(InvalidInput) as refused:
        read(path, f"(2 ok)\n{line}\n")
    assert str(refused.value) == f"{path}, row 2: {what}; found {line!r}; {AGAIN}"


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_file_without_trees_is_refused(content: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"a\.txt: .*tree"):
        read(tmp_path / "a.txt", content)


def test_two_readers_are_the_same_key() -> None:
    assert repr(trees) == "Trees()"
