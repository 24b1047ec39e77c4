"""What scoring and comparing return: tables, LaTeX, pictures, and how they show themselves."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

import shiftbench as sb
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.notebook.tables import COMPARISON_TABLES, SCORE_TABLES, SUMMARY
from shiftbench.scoring.scores.shape import Scores, Summary
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import SCRIPT, Filled, Visible, predict

HOME_ADVANTAGE = ("home_advantage_raw", "home_advantage_log", "home_advantage_logit")


@pytest.fixture(scope="module")
def scores(filled: Filled) -> sb.ScoreResult:
    return sb.score(filled.files["good"], filled.folder)


@pytest.fixture(scope="module")
def comparison(filled: Filled) -> sb.ComparisonResult:
    return sb.compare({"mine": filled.files["good"], SCRIPT: filled.files["poor"]}, filled.folder)


@pytest.fixture(scope="module")
def id_scores(id_folder: DatasetFolder) -> sb.ScoreResult:
    task = next(iter(id_folder.manifest.tasks))
    source = str(id_folder.task(task).id_domain)
    return sb.score(predict(id_folder, [source], 0.1, task), id_folder)


def test_shifts_are_those_of_the_scores(scores: sb.ScoreResult) -> None:
    (task,) = scores.scores.tasks
    table = scores.table("shifts")
    assert len(table) == len(task.shifts) == 12
    for row, shift in zip(table.iter_rows(named=True), task.shifts, strict=True):
        assert (row["source"], row["target"], row["n"]) == (shift.source, shift.target, shift.n)
        assert (row["td"], row["td_low"], row["td_high"]) == (shift.td.value, shift.td.low, shift.td.high)
        assert row["scenario"] == shift.scenario
    sums = table.select(pl.col("ss") - pl.col("st") - pl.col("sd"), pl.col("tt") - pl.col("st") - pl.col("td"))
    assert sums.to_numpy() == pytest.approx(0)


def test_a_summary_has_every_plain_figure(scores: sb.ScoreResult) -> None:
    mappings = {"total", "scenario_shares", "depth_f1", "depth_score", "detectable", "next_domain"}
    split_half = {"worst_sd_split_half", "worst_td_split_half", "scenario_chi_square_p"}
    assert set(Summary.model_fields) - mappings - split_half == {
        name for name in SUMMARY if not name.endswith(("_low", "_high", "_unrepeated")) and "_detectable" not in name
    } - {"task", "metric", "next_domain_st", "next_domain_drop", *HOME_ADVANTAGE}
    (row,) = scores.table("summary").to_dicts()
    assert row["mean_st"] == scores.scores.tasks[0].summary.mean_st.value
    gone = [*HOME_ADVANTAGE, "home_advantage", "worst_sd_posterior", "worst_td_posterior"]
    assert [row[name] for name in gone] == [None] * len(gone)
    assert row["average_drop"] == pytest.approx(row["mean_sd"])


def test_depths_in_domain_and_missing(scores: sb.ScoreResult, filled: Filled) -> None:
    assert scores.table("depth")["lambda"].unique(maintain_order=True).to_list() == [0, 25, 50, 75, 90]
    assert len(scores.table("depth")) == 12 * 5
    assert scores.table("in_domain")["domain"].to_list() == list(filled.folder.task("nli").domains)
    partial = sb.score(filled.files["partial"], filled.folder)
    assert len(partial.table("missing")) == len(partial.scores.missing) > 0
    assert partial.table("shifts")["st_low"].null_count() == 0


def test_id_and_ood(id_scores: sb.ScoreResult) -> None:
    table = id_scores.table("id_ood")
    found = id_scores.scores.tasks[0].id_ood
    assert found is not None
    assert table.filter(role="id")["score"].to_list() == [found.id.value]
    assert dict(table.filter(role="ood").select("domain", "score").iter_rows()) == {
        domain: estimate.value for domain, estimate in found.ood.items()
    }


def test_a_table_has_its_columns_when_it_has_no_rows(scores: sb.ScoreResult, comparison: sb.ComparisonResult) -> None:
    empty = sb.ScoreResult(scores.scores.model_copy(update={"tasks": (), "missing": ()}))
    for name, (schema, _) in SCORE_TABLES.items():
        assert empty.table(name).schema == scores.table(name).schema == pl.Schema(schema)
    for name, (schema, _) in COMPARISON_TABLES.items():
        assert comparison.table(name).schema == pl.Schema(schema)


def test_differences(comparison: sb.ComparisonResult) -> None:
    table = comparison.table("shifts")
    assert len(table) == 12 * 3
    assert set(table["a"]) == {"mine"}
    assert table.filter(figure="ST")["a_minus_b"].min() > 0  # type: ignore[operator]
    assert (table["p_corrected"] >= table["p"]).all()
    assert (table["better"].is_null() == (table["p_corrected"] >= 0.05)).all()


def test_who_is_better_where_p_is_small(comparison: sb.ComparisonResult) -> None:
    (pair,) = comparison.comparisons
    first = pair.shifts[0]
    sure = tuple(each.model_copy(update={"p_corrected": 0.01}) for each in first.differences)
    shift = first.model_copy(update={"differences": sure})
    table = sb.ComparisonResult([pair.model_copy(update={"shifts": (shift,)})]).table("shifts")
    # Of scores more is better, of drops less.
    signs = [value if figure == "ST" else -value for figure, value in table.select("figure", "a_minus_b").iter_rows()]
    assert table["better"].to_list() == ["mine" if sign > 0 else SCRIPT for sign in signs]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda scores: scores.table("shift"), "did you mean 'shifts'?"),
        (lambda scores: scores.to_latex("depth"), "no such LaTeX table; found 'depth'"),
        (lambda scores: scores.plot("matrices"), "did you mean 'matrix'?"),
        (lambda scores: scores.plot("matrix", "nly"), "did you mean 'nli'?"),
        (lambda scores: scores.to_pandas("x"), "no such table"),
    ],
)
def test_names_that_are_none_are_told(call, words: str, scores: sb.ScoreResult) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput) as refused:
        call(scores)
    assert words in str(refused.value)


def test_to_pandas(scores: sb.ScoreResult) -> None:
    assert scores.to_pandas("shifts")["st"].tolist() == scores.table("shifts")["st"].to_list()


def test_to_pandas_says_what_it_needs(scores: sb.ScoreResult, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftbench.notebook.results.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="pandas"):
        scores.to_pandas("shifts")


def test_jupyter_gets_html_and_all_else_text(scores: sb.ScoreResult, comparison: sb.ComparisonResult) -> None:
    shown = Visible(scores._repr_html_())
    assert shown.tags.count("table") == 2
    assert shown.tags.count("tr") == 2 + 13
    assert "Synthetic" in shown.text
    assert repr(scores) == str(scores) != ""
    compared = Visible(comparison._repr_html_())
    assert "script" not in compared.tags
    assert SCRIPT in compared.text
    assert SCRIPT in repr(comparison)


def test_latex_is_escaped_and_in_points(scores: sb.ScoreResult, comparison: sb.ComparisonResult) -> None:
    text = scores.to_latex()
    first = scores.scores.tasks[0].shifts[0]
    assert f"${100 * (first.st.value or 0):.1f}$ {{\\scriptsize $[" in text
    assert "\N{MINUS SIGN}" not in text
    assert text.count(r"\\") == 1 + 12
    assert scores.to_latex("summary").count(r"\\") == 1 + 1
    assert r"\textless{}script" in comparison.to_latex()


@pytest.mark.parametrize(("name", "panels"), [("matrix", 3), ("scenarios", 1), ("depth", 1)])
def test_plots_are_figures_that_a_notebook_shows(name: str, panels: int, scores: sb.ScoreResult) -> None:
    figure = scores.plot(name, task="nli")
    assert isinstance(figure, Figure)
    assert len(figure.axes) == panels
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


def test_the_matrix_says_every_figure(scores: sb.ScoreResult) -> None:
    st, sd, _ = scores.plot("matrix").axes
    (task,) = scores.scores.tasks
    cells = {text.get_position(): text.get_text() for text in st.texts}
    assert len(cells) == 16
    for shift in task.shifts:
        place = (task.domains.index(shift.target), task.domains.index(shift.source))
        assert cells[place] == f"{100 * (shift.st.value or 0):.1f}"
    assert len(sd.texts) == 12


def test_nothing_to_draw_is_told(id_scores: sb.ScoreResult, filled: Filled) -> None:
    zero_shot = sb.score(filled.files["zero-shot"], filled.folder)
    with pytest.raises(InvalidInput, match="plot"):
        zero_shot.plot("scenarios")
    assert len(zero_shot.plot("matrix").axes) == 3
    assert len(id_scores.plot("matrix").axes) == 3


def test_plots_leave_no_state() -> None:
    script = "import sys, shiftbench.notebook.plots\nprint('matplotlib.pyplot' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_scores_are_the_shape(scores: sb.ScoreResult, filled: Filled, tmp_path: Path) -> None:
    assert isinstance(scores.scores, Scores)
    assert scores.scores == sb.score_file(filled.files["good"], filled.folder)


def test_markdown_says_what_the_terminal_says(scores: sb.ScoreResult, comparison: sb.ComparisonResult) -> None:
    for result in (scores, comparison):
        markdown = " ".join(result.to_markdown().replace("\\", "").replace("|", " ").split())
        assert result.tables
        for title, table in result.tables.items():
            for said in (title, *table.row(0)):
                assert " ".join(said.split()) in markdown
