"""The frame of reports and pages: templates, the style sheet, the icon, and a report as one file."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.ext import Extension

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports import numbers, score_words
from shiftbench.scoring.reports.confidence import FIGURES, mean_rows
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.sentences import TEMPLATES, sentence, sentences
from shiftbench.scoring.reports.pictures.words import shift_key, shift_name, source_name
from shiftbench.validation.plain_text import escape_invisible

_HERE = Path(__file__).parent
_FILTERS = {
    "points": numbers.points,
    "drop": numbers.drop_points,
    "interval": numbers.interval,
    "half_width": numbers.half_width,
    "share": numbers.share,
    "count": numbers.count,
    "short_count": numbers.short_count,
    "signed": numbers.signed,
    "metric": numbers.metric_name,
}
_GLOBALS = {
    "sentence": sentence,
    "sentences": sentences,
    "score_words": score_words,
    "FIGURES": FIGURES,
    "mean_rows": mean_rows,
    "source_name": source_name,
    "shift_name": shift_name,
    "shift_key": shift_key,
}
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Content security policy of reports, which may be forwarded: no scripts, no requests."""


def report_file(title: str, parts: Iterable[Markup], command: str, *, class_: str = "sb-entry sb-compare") -> Markup:
    """Build a report as one self-contained HTML file; ``command`` is the command that writes it."""
    body, sheet = tag("div", *parts, class_=class_), Markup(style_sheet())
    facts = {"title": title, "policy": _REPORT_POLICY, "icon": ICON, "style_sheet": sheet, "command": command}
    return render("report.html", **facts, body=body)


def load_templates(*folders: Path, **known: object) -> Environment:
    """Load the templates of folders, in addition to those of the frame.

    Values are escaped unless they are ``Markup``, and undefined variables raise an error.

    Args:
        folders: searched first, in this order.
        known: further global variables of the templates.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=[_JoinedLines],
        finalize=_escape_value,
    )
    environment.globals.update(_GLOBALS, **known)
    environment.filters.update(_FILTERS)
    return environment


def _escape_value(value: object) -> object:
    """Return a template's value with invisible characters escaped; ``Markup`` is unchanged."""
    return escape_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


class _JoinedLines(Extension):
    """Drops the line breaks between a template's elements, so that its source layout does not affect the page."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return re.sub(r"(?<=[>}])\s*\n\s*(?=[<{])", "", source)


def render(template: str, **values: object) -> Markup:
    """Render a template of the frame; values are escaped unless ``Markup``, and undefined variables raise an error."""
    return Markup(_templates().get_template(template).render(values))


def notices(folders: Iterable[DatasetFolder]) -> Markup:
    """Build warnings on data that may differ from a benchmark: synthetic, partial, or with unknown files.

    Args:
        folders: the datasets that the page shows.
    """
    return render("notices.html", manifests=[folder.manifest for folder in folders])


def part(name: str, *values: object) -> Markup:
    """Render a single macro of ``parts.html``."""
    return Markup(getattr(_templates().get_template("parts.html").module, name)(*values))


@cache
def _templates() -> Environment:
    return load_templates()


@cache
def style_sheet() -> str:
    """Return the style sheet: the files in ``css``, tokens and theme first."""
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
