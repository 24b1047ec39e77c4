"""Sentences on figures that no mean over shifts tells; a page, a report and a terminal share them."""

from collections.abc import Iterator
from statistics import fmean

from shiftbench.scoring.reports.numbers import plain_points, plain_score
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.outcomes import LENIENT
from shiftbench.scoring.scores.shape import Summary, TaskScores

WORST = (
    "The split-half estimate selects the worst shift on one half of the texts and measures it on the other: it is for "
    "the shift that looks worst, which on average is less bad than the one that is worst. The posterior mean estimates "
    "the largest true drop, in a normal model over shifts; where shifts hardly differ it is too high."
)


def about_lines(task: TaskScores) -> Iterator[str]:
    """List the sentences that a task's scores call for: the next domain, and how strictly tags were read."""
    if task.summary.next_domain is not None:
        yield next_domain_line(task.summary)
    lenient = lenient_line(task)
    if lenient:
        yield lenient


def worst_rows(summary: Summary) -> Iterator[tuple[str, float | None]]:
    """List the estimates of the worst drop, with their names in a table."""
    for drop, half, posterior in (
        ("SD", summary.worst_sd_split_half, summary.worst_sd_posterior),
        ("TD", summary.worst_td_split_half, summary.worst_td_posterior),
    ):
        if half is not None:
            yield f"{drop} of the shift that looks worst (one half selects, the other estimates)", half
        if posterior is not None:
            yield f"worst true {drop}, posterior mean", posterior


def slope_rows(summary: Summary) -> Iterator[tuple[str, Estimate]]:
    """List the slope on depth, if there is one, with its name in a table."""
    if summary.depth_slope is not None:
        yield "slope on depth (per standard deviation, above 0: better near the source)", summary.depth_slope


def next_domain_line(summary: Summary) -> str:
    """Describe what to expect of one more target domain; the summary must have it."""
    expected = summary.next_domain
    assert expected is not None
    figures = [f"mean ST {plain_score(expected.st)}"]
    figures += [f"SD {plain_score(expected.drop)}"] if expected.drop.value is not None else []
    return (
        f"Expected on a new domain that is like these {expected.n_domains}: {', '.join(figures)} (95% prediction "
        "interval over target domains). All other intervals are for these domains."
    )


def lenient_line(task: TaskScores) -> str:
    """Describe how tags would score if read as seqeval reads them by default; empty where that is no difference."""
    pairs = [(own.score, own.secondary) for own in task.in_domain] + [
        (shift.st, shift.secondary) for shift in task.shifts
    ]
    both = [_lenient_and_strict(*pair) for pair in pairs]
    known = [pair for pair in both if pair is not None]
    if not known:
        return ""
    lenient, strict = (fmean(side) for side in zip(*known, strict=True))
    return (
        "Tags are read strictly: an I- tag that continues nothing belongs to no span. Read as seqeval does by default, "
        f"where it opens one, span F1 is {plain_points(lenient)} and not {plain_points(strict)}, mean over test sets."
    )


def _lenient_and_strict(score: Estimate, secondary: dict[str, float | None]) -> tuple[float, float] | None:
    lenient = secondary.get(LENIENT)
    return None if lenient is None or score.value is None else (lenient, score.value)
