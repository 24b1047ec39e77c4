"""The forecast page: its table with explanations, what fills it, and what it never shows."""

import csv
import dataclasses
import io
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

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


def test_the_page_says_what_errs_least_and_explains_every_figure(shown: Shown) -> None:
    page = Visible(forecast_page(shown, found(9)))
    assert CONCEPT_SHIFT in page.text
    lead = "Difference of confidences has the smallest mean error: 2.4 points over 9 target domains"
    assert f"{lead} (source accuracy 10.4 and mean drop 5.4)." in page.text
    beaten = (
        "Significantly better than a baseline (p < 0.05, corrected over all methods and both baselines): "
        "difference of confidences."
    )
    assert beaten in page.text
    # 7 domains of one sign are 2 of 128 patterns, and the page makes 4 tests.
    assert "No method is significantly better than a baseline" in Visible(forecast_page(shown, found(7))).text
    heads = (
        "Mean error",
        "Bias",
        "Interval score",
        "Held",
        "Skill, source",
        "Skill, drop",
        "Regret",
        "Domains",
    )
    markup = str(forecast_page(shown, found(9)))
    for head in (*heads, "Pairs"):
        assert re.search(f'<th scope="col" class="sb-num" title="[^"]+">{re.escape(head)}</th>', markup)
    assert "p 0.0039" in page.text
    assert "+0.77" in page.text  # saves 8 of 10.4 points
    assert "owned" not in page.tags
    assert "script" not in page.tags


def test_with_few_domains_no_test_can_tell(shown: Shown) -> None:
    page = Visible(forecast_page(shown, found(5)))
    assert "cannot tell" in page.text
    assert "cannot be tested: at least 6 target domains" in page.text
    assert "p 0." not in page.text


def test_domains_are_put_in_order_from_two_on(shown: Shown) -> None:
    orders = [[each.order for each in found(n).compared.boards[0].standings] for n in (1, 2)]
    assert orders[0] == [None, None, None]
    assert [each is not None for each in orders[1]] == [False, False, True]
    assert "by chance" in Visible(forecast_page(shown, found(2))).text


def test_an_empty_page_says_what_fills_it(shown: Shown) -> None:
    page = Visible(forecast_page(shown, found(0)))
    assert "No forecasts yet" in page.text
    assert "--validation preds.validation.parquet" in page.text
    assert "/submit" in page.links
    waiting = Visible(forecast_page(shown, found(0, waiting=3))).text
    assert "3 of 4 entries have no forecasts yet" in waiting
    reasons = Visible(forecast_page(shown, found(2, left_out=["2 of 3 entries: <b>no</b>"])))
    assert "2 of 3 entries: <b>no</b>." in reasons.text


def test_a_withheld_board_shows_no_forecast(tmp_path: Path) -> None:
    gold = build_gold(tmp_path / "gold", 40)
    index = Index([gold], Store(tmp_path / "store"))
    board = index.boards()[0]
    page = Visible(forecast_page(Shown(board, [board], index.benchmarks()), found(7)))
    assert "Test labels of this board are withheld" in page.text
    assert "table" not in page.tags
    assert "svg" not in page.tags
    every = Visible(forecast_page(Shown(None, [board], index.benchmarks()), found(0)))
    assert "Test labels of all boards are withheld. Forecasts compared with true scores" in every.text
    assert "--validation" not in every.text


def test_all_boards_together_name_the_assumption(shown: Shown) -> None:
    page = Visible(forecast_page(shown._replace(board=None), found(7)))
    assert "assume that methods perform similarly" in page.text
    assert "all boards" in page.text


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
    assert "Forecasts and true scores" in page.text
    assert "home to site 0" in page.text
    assert "60.0" in page.text
    assert "There are no validation rows." in page.text
    assert CONCEPT_SHIFT in page.text
    assert "/forecast?board=dr/nli" in page.links
    none = page_with(EntryForecast("dr/nli", None, SCRIPT))
    assert f"No forecast: {SCRIPT}." in none.text
    assert "script" not in none.tags
