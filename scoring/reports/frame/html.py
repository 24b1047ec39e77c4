"""Elements of HTML and SVG, in which every text is escaped unless it is ``Markup``."""

import re
from collections.abc import Iterable
from functools import cache

from markupsafe import Markup, escape

from shiftbench.validation.plain_text import escape_invisible

__all__ = ["Markup", "escape", "join", "tag"]

VOID = frozenset({"br", "col", "input", "link", "meta"})
_SPECIAL = re.compile("[&<>\"']|[^\n\t\\x20-\\x7e\\xa1-\\xac\\xae-\\u02ff]")
"""Characters that may need escaping: HTML's special characters, and those that may be invisible."""


def tag(name: str, /, *children: "str | Markup | Iterable[Markup]", **attributes: str | None) -> Markup:
    """Build an element of HTML or SVG.

    Args:
        name: the element's name.
        children: texts, which are escaped, and elements.
        attributes: values by name; None omits the attribute. A trailing underscore in a name is dropped, others become
            hyphens.

    >>> print(tag("td", "<b>", class_="name", data_value="1"))
    <td class="name" data-value="1">&lt;b&gt;</td>
    """
    written = "".join(f' {_attribute(key)}="{_text(value)}"' for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{''.join(_escaped(child) for child in children)}</{name}>")


def join(parts: Iterable[Markup]) -> Markup:
    """Concatenate elements."""
    return Markup("".join(_escaped(part) for part in parts))


def _escaped(child: "str | Markup | Iterable[Markup]") -> str:
    if isinstance(child, Markup):
        return child
    return _text(child) if isinstance(child, str) else "".join(_escaped(part) for part in child)


def _text(text: str) -> str:
    """Escape a text; most texts need no escaping, and a board has thousands, hence the quick check."""
    return escape(escape_invisible(text)) if _SPECIAL.search(text) else text


@cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
