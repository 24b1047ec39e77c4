"""Comparison of forecasting methods: on all models of a board, and over boards.

Results over boards need an assumption (``BOARDS_ARE_ALIKE``); results on single boards do not.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.errors import Point, method_errors, order_domains
from shiftbench.scoring.forecasting.methods import CORRECTED, FLOORS
from shiftbench.scoring.forecasting.shape import BoardStandings, MethodComparison, TaskForecast

BOARDS_ARE_ALIKE = "Results over all boards assume that methods perform similarly on domains of different tasks."
Points = dict[str, list[Point]]
"""Forecasts with known truth, by method."""


class Forecasted(NamedTuple):
    """Forecasts of one model on one board."""

    board: str
    model: str
    task: TaskForecast


def compare_methods(
    found: Sequence[Forecasted],
    left_out: Sequence[str] = (),
    levels: Mapping[str, float] | None = None,
) -> MethodComparison:
    """Compare methods on all shifts whose labels are known.

    Args:
        found: forecasts of every model.
        left_out: the models and boards that could not be included, with the reason, as sentences for the report.
        levels: nominal coverage, in (0, 1), of the intervals of user-supplied methods, by name; the intervals of all
            other methods have their shift's level.

    Returns: one part per board, and one over all boards.
    """
    own_levels, found = levels or {}, _number_repeated(found)
    boards = list(dict.fromkeys(each.board for each in found))
    points = {board: list_points([each for each in found if each.board == board], own_levels) for board in boards}
    parts = [_compare_on_board(board, [points[board]]) for board in boards]
    if len(boards) > 1:
        parts.append(_compare_on_board(None, list(points.values())))
    return MethodComparison(boards=tuple(parts), left_out=tuple(left_out), concept_shift=CONCEPT_SHIFT)


def _number_repeated(found: Sequence[Forecasted]) -> list[Forecasted]:
    """Return the forecasts, with a number added to repeated model names on a board."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for each in found:
        seen[each.board, each.model] += 1
        n = seen[each.board, each.model]
        numbered.append(each if n == 1 else each._replace(model=f"{each.model} ({n})"))
    return numbered


def _compare_on_board(board: str | None, by_board: Sequence[Points]) -> BoardStandings:
    """Compare the methods on one board, or over several."""
    methods = dict.fromkeys(name for each in by_board for name in each)
    points = {name: [point for each in by_board for point in each.get(name, ())] for name in methods}
    models = dict.fromkeys(point.model for mine in points.values() for point in mine)
    # The order of baselines and corrected methods is an artefact: source accuracy is constant, and the mean error on
    # the other domains is largest for the target whose own error is smallest.
    able = [name for name in methods if name not in (*FLOORS, *CORRECTED)]
    orders = {name: order_domains([each.get(name, ()) for each in by_board]) for name in able}
    standings = [made for name in points if (made := method_errors(name, points, orders.get(name))) is not None]
    return BoardStandings(board=board, models=tuple(models), standings=tuple(standings))


def list_points(found: Sequence[Forecasted], levels: Mapping[str, float]) -> Points:
    """List the forecasts of one board whose truth is known.

    Args:
        found: forecasts of the board's models.
        levels: as for ``compare_methods``.

    Returns: the forecasts by method.
    """
    points: Points = {}
    for board, model, task in found:
        for shift in task.shifts:
            if shift.truth is None:
                continue
            domain = f"{board} {shift.target}"
            for each in shift.forecasts:
                if each.value is not None:
                    level = levels.get(each.method) or shift.level
                    one = Point(
                        domain, model, shift.source, shift.truth, each.value, each.low, each.high, level,
                        shift.truth_error,
                    )  # fmt: skip
                    points.setdefault(each.method, []).append(one)
    return points
