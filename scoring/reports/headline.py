"""An entry's headline figures: each with its intervals, and each drop beside what no shift at all would give."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import (
    drop_points,
    drop_text,
    interval,
    metric_name,
    points,
    score_text,
    share,
)
from shiftbench.scoring.reports.pictures.words import ELSEWHERE_MARK, source_name
from shiftbench.scoring.reports.score_words import (
    AGAINST_OTHERS,
    ANNOTATORS,
    annotator_words,
    detectable_text,
    tail_lines,
)
from shiftbench.scoring.scores.coverage import LAMBDAS
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, DetectableDrop, NearDuplicates, Summary, TaskScores
from shiftbench.scoring.scores.summary import PAIRING
from shiftbench.validation.vocabulary import ELSEWHERE, PLACEBO

TRAINING_UNKNOWN = (
    "In brackets: 95% intervals over other test texts, for these trained models. What other training runs would "
    "change was not measured: that takes 5 runs (seeds) of every source."
)
FLOOR_WORDS = (
    "At chance: the score under shift is not shown to be above guessing or giving one label to all texts, so its "
    "drops say nothing about robustness."
)
WORST_INTERVAL = (
    "The largest of several noisy drops overstates the largest true one. Its interval covers the drops of all shifts "
    "at once, so it is wider than that of any single shift."
)
RESOLVED = "of shifts: the 95% intervals of both drops exclude 0, each shift by itself"
_DROPS = ("average_drop", "worst_sd", "worst_td")


@dataclass(frozen=True)
class _Tile:
    name: str
    estimate: Estimate
    written: Callable[[float | None], str] = points
    total: Interval | None = None
    remarks: tuple[str, ...] = ()


def headline(task: TaskScores, placebo: TaskScores | None = None, *, has_placebo: bool = False) -> Markup:
    """Build the tiles of a task, and below them what their brackets mean.

    Args:
        task: the scores.
        placebo: scores of the task's placebo, if the entry has them.
        has_placebo: whether the dataset has one, so that its absence is worth a word.
    """
    tiles = [_html(tile) for tile in _tiles(task, placebo)]
    summary = task.summary
    if task.annotators is not None:
        tiles.append(_plain(ANNOTATORS, points(task.annotators.mean_others), AGAINST_OTHERS))
    tiles.append(_plain("Shifts", f"{summary.n_shifts}", _basis(task)))
    if summary.resolved_share is not None:
        tiles.append(_plain("Scenarios resolved", share(summary.resolved_share), RESOLVED))
    tiles.append(_plain("Unusable outputs", share(summary.unparsed), "could not be read, counted as wrong"))
    lines = [tag("p", tag("strong", FLOOR_WORDS), class_="sb-notice")] if summary.at_floor else []
    lines += [
        tag("p", f"All figures are {metric_name(task.metric)} in points (×100). {_brackets(task)}", class_="sb-soft")
    ]
    if summary.basis != PAIRING and summary.worst_sd.low is not None:
        lines.append(tag("p", WORST_INTERVAL, class_="sb-soft"))
    lines += [tag("p", line, class_="sb-soft") for line in tail_lines(task)]
    if placebo is None and has_placebo and _has_drops(summary):
        words = f"Without predictions of {task.task}{PLACEBO} no placebo value stands beside the drops."
        lines.append(tag("p", words, class_="sb-soft"))
    if task.annotators is not None:
        lines.append(tag("p", annotator_words(task.annotators, task.metric), class_="sb-soft"))
    if task.near_duplicates is not None and _has_drops(summary):
        lines.append(tag("p", near_duplicate_words(task.near_duplicates), class_="sb-soft"))
    return join([tag("dl", *tiles, class_="sb-tiles"), *lines])


def near_duplicate_words(duplicates: NearDuplicates) -> str:
    """Return how many test texts training at home has seen, and what that does to drops and to placebos."""
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


def _tiles(task: TaskScores, placebo: TaskScores | None) -> Iterator[_Tile]:
    summary = task.summary
    if task.id_ood is not None:
        id_ood, total = task.id_ood, task.id_ood.total
        yield _Tile("Score under shift (mean OOD)", id_ood.mean_ood, total=total.get("mean_ood"))
        home = f"In domain: {id_ood.id_domain} (ID)"
        yield _Tile(home, id_ood.id, total=total.get("id"), remarks=_four_types_remark(task, None))
        for domain, score in id_ood.ood.items():
            yield _Tile(domain, score, total=total.get(f"ood.{domain}"), remarks=_four_types_remark(task, domain))
        remarks = _drop_remarks(task, placebo, id_ood.detectable.get("drop"))
        yield _Tile("Drop, ID \N{MINUS SIGN} OOD", id_ood.drop, drop_points, total.get("drop"), remarks)
    elif summary.basis == PAIRING:
        yield _Tile("Score under shift (ST)", summary.mean_st)
    else:
        yield _Tile("In domain (mean SS)", summary.mean_ss, total=summary.total.get("mean_ss"))
        yield _Tile("Score under shift (mean ST)", summary.mean_st, total=summary.total.get("mean_st"))
        average = summary.total.get("average_drop")
        remarks = _drop_remarks(task, placebo, summary.detectable.get("average_drop"))
        yield _Tile("Average drop", summary.average_drop, drop_points, average, remarks)
    if summary.basis != PAIRING and _has_drops(summary):
        for name, title in (("worst_sd", "Worst source drop (SD)"), ("worst_td", "Worst target drop (TD)")):
            yield _Tile(title, getattr(summary, name), drop_points, None, _placebo_remark(placebo, name))
    for key in LAMBDAS:
        if key in summary.depth_f1:
            yield _Tile(f"Depth F1 (λ = {key})", summary.depth_f1[key])
    if summary.depth_slope is not None:
        remarks = ("points per standard deviation of depth; above 0: better on texts closer to the source",)
        yield _Tile("Slope on depth", summary.depth_slope, drop_points, None, remarks)


def _four_types_remark(task: TaskScores, domain: str | None) -> tuple[str, ...]:
    """Return the score with the four rarer types folded, on a domain or (None) on the ID one; of entities alone."""
    four = task.id_ood.four_types if task.id_ood else None
    return () if four is None else (f"4 types {points(four.id if domain is None else four.ood.get(domain))}",)


def _drop_remarks(task: TaskScores, placebo: TaskScores | None, drop: DetectableDrop | None) -> tuple[str, ...]:
    """Return what stands beside an average drop: the smallest detectable one, the placebo's, that without repeats."""
    finds = () if drop is None else (f"smallest detectable {detectable_text(drop, corrected=False)}",)
    without = task.near_duplicates.without if task.near_duplicates else None
    has_less = without is not None and without.average_drop.value is not None
    less = (f"without near-duplicates {drop_text(without.average_drop)}",) if without and has_less else ()
    return (*finds, *_placebo_remark(placebo, "average_drop"), *less)


def _placebo_remark(placebo: TaskScores | None, name: str) -> tuple[str, ...]:
    if placebo is None or not placebo.summary.complete:  # as on the board
        return ()
    value: Estimate = getattr(placebo.summary, name)
    return () if value.value is None else (f"placebo {drop_text(value)}",)


def _has_drops(summary: Summary) -> bool:
    return any(getattr(summary, name).value is not None for name in _DROPS)


def _basis(task: TaskScores) -> str:
    summary, id_ood = task.summary, task.id_ood
    if id_ood is not None and id_ood.source != id_ood.id_domain:
        return f"trained on {source_name(id_ood.source)}"
    if summary.complete:
        return "every pair of domains" if summary.basis == "single-source" else summary.basis
    if summary.basis == OUTSIDE_BASES[ELSEWHERE]:
        return f"{ELSEWHERE_MARK}: drops do not apply"
    return "partial" if summary.basis in ("single-source", "id-ood") else f"{summary.basis} only"


def _brackets(task: TaskScores) -> str:
    totals = task.id_ood.total if task.id_ood else task.summary.total
    if not totals:
        return TRAINING_UNKNOWN
    return (
        "In brackets: 95% intervals over other test texts; after 'with training runs' over other texts and "
        "training runs."
    )


def _html(tile: _Tile) -> Markup:
    bounds = interval(tile.estimate)
    notes = [tag("span", bounds, class_="sb-interval")] if bounds else []
    if tile.estimate.no_interval:
        notes = [tag("span", f"no interval: {tile.estimate.no_interval}", class_="sb-interval")]
    if tile.total is not None:
        total = interval(Estimate(value=tile.estimate.value, low=tile.total.low, high=tile.total.high))
        notes.append(tag("span", f"with training runs {total}", class_="sb-interval"))
    notes += [tag("span", remark, class_="sb-interval") for remark in tile.remarks]
    missing = " sb-na" if tile.estimate.value is None else ""
    value = tag("span", tile.written(tile.estimate.value), class_=f"sb-value{missing}")
    return tag("div", tag("dt", tile.name), tag("dd", value, *notes))


def _plain(name: str, value: str, note: str) -> Markup:
    return tag(
        "div",
        tag("dt", name),
        tag("dd", tag("span", value, class_="sb-value"), tag("span", note, class_="sb-interval")),
    )
