"""What reports and pages are framed by: the style sheet, the icon, a short message, and a report as one file."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment

from shiftbench.scoring.reports.frame.html import Markup, join, load_templates, tag

_HERE = Path(__file__).parent
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A report that somebody sends on runs no script and fetches nothing."""


def report_file(title: str, parts: Iterable[Markup], made_with: str, *, class_: str = "sb-entry sb-compare") -> Markup:
    """Build a report as one HTML file that needs no other.

    Args:
        title: stands in the browser's tab.
        parts: what the report shows.
        made_with: the command that writes it.
        class_: of the element around the parts.
    """
    body, sheet = tag("div", *parts, class_=class_), Markup(style_sheet())
    facts = {"title": title, "policy": _REPORT_POLICY, "icon": ICON, "style_sheet": sheet, "made_with": made_with}
    return render("report.html", **facts, body=body)


def render(template: str, **values: object) -> Markup:
    """Write a template of the frame's; values are escaped unless they are ``Markup``, and a missing one is an error."""
    return Markup(_templates().get_template(template).render(values))


def part(name: str, *values: object) -> Markup:
    """Write one macro of ``parts.html`` by itself."""
    return Markup(getattr(_templates().get_template("parts.html").module, name)(*values))


@cache
def _templates() -> Environment:
    return load_templates()


@cache
def style_sheet() -> str:
    """Join the style sheet: the parts in ``css``, tokens and theme first."""
    first = {"tokens.css": 0, "theme.css": 1}
    parts = sorted((_HERE / "css").glob("*.css"), key=lambda path: (first.get(path.name, 2), path.name))
    return "\n".join(path.read_text(encoding="utf-8") for path in parts)


def box(title: str, *lines: str | Markup) -> Markup:
    """Build a short message where there is nothing else to show: a title in bold, a paragraph a line."""
    return tag("div", tag("strong", title), join(tag("p", line) for line in lines), class_="sb-empty")


# Two bars, the second lower: a drop.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect x='2' y='2' width='5' height='12' rx='1' fill='%230f766e'/%3E"
    "%3Crect x='9' y='7' width='5' height='7' rx='1' fill='%235eead4'/%3E%3C/svg%3E"
)
