"""Sentences on scores, shared by terminal, pages and reports (``frame/templates/scores.txt``).

Summaries (based on the interval, never on the value alone), results other than means over shifts, non-inferiority
margins, smallest detectable drops, single annotators' scores. Minus signs are written as hyphens, which pages replace.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.numbers import plain_points
from shiftbench.scoring.scores.floors import is_drop_at_floor, ranked_shifts
from shiftbench.scoring.scores.outcomes import LENIENT
from shiftbench.scoring.scores.shape import DetectableDrop, Estimate, Scores, Shift, TaskScores
from shiftbench.scoring.scores.summary import LEFT_OUT
from shiftbench.validation.vocabulary import PLACEBO


def verdict_lines(scores: Scores) -> Iterator[str]:
    """Write a sentence for each task that has a score under shift, prefixed with its name if there are several."""
    for task in scores.tasks:
        left_out = [item.target for item in scores.missing if item.task == task.task and item.what.startswith(LEFT_OUT)]
        line = verdict(task, [domain for domain in left_out if domain is not None])
        if line:
            yield f"{task.task}: {line}" if len(scores.tasks) > 1 else line


def verdict(task: TaskScores, left_out: Sequence[str] = ()) -> str:
    """Summarise the scores of one task in a sentence.

    The interval that includes training variance is used if it was measured, otherwise the one over test texts.

    Args:
        task: the task's scores.
        left_out: domains excluded for too few texts.

    Returns: the sentence; ``""`` without a score under shift.
    """
    summary = task.summary
    if summary.mean_st.value is None:
        return ""
    if summary.at_floor:
        return sentence("scores", "at_floor", summary.mean_st)
    shifts = [shift for shift in ranked_shifts(task) if not {shift.source, shift.target} & set(left_out)]
    name = "average_drop" if summary.average_drop.value is not None else "mean_sd"
    drop: Estimate = getattr(summary, name)
    if drop.value is None:
        return sentence(
            "scores", "without_home", summary.mean_st, [each for each in shifts if each.st.value is not None]
        )
    total = summary.total.get(name)
    if total is not None:
        drop = Estimate(value=drop.value, low=total.low, high=total.high)
    when = "between random parts (placebo)" if task.task.endswith(PLACEBO) else "when the domain changes"
    dropping = [shift for shift in shifts if shift.sd.value is not None]
    above = [shift for shift in dropping if not is_drop_at_floor(shift, "sd")]
    return sentence("scores", "verdict", drop, when, total is not None, dropping, above)


def tail_lines(task: TaskScores) -> Iterator[str]:
    """List further sentences on a task's scores: the prediction for a new domain, and scores with lenient tags."""
    if task.summary.next_domain is not None:
        yield sentence("scores", "next_domain", task.summary.next_domain)
    yield from filter(None, [lenient_line(task)])


def lenient_line(task: TaskScores) -> str:
    """Describe how tags would score if read as in seqeval's default mode; ``""`` if that makes no difference."""
    pairs = [(own.score, own.secondary) for own in task.in_domain]
    pairs += [(shift.st, shift.secondary) for shift in task.shifts]
    both = [(secondary.get(LENIENT), score.value) for score, secondary in pairs]
    known = [(lenient, strict) for lenient, strict in both if lenient is not None and strict is not None]
    return sentence("scores", "strict_tags", *map(fmean, zip(*known, strict=True))) if known else ""


def significance_words(shift: Shift, drop: str) -> str:
    """Write in one or two sentences whether a drop is significant; ``drop``: 'sd', 'td', or 'st' without a drop."""
    if drop == "st":
        return sentence("scores", "significance_words", None)
    estimate: Estimate = getattr(shift, drop)
    total = shift.total.get(drop)
    ends = (estimate.low, estimate.high) if total is None else (total.low, total.high)
    found = detectable_text(shift.detectable.get(drop))
    return sentence(
        "scores", "significance_words", estimate, *ends, total is not None, is_drop_at_floor(shift, drop), found
    )


_MARGIN_NAMES = {"sd": "SD", "td": "TD", "average_drop": "average drop"}


def margin_lines(task: TaskScores) -> Iterator[str]:
    """Write a sentence for each drop that was tested against the margin; none without a margin."""
    tested = task.non_inferiority
    if tested is None:
        return
    margin = f"{100 * tested.margin:g}"
    if not tested.claims:
        yield f"{task.task}, margin {margin} points, fixed in advance: there is no drop to test."
    for claim in tested.claims:
        yield sentence("scores", "bounded", task.task, _MARGIN_NAMES[claim.figure], claim, margin)


def detectable_text(drop: DetectableDrop | None) -> str:
    """Format a detectable drop in points, for the recipe if training variance was measured; ``""`` without one.

    >>> each = DetectableDrop(models=0.04, models_corrected=0.06, recipe=None, recipe_corrected=None)
    >>> detectable_text(each), detectable_text(None)
    ('4.0', '')
    """
    return "" if drop is None else plain_points(_drops_to_show(drop)[0])


def detectable_lines(task: TaskScores) -> Iterator[str]:
    """Write the smallest detectable average drop, SD and TD (medians over shifts), one line each, for a terminal."""
    mean = task.summary.detectable.get("average_drop")
    if mean is not None:
        yield sentence("scores", "detectable_mean", _drops_to_show(mean)[0], mean.recipe is not None)
    for name in ("sd", "td"):
        by_shift = [shift.detectable[name] for shift in task.shifts if name in shift.detectable]
        if by_shift:
            one, shared = zip(*map(_drops_to_show, by_shift), strict=True)
            has_runs = by_shift[0].recipe is not None
            yield sentence("scores", "detectable_shifts", name, one, median(one), median(shared), has_runs)


def _drops_to_show(drop: DetectableDrop) -> tuple[float, float]:
    if drop.recipe is None or drop.recipe_corrected is None:
        return drop.models, drop.models_corrected
    return drop.recipe, drop.recipe_corrected


def mean_flip_words(task: TaskScores) -> str:
    """Compare the mean flips over a task's shifts with those of models that differ only in their training texts."""
    found = [shift.flips for shift in task.shifts if shift.flips is not None]
    without = None if any(flips.without_shift is None for flips in found) or not found else found[0].without_shift
    turnover = fmean(flips.loss + flips.gain for flips in found) if found else None
    return sentence("scores", "flips", turnover, without)
