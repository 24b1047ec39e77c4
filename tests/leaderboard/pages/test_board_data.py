"""Boards for programs: plain data and CSV, in fractions, of which a spreadsheet runs nothing."""

import csv
import io
import json
from pathlib import Path
from urllib.parse import parse_qsl

import polars as pl
import pytest

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_data import board_csv, board_rows, overall_csv
from shiftbench.leaderboard.pages.board_page import board_page
from shiftbench.leaderboard.pages.board_query import OverallQuery
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.shape import METRIC_VERSION
from tests.leaderboard.conftest import Filled
from tests.leaderboard.pages.board_table import fresh_copy, query


@pytest.fixture(scope="module")
def index(filled: Filled) -> Index:
    found = Index([filled.folder], filled.store)
    assert found.settle()
    return found


def frame_of(index: Index) -> pl.DataFrame:
    return index.frame(index.boards()[0])


def overall(index: Index, asked: str = "") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(overall_csv(index, OverallQuery.parse(parse_qsl(asked), index)))))


def test_rows_as_data(index: Index) -> None:
    found = json.loads(json.dumps(board_rows(index, index.boards()[0]), allow_nan=False))
    frame = frame_of(index)
    assert [row["id"] for row in found] == frame["id"].to_list()
    first = found[0]
    assert first["rank"] == 1
    assert first["rank_interval"] == [frame["rank_low"][0], frame["rank_high"][0]]
    assert first["mean_st"] == {
        "value": frame["mean_st"][0], "low": frame["mean_st.low"][0], "high": frame["mean_st.high"][0],
        "no_interval": None, "placebo": None,
    }  # fmt: skip
    assert set(first["depth_f1"]) == {"0", "50", "90"}
    assert found[-1]["rank"] is None
    assert found[-1]["missing"]


def test_exported_rows_state_what_they_were_made_with(index: Index) -> None:
    board = index.boards()[0]
    scores = index.scores(index.frame(board)["id"][0])
    expected = {"data": board.folder.content_hash, "metric_version": METRIC_VERSION}
    expected |= {"depth_encoder": scores.depth_encoder or "", "token_encoder": scores.token_encoder or ""}
    for row in (board_rows(index, board)[0], next(csv.DictReader(io.StringIO(board_csv(index, query(index)))))):
        assert {name: row[name] or "" for name in expected} == expected
    assert scores.depth_encoder
    page = board_page(index, query(index))
    assert all(f"<dd>{value}</dd>" in page for value in (METRIC_VERSION, scores.depth_encoder))


def test_csv_holds_the_rows_of_all_pages_as_fractions(index: Index) -> None:
    frame = frame_of(index).filter(pl.col("paradigm") == "fine-tuned")
    found = list(csv.DictReader(io.StringIO(board_csv(index, query(index, "paradigm=fine-tuned")))))
    assert [row["id"] for row in found] == frame["id"].to_list()
    assert [float(row["mean_st"]) for row in found] == frame["mean_st"].to_list()
    assert float(found[0]["mean_st.low"]) == frame["mean_st.low"][0]


def test_csv_of_the_overall_board_has_its_lines_in_their_order(index: Index) -> None:
    frame = index.overall(index.benchmarks()[0])
    found = overall(index)
    assert [row["model"] for row in found] == frame["model"].to_list()
    best = frame.row(0, named=True)
    assert found[0]["nli:entry"] == best["nli:id"]
    for name in ("nli:mean_st", "nli:mean_st.low", "nli:mean_st.high"):
        assert float(found[0][name]) == best[name]
    assert found[0]["sa:mean_st"] == found[0]["mean_st"] == ""  # no model covers both tasks
    assert [row["model"].split()[0] for row in overall(index, "q=poor")] == ["Poor"]
    assert [row["model"] for row in overall(index, "sort=model&order=desc")] == sorted(
        frame["model"], key=str.lower, reverse=True
    )


def test_csv_cells_are_no_formulas(filled: Filled, tmp_path: Path) -> None:
    root = fresh_copy(filled, tmp_path)
    path = root / "entries" / filled.entries["good"].id / "card.json"
    content = json.loads(path.read_text())
    content["card"]["name"] = "=HYPERLINK(1)"
    path.write_text(json.dumps(content))
    index = Index([filled.folder], Store(root))
    assert "'=HYPERLINK(1)" in board_csv(index, query(index))
    assert "'=HYPERLINK(1)" in [row["model"] for row in overall(index)]
