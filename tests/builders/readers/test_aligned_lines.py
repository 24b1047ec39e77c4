"""Texts and ratings in two files, line by line. Every row here is invented."""

from pathlib import Path

import polars as pl
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.aligned_lines import SCHEMA, rated_texts
from shiftbench.builders.reading.intake import Consumer, read_file
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

READ = rated_texts("label.txt", 5)


def read(folder: Path, texts: str, ratings: str | None, highest: int = 5) -> pl.DataFrame:
    (folder / "text.txt").write_bytes(texts.encode())
    if ratings is not None:
        (folder / "label.txt").write_bytes(ratings.encode())
    with UpstreamFile(folder / "text.txt") as file:
        return pl.concat(rated_texts("label.txt", highest)(file))


def test_line_i_belongs_to_line_i(tmp_path: Path) -> None:
    frame = read(tmp_path, "good\nbad\n\nfair", "5\n1.0\n 2 \n3\n")
    assert frame.schema == SCHEMA
    assert frame.rows() == [("good", "5"), ("bad", "1"), ("", "2"), ("fair", "3")]


def test_only_lf_and_crlf_end_a_line(tmp_path: Path) -> None:
    odd = "a\u2028b\x0bc\x85d\re"
    assert read(tmp_path, f"{odd}\r\nnext\r\n", "10\r\n9.0\r\n", 10).rows() == [(odd, "10"), ("next", "9")]


def test_frames_of_a_long_file_stay_in_step(tmp_path: Path) -> None:
    ratings = [1 + row * 7 % 5 for row in range(20_001)]
    frame = read(tmp_path, "".join(f"text {row}\n" for row in range(20_001)), "\n".join(map(str, ratings)))
    assert frame["rating"].to_list() == [str(rating) for rating in ratings]
    assert frame["text"][20_000] == "text 20000"


MISFITS = (
    ("a\n", None, 5),
    ("a\nb\n", "1\n", 5),
    ("a\n", "1\n2\n3\n", 5),
    ("a\nb\n", "1\n0\n", 5),
    ("a\nb\n", "6\n1\n", 5),
    ("a\nb\n", "10\n11\n", 10),
    ("a\nb\n", "1\n2.5\n", 5),
    ("a\nb\n", "1\n\n", 5),
    ("a\n", "", 5),
    ("", "1\n", 5),
)


def test_what_does_not_fit_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for texts, ratings, highest in MISFITS:
        (tmp_path / "label.txt").unlink(missing_ok=True)
        said[f"{texts!r}, {ratings!r} of {highest}"] = refusal(InvalidInput, read, tmp_path, texts, ratings, highest)
    assert said == wording


def test_what_was_read_with_other_ratings_is_not_used_again(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("a\nb\n")
    found = []
    for ratings in ("1\n2\n", "4\n5.0\n"):
        (tmp_path / "label.txt").write_text(ratings)
        taken = read_file(tmp_path / "text.txt", READ, [Consumer("all", ())], cache=tmp_path / "cache", large=0)
        found.append(taken.results["all"].rows["rating"].to_list())
    assert found == [["1", "2"], ["4", "5"]]


def test_the_key_names_what_is_read() -> None:
    assert repr(READ) == "RatedTexts(sibling='label.txt', highest=5)"
