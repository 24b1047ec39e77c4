"""Methods of forecasting beside each other: on all models of a board, and over boards.

Figures over boards need an assumption (``BOARDS_ARE_ALIKE``); those of single boards need none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from shiftbench.metrics.new_domain import LEVELS, domain_quantile, interval_level
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.errors import Point, errors_by_domain, method_errors, order_domains
from shiftbench.scoring.forecasting.shape import BoardStandings, MethodComparison, TaskForecast
from shiftbench.validation.report import InvalidInput, Problem, counted, did_you_mean

BOARDS_ARE_ALIKE = "Over all boards it is assumed that domains of different tasks are alike in how methods do."
Points = dict[str, list[Point]]
"""Forecasts where the truth is known, by method."""


class Forecasted(NamedTuple):
    """Forecasts of one model on one board."""

    board: str
    model: str
    task: TaskForecast


def compare_methods(
    found: Sequence[Forecasted],
    left_out: Sequence[str] = (),
    levels: Mapping[str, float] | None = None,
    set_on: str | None = None,
) -> MethodComparison:
    """Compare methods on all shifts whose labels are known.

    Args:
        found: forecasts of every model.
        left_out: what was not compared, and why.
        levels: levels of the intervals of methods that bring their own; others have those of their shifts.
        set_on: the board whose domains set the intervals of all other boards; None sets the intervals of a shift on the
            other domains of its own board.
    Returns: a part a board, and one of all boards together; with ``set_on`` that one is of all other boards.
    Raises: InvalidInput when ``set_on`` is no board, or has too few domains for an interval.
    """
    own_levels, found = levels or {}, _number_repeated(found)
    boards = list(dict.fromkeys(each.board for each in found))
    points = {board: list_points([each for each in found if each.board == board], own_levels) for board in boards}
    if set_on is not None:
        reach = _set_reaches(points, set_on)
        for board in boards:
            if board != set_on:
                points[board] = {
                    name: mine if name in own_levels else [_set_interval(point, reach.get(name)) for point in mine]
                    for name, mine in points[board].items()
                }
    parts = [_compare_on_board(board, [points[board]], None if board == set_on else set_on) for board in boards]
    pooled = [board for board in boards if board != set_on]
    if len(pooled) > 1:
        parts.append(_compare_on_board(None, [points[board] for board in pooled], set_on))
    return MethodComparison(boards=tuple(parts), left_out=tuple(left_out), concept_shift=CONCEPT_SHIFT)


def _number_repeated(found: Sequence[Forecasted]) -> list[Forecasted]:
    """Return the forecasts, with a number behind the name of each further model that is called as one of its board."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for each in found:
        seen[each.board, each.model] += 1
        n = seen[each.board, each.model]
        numbered.append(each if n == 1 else each._replace(model=f"{each.model} ({n})"))
    return numbered


def _compare_on_board(board: str | None, by_board: Sequence[Points], set_on: str | None) -> BoardStandings:
    """Compare the methods of one board, or of several."""
    methods = dict.fromkeys(name for each in by_board for name in each)
    points = {name: [point for each in by_board for point in each.get(name, ())] for name in methods}
    models = dict.fromkeys(point.model for mine in points.values() for point in mine)
    orders = {name: order_domains([each.get(name, ()) for each in by_board]) for name in methods}
    standings = [made for name in points if (made := method_errors(name, points, orders[name])) is not None]
    return BoardStandings(board=board, models=tuple(models), standings=tuple(standings), set_on=set_on)


def list_points(found: Sequence[Forecasted], levels: Mapping[str, float]) -> Points:
    """List all forecasts of one board by method."""
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


class _Reach(NamedTuple):
    """How far intervals reach on either side of a forecast, and their level."""

    size: float
    level: float


def _set_reaches(points: Mapping[str, Points], board: str) -> dict[str, _Reach]:
    """Set the reach of each method's intervals on the errors of all models into the domains of one board.

    Methods that forecast too few of its domains have none.
    """
    if board not in points:
        cure = did_you_mean(board, list(points))
        raise InvalidInput(Problem("no board of this name has forecasts", "--set-on", f"'{board}'", cure))
    by_method = {name: list(errors_by_domain(mine).values()) for name, mine in points[board].items()}
    n_domains = max(map(len, by_method.values()), default=0)
    if interval_level(n_domains) is None:
        what, found = "this board has too few domains to set intervals on", counted(n_domains, "target domain")
        cure = f"name a board of at least {LEVELS[-1][0]}"
        raise InvalidInput(Problem(what, "--set-on", f"'{board}', {found}", cure))
    reaches = {}
    for name, errors in by_method.items():
        level = interval_level(len(errors))
        if level is not None:
            reaches[name] = _Reach(domain_quantile(errors, level), level)
    return reaches


def _set_interval(point: Point, reach: _Reach | None) -> Point:
    """Return a forecast with an interval of this reach, cut to [0, 1]."""
    if reach is None:
        return point._replace(low=None, high=None, level=None)
    low, high = max(point.value - reach.size, 0.0), min(point.value + reach.size, 1.0)
    return point._replace(low=low, high=high, level=reach.level)
