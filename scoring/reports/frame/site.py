"""The frame of reports and pages: the style sheet, the icon, a short message, and a report as one file."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment

from shiftbench.scoring.reports.frame.html import Markup, join, load_templates, tag

_HERE = Path(__file__).parent
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Content security policy of reports, which may be forwarded: no scripts, no requests."""


def report_file(title: str, parts: Iterable[Markup], command: str, *, class_: str = "sb-entry sb-compare") -> Markup:
    """Build a report as one self-contained HTML file.

    Args:
        title: the browser tab's title.
        parts: content of the report.
        command: the command that writes it.
        class_: CSS class of the element around the parts.
    """
    body, sheet = tag("div", *parts, class_=class_), Markup(style_sheet())
    facts = {"title": title, "policy": _REPORT_POLICY, "icon": ICON, "style_sheet": sheet, "command": command}
    return render("report.html", **facts, body=body)


def render(template: str, **values: object) -> Markup:
    """Render a template of the frame; values are escaped unless ``Markup``, and undefined ones are errors."""
    return Markup(_templates().get_template(template).render(values))


def part(name: str, *values: object) -> Markup:
    """Render a single macro of ``parts.html``."""
    return Markup(getattr(_templates().get_template("parts.html").module, name)(*values))


@cache
def _templates() -> Environment:
    return load_templates()


@cache
def style_sheet() -> str:
    """Concatenate the style sheet's parts in ``css``, tokens and theme first."""
    first = {"tokens.css": 0, "theme.css": 1}
    parts = sorted((_HERE / "css").glob("*.css"), key=lambda path: (first.get(path.name, 2), path.name))
    return "\n".join(path.read_text(encoding="utf-8") for path in parts)


def box(title: str, *lines: str | Markup) -> Markup:
    """Build a short message for an empty page: a title in bold, and one paragraph per line."""
    return tag("div", tag("strong", title), join(tag("p", line) for line in lines), class_="sb-empty")


# Two bars, the second lower: a drop.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect x='2' y='2' width='5' height='12' rx='1' fill='%230f766e'/%3E"
    "%3Crect x='9' y='7' width='5' height='7' rx='1' fill='%235eead4'/%3E%3C/svg%3E"
)
