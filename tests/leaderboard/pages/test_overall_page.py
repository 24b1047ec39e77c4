"""The front page and the picture above tables, as a reader gets them."""

import re
from pathlib import Path
from urllib.parse import parse_qsl

import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_query import OverallQuery
from shiftbench.leaderboard.pages.overall_page import overall_fragment, overall_page
from shiftbench.leaderboard.pages.shell import about_page
from shiftbench.leaderboard.pages.table_parts import scatter
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.reports.pictures.under_shift import Across, Point, under_shift_plane
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import Filled, Visible
from tests.leaderboard.id_folder import id_predictions
from tests.leaderboard.pages.board_table import Table

HOMES = {"sa": "amazon", "ner": "few_nerd", "nli": "mnli"}


@pytest.fixture(scope="module")
def index(id_folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Two models that cover all three tasks, one of them by two entries, and one that covers one."""
    root = tmp_path_factory.mktemp("overall")
    store = Store(root / "store")
    for name, model, tasks, errors in (
        ("Good, sentiment", "Good model", ("sa",), 0.05),
        ("Good, the others", "Good model", ("ner", "nli"), 0.05),
        ("Poor model", None, ("sa", "ner", "nli"), 0.4),
        ("Single <b>", None, ("nli",), 0.01),
    ):
        pl.concat(id_predictions(id_folder, task, HOMES[task], errors=errors) for task in tasks).write_parquet(
            root / "p.parquet"
        )
        card = Card(name=name, model=model, paradigm="fine-tuned", data=id_folder.content_hash)
        store.submit(root / "p.parquet", card, [id_folder])
    found = Index([id_folder], store)
    assert found.settle()
    return found


def query(index: Index, asked: str = "") -> OverallQuery:
    return OverallQuery.parse(parse_qsl(asked), index)


def lines(index: Index, asked: str = "") -> list[list[str]]:
    return Table(overall_fragment(index, query(index, asked))).rows


def test_a_line_a_model_with_its_coverage(index: Index) -> None:
    found = lines(index)
    assert [line[1].partition(" local")[0].removesuffix(" leads") for line in found] == [
        "Good model", "Poor model", "Single <b>"
    ]  # fmt: skip
    assert [line[0][0] for line in found] == ["1", "2", "\N{EN DASH}"]
    assert [line[6] for line in found] == ["3 of 3", "3 of 3", "1 of 3"]
    # Mean rank and win rate never stand without an interval.
    assert re.fullmatch(r"1\.0\[1\.0–[\d.]+\]", found[0][7])
    assert re.fullmatch(r"100%\[\d+%–100%\]", found[0][8])
    assert [found[2][place] for place in (2, 3, 4, 7, 8)] == ["\N{EN DASH}"] * 5
    assert found[0][3].startswith("\N{BLACK STAR} leads its board")
    # The best of one task is no better placed for it.
    assert "\N{BLACK STAR}" in found[2][5]


def test_the_page_answers_and_leads_on(index: Index) -> None:
    page = overall_page(index, query(index))
    shown = Visible(page)
    assert "Good model leads with " in shown.text
    assert "on average over the 3 tasks, significantly higher than every other entry." in shown.text
    assert "one line per model: scores under shift on 3 tasks and ranked by the mean over them" in shown.text
    for task in HOMES:
        assert f"/?board=boss/{task}" in shown.links
    for plain in ("Sentiment", "Named entities", "Inference"):
        assert plain in shown.text
    assert not {"script", "b"} & set(shown.tags)
    for part in ("scored", "intervals", "placebo", "withheld"):
        assert f'id="{part}"' in about_page(3, None)


@pytest.mark.parametrize(
    ("asked", "first"),
    [("sort=nli&order=asc", "Poor"), ("sort=n_tasks&order=asc", "Good"), ("sort=model&order=desc", "Poor"),
     ("q=single", "Single"), ("sort=rank&order=desc", "Poor")],
)  # fmt: skip
def test_lines_are_sorted_and_searched(index: Index, asked: str, first: str) -> None:
    found = lines(index, asked)
    assert found[0][1].startswith(first)
    assert found[-1][1].startswith("Single"), "a line without a rank stays below"


def test_without_a_model_on_all_tasks_the_best_of_each_task_is_named(filled: Filled) -> None:
    index = Index([filled.folder], filled.store)
    assert index.settle()
    shown = Visible(overall_page(index, OverallQuery(benchmark="synthetic"))).text
    assert "covers all 2 tasks yet, so none is ranked overall. Best on each task: Inference, " in shown


def test_what_depends_on_others_is_no_order(index: Index) -> None:
    for key in ("mean_rank", "win_rate", "magic"):
        found = query(index, f"sort={key}")
        assert found.sort == "rank"
        assert "cannot be sorted by" in found.notes[0]
    with pytest.raises(InvalidInput, match=r"there is no such benchmark.*did you mean 'boss'"):
        query(index, "benchmark=bos")
    assert query(index, "intervals=full&x=cost&q=a").address() == "/?benchmark=boss&q=a&x=cost&intervals=full"
    assert "[" in lines(index, "intervals=full")[0][2]


def test_a_benchmark_without_entries_leads_to_its_tasks(id_folder: DatasetFolder, tmp_path: Path) -> None:
    index = Index([id_folder], Store(tmp_path))
    shown = Visible(overall_page(index, query(index)))
    assert "No entries yet on this benchmark" in shown.text
    assert "No model covers all 3 tasks yet" in shown.text
    nothing = Index([], Store(tmp_path))
    assert "No data" in overall_page(nothing, query(nothing))


# The picture


def point(name: str, x: float, y: float, *, is_tied: bool = False) -> Point:
    across = Estimate(value=x, low=x - 0.01, high=x + 0.01) if x < 1 else Estimate(value=x)
    return Point(name, f"/entry?id={name}", across, Estimate(value=y, low=y - 0.02, high=y + 0.02), is_tied)


def test_a_picture_in_domain_has_intervals_no_loss_and_the_front() -> None:
    found = under_shift_plane([point("<a>", 0.9, 0.85, is_tied=True), point("b", 0.92, 0.8), point("c", 0.7, 0.7)], "")
    assert found.count("<a href=") == 3
    assert 'role="group"' in found
    assert found.count("sb-whisker") == 6
    assert "&lt;a&gt; 85.0" in found
    assert found.count('class="sb-identity"') == 2, "the line and its key"
    assert "under shift 85.0 [83.0, 87.0], in domain 90.0 [89.0, 91.0]" in found


@pytest.mark.parametrize(
    ("across", "xs", "ticks"),
    [("parameters", (2e7, 7e9), ("10M", "1B", "10B")), ("cost", (0.05, 14.0), ("0.01", "1", "100")),
     ("date", (739000.0, 739100.0), ("2024-", "2024-"))],
)  # fmt: skip
def test_a_picture_has_size_cost_or_date_across(
    across: Across, xs: tuple[float, float], ticks: tuple[str, ...]
) -> None:
    points = [
        Point(f"e{number}", "/entry", Estimate(value=x), Estimate(value=0.5 + number / 10), is_tied=False)
        for number, x in enumerate(xs)
    ]
    found = under_shift_plane(points, across)
    assert "sb-identity" not in found
    assert all(tick in found for tick in ticks)


def test_a_picture_shows_what_rows_state() -> None:
    columns = {
        "name": ["a", "b", "c"], "mean_st": [0.8, 0.7, 0.6], "mean_ss": [None, None, 0.9],
        "parameters": [10, 0, None], "cost_usd": [1.0, 2.0, None], "date": ["2026-01-01"] * 3,
        "with_leader": [None] * 3,
    }  # fmt: skip
    frame = pl.DataFrame(columns).with_columns(
        pl.lit(None, pl.Float64).alias(f"{name}.{end}") for name in ("mean_st", "mean_ss") for end in ("low", "high")
    )
    shown = Visible(scatter(frame, OverallQuery(benchmark="dr"), lambda row: (row["name"], "/entry")))
    # One score in domain and one size are too few; without a choice the first that can be shown is.
    assert [link for link in shown.links if "benchmark" in link] == ["/?benchmark=dr&x=cost", "/?benchmark=dr&x=date"]
    assert "1 of 3 ranked entries do not state this value and are not in the picture." in shown.text
    assert scatter(frame.head(1), OverallQuery(), lambda row: ("", "")) == ""
