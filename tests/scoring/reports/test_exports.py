"""A comparison as LaTeX, Markdown, CSV and BibTeX: names are always escaped."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.leaderboard.pages.shell import bibtex
from shiftbench.scoring.comparing.shape import Comparison, Difference, MeanComparison, ShiftComparison, p_text
from shiftbench.scoring.reports.comparison import csv_table
from shiftbench.scoring.reports.plain_tables import as_latex, as_markdown, latex_text, markdown_text
from shiftbench.scoring.reports.terminal import comparison_lines

NASTY = r"=a_b & 50% {x} \input{y} $1|2# ~^ <i> [z](https://e.org)"


def pair(b: str = "b" * 16) -> Comparison:
    differences = (
        Difference(figure="ST", value=0.1234, p=0.00001, p_corrected=0.00003, p_equivalent=0.75),
        Difference(figure="SD", value=-0.0001, p=0.5, p_corrected=0.5),
        Difference(figure="TD", value=None, p=None, p_corrected=None),
    )
    shift = ShiftComparison(task="nli", source="a_b", target="c", n=10, runs=1, differences=differences)
    mean = MeanComparison(
        task="nli",
        source="a_b",
        targets=("c", "d"),
        difference=Difference(figure="mean OOD", value=0.1, p=0.2, p_corrected=0.4),
    )
    return Comparison(
        a="a" * 16,
        b=b,
        data="d" * 64,
        subset="all",
        metric_version="3",
        n_swaps=100_000,
        margin=0.02,
        seed=0,
        shifts=(shift,),
        means=(mean,),
        only_a=(),
        only_b=(),
    )


def test_latex_is_a_booktabs_table() -> None:
    lines = as_latex(comparison_lines([pair()])).splitlines()
    means, shifts = (place for place, line in enumerate(lines) if line.startswith(r"\begin{tabular}"))
    assert lines[means + 4] == r"nli a\_b, mean OOD & $10.0$ & $0.2000$ & $0.4000$ & c, d \\"
    row = r"nli a\_b -\textgreater{} c & $1$ & $12.3^{*}$ & \textless{} 0.0001 \textless{} 0.0001"
    assert lines[shifts + 4].startswith(row)
    assert lines[shifts + 5 : shifts + 8] == [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    assert lines[-1].startswith("% 'floor'")


def test_markdown_is_a_table_of_as_many_cells_in_each_row() -> None:
    named = pair().model_copy(update={"b": NASTY, "a": "Good"})
    rows = [line for line in as_markdown(comparison_lines([named])).splitlines() if line.startswith("|")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [6] * 3 + [9] * 3
    assert r"12.3\* | \< 0.0001" in rows[-1]


def test_csv_has_a_row_for_each_difference_and_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(csv_table([pair()], [NASTY, "Poor"]), newline="")))
    assert [row["figure"] for row in rows] == ["ST", "SD", "TD", "mean OOD"]
    assert {row["a"] for row in rows} == {f"'{NASTY}"}
    assert (rows[0]["a_minus_b"], rows[2]["a_minus_b"], rows[0]["p"]) == ("0.1234", "", "1e-05")
    assert [(row["margin"], row["p_equivalent"]) for row in rows[:2]] == [("0.02", "0.75"), ("0.02", "")]
    assert [row["better"] for row in rows] == [f"'{NASTY}", "", "", ""]


def test_bibtex_has_author_title_year_and_address_and_balances_its_braces() -> None:
    text = bibtex(
        "shiftbench-id=aaaaaa&task=nli", author=NASTY, title=NASTY, year="2026", url="https://x/y", note=NASTY
    )
    assert text.startswith("@misc{shiftbench-id-aaaaaa-task-nli,\n  author = {{")
    assert "  year = {2026},\n  url = {https://x/y},\n" in text
    plain = re.sub(r"\\text[a-z]+\{\}", "", text)
    depth = 0
    for letter in plain:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0


@given(st.text())
def test_no_text_says_anything_to_latex(text: str) -> None:
    left = re.sub(r"\\(text[a-z]+\{\}|[&%$#_{}])", "", latex_text(text))
    assert not set(left) & set("\\&%$#_{}~^\n")


@given(st.text())
def test_no_text_breaks_a_markdown_table(text: str) -> None:
    assert not re.search(r"(?<!\\)(\\\\)*[|<\[*`]|\n", re.sub(r"\\.", "", markdown_text(text)))


@pytest.mark.parametrize(("p", "text"), [(0.0, "< 0.0001"), (0.00009, "< 0.0001"), (0.0001, "0.0001"), (1.0, "1.0000")])
def test_no_p_value_is_written_as_zero(p: float, text: str) -> None:
    assert p_text(p) == text
