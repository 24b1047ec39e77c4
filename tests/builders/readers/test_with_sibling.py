"""Rows and their labels in two files side by side. Every row here is invented."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.readers.delimited import quoted_csv
from shiftbench.builders.readers.with_sibling import WithSibling
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests import wording

LABELS = quoted_csv("id", "label", header=("id", "label"))
READ = WithSibling(quoted_csv("id", "tweet", separator="\t"), "labels.csv", LABELS, on="id")
CURE = "do both files come from one release?"


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


@pytest.mark.parametrize(
    ("rows", "labels", "message"),
    [
        ("1\ta\n", None, "labels.csv: the file that belongs to a.tsv is missing; put it next to that file, unpacked"),
        ("1\ta\n", "", f"labels.csv: {wording.FILE_EMPTY}; {wording.FETCH_FILE_AGAIN_MAY}"),
        ("1\ta\n1\tb\n", "1,OFF\n", f"a.tsv, column 'id': a key is repeated (and 1 more row); found '1'; {CURE}"),
        ("1\ta\n", "1,OFF\n1,NOT\n", f"labels.csv, column 'id': a key is repeated (and 1 more row); found '1'; {CURE}"),
        ("1\ta\n2\ta\n", "1,OFF\n", f"a.tsv, column 'id': a key is not in labels.csv; found '2'; {CURE}"),
        ("1\ta\n", "1,OFF\n01,OFF\n", f"labels.csv, column 'id': a key is not in a.tsv; found '01'; {CURE}"),
    ],
)
def test_what_does_not_fit_together_is_refused(rows: str, labels: str | None, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(tmp_path, rows, labels)
    assert str(refused.value).replace(f"{tmp_path}/", "") == message


def test_the_key_names_both_readers() -> None:
    assert repr(READ).startswith("WithSibling(read=QuotedCsv(columns=('id', 'tweet'), header=(), separator='\\t'), ")
