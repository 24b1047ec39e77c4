"""The links in a card, rendered by ``templates/links.html``."""

import re
from collections.abc import Mapping
from typing import Any

_KEYS = ("paper_url", "code_url", "model_url", "base_model", "url")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


def card_links(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return a card's https URLs by key, in display order.

    A base model given as 'user/name' links to the Hub.

    >>> card_links({"base_model": "lab/model", "url": "javascript:alert(1)"})
    {'base_model': 'https://huggingface.co/lab/model'}
    """
    base = facts.get("base_model")
    known = {**facts, "base_model": f"https://huggingface.co/{base}" if base and _HUB_ID.fullmatch(base) else None}
    return {key: known[key] for key in _KEYS if (known.get(key) or "").startswith("https://")}
