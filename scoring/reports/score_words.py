"""Sentences on scores, shared by terminal, pages and reports.

Summaries (based on the interval, never on the value alone), results besides means over shifts, non-inferiority margins,
smallest detectable drops, single annotators' scores.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean, median

from shiftbench.scoring.reports.numbers import (
    drop_text,
    metric_name,
    plain_points,
    plain_score,
    points,
    score_text,
)
from shiftbench.scoring.scores.floors import is_drop_at_floor, ranked_shifts
from shiftbench.scoring.scores.outcomes import LENIENT
from shiftbench.scoring.scores.shape import (
    Annotators,
    BoundedDrop,
    DetectableDrop,
    Estimate,
    NearDuplicates,
    Scores,
    Shift,
    TaskScores,
)
from shiftbench.scoring.scores.summary import LEFT_OUT
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import PLACEBO


def verdict_lines(scores: Scores) -> Iterator[str]:
    """Write a sentence for each task that has a score under shift, prefixed with its name if there are several."""
    for task in scores.tasks:
        left_out = [item.target for item in scores.missing if item.task == task.task and item.what.startswith(LEFT_OUT)]
        line = verdict(task, [domain for domain in left_out if domain is not None])
        if line:
            yield f"{task.task}: {line}" if len(scores.tasks) > 1 else line


def verdict(task: TaskScores, left_out: Sequence[str] = ()) -> str:
    """Summarise the scores of one task; ``""`` without a score under shift.

    The interval that includes training variance is used if it was measured, else the one over test texts.

    Args:
        task: the scores.
        left_out: domains with too few texts.
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
    when = "between random parts (placebo)" if task.task.endswith(PLACEBO) else "when the domain changes"
    return f"{loss_words(drop, when)}{over}{_worst(counted)}."


def loss_words(drop: Estimate, when: str) -> str:
    """Write the size of a known drop, and whether it is significant.

    Args:
        drop: a drop with a value.
        when: the kind of change, such as "when the domain changes".
    """
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


def _worst(shifts: Sequence[Shift]) -> str:
    """Write the shift with the largest drop, if there are several; drops with a score at chance are excluded."""
    dropping = [(shift.sd.value, shift) for shift in shifts if shift.sd.value is not None]
    above = [(value, shift) for value, shift in dropping if not is_drop_at_floor(shift, "sd")]
    if len(dropping) < 2 or not above:
        return ""
    value, shift = max(above, key=lambda each: each[0])
    among = "worst" if len(above) == len(dropping) else "worst with both scores above chance"
    return f"; {among}: {shift.source} -> {shift.target} ({plain_points(value)})"


def _without_home(task: TaskScores, shifts: Sequence[Shift]) -> str:
    """Write the scores of models trained on none of the domains, which have no drop."""
    known = [(shift.st.value, shift) for shift in shifts if shift.st.value is not None]
    lowest = ""
    if len(known) > 1:
        value, shift = min(known, key=lambda each: each[0])
        lowest = f"; lowest: {shift.target} ({plain_points(value)})"
    return f"Scores {plain_score(task.summary.mean_st)} points on average{lowest}; no score at home, so no drop."


def tail_lines(task: TaskScores) -> Iterator[str]:
    """List further sentences on a task's scores: the next domain, and strict reading of tags."""
    expected = task.summary.next_domain
    if expected is not None:
        drop = f", SD {plain_score(expected.drop)}" if expected.drop.value is not None else ""
        yield (
            f"Expected on a new domain that is like these {expected.n_domains}: mean ST {plain_score(expected.st)}"
            f"{drop} (95% prediction interval over target domains). All other intervals are for these domains."
        )
    yield from filter(None, [lenient_line(task)])


def lenient_line(task: TaskScores) -> str:
    """Describe how tags would score if read as in seqeval's default mode; ``""`` if that makes no difference."""
    pairs = [(own.score, own.secondary) for own in task.in_domain]
    pairs += [(shift.st, shift.secondary) for shift in task.shifts]
    both = [(secondary.get(LENIENT), score.value) for score, secondary in pairs]
    known = [(lenient, strict) for lenient, strict in both if lenient is not None and strict is not None]
    if not known:
        return ""
    lenient, strict = (fmean(side) for side in zip(*known, strict=True))
    return (
        "Tags are read strictly: an I- tag that continues nothing belongs to no span. Read as seqeval does by default, "
        f"where it opens one, span F1 is {plain_points(lenient)} and not {plain_points(strict)}, mean over test sets."
    )


def is_it_real(shift: Shift, drop: str) -> str:
    """Write whether a shift's drop is significant, in a sentence or two.

    Args:
        shift: its scores.
        drop: 'sd' or 'td'; 'st' without a drop.
    """
    estimate: Estimate = getattr(shift, drop)
    if drop == "st" or estimate.value is None:
        return "There is no score in domain to compare with, so no drop."
    if is_drop_at_floor(shift, drop):
        return "Nothing can be said: a score behind this drop is not shown to be above chance."
    total = shift.total.get(drop)
    low, high = (estimate.low, estimate.high) if total is None else (total.low, total.high)
    over = "other test texts" if total is None else "other test texts and training runs"
    if low is None or high is None:
        return f"Nothing can be said: there is no interval ({estimate.no_interval})."
    if low > 0 or high < 0:
        word = "Yes" if low > 0 else "A gain, and a real one"
        return f"{word}: the 95% interval over {over} leaves out 0 (this shift by itself)."
    found = detectable_text(shift.detectable.get(drop), corrected=False)
    needed = f" So many texts show a drop of {found} points or more." if found else ""
    return f"Not shown: 0 lies in the 95% interval over {over}.{needed}"


def near_duplicate_words(duplicates: NearDuplicates) -> str:
    """Write how many test texts repeat training texts of their domain, and the effect on drops and placebos."""
    if not duplicates.near and not duplicates.exact:
        return "No test text repeats, or nearly repeats, a train text of its domain."
    words = (
        f"Of the test texts {points(duplicates.near)}% nearly and {points(duplicates.exact)}% exactly repeat a train "
        "text of their domain. They raise scores at home and no other, so they are part of the drops; a placebo deals "
        "them to different domains and does not show it. "
    )
    without = duplicates.without
    if without is None:
        return words + (
            "There is no drop without them here: the dataset folder is of an earlier version and has their number, not "
            "which they are. Built again it lists them."
        )
    return words + (
        f"Without these {without.left_out:,} texts the mean score at home is {score_text(without.mean_ss)}, the mean "
        f"score under shift {score_text(without.mean_st)} and the average drop {drop_text(without.average_drop)}."
    )


_MARGIN_NAMES = {"sd": "SD", "td": "TD", "average_drop": "average drop"}


def margin_lines(task: TaskScores) -> Iterator[str]:
    """Write a sentence for each drop that was tested against the margin; none without a margin."""
    non_inferiority = task.non_inferiority
    if non_inferiority is None:
        return
    about = f"{task.task}, margin {100 * non_inferiority.margin:g} points, fixed beforehand:"
    if not non_inferiority.claims:
        yield f"{about} there is no drop to test."
    for claim in non_inferiority.claims:
        yield f"{about} {_claim(claim, non_inferiority.margin)}"


def _claim(claim: BoundedDrop, margin: float) -> str:
    where = "" if claim.figure == "average_drop" else f" on any of {counted(claim.n_shifts, 'shift')}"
    wanted = f"no {_MARGIN_NAMES[claim.figure]} above {100 * margin:g}{where}"
    if claim.upper is None:
        return f"{wanted} cannot be tested: {claim.reason}."
    shift = f", {claim.source} -> {claim.target}" if claim.source else ""
    bound = f"one-sided 95% bound {plain_points(claim.upper, 2)}{shift}"
    words = f"{wanted} is {_shown_or_not(claim.margin_holds)} for these trained models ({bound})"
    if claim.upper_recipe is None:
        return f"{words}; training variance was not measured."
    recipe = f"bound {plain_points(claim.upper_recipe, 2)}"
    return f"{words}, and {_shown_or_not(claim.margin_holds_recipe)} for the recipe ({recipe})."


def _shown_or_not(holds: bool | None) -> str:
    return "shown" if holds else "not shown"


_WITH_RUNS = "over other test texts and training runs"
_TEXTS_ALONE = "of these trained models, over other test texts"


def detectable_text(drop: DetectableDrop | None, *, corrected: bool = True) -> str:
    """Format a smallest detectable drop in points; for the recipe, if training variance was measured.

    >>> each = DetectableDrop(models=0.04, models_corrected=0.06, recipe=None, recipe_corrected=None)
    >>> detectable_text(each), detectable_text(each, corrected=False), detectable_text(None)
    ('4.0 (6.0)', '4.0', '')

    Args:
        drop: the drop, or None.
        corrected: whether to append the corrected one.
    """
    if drop is None:
        return ""
    one, shared = _drops_to_show(drop)
    return f"{plain_points(one)} ({plain_points(shared)})" if corrected else plain_points(one)


def detectable_lines(task: TaskScores) -> Iterator[str]:
    """Write the smallest detectable mean drop and the shifts', one line each, for a terminal."""
    mean = task.summary.detectable.get("average_drop")
    if mean is not None:
        scope = _TEXTS_ALONE if mean.recipe is None else _WITH_RUNS
        yield f"Smallest detectable average drop: {detectable_text(mean, corrected=False)} points, {scope}."
    for name in ("sd", "td"):
        by_shift = [shift.detectable[name] for shift in task.shifts if name in shift.detectable]
        if by_shift:
            one, shared = zip(*map(_drops_to_show, by_shift), strict=True)
            reach = f"{plain_points(min(one))} to {plain_points(max(one))}"
            yield (
                f"Smallest detectable {name.upper()} of {counted(len(by_shift), 'shift')}: median "
                f"{plain_points(median(one))} points ({reach}), corrected {plain_points(median(shared))}, "
                f"{_TEXTS_ALONE if by_shift[0].recipe is None else _WITH_RUNS}."
            )


def _drops_to_show(drop: DetectableDrop) -> tuple[float, float]:
    if drop.recipe is None or drop.recipe_corrected is None:
        return drop.models, drop.models_corrected
    return drop.recipe, drop.recipe_corrected


def annotator_words(annotators: Annotators, metric: str) -> str:
    """Write how well single annotators agree, on average and by domain."""
    by_domain = ", ".join(f"{domain} {points(value)}" for domain, value in annotators.others.items())
    return (
        f"Single annotators reach {points(annotators.mean_others)} {metric_name(metric)} against the majority of the "
        f"others ({by_domain}), and {points(annotators.mean_gold)} against the gold label, which their own votes "
        "helped to make."
    )


def mean_flip_words(task: TaskScores) -> str:
    """Compare the mean flips over a task's shifts with those of models that differ only in their training texts."""
    found = [shift.flips for shift in task.shifts if shift.flips is not None]
    if not found or any(flips.without_shift is None for flips in found):
        return (
            "How many texts flip without any shift was not measured: that needs predictions of the task's placebo. "
            "Two models of one domain, trained on other texts of it, flip many."
        )
    turnover = sum(flips.loss + flips.gain for flips in found) / len(found)
    without = found[0].without_shift or 0.0
    more = "more" if turnover >= without else "fewer"
    return (
        f"Of 100 texts {points(turnover)} flip on average. Without any shift, between models trained on other texts "
        f"(the placebo), {points(without)} do: {points(abs(turnover - without))} {more} here."
    )
