"""What scores come to, in a sentence: first in a terminal, made from the interval and never from the figure alone."""

from collections.abc import Iterator, Sequence

from shiftbench.scoring.reports.numbers import plain_points, plain_score
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.floors import is_drop_at_floor, ranked_shifts
from shiftbench.scoring.scores.shape import Scores, Shift, TaskScores
from shiftbench.scoring.scores.summary import LEFT_OUT
from shiftbench.validation.vocabulary import PLACEBO


def verdict_lines(scores: Scores) -> Iterator[str]:
    """Write a sentence for each task that has a score under shift; with its name where there are several.

    Args:
        scores: of one prediction file.
    """
    for task in scores.tasks:
        left_out = [item.target for item in scores.missing if item.task == task.task and item.what.startswith(LEFT_OUT)]
        line = verdict(task, [domain for domain in left_out if domain is not None])
        if line:
            yield f"{task.task}: {line}" if len(scores.tasks) > 1 else line


def verdict(task: TaskScores, left_out: Sequence[str] = ()) -> str:
    """Write what the scores of one task come to; empty where there is no score under shift.

    The interval over training runs decides where it was measured, else that over test texts.

    Args:
        task: the scores.
        left_out: domains too small to decide anything.
    """
    counted = [shift for shift in ranked_shifts(task) if not {shift.source, shift.target} & set(left_out)]
    summary = task.summary
    if summary.mean_st.value is None:
        return ""
    if summary.at_floor:
        return f"Not shown to be better than chance under shift: mean score {plain_score(summary.mean_st)}."
    name = "average_drop" if summary.average_drop.value is not None else "mean_sd"
    drop: Estimate = getattr(summary, name)
    if drop.value is None:
        return _without_home(task, counted)
    total = summary.total.get(name)
    if total is not None:
        drop = Estimate(value=drop.value, low=total.low, high=total.high)
    over = ", other training runs included" if total is not None else ""
    return f"{_loss(drop, _shift_words(task))}{over}{_worst(counted)}."


def _loss(drop: Estimate, when: str) -> str:
    assert drop.value is not None
    if drop.low is None or drop.high is None:
        size = f"{plain_points(drop.value, signed=True)} points"
        reason = f" ({drop.no_interval})" if drop.no_interval else ""
        return f"Drop {when}: {size}, without an interval{reason}, so it shows neither loss nor gain"
    if drop.low <= 0 <= drop.high:
        return f"No loss shown {when}: {plain_points(drop.value)} points [{_interval_words(drop)}]"
    lost = drop.value > 0
    shown = drop if lost else Estimate(value=-drop.value, low=-drop.high, high=-drop.low)
    return f"{'Loses' if lost else 'Gains'} {plain_points(shown.value)} points [{_interval_words(shown)}] {when}"


def _interval_words(drop: Estimate) -> str:
    return f"{plain_points(drop.low)}, {plain_points(drop.high)}"


def _shift_words(task: TaskScores) -> str:
    """Describe what changes: parts of a placebo are dealt at random."""
    return "between random parts (placebo)" if task.task.endswith(PLACEBO) else "when the domain changes"


def _worst(shifts: Sequence[Shift]) -> str:
    """Find the shift with the largest drop, of several; a drop from or to chance is no candidate."""
    dropping = [(shift.sd.value, shift) for shift in shifts if shift.sd.value is not None]
    above = [(value, shift) for value, shift in dropping if not is_drop_at_floor(shift, "sd")]
    if len(dropping) < 2 or not above:
        return ""
    value, shift = max(above, key=lambda each: each[0])
    among = "worst" if len(above) == len(dropping) else "worst with both scores above chance"
    return f"; {among}: {shift.source} -> {shift.target} ({plain_points(value)})"


def _without_home(task: TaskScores, shifts: Sequence[Shift]) -> str:
    """Write the scores of models that were trained on no domain of the data: there is nothing to drop from."""
    known = [(shift.st.value, shift) for shift in shifts if shift.st.value is not None]
    lowest = ""
    if len(known) > 1:
        value, shift = min(known, key=lambda each: each[0])
        lowest = f"; lowest: {shift.target} ({plain_points(value)})"
    return f"Scores {plain_score(task.summary.mean_st)} points on average{lowest}; no score at home, so no drop."
