"""The links that a card names: with their names on an entry's page, as icons alone on boards."""

import re
from collections.abc import Mapping
from typing import Any

from shiftbench.scoring.reports.frame.html import Markup, link, tag

LINK_NAMES = {
    "paper_url": "Paper",
    "code_url": "Code",
    "model_url": "Model",
    "base_model": "Base model",
    "url": "Website",
}
"""What the keys of a card that may hold a link lead to, in their order on the page."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def named_links(facts: Mapping[str, Any]) -> Markup:
    """Build the links of a card's values, each with an icon and its name.

    A base model that is written as 'user/name' leads to the Hub.
    """
    links = [link(address, LINK_NAMES[key], class_=_classes(key)) for key, address in _addresses(facts).items()]
    return tag("p", *links, class_="sb-links") if links else Markup("")


def icon_links(facts: Mapping[str, Any], name: str) -> list[Markup]:
    """Build the links as icons, at most one; their names are there for screen readers and as tooltips."""
    icons = [
        link(address, "", class_=_classes(key), aria_label=f"{LINK_NAMES[key]} of {name}", title=LINK_NAMES[key])
        for key, address in _addresses(facts).items()
    ]
    return [tag("span", *icons, class_="sb-icons")] if icons else []


def _addresses(facts: Mapping[str, Any]) -> dict[str, str]:
    addresses = {}
    for key in LINK_NAMES:
        value = facts.get(key)
        if key == "base_model":
            value = f"https://huggingface.co/{value}" if value and _HUB_ID.fullmatch(value) else None
        if value and value.startswith("https://"):
            addresses[key] = value
    return addresses


def _classes(key: str) -> str:
    return f"sb-icon sb-icon-{key.removesuffix('_url').replace('_', '-')}"
