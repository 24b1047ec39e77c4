"""CSV for spreadsheets: no text in it is a formula, and numbers stay numbers."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.validation.csv_export import guarded_csv
from shiftbench.validation.plain_text import escape_invisible

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", " =", "\n=", "\x1f@", "\uff1d", " \uff0b"])
def test_what_begins_like_a_formula_gets_an_apostrophe(start: str) -> None:
    table = guarded_csv([f"{start}1"], [[f"{start}cmd|' /C calc'!A0"]])
    assert list(csv.reader(io.StringIO(table, newline=""))) == [
        [f"'{escape_invisible(start)}1"],
        [f"'{escape_invisible(start)}cmd|' /C calc'!A0"],
    ]


def test_numbers_that_we_wrote_stay_numbers() -> None:
    assert guarded_csv(["a", "b", "c"], [[-1, -0.25, None]]) == "a,b,c\r\n-1,-0.25,\r\n"


def test_a_row_of_another_width_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 cells"):
        guarded_csv(["a", "b"], [["x"]])


@given(st.lists(st.tuples(texts, texts), max_size=4))
def test_all_other_text_comes_back_as_it_was_or_escaped(rows: list[tuple[str, str]]) -> None:
    read = list(csv.reader(io.StringIO(guarded_csv(["x", "y"], rows), newline="")))[1:]
    assert len(read) == len(rows)
    for was, found in zip((cell for row in rows for cell in row), (cell for row in read for cell in row), strict=True):
        shown = escape_invisible(was)
        assert found in (shown, f"'{shown}")
        assert not found.lstrip().startswith(("=", "+", "-", "@"))
