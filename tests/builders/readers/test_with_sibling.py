"""Rows and their labels in two files side by side. Every row here is invented."""

from pathlib import Path

import polars as pl
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.readers.with_sibling import WithSibling
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

LABELS = quoted_csv("id", "label", header=("id", "label"))
READ = WithSibling(quoted_csv("id", "tweet", separator="\t"), "labels.csv", LABELS, on="id")


def read(folder: Path, rows: str, labels: str | None) -> pl.DataFrame:
    (folder / "a.tsv").write_text("id\ttweet\n" + rows)
    if labels is not None:
        (folder / "labels.csv").write_text(labels)
    with UpstreamFile(folder / "a.tsv") as file:
        (frame,) = READ(file)
    return frame


def test_rows_get_their_labels_by_id_in_their_own_order(tmp_path: Path) -> None:
    frame = read(tmp_path, '2\t"a ""b"""\n07\tnull\n1\t\n', "07,OFF\r\n1,NOT\r\n2,NOT\r\n")
    assert frame.columns == ["id", "tweet", "label"]
    assert frame.rows() == [("2", 'a "b"', "NOT"), ("07", "null", "OFF"), ("1", "", "NOT")]


MISFITS = (
    ("1\ta\n", None),
    ("1\ta\n", ""),
    ("1\ta\n1\tb\n", "1,OFF\n"),
    ("1\ta\n", "1,OFF\n1,NOT\n"),
    ("1\ta\n2\ta\n", "1,OFF\n"),
    ("1\ta\n", "1,OFF\n01,OFF\n"),
)


def test_what_does_not_fit_together_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert {
        f"{rows!r}, {labels!r}": refusal(InvalidInput, read, tmp_path, rows, labels) for rows, labels in MISFITS
    } == wording


def test_the_key_names_both_readers() -> None:
    assert repr(READ).startswith("WithSibling(read=QuotedCsv(columns=('id', 'tweet'), header=(), separator='\\t'), ")
