"""The scatter plot: what is known is placed, names never overlap, many entries are a cloud."""

import re

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_query import BoardQuery
from shiftbench.leaderboard.pages.scatter import MOST_MARKS, MOST_NAMED, Mark, _front, _overlap, _with_names, scatter
from tests.leaderboard.conftest import Filled, Visible


@pytest.fixture(scope="module")
def index(filled: Filled) -> Index:
    return Index([filled.folder], filled.store)


def table(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    score = np.sort(rng.uniform(0.5, 0.9, n))[::-1]
    columns = {
        "id": [f"{number:016x}" for number in range(n)], "name": [f"model {number}" for number in range(n)],
        "mean_st": score, "mean_st.low": score - 0.01, "mean_st.high": score + 0.01, "mean_ss": score + 0.05,
        "parameters": rng.integers(10**6, 10**10, n), "date": ["2026-01-01", "2026-03-01"] * (n // 2),
        "with_leader": [number < 2 for number in range(n)], "paradigm": ["fine-tuned"] * n, "group": [0] * n,
    }  # fmt: skip
    return pl.DataFrame(columns).with_columns(
        cost_usd=pl.lit(None, pl.Float64),
        licence=pl.lit(None, pl.String),
        released=pl.lit(None, pl.String),
        open_weights=pl.lit(None, pl.Boolean),
        at_floor=pl.lit(value=False),
    )


def drawn(index: Index, x: str, rows: pl.DataFrame) -> str:
    board = index.boards()[0]
    keys = ("mean_ss", "mean_st", "average_drop")
    return str(scatter(board, BoardQuery(board=board.name, x=x), rows, rows, keys, []))


def test_few_entries_are_links_with_intervals(index: Index) -> None:
    page = drawn(index, "score", table(6))
    assert page.count("<circle") == page.count('<a href="/entry') == 6
    assert page.count('class="sb-mark-tied"') == 2
    assert 'class="sb-identity"' in page
    assert "sb-cloud" not in page
    assert "sb-front" not in page, "a front is drawn only where it is said"
    assert "x=cost" not in page, "nobody states a cost"


@pytest.mark.parametrize(("x", "words"), [("parameters", "best score at each size"), ("date", "best score submitted")])
def test_a_line_of_the_best_is_drawn_and_said(index: Index, x: str, words: str) -> None:
    page = drawn(index, x, table(6))
    assert page.count('class="sb-front"') == 1
    assert words in page
    assert "sb-identity" not in page


def test_ten_thousand_entries_are_a_cloud(index: Index) -> None:
    page = drawn(index, "parameters", table(10_000))
    assert 'class="sb-cloud"' in page
    assert MOST_NAMED <= page.count("<circle") <= MOST_MARKS
    dots = re.findall(r"M(\d+) (\d+)h0", page)
    assert len(dots) > 5_000
    assert all(0 <= int(value) <= 1000 for dot in dots for value in dot)
    assert "10,000 " in page


def test_what_is_not_stated_is_counted(index: Index, wording: SnapshotAssertion) -> None:
    rows = table(6).with_columns(parameters=pl.when(pl.col("id") < f"{3:016x}").then("parameters"))
    shown = drawn(index, "parameters", rows), drawn(index, "score", table(2).head(1))
    assert [Visible(each).lines for each in shown] == wording


def test_the_front_holds_what_no_other_one_beats() -> None:
    rng = np.random.default_rng(5)
    across, up = rng.random(200), rng.random(200)
    front = set(_front(across, up))
    for one in range(200):
        beaten = any(across[other] <= across[one] and up[other] > up[one] for other in range(200))
        assert (one in front) == (not beaten)


def test_names_overlap_no_name_and_no_mark() -> None:
    rng = np.random.default_rng(9)
    marks = [
        Mark(float(left), float(top), None, None, f"a model {n}", "", "", is_tied=False)
        for n, (left, top) in enumerate(rng.uniform(0, 100, (14, 2)))
    ]
    found = _with_names(marks, range(14))
    assert any(mark.side for mark in found)
    boxes = []
    for mark in (each for each in found if each.side):
        left, top, width = mark.left * 10.8, mark.top * 4.4, 6.4 * len(mark.name)
        start = left + 9 if mark.side == "right" else left - 9 - width
        boxes.append((start, top - 7, start + width, top + 7))
    assert not any(_overlap(one, other) for n, one in enumerate(boxes) for other in boxes[:n])
