"""The forecast page: all methods on the entries of one or all boards, compared with the true scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from shiftbench.leaderboard.board import Benchmark, Board
from shiftbench.leaderboard.board.forecasts import ForecastsFound, forecast_rows
from shiftbench.leaderboard.pages.addresses import FORECAST, address_of
from shiftbench.leaderboard.pages.shell import render
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name
from shiftbench.metrics.new_domain import MIN_DOMAINS
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.comparison import BOARDS_ARE_ALIKE
from shiftbench.scoring.forecasting.errors import sort_methods
from shiftbench.scoring.forecasting.methods import FLOORS, TITLES
from shiftbench.scoring.forecasting.samples import SCORES
from shiftbench.scoring.forecasting.shape import BoardStandings, MethodErrors
from shiftbench.scoring.reports.forecast import method_table
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Choice
from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.csv_export import guarded_csv

_LEVEL = 0.05
_FLOOR_NAMES = dict(zip(FLOORS, ("source accuracy", "mean drop"), strict=True))


class Shown(NamedTuple):
    """Selection of the page: a board (None: all), and the available boards."""

    board: Board | None
    boards: Sequence[Board]
    benchmarks: Sequence[Benchmark]


@dataclass(frozen=True)
class ForecastPage:
    """Content of the template ``forecast.html``."""

    shown: Shown
    found: ForecastsFound

    concept_shift = CONCEPT_SHIFT
    boards_are_alike = BOARDS_ARE_ALIKE

    @property
    def title(self) -> str:
        """Return the board's display name."""
        return "all boards" if self.shown.board is None else board_name(self.shown.board)

    @property
    def notices(self) -> Markup:
        """Return warnings about the data."""
        board = self.shown.board
        return notices([board.folder] if board else [each.folder for each in self.shown.benchmarks])

    @property
    def chooser(self) -> list[tuple[str, list[Choice]]]:
        """List the boards to choose from, by benchmark."""
        groups = [("Boards", [Choice("All boards", FORECAST, self.shown.board is None)])]
        for benchmark in self.shown.benchmarks:
            mine = [each for each in self.shown.boards if each.folder.content_hash == benchmark.folder.content_hash]
            links = [
                Choice(board_name(each), address_of(FORECAST, board=each.name), each == self.shown.board)
                for each in mine
            ]
            groups.append((benchmark_name(benchmark), links))
        return groups

    @property
    def has_no_meaning(self) -> bool:
        """Return whether the board's scores are of spans, which no method forecasts."""
        return self.shown.board is not None and self.shown.board.info.kind not in SCORES

    @cached_property
    def part(self) -> BoardStandings | None:
        """Return the standings to show: those of the board, or of all boards pooled."""
        parts = self.found.compared.boards
        pooled = next((part for part in parts if part.board is None), None)
        if self.shown.board is None and pooled is not None:
            return pooled
        name = self.shown.board.name if self.shown.board is not None else None
        part = next((part for part in parts if name in (None, part.board)), None)
        return part if part and part.standings else None

    @property
    def answer(self) -> str:
        """Return which method has the smallest error, and whether any is shown to beat a naive baseline."""
        assert self.part is not None
        return answer_words(self.part)

    @property
    def n_validation(self) -> int:
        """Return how many forecasts use validation rows."""
        return sum(each.task.n_validation > 0 for each in self.found.found)

    @property
    def table(self) -> PlainTable:
        """Build the table with one row per method, by mean error; methods that lack domains come last."""
        assert self.part is not None
        return method_table("Methods by mean error, in points; incomplete methods last", self.part.standings)


def forecast_page(shown: Shown, found: ForecastsFound) -> Markup:
    """Build the page's body."""
    return render("forecast.html", page=ForecastPage(shown, found))


def forecast_csv(found: ForecastsFound) -> str:
    """Format all forecasts with the true scores as CSV, as fractions (see ``forecast_rows``)."""
    rows = forecast_rows(found)
    return guarded_csv(rows.columns, rows.iter_rows())


def answer_words(part: BoardStandings) -> str:
    """Format, in two sentences, the method with the smallest error, and whether any is shown to beat a baseline."""
    best = sort_methods(part.standings)[0]
    errors = {each.method: each.error for each in part.standings if each.method != best.method}
    floors = [(name, errors[floor]) for floor, name in _FLOOR_NAMES.items() if floor in errors]
    title = TITLES.get(best.method, best.method)
    return sentence("forecasts", "best", best, title, floors, _shown_to_beat(part.standings), MIN_DOMAINS)


def _shown_to_beat(standings: Sequence[MethodErrors]) -> list[str] | None:
    """List the methods shown to beat a naive baseline, with p corrected over all tests; None if there is no test."""
    tests = [
        (each, p, each.skill.get(floor) or 0.0) for each in standings for floor, p in each.p.items() if p is not None
    ]
    corrected = holm([p for _, p, _ in tests])
    better = dict.fromkeys(
        TITLES.get(each.method, each.method)
        for (each, _, saved), p in zip(tests, corrected, strict=True)
        if p < _LEVEL and saved > 0 and each.method not in FLOORS
    )
    return list(better) if tests else None
