"""The table that people fill in, read and written. Every text is invented."""

import csv
import io
from pathlib import Path

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.baselines.attack.review import guard_cell, read_review, release_file, review_table, unguard_cell
from shiftbench.baselines.attack.search import Attacked, Example

LABELS = ("benign", "toxic")


@given(st.text("=+-@\t\r\n',\" ab", max_size=8))
def test_a_cell_is_no_formula_and_comes_back(cell: str) -> None:
    assert not guard_cell(cell).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert unguard_cell(guard_cell(cell)) == cell


def test_texts_that_look_like_formulas_and_tables(tmp_path: Path) -> None:
    texts = ["=SUM(1,2)", '-\tdash; "quoted"\r\nand on', "'tis @x", "@someone, hi"]
    ids = [f"b/t/d/test/{number:012x}" for number in range(len(texts))]
    found = [
        Attacked(Example(id_, text, 0, 0.9), text + "!", 1, 0.1, 3, ("a -> b",), 1)
        for id_, text in zip(ids, texts, strict=True)
    ]
    written = review_table(found, LABELS)
    cells = [cell for row in csv.reader(io.StringIO(written.removeprefix("\ufeff"), newline="")) for cell in row]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    (tmp_path / "r.csv").write_text(written.replace("a -> b,,", "a -> b,yes,me"), encoding="utf-8", newline="")
    rows = pl.DataFrame({"id": ids, "text": texts, "label": [0] * len(texts)})
    kept = read_review(tmp_path / "r.csv", rows, LABELS)
    assert kept["adversarial"].to_list() == [text + "!" for text in texts]
    lines = release_file(kept, LABELS).splitlines()
    assert lines == [
        "Text\tLabel",
        "=SUM(1,2)!\t0",
        '"- dash; ""quoted"" and on!"\t0',
        "'tis @x!\t0",
        "@someone, hi!\t0",
    ]
