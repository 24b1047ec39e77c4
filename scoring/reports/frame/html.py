"""HTML in which every text is escaped unless it is ``Markup``: elements by ``tag``, templates by ``load_templates``."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup, escape

from shiftbench.scoring.reports import numbers
from shiftbench.validation.plain_text import escape_invisible

__all__ = ["Markup", "escape", "join", "link", "load_templates", "tag"]

TEMPLATES = Path(__file__).parent / "templates"
_FILTERS = {
    "points": numbers.points,
    "drop": numbers.drop_points,
    "interval": numbers.interval,
    "half_width": numbers.half_width,
    "share": numbers.share,
    "count": numbers.count,
    "signed": numbers.signed,
    "metric": numbers.metric_name,
}
VOID = frozenset({"br", "col", "input", "link", "meta"})
_SPECIAL = re.compile("[&<>\"']|[^\n\t\\x20-\\x7e\\xa1-\\xac\\xae-\\u02ff]")
"""Characters that may need escaping: HTML's special characters, and those that may be invisible."""


def tag(name: str, /, *children: "str | Markup | Iterable[Markup]", **attributes: str | None) -> Markup:
    """Build an element. A trailing underscore in an attribute's name is dropped, others become hyphens.

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


def link(url: str, text: str, **attributes: str | None) -> Markup:
    """Build a link to another site, from a card: https only, independently of the card's own validation.

    >>> print(link("javascript:alert(1)", "code"))
    <span>code</span>
    """
    if not url.startswith("https://"):
        return tag("span", text)
    return tag("a", text, href=url, rel="noopener noreferrer nofollow", target="_blank", **attributes)


def load_templates(*folders: Path, **known: object) -> Environment:
    """Load the templates of folders; values are escaped unless they are ``Markup``, and undefined ones are errors.

    Args:
        *folders: folders with templates, in addition to the frame's own (the macros in ``parts.html``).
        **known: global variables of the templates, in addition to the number filters.

    Returns: the environment, whose ``get_template(name).render(...)`` renders a template.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=[_JoinedLines],
        finalize=_escape_value,
    )
    environment.globals.update(known)
    environment.filters.update(_FILTERS)
    return environment


def _escape_value(value: object) -> object:
    """Return a template's value with invisible characters escaped; ``Markup`` is unchanged."""
    return escape_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class _JoinedLines(Extension):
    """Drops the line breaks between a template's elements, so that its source layout does not affect the page."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"(?<=[>}])\s*\n\s*(?=[<{])", "", source)


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
