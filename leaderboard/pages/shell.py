"""The shell of every page: head, navigation, style sheet and script, and the page About. It loads no external files."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment

from shiftbench.builders.folder.citations import DEPTH_F1, PAPERS, cite
from shiftbench.leaderboard.board.copies import NEAR
from shiftbench.leaderboard.pages import addresses
from shiftbench.leaderboard.pages.addresses import (
    ABOUT,
    BOARD,
    COMPARE,
    DATA,
    SCRIPT,
    STYLE_SHEET,
    SUBMIT,
)
from shiftbench.leaderboard.pages.board_table import is_outside
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.site import ICON, load_templates, style_sheet
from shiftbench.scoring.reports.numbers import count
from shiftbench.scoring.reports.plain_tables import latex_text
from shiftbench.scoring.scores.shape import METRIC_VERSION

TEMPLATES = Path(__file__).parent / "templates"
PAGES = (
    ("board", "Leaderboard", BOARD),
    ("compare", "Compare", COMPARE),
    ("submit", "Submit", SUBMIT),
    ("data", "Data", DATA),
    ("about", "About", ABOUT),
)
"""Key, name and URL of the pages in the navigation."""
DESCRIPTION = (
    "A leaderboard of how much accuracy NLP models lose when the text changes domain: scores computed from uploaded "
    "predictions, with intervals, ties and placebos."
)
"""The description that search engines show."""
_KEYS = ("paper_url", "code_url", "model_url", "base_model", "url")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)


@dataclass(frozen=True)
class Share:
    """Link, preview and citation of a page: ``of`` is its URL relative to ``base``, the server's own URL.

    ``sentences`` can be quoted in a text.
    """

    base: str
    of: str
    title: str
    year: str
    author: str = "shiftbench"
    note: str = ""
    sentences: Sequence[str] = ()
    has_picture: bool = True

    @property
    def link(self) -> str:
        """Return the full URL of the page."""
        return f"{self.base}{self.of}"

    @property
    def embed(self) -> str:
        """Return the full URL of the page's picture for a frame."""
        return self.base + addresses.address_of(addresses.EMBED, of=self.of)

    @property
    def bibtex(self) -> str:
        """Return the page's BibTeX entry."""
        title = f"{self.title} (shiftbench leaderboard)"
        key = "-".join(["shiftbench", *(value for _, value in parse_qsl(urlsplit(self.of).query))])
        return bibtex(key, author=self.author, title=title, year=self.year, url=self.link, note=self.note)


def render(template: str, **values: object) -> Markup:
    """Render a template of the folder ``templates``; the module ``addresses`` is always available in it.

    Values are escaped unless they are ``Markup``. Raises jinja2.UndefinedError if a value is missing.
    """
    return Markup(_templates().get_template(template).render(values))


def macro(template: str, name: str, *values: object) -> Markup:
    """Render a single macro of a template."""
    return Markup(getattr(_templates().get_template(template).module, name)(*values))


@cache
def _templates() -> Environment:
    return load_templates(TEMPLATES, addresses=addresses, card_links=card_links, is_outside=is_outside, near=NEAR)


def page(title: str, body: Markup, *, active: str = "", picture: str = "", seconds: int = 0) -> Markup:
    """Build a whole page around a body; ``active`` is its key in the navigation (see ``PAGES``).

    ``picture`` is the absolute URL of the preview picture for links to the page. ``seconds`` is the time after which a
    browser without script reloads an unfinished page; 0: never.
    """
    return render(
        "page.html",
        title=title,
        body=body,
        active=active,
        picture=picture,
        seconds=seconds,
        pages=PAGES,
        icon=ICON,
        description=DESCRIPTION,
        metric_version=METRIC_VERSION,
        style_sheet=style_address(),
        script=f"{SCRIPT}?{digest('page.js')}",
    )


def header(active: str = "") -> Markup:
    """Build the head of a page: the name, a tagline, and the navigation."""
    return render("header.html", active=active, pages=PAGES)


def footer() -> Markup:
    """Build the footer of a page."""
    return render("footer.html", metric_version=METRIC_VERSION)


def style_address() -> str:
    """Return the style sheet's URL with its current digest."""
    return f"{STYLE_SHEET}?{digest('page.css')}"


@cache
def script() -> str:
    """Read the script: it makes pages faster, but none requires it."""
    return (Path(__file__).parent / "page.js").read_text(encoding="utf-8")


@cache
def digest(name: str) -> str:
    """Return a short digest of a static file, so that browsers cache it until it changes."""
    content = {"page.css": style_sheet, "page.js": script}[name]()
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def bibtex(key: str, *, author: str, title: str, year: str, url: str, note: str) -> str:
    """Write a BibTeX entry of a page; all fields except the URL are escaped for BibTeX and LaTeX."""
    fields = {
        "author": f"{{{bibtex_text(author)}}}",
        "title": f"{{{bibtex_text(title)}}}",
        "year": year,
        "url": url,
        **({"note": bibtex_text(note)} if note else {}),
    }
    written = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{{re.sub('[^0-9A-Za-z]+', '-', key).strip('-')},\n{written}\n}}\n"


def bibtex_text(text: str) -> str:
    """Escape a text so that BibTeX and LaTeX print it verbatim."""
    # BibTeX counts braces, even escaped ones.
    return latex_text(text.replace("{", "(").replace("}", ")").replace("\\", "/"))


def card_links(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return a card's https URLs by key, in display order.

    A base model given as 'user/name' links to the Hub.

    >>> card_links({"base_model": "lab/model", "url": "javascript:alert(1)"})
    {'base_model': 'https://huggingface.co/lab/model'}
    """
    base = facts.get("base_model")
    known = {**facts, "base_model": f"https://huggingface.co/{base}" if base and _HUB_ID.fullmatch(base) else None}
    return {key: known[key] for key in _KEYS if (known.get(key) or "").startswith("https://")}


def about_page(n_entries: int, updated: str | None) -> Markup:
    """Build the page that explains measures, ranks, downloads and endpoints."""
    papers = [cite(key) for key in (*PAPERS.values(), DEPTH_F1)]
    return render("about.html", papers=papers, n_entries=count(n_entries), updated=updated)
