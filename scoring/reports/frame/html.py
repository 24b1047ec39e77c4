"""HTML in which every text is escaped unless written here: elements by ``tag``, shells of pages by ``render``."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup, escape

from shiftbench.leaderboard.pages import addresses
from shiftbench.validation.plain_text import escape_invisible

__all__ = ["Markup", "escape", "join", "link", "render", "tag"]

VOID = frozenset({"br", "col", "input", "link", "meta"})
TEMPLATES = Path(__file__).parent / "templates"
_SPECIAL = re.compile("[&<>\"']|[^\n\t\\x20-\\x7e\\xa1-\\xac\\xae-\\u02ff]")
"""What may have to be escaped: HTML's own characters, and those that do not surely show."""


def tag(name: str, /, *children: "str | Markup | Iterable[Markup]", **attributes: str | None) -> Markup:
    """Write an element. A trailing underscore in an attribute's name is dropped, others become hyphens.

    >>> print(tag("td", "<b>", class_="name", data_value="1"))
    <td class="name" data-value="1">&lt;b&gt;</td>
    """
    written = "".join(f' {_attribute(key)}="{_text(value)}"' for key, value in attributes.items() if value is not None)
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{''.join(_escaped(child) for child in children)}</{name}>")


def join(parts: Iterable[Markup]) -> Markup:
    """Write elements one after the other."""
    return Markup("".join(_escaped(part) for part in parts))


def link(url: str, text: str, **attributes: str | None) -> Markup:
    """Build a link to another site, from a card: https only, whatever the card's own check let through.

    >>> print(link("javascript:alert(1)", "code"))
    <span>code</span>
    """
    if not url.startswith("https://"):
        return tag("span", text)
    return tag("a", text, href=url, rel="noopener noreferrer nofollow", target="_blank", **attributes)


def render(template: str, **values: object) -> Markup:
    """Write a template of the folder ``templates``; values are escaped unless they are ``Markup``.

    Templates know the module ``addresses`` without being given it.

    Raises: jinja2.UndefinedError for a value that the template names and that is not given.
    """
    return Markup(_environment().get_template(template).render(values))


def _escape_value(value: object) -> object:
    """Return a template's value with what does not show escaped; HTML that was written here stays."""
    return escape_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class _JoinedLines(Extension):
    """Drops the line breaks between a template's elements, so that its layout never shows on a page."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"(?<=[>}])\s*\n\s*(?=[<{])", "", source)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=[_JoinedLines],
        finalize=_escape_value,
    )
    environment.globals["addresses"] = addresses
    return environment


def _escaped(child: "str | Markup | Iterable[Markup]") -> str:
    if isinstance(child, Markup):
        return child
    return _text(child) if isinstance(child, str) else "".join(_escaped(part) for part in child)


def _text(text: str) -> str:
    """Escape a text; most have nothing to escape, and a board has thousands."""
    return escape(escape_invisible(text)) if _SPECIAL.search(text) else text


@cache
def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
