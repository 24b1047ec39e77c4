"""A benchmark's page, as a reader gets it."""

from pathlib import Path
from urllib.parse import parse_qsl

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_page import overall_fragment, overall_page
from shiftbench.leaderboard.pages.board_query import OverallQuery
from shiftbench.leaderboard.pages.shell import about_page
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.conftest import SCRIPT, Filled, Visible
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
    assert [line[1].split()[0] for line in found] == ["Good", "Poor", "Single"]
    assert [line[0][0] for line in found] == ["1", "2", "\N{EN DASH}"]
    assert [line[7] for line in found] == ["3 of 3", "3 of 3", "1 of 3"]
    assert [found[2][place] for place in (3, 4, 5)] == ["n/a", "\N{EN DASH}", "\N{EN DASH}"]
    assert found[0][4].startswith("\N{BLACK STAR}")
    # The best of one task is no better placed for it.
    assert "\N{BLACK STAR}" in found[2][6]


def test_the_page_answers_and_leads_on(index: Index, wording: SnapshotAssertion) -> None:
    page = overall_page(index, query(index))
    shown = Visible(page)
    assert shown.lines == wording
    for task in HOMES:
        assert f"/?board=boss/{task}" in shown.links

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


def test_without_a_model_on_all_tasks_the_best_of_each_task_is_named(
    filled: Filled, wording: SnapshotAssertion
) -> None:
    index = Index([filled.folder], filled.store)
    assert index.settle()
    page = Visible(overall_page(index, OverallQuery(benchmark="synthetic")))
    said = page.lines.replace(SCRIPT, filled.card("good").name).splitlines()
    assert [line for line in said if "all 2 tasks" in line] == wording
    # Columns without a value are not drawn; lines stand by their score, as near as they come to the best.
    found = lines(index, "benchmark=synthetic")
    assert [len(line) for line in found] == [3] * len(found)
    scores = [float(line[1].split("\N{PLUS-MINUS SIGN}")[0].rpartition("board")[2]) for line in found[:4]]
    assert scores == sorted(scores, reverse=True)


def test_what_depends_on_others_is_no_order(index: Index) -> None:
    for key in ("mean_rank", "win_rate", "magic"):
        found = query(index, f"sort={key}")
        assert found.sort == "rank"
        assert "sorted" in found.notes[0]
    with pytest.raises(InvalidInput, match="'boss'"):
        query(index, "benchmark=bos")
    assert query(index, "view=full&q=a").address() == "/?benchmark=boss&q=a&view=full"
    assert "[" in lines(index, "view=full")[0][3]


def test_a_benchmark_without_entries_leads_to_its_tasks(
    id_folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    index = Index([id_folder], Store(tmp_path))
    shown = Visible(overall_page(index, query(index)))
    nothing = Index([], Store(tmp_path))
    assert [shown.lines, Visible(overall_page(nothing, query(nothing))).lines] == wording
