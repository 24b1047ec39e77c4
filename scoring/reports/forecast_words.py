"""Forecasts in words: one sentence on what may be believed, a table of methods, and how they did where labels are."""

from collections.abc import Iterable, Iterator

from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.forecasting.shape import Forecast, Forecasts, MethodErrors, ShiftForecast, TaskForecast
from shiftbench.scoring.reports.forecast_comparison import method_table
from shiftbench.scoring.reports.numbers import metric_name, plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.report import counted

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
    """Write in one sentence what may be believed of a model's accuracy on a domain."""
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
    level = f"{100 * shift.level:.0f}% interval, set on {_of(shift, task)}"
    return f"{_capital(metric)} {ends} on {about}; {level}; {held_words(_errors(task, found.method))})."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _of(shift: ShiftForecast, task: TaskForecast) -> str:
    n, of = len(shift.set_on), len(task.labelled)
    return f"the other {n} of {of} domains" if n < of else f"{n} domains"


def _errors(task: TaskForecast, method: str) -> MethodErrors | None:
    return next((each for each in task.errors if each.method == method), None)


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
    return PlainTable(f"{task.task}: every shift, in points{_levels(task)}", head, rows, n_names=1)


def _levels(task: TaskForecast) -> str:
    levels = sorted({shift.level for shift in task.shifts if shift.level is not None})
    return f", {' and '.join(f'{100 * level:.0f}%' for level in levels)} intervals" if levels else ""


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
