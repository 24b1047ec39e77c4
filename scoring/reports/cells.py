"""Cells and lists that several pages share."""

from collections.abc import Callable, Sequence

from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import interval
from shiftbench.scoring.scores.estimate import Estimate


def number_cell(estimate: Estimate, written: Callable[[float | None], str], *notes: Markup) -> Markup:
    """Build a cell of a figure: small below it its interval, or that there is none to be had, and notes."""
    bounds = interval(estimate)
    small = [tag("span", bounds, class_="sb-interval")] if bounds else []
    if estimate.no_interval:
        small = [tag("span", "no interval", class_="sb-interval", title=f"no 95% interval: {estimate.no_interval}")]
    class_ = "sb-num sb-na" if estimate.value is None else "sb-num"
    return tag("td", written(estimate.value), *small, *notes, class_=class_)


def fact_list(items: Sequence[tuple[str, str | Markup]], class_: str) -> Markup:
    """Build a list of terms and their values."""
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in items), class_=class_)


def scroll_box(table: Markup, label: str) -> Markup:
    """Build a box in which a wide table scrolls, reachable by keyboard, so that the page itself never does."""
    return tag("div", table, class_="sb-scroll", tabindex="0", role="region", aria_label=label)


def choices(name: str, groups: Sequence[tuple[str, Sequence[Markup]]]) -> Markup:
    """Build links to choose among, in groups that have a name or none; the chosen one has ``aria-current``."""
    parts = [tag("div", *([tag("span", group, class_="sb-soft")] if group else []), *links) for group, links in groups]
    return tag("nav", *parts, class_="sb-choices", aria_label=name)
