"""The smallest detectable drop beside a drop, in words: on pages, in reports and in a terminal."""

from collections.abc import Iterator
from statistics import median

from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import plain_points, points
from shiftbench.scoring.scores.shape import DetectableDrop, TaskScores
from shiftbench.validation.report import counted

ABOUT_DETECTABLE = (
    "Detectable: the smallest true drop that a test at the 5% level finds with 80% power, (t.975 + t.80) standard "
    "errors; in brackets with the level shared by all shifts. It says what this many test texts can show, "
    "not how large "
    "the drop is."
)
_WITH_RUNS = "over resampled test texts and training runs"
_TEXTS_ALONE = "of these trained models, over resampled test texts"


def detectable_text(drop: DetectableDrop | None, *, corrected: bool = True) -> str:
    """Format a smallest detectable drop in points; that of the recipe, where training variance was measured.

    >>> each = DetectableDrop(models=0.04, models_corrected=0.06, recipe=None, recipe_corrected=None)
    >>> detectable_text(each), detectable_text(each, corrected=False), detectable_text(None)
    ('4.0 (6.0)', '4.0', '')

    Args:
        drop: None where there is none.
        corrected: whether the corrected one stands behind it.
    """
    if drop is None:
        return ""
    one, shared = _drops_to_show(drop)
    return f"{plain_points(one)} ({plain_points(shared)})" if corrected else plain_points(one)


def detectable_note(drop: DetectableDrop | None, *, corrected: bool = True) -> list[Markup]:
    """Build the note below a drop: the smallest detectable one, and what that is over; empty where there is none."""
    if drop is None:
        return []
    over = _TEXTS_ALONE if drop.recipe is None else _WITH_RUNS
    title = f"{over}; of these trained models {points(drop.models)}, corrected {points(drop.models_corrected)}"
    words = f"detectable {detectable_text(drop, corrected=corrected)}"
    return [tag("span", words, class_="sb-interval", title=title)]


def detectable_lines(task: TaskScores) -> Iterator[str]:
    """Write the smallest detectable mean drop and the shifts' in a line each, for a terminal."""
    mean = task.summary.detectable.get("average_drop")
    if mean is not None:
        yield f"Smallest detectable average drop: {detectable_text(mean, corrected=False)} points, {_scope(mean)}."
    for name in ("sd", "td"):
        by_shift = [shift.detectable[name] for shift in task.shifts if name in shift.detectable]
        if by_shift:
            one, shared = zip(*map(_drops_to_show, by_shift), strict=True)
            reach = f"{plain_points(min(one))} to {plain_points(max(one))}"
            yield (
                f"Smallest detectable {name.upper()} of {counted(len(by_shift), 'shift')}: median "
                f"{plain_points(median(one))} points ({reach}), corrected {plain_points(median(shared))}, "
                f"{_scope(by_shift[0])}."
            )


def _scope(drop: DetectableDrop) -> str:
    return _TEXTS_ALONE if drop.recipe is None else _WITH_RUNS


def _drops_to_show(drop: DetectableDrop) -> tuple[float, float]:
    if drop.recipe is None or drop.recipe_corrected is None:
        return drop.models, drop.models_corrected
    return drop.recipe, drop.recipe_corrected
