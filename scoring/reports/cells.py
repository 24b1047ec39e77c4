"""Cells, tables and lists that several pages share, and a card."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shiftbench.scoring.reports.frame.html import Markup, tag
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


@dataclass(frozen=True)
class CardFact:
    """A key of a card as a page shows it; ``source`` says where the value is from, if not from the card."""

    label: str
    value: str
    address: str = ""
    is_code: bool = False
    source: str = ""


def card_facts(card: Card) -> list[CardFact]:
    """List what a card says, the name left out."""
    return [_card_fact(key, value) for key, value in card.as_dict().items() if key != "name"]


def _card_fact(key: str, value: object) -> CardFact:
    label = key.replace("_", " ")
    if isinstance(value, bool):
        return CardFact(label, "yes" if value else "no")
    if isinstance(value, int):
        return CardFact(label, count(value))
    if isinstance(value, dict):
        return CardFact(label, ", ".join(f"{name} {stated}" for name, stated in value.items()))
    if isinstance(value, list):
        return CardFact(label, ", ".join(value))
    text = str(value)
    is_link = key.endswith("url") and text.startswith("https://")  # whatever the card's own check let through
    return CardFact(label, text, text if is_link else "", key in ("command", "data", "settings"))
