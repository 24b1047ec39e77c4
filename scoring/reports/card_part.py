"""A model's card, folded up, on an entry's page and in a report."""

from shiftbench.scoring.reports.cells import fact_list
from shiftbench.scoring.reports.frame.html import Markup, link, tag
from shiftbench.scoring.reports.numbers import count
from shiftbench.validation.cards import Card


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
        elif key in ("command", "data"):
            facts.append((label, tag("code", value)))
        elif key != "name":
            facts.append((label, str(value)))
    return tag("details", tag("summary", "Card"), fact_list(facts, "sb-facts"), class_="sb-card")
