"""The shell of every page and report: head, navigation, style sheet and script. Nothing is fetched from elsewhere."""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from shiftbench.leaderboard.pages.addresses import (
    ABOUT,
    BOARD,
    COMPARE,
    DATA,
    SCRIPT,
    STYLE_SHEET,
    SUBMIT,
    static_address,
)
from shiftbench.scoring.reports.frame.html import Markup, join, render, tag
from shiftbench.scoring.scores.shape import METRIC_VERSION

_HERE = Path(__file__).parent
PAGES = (
    ("board", "Leaderboard", BOARD),
    ("compare", "Compare", COMPARE),
    ("submit", "Submit", SUBMIT),
    ("data", "Data", DATA),
    ("about", "About", ABOUT),
)
"""Key, name and address of the pages that the navigation leads to."""
DESCRIPTION = (
    "A leaderboard of how much accuracy NLP models lose when the text changes domain: scores computed from uploaded "
    "predictions, with intervals, ties and placebos."
)
"""What search engines show of a page."""
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A report that somebody sends on runs no script and fetches nothing."""


def page(title: str, body: Markup, *, active: str = "") -> Markup:
    """Build a whole page.

    Args:
        title: stands in the browser's tab, before the name of the site.
        body: what the page shows.
        active: key of the navigation's page that this is (see ``PAGES``).
    Returns: an HTML document.
    """
    return render(
        "page.html",
        title=title,
        body=body,
        active=active,
        pages=PAGES,
        icon=ICON,
        description=DESCRIPTION,
        metric_version=METRIC_VERSION,
        style_sheet=static_address(STYLE_SHEET, digest("page.css")),
        script=static_address(SCRIPT, digest("page.js")),
    )


def report_file(title: str, parts: Iterable[Markup], made_with: str, *, class_: str = "sb-entry sb-compare") -> Markup:
    """Build a report as one HTML file that needs no other.

    Args:
        title: stands in the browser's tab.
        parts: what the report shows.
        made_with: the command that writes it.
        class_: of the element around the parts.
    """
    return render(
        "report.html",
        title=title,
        policy=_REPORT_POLICY,
        icon=ICON,
        style_sheet=Markup(style_sheet()),
        body=tag("div", *parts, class_=class_),
        made_with=made_with,
    )


def header(active: str = "") -> Markup:
    """Build the head of a page: the name, what it is about, and the ways to the other pages.

    Args:
        active: key of the navigation's page that this is (see ``PAGES``).
    Returns: the head.
    """
    return render("header.html", active=active, pages=PAGES)


@cache
def style_sheet() -> str:
    """Join the style sheet: the parts in ``css``, the theme first.

    Returns: CSS.
    """
    parts = sorted((_HERE / "css").glob("*.css"), key=lambda path: (path.name != "theme.css", path.name))
    return "\n".join(path.read_text(encoding="utf-8") for path in parts)


@cache
def script() -> str:
    """Read the script: it makes pages quicker, and none of them needs it.

    Returns: JavaScript.
    """
    return (_HERE / "page.js").read_text(encoding="utf-8")


@cache
def digest(name: str) -> str:
    """Return a few digits that change with a static file, so that browsers keep it until then."""
    content = {"page.css": style_sheet, "page.js": script}[name]()
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def box(title: str, *lines: str | Markup) -> Markup:
    """Build a short message where there is nothing else to show.

    Args:
        title: in bold.
        *lines: a paragraph each.
    Returns: the message.
    """
    return tag("div", tag("strong", title), join(tag("p", line) for line in lines), class_="sb-empty")


# Two bars, the second lower: a drop.
ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect x='2' y='2' width='5' height='12' rx='1' fill='%230f766e'/%3E"
    "%3Crect x='9' y='7' width='5' height='7' rx='1' fill='%235eead4'/%3E%3C/svg%3E"
)
