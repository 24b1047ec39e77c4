"""The forecast page: its table with explanations, what fills it, and what it never shows."""

import csv
import dataclasses
import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.forecasts import ForecastsFound
from shiftbench.leaderboard.pages.entry_page import EntryForecast, EntryQuery, entry_html, entry_page
from shiftbench.leaderboard.pages.forecast_board import Shown, forecast_csv, forecast_page
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods
from shiftbench.scoring.forecasting.shape import Forecast, ShiftForecast, TaskForecast
from tests.leaderboard.conftest import SCRIPT, Filled, Visible
from tests.leaderboard.release.gold import build_gold

OFF = {"source-accuracy": 0.1, "mean-drop": 0.05, "doc": 0.02}
"""How far each method is off on every shift."""
TRUTH = 0.6


def task(n_targets: int) -> TaskForecast:
    targets = [f"site {number}" for number in range(n_targets)]
    shifts = []
    for number, target in enumerate(targets):
        made = [
            Forecast(method=name, value=TRUTH + off + number / 1000, low=TRUTH - 0.1, high=TRUTH + 0.2)
            for name, off in OFF.items()
        ]
        shifts.append(
            ShiftForecast(
                source="home", target=target, n_texts=100, n_runs=1, truth=TRUTH, source_score=0.7, level=0.8,
                set_on=tuple(targets), forecasts=tuple(made),
            )
        )  # fmt: skip
    return TaskForecast(
        task="nli", metric="accuracy", domains=tuple(targets), labelled=tuple(targets), n_validation=50,
        shifts=tuple(shifts), errors=(), notes=("There are no validation rows.",),
    )  # fmt: skip


def found(n_targets: int, n_models: int = 1, waiting: int = 0, left_out: Sequence[str] = ()) -> ForecastsFound:
    made = [Forecasted("synthetic/nli", f"{SCRIPT} {number}", task(n_targets)) for number in range(n_models)]
    made = made if n_targets else []
    return ForecastsFound(made, compare_methods(made), n_models + waiting, waiting, left_out)


@pytest.fixture(scope="module")
def shown(index: Index) -> Shown:
    boards = index.boards()
    return Shown(next(board for board in boards if board.task == "nli"), boards, index.benchmarks())


def test_the_page_says_what_errs_least_and_explains_every_figure(shown: Shown, wording: SnapshotAssertion) -> None:
    markup = str(forecast_page(shown, found(9)))
    page = Visible(markup)
    assert CONCEPT_SHIFT in page.text
    # 7 domains of one sign are 2 of 128 patterns, and the page makes 4 tests; with 5, no test can tell.
    pages = {n: Visible(forecast_page(shown, found(n))).lines.splitlines() for n in (7, 5)}
    assert page.lines == wording
    assert {f"{n} domains": [line for line in lines if line not in page.lines] for n, lines in pages.items()} == wording
    assert len(re.findall('<th scope="col" class="sb-num" title="[^"]+">', markup)) >= 9
    assert "owned" not in page.tags
    assert "script" not in page.tags


def test_domains_are_put_in_order_from_two_on(shown: Shown) -> None:
    orders = [[each.order for each in found(n).compared.boards[0].standings] for n in (1, 2)]
    assert orders[0] == [None, None, None]
    assert [each is not None for each in orders[1]] == [False, False, True]


def test_an_empty_page_says_what_fills_it(shown: Shown, wording: SnapshotAssertion) -> None:
    page = Visible(forecast_page(shown, found(0)))
    assert "/submit" in page.links
    waiting = Visible(forecast_page(shown, found(0, waiting=3)))
    assert [page.lines, waiting.lines] == wording
    reasons = Visible(forecast_page(shown, found(2, left_out=["2 of 3: <b>no</b>"])))
    assert "2 of 3: <b>no</b>." in reasons.text


def test_a_withheld_board_shows_no_forecast(tmp_path: Path, wording: SnapshotAssertion) -> None:
    gold = build_gold(tmp_path / "gold", 40)
    index = Index([gold], Store(tmp_path / "store"))
    board = index.boards()[0]
    page = Visible(forecast_page(Shown(board, [board], index.benchmarks()), found(7)))
    assert not {"table", "svg"} & set(page.tags)
    every = Visible(forecast_page(Shown(None, [board], index.benchmarks()), found(0)))
    assert [page.lines, every.lines] == wording


def test_all_boards_together_name_the_assumption(shown: Shown, wording: SnapshotAssertion) -> None:
    one = Visible(forecast_page(shown, found(7))).lines.splitlines()
    page = Visible(forecast_page(shown._replace(board=None), found(7)))
    assert [line for line in page.lines.splitlines() if line not in one] == wording


def test_the_csv_has_every_forecast_beside_the_truth() -> None:
    rows = list(csv.DictReader(io.StringIO(forecast_csv(found(2)))))
    assert len(rows) == 2 * len(OFF)
    assert rows[0]["truth"] == "0.6"
    assert {row["level"] for row in rows} == {"0.8"}


def test_an_entry_shows_forecasts_beside_the_truth_or_why_there_are_none(filled: Filled) -> None:
    item = filled.entries["good"]
    scores, query = filled.store.scores(item, filled.folder), EntryQuery(item.id, tab="statistics")

    def page_with(found: EntryForecast) -> Visible:
        return Visible(entry_html(dataclasses.replace(entry_page(query, item, scores, filled.folder), forecast=found)))

    page = page_with(EntryForecast("dr/nli", task(5)))
    for part in ("60.0", task(5).notes[0], CONCEPT_SHIFT):
        assert part in page.text
    assert "/forecast?board=dr/nli" in page.links
    none = page_with(EntryForecast("dr/nli", None, SCRIPT))
    assert f": {SCRIPT}." in none.text
    assert "script" not in none.tags
