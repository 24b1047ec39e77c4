"""Forecasts for domains without labels: sentences, command output, and their pages."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from shiftbench.metrics.domain_order import MIN_ORDERED
from shiftbench.metrics.new_domain import LEVELS, MIN_DOMAINS
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.forecasting.comparison import BOARDS_ARE_ALIKE
from shiftbench.scoring.forecasting.errors import sort_methods
from shiftbench.scoring.forecasting.methods import CORRECTED, FLOORS, TITLES
from shiftbench.scoring.forecasting.shape import (
    Forecast,
    Forecasts,
    MethodComparison,
    MethodErrors,
    ShiftForecast,
    TaskForecast,
)
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.sentences import sentence, sentences
from shiftbench.scoring.reports.frame.site import part
from shiftbench.scoring.reports.numbers import metric_name, plain_points
from shiftbench.scoring.reports.pictures.rows import ForecastRow, forecasts_by_domain
from shiftbench.scoring.reports.plain_tables import PlainTable, report
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.report import plural

CANNOT_TELL = "cannot tell"
MIN_LABELLED = LEVELS[-1][0]
"""Minimum number of labelled domains for an interval."""

PREFERRED = ("cot-corrected", "mean-drop", "cot", "doc", "source-accuracy")
"""Order of preference of the method shown in tables: the first that has a forecast. It was fixed in advance, on real
boards (``python -m benchmarks forecasts``), not chosen by errors on the given data.
"""


def main_forecast(shift: ShiftForecast, method: str | None = None) -> Forecast | None:
    """Return a shift's forecast by a method, by default the first of ``PREFERRED`` that has one; None without any."""
    by_name = {each.method: each for each in shift.forecasts if each.value is not None}
    names = PREFERRED if method is None else (method,)
    return next((by_name[name] for name in names if name in by_name), None)


class _Model:
    """The forecasts for the models of one source; ``method`` as for ``main_forecast``."""

    def __init__(self, task: TaskForecast, source: str, method: str | None) -> None:
        self.task, self.source = task, source
        self.order = next((each for each in task.orders if each.source == source), None)
        found = [(shift, main_forecast(shift, method)) for shift in task.shifts if shift.source == source]
        self.without = [shift for shift, made in found if made is None]
        rows = [(shift, made) for shift, made in found if made is not None]
        self.unlabelled = sorted((row for row in rows if row[0].truth is None), key=self._place)
        self.labelled = sorted((row for row in rows if row[0].truth is not None), key=self._place)

    @property
    def set_on(self) -> Sequence[str]:
        """Labelled domains on which the intervals of unlabelled ones are calibrated."""
        return self.unlabelled[0][0].set_on if self.unlabelled else ()

    @property
    def order_method(self) -> str | None:
        return None if self.order is None else self.order.method

    def _place(self, row: tuple[ShiftForecast, Forecast]) -> tuple[float, str]:
        shift, made = row
        by_order = None if self.order_method is None else shift.of(self.order_method)
        value = made.value if by_order is None or by_order.value is None else by_order.value
        return (0.0 if value is None else value), shift.target

    def table(self, rows: Sequence[tuple[ShiftForecast, Forecast]], *, is_labelled: bool) -> PlainTable:
        """Build the table of targets, the worst first, in points."""
        main = {made.method for _, made in rows}
        order = self.order_method
        has_order = order is not None and not main <= {order, *(name for name in CORRECTED if CORRECTED[name] == order)}
        metric = metric_name(self.task.metric)
        levels = sorted({shift.level for shift, made in rows if made.low is not None and shift.level is not None})
        interval = f"{' or '.join(f'{100 * level:.0f}' for level in levels)}% interval" if levels else "interval"
        head = ["domain", "texts", "forecast", interval, *([TITLES[order]] if has_order and order else [])]
        head += [metric] if is_labelled else []
        cells = []
        for shift, made in rows:
            ends = "none" if made.low is None else f"{plain_points(made.low)} to {plain_points(made.high)}"
            cell = [shift.target, f"{shift.n_texts:,}", plain_points(made.value), ends]
            if has_order and order:
                by_order = shift.of(order)
                cell.append("" if by_order is None or by_order.value is None else plain_points(by_order.value))
            cells.append([*cell, *([plain_points(shift.truth)] if is_labelled else [])])
        what = "Labelled domains, each forecast without its own labels" if is_labelled else "Domains without labels"
        by = f", by {TITLES[order]}" if has_order and order else ""
        return PlainTable(f"{what}: {metric} in points, worst first{by}; model of {self.source}", head, cells)

    def lines(self) -> list[str]:
        """List conclusions about the domains without labels, the main one first."""
        more = (MIN_LABELLED, TITLES, list(self._outside()), MIN_ORDERED, self.task.metric)
        return sentences("forecasts", "conclusions", self, *more)

    def _outside(self) -> Iterator[tuple[str, str, float, float, float]]:
        """List the targets whose confidence is outside the labelled domains' range by at least half of that range.

        Yields: target, method, its value there, lowest and highest value on the labelled domains.
        """
        if self.order_method is None or len(self.labelled) < 2:
            return
        known = [made.value for shift, _ in self.labelled if (made := shift.of(self.order_method)) and made.value]
        far = (max(known) - min(known)) / 2 if known else 0.0
        for shift, _ in self.unlabelled if known else ():
            made = shift.of(self.order_method)
            value = None if made is None else made.value
            if value is not None and not min(known) - far <= value <= max(known) + far:
                yield shift.target, self.order_method, value, min(known), max(known)

    def reasons(self) -> Iterator[str]:
        """List why methods have no forecast, grouped by reason."""
        by_reason: dict[str, list[str]] = {}
        for shift, _ in self.unlabelled or self.labelled:
            for each in shift.forecasts:
                if each.reason is not None and TITLES[each.method] not in by_reason.setdefault(each.reason, []):
                    by_reason[each.reason].append(TITLES[each.method])
        for reason, names in by_reason.items():
            yield f"No forecast by {', '.join(names)}: {reason}."

    def picture(self) -> Markup:
        """Draw the forecasts with their intervals, unlabelled domains first, each part sorted worst first."""
        rows = [
            ForecastRow(shift.target, Estimate(value=made.value, low=made.low, high=made.high), shift.truth)
            for shift, made in (*self.unlabelled, *self.labelled)
        ]
        return forecasts_by_domain(rows, metric_name(self.task.metric))


def _models(task: TaskForecast, method: str | None) -> list[_Model]:
    return [_Model(task, source, method) for source in dict.fromkeys(shift.source for shift in task.shifts)]


def unlabelled_lines(forecasts: Forecasts) -> Iterator[str]:
    """List conclusions about the domains without labels, for each model."""
    for task in forecasts.tasks:
        for model in _models(task, None):
            yield from model.lines()


def unlabelled_tables(forecasts: Forecasts) -> list[PlainTable]:
    """Build one table of unlabelled domains per model."""
    models = [model for task in forecasts.tasks for model in _models(task, None)]
    return [model.table(model.unlabelled, is_labelled=False) for model in models if model.unlabelled]


def unlabelled_pictures(forecasts: Forecasts) -> list[Markup]:
    """Draw the forecasts of each model with unlabelled domains."""
    return [model.picture() for task in forecasts.tasks for model in _models(task, None) if model.unlabelled]


def forecast_lines(forecasts: Forecasts, method: str | None = None) -> Iterator[RenderableType]:
    """List forecasts of all tasks, those of domains without labels first.

    Args:
        forecasts: the forecasts.
        method: the method to show; None for the first of ``PREFERRED`` that has a forecast.
    """
    for task in forecasts.tasks:
        yield from _task_parts(task, method)
    yield from (f"Not forecast: {line}." for line in forecasts.left_out)
    yield sentence("forecasts", "about")
    yield forecasts.concept_shift


def _task_parts(task: TaskForecast, method: str | None) -> Iterator[str | PlainTable]:
    models = _models(task, method)
    for model in models:
        yield from model.lines()
        if model.unlabelled:
            yield model.table(model.unlabelled, is_labelled=False)
    for model in models:
        if model.labelled and model.unlabelled:
            yield model.table(model.labelled, is_labelled=True)
    if not any(model.unlabelled for model in models):
        yield shifts_table(task, method)
    if task.errors:
        yield errors_table(task)
    yield from dict.fromkeys(line for model in models for line in model.reasons())
    yield from task.notes


def shifts_table(task: TaskForecast, method: str | None = None) -> PlainTable:
    """Build the table with one row per shift: forecast, interval, and true score if known, in points.

    Args:
        task: the task's forecasts.
        method: as for ``forecast_lines``.
    """
    rows = []
    for shift in task.shifts:
        found = main_forecast(shift, method)
        value = "" if found is None else plain_points(found.value)
        ends = "" if found is None or found.low is None else f"{plain_points(found.low)} to {plain_points(found.high)}"
        name = "" if found is None else TITLES[found.method]
        truth = "unknown" if shift.truth is None else plain_points(shift.truth)
        rows.append((f"{shift.source} to {shift.target}", value, ends, truth, name))
    head = ("shift", "forecast", "interval", metric_name(task.metric), "method")
    known = sorted({shift.level for shift in task.shifts if shift.level is not None})
    levels = f", {' and '.join(f'{100 * level:.0f}%' for level in known)} intervals" if known else ""
    return PlainTable(f"{task.task}: every shift, in points{levels}", head, rows, texts=("method",))


def errors_table(task: TaskForecast) -> PlainTable:
    """Build the table of the methods' errors on a task's labelled domains, in points."""
    return method_table(f"{task.task}: forecasts on labelled domains", task.errors)


def forecast_html(forecasts: Forecasts, data: str, method: str | None = None) -> Markup:
    """Build the report as one self-contained HTML page.

    Args:
        forecasts: the forecasts.
        data: display name of the dataset.
        method: as for ``forecast_lines``.
    """
    title = f"Forecasts for {forecasts.predictions} on {data}"
    lines = [line for line in forecast_lines(forecasts, method) if line != forecasts.concept_shift]
    pictures = [model.picture() for task in forecasts.tasks for model in _models(task, method)]
    caution = part("notice", forecasts.concept_shift, "")
    return report(title, lines, "shiftbench forecast", head=[caution], pictures=pictures)


_SKILL = "relative reduction of its error, on the shifts that both forecast; p: paired over target domains"
_MEANINGS = {
    "Domains": "target domains with a forecast (the units of means and tests); methods with fewer are listed last",
    "Mean error": "absolute error, averaged over models and sources of each target, then over targets",
    "Bias": "mean of forecast minus true score: above 0, forecasts are too high",
    "Interval score": "Winkler's: width of the intervals, plus a penalty for each true score outside; lower is better",
    "Held": "target domains whose intervals, calibrated without them, cover the nominal proportion of their shifts",
    "Skill, source": f"baseline: the source accuracy; {_SKILL}",
    "Skill, drop": f"baseline: the source accuracy minus the mean drop on the other domains; {_SKILL}",
    "Regret": "true score of the predicted worst target minus the lowest true score, mean over models and sources; "
    "p exact, over permutations of the domains; lower is better",
    "Pairs": "proportion of correctly ordered pairs among targets with significantly different scores; p likewise",
}
"""Definitions of the columns of the method table."""


def method_table(title: str, errors: Sequence[MethodErrors]) -> PlainTable:
    """Build the table of the methods' errors on labelled domains, in points, in the order of ``sort_methods``.

    Args:
        title: the line above the table.
        errors: one item per method.
    """
    head = [each for each in _MEANINGS if each not in ("Regret", "Pairs") or any(one.order for one in errors)]
    rows = [[TITLES.get(each.method, each.method), *_cells(each)][: 1 + len(head)] for each in sort_methods(errors)]
    return PlainTable(title, ("Method", *head), rows, meanings=_MEANINGS)


def _cells(each: MethodErrors) -> Iterator[str]:
    yield str(each.n_domains)
    yield plain_points(each.error)
    yield plain_points(each.bias, signed=True)
    yield "" if each.interval_score is None else plain_points(each.interval_score)
    held = each.held
    yield "" if held is None else f"{held.held} of {held.n_domains}\nat {100 * held.level:.0f}%"
    for floor in FLOORS:
        saved, p = each.skill.get(floor), each.p.get(floor)
        test = CANNOT_TELL if p is None else f"p {p_text(p)}"
        yield "itself" if floor == each.method else "" if saved is None else f"{saved:+.2f}\n{test}"
    order = each.order
    by_chance = f"{plain_points(order.chance)} by chance\np {p_text(order.p_regret)}" if order else ""
    yield f"{plain_points(order.regret)}\n{by_chance}" if order else ""
    known = order is not None and order.pairs is not None and order.p_pairs is not None
    yield f"{plain_points(order.pairs, 0)}%\np {p_text(order.p_pairs)}" if order and known else ""


def method_comparison_lines(found: MethodComparison) -> Iterator[RenderableType]:
    """List one table of methods per board, one over all boards, then explanations of the columns.

    Args:
        found: the comparison.
    """
    for board in found.boards:
        name, models = board.board or "all boards", plural(len(board.models), "model")
        yield method_table(f"{name}: forecasts and true scores, {models}", board.standings)
    yield from (f"{name}: {meaning}." for name, meaning in _MEANINGS.items())
    if any(None in each.p.values() for board in found.boards for each in board.standings):
        yield f"{CANNOT_TELL.capitalize()}: no test over fewer than {MIN_DOMAINS} target domains can be significant."
    if any(board.board is None for board in found.boards):
        yield BOARDS_ARE_ALIKE
    yield from (f"Not forecast: {line}." for line in found.left_out)
    yield found.concept_shift
