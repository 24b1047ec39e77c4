"""Models trained on none of a board's domains: ranked on targets weighted as in trained models' mean score."""

from dataclasses import replace

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.board import Board, Index, find_board
from shiftbench.leaderboard.board.ranks import ranked_replicates
from shiftbench.leaderboard.board.rows import trained_outside
from shiftbench.leaderboard.pages.board_page import rows_fragment
from shiftbench.leaderboard.pages.board_query import BoardQuery
from shiftbench.leaderboard.pages.entry_page import EntryQuery, entry_html, entry_page
from shiftbench.scoring.scores.coverage import is_ranked, unranked_lines
from shiftbench.scoring.scores.score import score_predictions
from tests.leaderboard.conftest import Filled

BOARD = "synthetic/nli"


@pytest.fixture(scope="module")
def index(filled: Filled) -> Index:
    index = Index([filled.folder], filled.store)
    assert index.settle()
    return index


def board_of(index: Index) -> Board:
    return find_board(BOARD, index.boards())


def shown(index: Index, asked: str = "") -> str:
    pairs = [("board", BOARD), *(tuple(pair.split("=")) for pair in asked.split("&") if pair)]
    return str(rows_fragment(index, BoardQuery.parse(pairs, index)))


def test_the_mean_is_over_the_targets_alike_and_has_a_rank_interval(index: Index, filled: Filled) -> None:
    row = index.frame(board_of(index)).row(by_predicate=pl.col("name") == "Zero-shot model", named=True)
    task = index.scores(row["id"]).tasks[0]
    assert {shift.target for shift in task.shifts} == set(task.domains)
    assert row["mean_st"] == pytest.approx(sum(shift.st.value or 0 for shift in task.shifts) / len(task.domains))
    table = filled.store.table(filled.entries["zero-shot"], filled.folder)
    drawn = ranked_replicates(table, row, filled.folder.task("nli"))
    assert drawn is not None
    assert drawn.values[0] == pytest.approx(row["mean_st"], abs=1e-6)
    assert (row["rank"], row["rank_low"], row["with_leader"]) == (3, 3, False)
    assert row["average_drop"] is None


def test_one_that_lacks_a_target_is_not_ranked_and_both_pages_say_the_same(index: Index, filled: Filled) -> None:
    predictions = pl.read_parquet(filled.files["zero-shot"])
    target = filled.folder.task("nli").domains
    lost = next(iter(target))
    facts = filled.folder.test("nli", columns=["id", "domain"])
    placed = predictions.join(facts, on="id").filter(pl.col("domain") != lost)
    placed = placed.rename({"domain": "target"}).with_columns(task=pl.lit("nli"), seed=pl.lit(0, pl.Int64))
    scores = score_predictions(placed, filled.folder).scores
    task = scores.tasks[0]
    assert not is_ranked(task)
    lines = unranked_lines(scores, task)
    assert any(f"none \N{RIGHTWARDS ARROW} {lost}: " in line for line in lines)
    query = EntryQuery("0" * 16, tab="statistics")
    page = str(entry_html(entry_page(query, filled.entries["zero-shot"], scores, folder=filled.folder)))
    for line in lines:
        assert line in page


def test_drops_are_not_applicable_and_a_filter_tells_the_two_kinds_apart(index: Index) -> None:
    assert "applicable" in shown(index)
    assert "Zero-shot model" not in shown(index, "paradigm=fine-tuned")
    only = shown(index, "paradigm=zero-shot")
    assert ("Zero-shot model" in only, "Poor model" in only) == (True, False)
    rows = pl.DataFrame({"trained_on": [None, "none", "books", None], "basis": ["elsewhere", None, "id-ood", "x"]})
    assert rows.select(trained_outside()).to_series().to_list() == [True, True, False, False]


def test_a_board_of_one_domain_says_that_it_has_no_shift(index: Index, wording: SnapshotAssertion) -> None:
    board = board_of(index)
    assert board.why_no_shift is None
    first = dict(list(board.info.domains.items())[:1])
    tasks = {**board.folder.manifest.tasks, "nli": board.info.model_copy(update={"domains": first})}
    manifest = board.folder.manifest.model_copy(update={"tasks": tasks})
    alone = replace(board, folder=replace(board.folder, manifest=manifest))

    paired = board.info.model_copy(update={"domains": first, "id_domain": "elsewhere"})
    lacking = manifest.model_copy(update={"tasks": {"nli": paired}})
    unpaired = replace(board, folder=replace(board.folder, manifest=lacking))
    assert [alone.why_no_shift, unpaired.why_no_shift] == wording
