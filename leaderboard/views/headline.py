"""An entry's headline figures: each with its intervals, and each drop beside what no shift at all would give."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from leaderboard.board.rows import LAMBDAS
from leaderboard.scoring.shape import Estimate, Interval, Summary, TaskScores
from leaderboard.scoring.summary import PAIRING
from leaderboard.views.html import Markup, join, tag
from leaderboard.views.numbers import (
    drop_points,
    drop_text,
    interval,
    metric_name,
    points,
    share,
)
from leaderboard.views.pictures.words import source_name
from validation.vocabulary import PLACEBO

TRAINING_UNKNOWN = "Training variance not measured (needs 5 runs a source): brackets hold other test texts alone."
_DROPS = ("average_drop", "worst_sd", "worst_td")


@dataclass(frozen=True)
class _Tile:
    name: str
    estimate: Estimate
    written: Callable[[float | None], str] = points
    total: Interval | None = None
    remarks: tuple[str, ...] = ()


def headline(task: TaskScores, placebo: TaskScores | None = None, *, has_placebo: bool = False) -> Markup:
    """Give the tiles of a task, and below them what their brackets hold.

    Args:
        task: the scores.
        placebo: scores of the task's placebo, if the entry has them.
        has_placebo: whether the dataset has one, so that its absence is worth a word.
    """
    tiles = [_html(tile) for tile in _tiles(task, placebo)]
    summary = task.summary
    tiles.append(_plain("Shifts", f"{summary.n_shifts}", _basis(task)))
    if summary.resolved_share is not None:
        tiles.append(_plain("Scenarios resolved", share(summary.resolved_share), "joint 95% region in one quadrant"))
    tiles.append(_plain("Unparsed", share(summary.unparsed), "unusable outputs, counted as wrong"))
    lines = [tag("p", f"Scores are {metric_name(task.metric)}, in points (×100). {_brackets(task)}", class_="sb-soft")]
    if placebo is None and has_placebo and _has_drops(summary):
        lines.append(
            tag("p", f"No predictions of {task.task}{PLACEBO}: no placebo value beside drops.", class_="sb-soft")
        )
    return join([tag("dl", *tiles, class_="sb-tiles"), *lines])


def _tiles(task: TaskScores, placebo: TaskScores | None) -> Iterator[_Tile]:
    summary = task.summary
    if task.id_ood is not None:
        found, total = task.id_ood, task.id_ood.total
        yield _Tile("Mean OOD", found.mean_ood, total=total.get("mean_ood"))
        yield _Tile(f"{found.id_domain} (ID)", found.id, total=total.get("id"), remarks=_four(task, None))
        for domain, score in found.ood.items():
            yield _Tile(domain, score, total=total.get(f"ood.{domain}"), remarks=_four(task, domain))
        yield _Tile(
            "Drop, ID \N{MINUS SIGN} OOD", found.drop, drop_points, total.get("drop"), _beside(placebo, "average_drop")
        )
    elif summary.basis == PAIRING:
        yield _Tile("ST", summary.mean_st)
    else:
        yield _Tile("Mean SS", summary.mean_ss, total=summary.total.get("mean_ss"))
        yield _Tile("Mean ST", summary.mean_st, total=summary.total.get("mean_st"))
        average = summary.total.get("average_drop")
        yield _Tile("Average drop", summary.average_drop, drop_points, average, _beside(placebo, "average_drop"))
    if summary.basis != PAIRING and _has_drops(summary):
        for name, title, split_half in (
            ("worst_sd", "Worst SD", summary.worst_sd_split_half),
            ("worst_td", "Worst TD", summary.worst_td_split_half),
        ):
            # The worst of several noisy drops overstates the worst true one.
            halves = () if split_half is None else (f"split-half {drop_points(split_half)}",)
            yield _Tile(title, getattr(summary, name), drop_points, None, (*halves, *_beside(placebo, name)))
    for key in LAMBDAS:
        if key in summary.depth_f1:
            yield _Tile(f"Depth F1, λ = {key}", summary.depth_f1[key])


def _four(task: TaskScores, domain: str | None) -> tuple[str, ...]:
    """Give the score with the four rarer types folded, on a domain or (None) on the ID one; of entities alone."""
    four = task.id_ood.four_types if task.id_ood else None
    return () if four is None else (f"4 types {points(four.id if domain is None else four.ood.get(domain))}",)


def _beside(placebo: TaskScores | None, name: str) -> tuple[str, ...]:
    if placebo is None or not placebo.summary.complete:  # as on the board
        return ()
    value: Estimate = getattr(placebo.summary, name)
    return () if value.value is None else (f"placebo {drop_text(value)}",)


def _has_drops(summary: Summary) -> bool:
    return any(getattr(summary, name).value is not None for name in _DROPS)


def _basis(task: TaskScores) -> str:
    summary, found = task.summary, task.id_ood
    if found is not None and found.source != found.id_domain:
        return f"trained on {source_name(found.source)}"
    if summary.complete:
        return "the whole grid" if summary.basis == "single-source" else summary.basis
    return "partial" if summary.basis in ("single-source", "id-ood") else f"{summary.basis} only"


def _brackets(task: TaskScores) -> str:
    totals = task.id_ood.total if task.id_ood else task.summary.total
    if not totals:
        return TRAINING_UNKNOWN
    return "Brackets hold 95% intervals over other test texts; 'total' over other training runs as well."


def _html(tile: _Tile) -> Markup:
    bounds = interval(tile.estimate)
    notes = [tag("span", bounds, class_="sb-interval")] if bounds else []
    if tile.total is not None:
        total = interval(Estimate(value=tile.estimate.value, low=tile.total.low, high=tile.total.high))
        notes.append(tag("span", f"total {total}", class_="sb-interval"))
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
