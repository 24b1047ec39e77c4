"""Cells, tables and lists that several pages share, and a card."""

from collections.abc import Callable, Iterable, Sequence

from shiftbench.scoring.reports.frame.html import Markup, link, tag
from shiftbench.scoring.reports.numbers import count, interval
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.cards import Card


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


def figure_table(
    label: str, heads: Iterable[tuple[str, str, bool]], rows: Iterable[Markup], caption: str = ""
) -> Markup:
    """Build a table of figures in a box that scrolls; heads: a name, what it means, and whether it stands over numbers.

    ``label`` says what the box shows, and so does the hidden caption where it is not given.
    """
    cells = [
        tag("th", name, scope="col", title=meaning or None, class_="sb-num" if number else None)
        for name, meaning, number in heads
    ]
    hidden = tag("caption", caption or label, class_="sb-hidden")
    head, body = tag("thead", tag("tr", *cells)), tag("tbody", *rows)
    return scroll_box(tag("table", hidden, head, body, class_="sb-table sb-shifts"), label)


def section(title: str, about: str, *content: Markup) -> Markup:
    """Build a section below its heading, with what it is about in a paragraph where that is not empty."""
    said = [tag("p", about, class_="sb-soft")] if about.strip() else []
    return tag("section", tag("h2", title), *said, *content, class_="sb-section")


def scroll_box(table: Markup, label: str) -> Markup:
    """Build a box in which a wide table scrolls, reachable by keyboard, so that the page itself never does."""
    return tag("div", table, class_="sb-scroll", tabindex="0", role="region", aria_label=label)


def choices(name: str, groups: Sequence[tuple[str, Sequence[Markup]]]) -> Markup:
    """Build links to choose among, in groups that have a name or none; the chosen one has ``aria-current``."""
    parts = [tag("div", *([tag("span", group, class_="sb-soft")] if group else []), *links) for group, links in groups]
    return tag("nav", *parts, class_="sb-choices", aria_label=name)


def card_html(card: Card) -> Markup:
    """Build what a card says, behind a heading that opens it."""
    facts: list[tuple[str, str | Markup]] = []
    for key, value in card.as_dict().items():
        label = key.replace("_", " ")
        if key.endswith("url"):
            facts.append((label, link(value, value)))
        elif isinstance(value, bool):
            facts.append((label, "yes" if value else "no"))
        elif isinstance(value, dict):
            facts.append((label, ", ".join(f"{name} {stated}" for name, stated in value.items())))
        elif isinstance(value, list):
            facts.append((label, ", ".join(value)))
        elif isinstance(value, int):
            facts.append((label, count(value)))
        elif key in ("command", "data", "settings"):
            facts.append((label, tag("code", value)))
        elif key != "name":
            facts.append((label, str(value)))
    return tag("details", tag("summary", "Card"), fact_list(facts, "sb-facts"), class_="sb-card")
