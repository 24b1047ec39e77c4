"""Cells and lists that several pages share."""

from collections.abc import Callable, Sequence

from leaderboard.scores import Estimate
from leaderboard.views.html import Markup, tag
from leaderboard.views.numbers import interval


def number_cell(estimate: Estimate, written: Callable[[float | None], str]) -> Markup:
    """Give a cell of a figure; an empty sort value keeps a missing one last in either direction."""
    missing, value = estimate.value is None, estimate.value
    return tag(
        "td",
        *with_interval(estimate, written),
        class_="sb-num sb-na" if missing else "sb-num",
        data_value="" if missing else repr(value),
    )


def with_interval(estimate: Estimate, written: Callable[[float | None], str]) -> list[str | Markup]:
    """Give a figure and, small below it, its interval where there is one."""
    bounds = interval(estimate)
    return [written(estimate.value), *([tag("span", bounds, class_="sb-interval")] if bounds else [])]


def fact_list(items: Sequence[tuple[str, str | Markup]], class_: str) -> Markup:
    """Give a list of terms and their values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in items), class_=class_)


def scroll_box(table: Markup, label: str) -> Markup:
    """Let a wide table scroll in its own box, reachable by keyboard, so that the page itself never does."""
    return tag("div", table, class_="sb-scroll", tabindex="0", role="region", aria_label=label)


def choices(name: str, groups: Sequence[tuple[str, Sequence[Markup]]]) -> Markup:
    """Give links to choose among, in groups that have a name or none; the chosen one has ``aria-current``."""
    parts = [tag("div", *([tag("span", group, class_="sb-soft")] if group else []), *links) for group, links in groups]
    return tag("nav", *parts, class_="sb-choices", aria_label=name)
