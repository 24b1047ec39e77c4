"""Forecasts in words, tables and pages: what may be believed, how methods did where labels are, what no method sees."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from shiftbench.metrics.new_domain import MIN_DOMAINS
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.forecasting.comparison import BOARDS_ARE_ALIKE
from shiftbench.scoring.forecasting.errors import sort_methods
from shiftbench.scoring.forecasting.methods import FLOORS, TITLES
from shiftbench.scoring.forecasting.shape import (
    BoardStandings,
    Forecast,
    Forecasts,
    MethodComparison,
    MethodErrors,
    ShiftForecast,
    TaskForecast,
)
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.frame.site import report_file
from shiftbench.scoring.reports.numbers import metric_name, plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable, html
from shiftbench.validation.report import counted

CANNOT_TELL = "cannot tell"
_UNTESTED = "?"
_FEW = f"{_UNTESTED} {CANNOT_TELL}: with fewer than {MIN_DOMAINS} target domains no test over them can be significant."
_SKILL = (
    "Int. score: Winkler's interval score, lower is better. Skill: share of a floor's error that a method saves, and p "
    "of a paired test over target domains."
)
_HELD = (
    "Held: target domains in which the share of shifts inside was at least the level (behind the comma), each domain "
    "left out of what set its intervals; inside: that share, its mean over domains, and its 95% interval over domains."
)
_SET_ON = (
    "Intervals of the other boards are set on the domains of {board}: it is assumed that methods are as far off on "
    "theirs. Held and inside test this assumption."
)


def standings_table(part: BoardStandings) -> PlainTable:
    """Build the table of a board: a row a method, in the order of ``sort_methods``."""
    name = part.board or ("all boards" if part.set_on is None else f"all boards but {part.set_on}")
    of = f"{name}: forecasts against truth, {counted(len(part.models), 'model')}"
    return method_table(of if part.set_on is None else f"{of}; intervals set on {part.set_on}", part.standings)


def method_table(title: str, errors: Sequence[MethodErrors]) -> PlainTable:
    """Build the table of how methods did where labels are known, in points, in the order of ``sort_methods``."""
    is_ranked = any(each.rank_correlation is not None for each in errors)
    skills = ("skill, source", "skill, drop")
    head = ("method", "domains", "error", "bias", "int. score", "held", "inside", "interval", *skills)
    rows = []
    for each in sort_methods(errors):
        ranks = "" if each.rank_correlation is None else f"{each.rank_correlation:.2f}"
        rows.append((*_row(each), ranks) if is_ranked else _row(each))
    return PlainTable(title, (*head, "rank corr.") if is_ranked else head, rows, n_names=1)


def _row(each: MethodErrors) -> tuple[str, ...]:
    against: list[str] = []
    for floor in FLOORS:
        saved, p = each.skill.get(floor), each.p.get(floor)
        test = _UNTESTED if p is None else f"({p_text(p)})"
        against.append("" if saved is None else f"{saved:+.2f} {test}")
    held = share = ends = ""
    if each.held is not None:
        held = f"{each.held.held}/{each.held.n_domains}, {100 * each.held.level:.0f}%"
        share = f"{plain_points(each.held.share, 0)}%"
        ends = f"{plain_points(each.held.low, 0)}-{plain_points(each.held.high, 0)}"  # without spaces: cells wrap there
    return (
        TITLES.get(each.method, each.method),
        str(each.n_domains),
        plain_points(each.error),
        plain_points(each.bias, signed=True),
        "" if each.interval_score is None else plain_points(each.interval_score),
        held,
        share,
        ends,
        *against,
    )


def comparison_notes(found: MethodComparison) -> Iterator[str]:
    """List what is to be known of a comparison."""
    yield _HELD
    yield _SKILL
    for board in dict.fromkeys(part.set_on for part in found.boards if part.set_on is not None):
        yield _SET_ON.format(board=board)
    if any(None in each.p.values() for part in found.boards for each in part.standings):
        yield _FEW
    if any(part.board is None for part in found.boards):
        yield BOARDS_ARE_ALIKE
    for line in found.left_out:
        yield f"Left out: {line}."
    yield found.concept_shift


def method_comparison_lines(found: MethodComparison) -> Iterator[RenderableType]:
    """List a table a board, then what is to be known of them."""
    yield from map(standings_table, found.boards)
    yield from comparison_notes(found)


PREFERRED = ("mean-drop", "doc", "average-confidence", "gde", "source-accuracy")
"""The method that sentences are about: the first that has a forecast.

It is fixed beforehand, not chosen by errors on the data at hand. Source score less mean drop comes first because it
rests on the least, is right on average wherever the target is like the other domains, and no method has been shown to
err less on real boards.
"""
_IN_SENTENCES = {"mean-drop": "source score less mean drop", "source-accuracy": "source score"}
FIRST = (
    "The forecast that sentences are about is the source score less the mean drop of the other domains, so it reads no "
    "text of the target: no method that does has been shown to err less on real benchmarks. All methods stand in the "
    "JSON; forecast --method NAME puts another first."
)
LIKENESS = (
    "Likeness (one less the Jensen-Shannon divergence of words: 1 the same words, 0 none in common) weighs nothing in "
    "the interval: where the target is much less like the domains than they are like each other, the interval may fail."
)
_LISTED = 6
ABOUT = (
    "Accuracy, or the mean score of answers and texts, on a domain without labels (score under shift, ST). The drop "
    "from home (SD) is the source score less the forecast; the drop against a model trained there (TD) cannot be "
    "forecast: it needs the target's labels."
)


def main_forecast(shift: ShiftForecast, method: str | None = None) -> Forecast | None:
    """Return the forecast that a sentence is about; None where no method has one.

    Args:
        shift: all forecasts of one shift.
        method: the method to take; by default the first of ``PREFERRED``.
    """
    by_name = {each.method: each for each in shift.forecasts if each.value is not None}
    names = PREFERRED if method is None else (method,)
    return next((by_name[name] for name in names if name in by_name), None)


def believed(shift: ShiftForecast, task: TaskForecast, method: str | None = None) -> str:
    """Write in one sentence what may be believed of a model's accuracy on a domain, and on what condition."""
    found = main_forecast(shift, method)
    if found is None:
        return f"No forecast for {shift.target}: {shift.forecasts[0].reason}."
    about = f"{shift.target} ({_IN_SENTENCES.get(found.method, TITLES[found.method])}"
    metric = metric_name(task.metric)
    if found.low is None or found.high is None or shift.level is None:
        n = len(shift.set_on)
        why = (
            f"{counted(n, 'other domain')} with labels, and it takes 4" if n else "it takes 4 other domains with labels"
        )
        return f"{_capital(metric)} about {plain_points(found.value)} on {about}; no interval: {why})."
    ends = f"between {plain_points(found.low, 0)} and {plain_points(found.high, 0)}"
    n, of = len(shift.set_on), len(task.labelled)
    domains = f"the other {n} of {of} domains" if n < of else f"these {n} domains"
    level = f"{100 * shift.level:.0f}% interval, if new domains differ from each other as {domains} do"
    errors = next((each for each in task.errors if each.method == found.method), None)
    return f"{_capital(metric)} {ends} on {about}; {level}; {_alike_words(shift)}; {held_words(errors)})."


def _alike_words(shift: ShiftForecast) -> str:
    """Write how alike a target is to the domains that set its interval, beside how alike these are."""
    if not shift.likeness or shift.likeness_among is None:
        return f"how alike {shift.target} is to them is not known"
    to_target = sum(shift.likeness.values()) / len(shift.likeness)
    return f"likeness of words {to_target:.2f} to {shift.target}, {shift.likeness_among:.2f} among them"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def held_words(errors: MethodErrors | None) -> str:
    """Write in how many domains intervals held, each set on the others alone."""
    if errors is None or errors.held is None:
        return "whether it holds was not counted: too few domains have labels"
    held = errors.held
    at = "" if round(held.level, 2) in (0.8, 0.9) else f" at {100 * held.level:.0f}%"
    return f"left out in turn{at}, it held on {held.held} of {held.n_domains}"


def shifts_table(task: TaskForecast, method: str | None = None) -> PlainTable:
    """Build the table of a row a shift: the forecast that sentences are about, its interval, and the truth if known."""
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
    return PlainTable(f"{task.task}: every shift, in points{levels}", head, rows)


def forecast_table(shift: ShiftForecast) -> PlainTable:
    """Build the table of a row a method that has a forecast, in points."""
    has_truth = shift.truth is not None
    head = ("method", "forecast", "interval", *(("off by",) if has_truth else ()))
    rows = []
    for each in shift.forecasts:
        if each.value is None:
            continue
        ends = "" if each.low is None else f"{plain_points(each.low)} to {plain_points(each.high)}"
        off = "" if shift.truth is None else plain_points(each.value - shift.truth, signed=True)
        rows.append((TITLES[each.method], plain_points(each.value), ends, *((off,) if has_truth else ())))
    return PlainTable(shift_title(shift), head, rows, n_names=1)


def likeness_lines(shifts: Iterable[ShiftForecast]) -> Iterator[str]:
    """List how alike each target is to the domains that set its interval, then what that is good for."""
    known = {shift.target: shift for shift in shifts if shift.likeness}
    for shift in known.values():
        each = ", ".join(f"{name} {alike:.2f}" for name, alike in shift.likeness.items())
        among = "" if shift.likeness_among is None else f"; these among each other {shift.likeness_among:.2f}"
        yield f"Likeness of words to {shift.target}: {each}{among}."
    if known:
        yield LIKENESS


def reason_lines(shift: ShiftForecast) -> Iterator[str]:
    """List what importance weighting rests on, and why methods have no forecast, those of one reason together."""
    if shift.effective_size is not None:
        texts = counted(round(shift.effective_size), "text")
        yield f"Importance weighting rests on effectively {texts} of {shift.source} (effective sample size)."
    by_reason: dict[str, list[str]] = {}
    for each in shift.forecasts:
        if each.reason is not None:
            by_reason.setdefault(each.reason, []).append(TITLES[each.method])
    for reason, names in by_reason.items():
        yield f"No forecast by {', '.join(names)}: {reason}."


def shift_title(shift: ShiftForecast) -> str:
    """Format a shift and what is known of it."""
    known = [counted(shift.n_texts, "text")]
    if shift.n_runs > 1:
        known.append(f"mean over {shift.n_runs} seeds")
    if shift.source_score is not None:
        known.append(f"source score {plain_points(shift.source_score)}")
    known.append("labels unknown" if shift.truth is None else f"score {plain_points(shift.truth)}")
    if shift.level is not None:
        known.append(f"{100 * shift.level:.0f}% intervals")
    return f"{shift.source} to {shift.target}: {', '.join(known)}"


def errors_table(task: TaskForecast) -> PlainTable:
    """Build the table of how methods did on a task's domains with labels, in points."""
    return method_table(f"{task.task}: forecasts where labels are known", task.errors)


def f1_line(task: TaskForecast) -> str:
    """Write what macro-F1 the expected confusion tables give; empty without probabilities."""
    made = [shift for shift in task.shifts if shift.expected_macro_f1 is not None]
    if not made:
        return ""
    each = ", ".join(
        f"{shift.source} to {shift.target} {plain_points(shift.expected_macro_f1)}"
        + (f" (is {plain_points(shift.macro_f1)})" if shift.macro_f1 is not None else "")
        for shift in made[:_LISTED]
    )
    more = f", and {len(made) - _LISTED} more in the JSON" if len(made) > _LISTED else ""
    return f"Macro-F1 of the confusion table to expect from calibrated probabilities: {each}{more}."


def first_line(task: TaskForecast, method: str | None = None) -> str | None:
    """Write what the forecasts that sentences are about rest on; None where they need no word."""
    found = [made for shift in task.shifts if (made := main_forecast(shift, method)) is not None]
    return FIRST if method is None and any(each.method == "mean-drop" for each in found) else None


def closing_lines(task: TaskForecast, method: str | None = None) -> Iterator[str]:
    """List what is to be known of a task's forecasts; ``method`` as for ``main_forecast``."""
    if (line := first_line(task, method)) is not None:
        yield line
    line = f1_line(task)
    if line:
        yield line
    yield from task.notes


def unlabelled_lines(forecasts: Forecasts) -> Iterator[str]:
    """List what may be believed of domains without labels: a sentence each, then what no method sees."""
    for task in forecasts.tasks:
        yield from (believed(shift, task) for shift in task.shifts if shift.truth is None)
        yield from () if (line := first_line(task)) is None else (line,)
    yield forecasts.concept_shift


_TABLES = 4
"""Shifts up to which each has its sentence and table; of more, only those into domains without labels."""


def forecast_lines(forecasts: Forecasts, method: str | None = None) -> Iterator[RenderableType]:
    """List forecasts, those of domains without labels first.

    Args:
        forecasts: of a prediction file.
        method: the method that sentences are about; by default the first of ``PREFERRED``.
    """
    yield ABOUT
    for task in forecasts.tasks:
        yield from _task_lines(task, method)
    yield from (f"Left out: {line}." for line in forecasts.left_out)
    yield f"\n{forecasts.concept_shift}"


def _task_lines(task: TaskForecast, method: str | None) -> Iterator[RenderableType]:
    unknown = [shift for shift in task.shifts if shift.truth is None]
    shown = task.shifts if len(task.shifts) <= _TABLES else unknown
    for shift in shown:
        before = f"{shift.source}: " if len(task.shifts) > 1 else ""
        yield Text(f"{before}{believed(shift, task, method)}", style="bold")
    for shift in shown:
        yield forecast_table(shift)
        yield from reason_lines(shift)
    yield from likeness_lines(shown)
    if len(shown) < len(task.shifts):
        yield shifts_table(task, method)
    if task.errors:
        yield errors_table(task)
    yield from closing_lines(task, method)


def forecast_html(forecasts: Forecasts, data: str, method: str | None = None) -> Markup:
    """Build the page.

    Args:
        forecasts: of a prediction file.
        data: what the data is called.
        method: the method that sentences are about; by default the first of ``forecast_words.PREFERRED``.
    Returns: one HTML page that needs no other file.
    """
    title = f"Forecasts for {forecasts.predictions} on {data}"
    parts = [
        tag("h1", title, class_="sb-name"),
        tag("p", ABOUT, class_="sb-exposure"),
        tag("div", tag("strong", forecasts.concept_shift), class_="sb-notice", role="note"),
        *(tag("p", f"Left out: {line}.") for line in forecasts.left_out),
        *(part for task in forecasts.tasks for part in _task_sections(task, method)),
    ]
    return report_file(title, parts, "shiftbench forecast")


def comparison_html(found: MethodComparison, title: str) -> Markup:
    """Build the page of methods beside each other, a table a board; ``title`` stands above them.

    Returns: one HTML page that needs no other file.
    """
    notes = [tag("p", note) for note in comparison_notes(found)]
    tables = tag("section", html(standings_table(part) for part in found.boards), class_="sb-section")
    return report_file(title, [tag("h1", title, class_="sb-name"), *notes, tables], "shiftbench study score-forecasts")


def _task_sections(task: TaskForecast, method: str | None) -> Iterator[Markup]:
    ordered = sorted(task.shifts, key=lambda shift: (shift.truth is not None, shift.target, shift.source))
    lines = [tag("li", f"{shift.source}: {believed(shift, task, method)}") for shift in ordered]
    yield tag("section", tag("h2", task.task), tag("ul", *lines), class_="sb-section")
    if task.errors:
        yield tag("section", html([errors_table(task)]), class_="sb-section")
    for shift in ordered:
        reasons = [tag("li", line) for line in reason_lines(shift)]
        yield tag("section", html([forecast_table(shift)]), tag("ul", *reasons), class_="sb-section")
    notes = [*likeness_lines(ordered), *closing_lines(task, method)]
    if notes:
        yield tag("ul", *(tag("li", note) for note in notes), class_="sb-missing")
