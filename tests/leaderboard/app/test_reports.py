"""Reports in a browser: readable in both schemes, on a phone and a desktop, and never wider than the window."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.unit_ranks import rank_table
from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods
from shiftbench.scoring.interchange.boards import read_board
from shiftbench.scoring.interchange.score_tables import Reading
from shiftbench.scoring.reports.check import CheckShown, check_html
from shiftbench.scoring.reports.forecast import method_comparison_lines
from shiftbench.scoring.reports.plain_tables import report
from shiftbench.scoring.reports.rank_tables import rank_report
from shiftbench.scoring.reports.report_page import comparison_report, folder_report
from shiftbench.scoring.scores.next_steps import Step
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Estimate, NextStep
from tests.leaderboard.app.chromium import violations
from tests.leaderboard.conftest import Filled
from tests.scoring.forecasting.test_comparison import task as forecasts_of
from tests.scoring.reports.gallery import gallery
from tests.scoring.reports.test_check_page import explained, steps_of
from tests.shiftbench.test_rank_logs import write_board

pytestmark = pytest.mark.browser
Build = Callable[[Filled, Path], str]


def check(filled: Filled, place: Path) -> str:
    found = steps_of(
        NextStep(domain="dvd", step=Step.LOOK, p=0.001, rows=("a", "b")),
        NextStep(domain="toys", step=Step.ACCEPT, p=0.03),
        explained=(explained("shifted", Estimate(value=0.09, low=0.02, high=0.16)),),
    )
    task = score_file(filled.files["good"], filled.folder).tasks[0]
    return check_html(CheckShown(found, "mine.csv", filled.folder, task, warnings=("labels look permuted",)))


def score(filled: Filled, place: Path) -> str:
    return folder_report(filled.files["good"], score_file(filled.files["good"], filled.folder), filled.folder)


def comparison(filled: Filled, place: Path) -> str:
    first, *others = (Entrant(filled.files[name], filled.folder) for name in ("good", "poor", "zero-shot"))
    pairs = [compare_entrants(first, other) for other in others]
    return comparison_report(pairs, ["A model of a long name", "Poor", "Zero"], filled.folder)


def ranks(filled: Filled, place: Path) -> str:
    return rank_report(rank_table(read_board([write_board(place / "board.csv")], Reading())), "board.csv")


def methods(filled: Filled, place: Path) -> str:
    found = compare_methods([Forecasted("b/t", "model", forecasts_of(7, 0))])
    return report("Forecasts compared with true accuracy", method_comparison_lines(found), "shiftbench")


def parts(filled: Filled, place: Path) -> str:
    return gallery()


@pytest.mark.parametrize("build", [check, score, comparison, ranks, methods, parts])
def test_a_report_is_readable_in_both_schemes_and_no_wider_than_the_window(
    browser: Any, filled: Filled, tmp_path: Path, build: Build
) -> None:
    content = build(filled, tmp_path)
    page = browser.new_page()
    try:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.set_content(content)
            for width in (390, 1440):
                page.set_viewport_size({"width": width, "height": 900})
                assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.locator("h1").count() == 1
            assert page.locator("th:empty").count() == 0
            assert violations(page) == []
    finally:
        page.close()
