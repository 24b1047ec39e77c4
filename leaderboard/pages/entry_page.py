"""An entry's page: model and submitter, robustness on one task, errors, calibration, card."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.places import BoardPlace
from shiftbench.leaderboard.pages.addresses import entry_address, picture_address
from shiftbench.leaderboard.pages.shell import Share, render
from shiftbench.leaderboard.pages.task_names import plain_task_name
from shiftbench.leaderboard.release import Released
from shiftbench.leaderboard.store import Entry
from shiftbench.leaderboard.store.model_facts import FROM_CARD, model_facts
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.reports.forecast import errors_table, shifts_table
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import Choice
from shiftbench.scoring.reports.frame.site import notices
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.reports.report_page import card_facts
from shiftbench.scoring.reports.task_page import Asked, TaskPage, find_task, shown_tasks
from shiftbench.scoring.scores.examples import WrongExample
from shiftbench.scoring.scores.shape import Scores

TABS = ("Overview", "Errors", "Confidence", "Statistics", "Card")
ERRORS_ON_TAB = 25
_YEAR = re.compile(r"\byear\s*=\s*[{\"]?\s*(\d{4})\b")


@dataclass(frozen=True)
class EntryForecast:
    """An entry's forecasts on a task, with the board's name; or the ``reason`` why there are none."""

    board: str
    task: TaskForecast | None
    reason: str = ""

    blind_spot = CONCEPT_SHIFT

    @property
    def tables(self) -> list[PlainTable]:
        """List the tables: every shift by the main method, and the errors of all methods."""
        if self.task is None:
            return []
        return [shifts_table(self.task), *([errors_table(self.task)] if self.task.errors else [])]


@dataclass(frozen=True)
class EntryQuery:
    """The part of an entry's page that a URL requests: task, tab, shift and matrix; defaults if empty."""

    id: str
    task: str = ""
    tab: str = ""
    shift: str = ""
    show: str = ""

    @property
    def chosen_tab(self) -> str:
        """Return the selected tab."""
        return next((tab for tab in TABS if tab.lower() == self.tab), TABS[0])

    def address(self, **changes: str) -> str:
        """Return the page's URL with other query parameters."""
        other = replace(self, **changes)
        pairs = [
            ("tab", other.tab if other.tab != TABS[0].lower() else ""),
            ("shift", other.shift),
            ("show", other.show),
        ]
        return entry_address(other.id, other.task or None, [pair for pair in pairs if pair[1]])


@dataclass(frozen=True)
class EntryPage:
    """Data of the template: the entry (None if its card cannot be read), its task, and its rank on the board."""

    query: EntryQuery
    entry: Entry | None
    it: TaskPage | None
    reasons: Sequence[str] = ()
    folder: DatasetFolder | None = None
    place: BoardPlace | None = None
    forecast: EntryForecast | None = None
    copies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    base: str = ""
    host_notes: Sequence[str] = ()

    @property
    def tabs(self) -> list[Choice]:
        """List the tabs with content."""
        chosen, has_scores = self.query.chosen_tab, self.it is not None and bool(self.it.task.shifts)
        has_confidence = self.it is not None and self.it.task.confidence is not None
        kept = {"Overview": has_scores, "Errors": has_scores, "Confidence": has_confidence}
        keys = {tab: "" if tab == TABS[0] else tab.lower() for tab in TABS}
        return [
            Choice(tab, self.query.address(tab=keys[tab], shift="", show=""), tab == chosen)
            for tab in TABS
            if kept.get(tab, True)
        ]

    @property
    def tasks(self) -> list[Choice]:
        """List the entry's tasks, if there are several."""
        names = shown_tasks(self.it.scores) if self.it else []
        chosen = self.it.task.task if self.it else ""
        return [
            Choice(self.task_words(name), self.query.address(task=name, shift="", show=""), name == chosen)
            for name in names
            if len(names) > 1
        ]

    def task_words(self, name: str) -> str:
        """Return a task's display name."""
        info = self.folder.manifest.tasks.get(name) if self.folder else None
        return plain_task_name(name, info.title if info else "")

    @property
    def model_facts(self) -> dict[str, str | int | bool]:
        """Return the facts about the model from the card or the Hub, by key of the card."""
        assert self.entry is not None
        return {key: fact.value for key, fact in model_facts(self.entry.card, self.entry.hub).items()}

    @property
    def may_download(self) -> bool:
        """Return whether the predictions may be downloaded."""
        is_public = self.folder is not None and self.folder.has_public_labels
        return self.entry is not None and is_public and self.entry.card.allows_download

    @property
    def facts(self) -> list[tuple[str, Any, str]]:
        """List the facts about the model: the card's, and the Hub's (with their source) if the card has none."""
        assert self.entry is not None
        found, hub = model_facts(self.entry.card, self.entry.hub), self.entry.hub
        of_hub = [
            (key, fact.value, f"{fact.source} {hub.repository} on the Hugging Face Hub")
            for key, fact in found.items()
            if fact.source != FROM_CARD and hub is not None
        ]
        return [*card_facts(self.entry.card), *of_hub]

    @property
    def years(self) -> tuple[int, int] | None:
        """Return the first and last publication year of the test texts, if known."""
        return public_years(self.folder, self.it.task.task) if self.folder and self.it else None

    @property
    def shared(self) -> Share:
        """Return the link, preview and citation of the entry."""
        assert self.entry is not None
        card, task = self.entry.card, self.it.task.task if self.it else None
        return Share(
            self.base,
            entry_address(self.entry.id, task),
            card.name,
            self.entry.submitted_at[:4],
            author=self.entry.submitter,
            note=f"Entry {self.entry.id}, data {card.version}, subset {card.subset}",
            has_picture=self.it is not None,
        )

    @property
    def share(self) -> str:
        """Return the URL of this tab's pictures, with KIND in place of svg or png."""
        return picture_address("KIND", self.query.address())


WrongTexts = Callable[[str, str, str, int], Sequence[WrongExample]]
"""Function from task, source, target and maximum number to misclassified texts."""


def entry_page(
    query: EntryQuery,
    entry: Entry,
    scores: Scores,
    folder: DatasetFolder | None = None,
    examples: WrongTexts | None = None,
) -> EntryPage:
    """Return the content of an entry's page for one task (default: the first), except its rank and forecasts."""
    task = find_task(scores, query.task)
    if task is None:
        return EntryPage(query, entry, None, folder=folder)
    query = replace(query, task=task.task)
    n = ERRORS_ON_TAB if query.chosen_tab == "Errors" else 5
    asked = Asked(query.show, query.shift, lambda show, shift: query.address(show=show, shift=shift))
    texts = (lambda task, source, target: examples(task, source, target, n)) if examples else None
    return EntryPage(query, entry, TaskPage(scores, task, folder, texts, asked=asked), folder=folder)


def entry_html(page: EntryPage) -> Markup:
    """Render the page of an entry."""
    about = notices([page.folder] if page.folder else [])
    return render("entry.html", page=page, notices=about)


def public_years(folder: DatasetFolder, task: str) -> tuple[int, int] | None:
    """Return the first and last publication year of a task's test texts, from the citations.

    Returns: None if no source's citation has a year.
    """
    manifest = folder.manifest
    tested = [facts for facts in folder.task(task).domains.values() if "test" in facts.splits]
    citations = [manifest.sources[source].citation for facts in tested for source in facts.sources]
    years = [year for citation in citations for year in citation_years(citation)]
    return (min(years), max(years)) if years else None


def citation_years(citation: str) -> list[int]:
    """Return the years in a BibTeX citation.

    >>> citation_years("@inproceedings{key, year = {2018}}")
    [2018]
    """
    return [int(year) for year in _YEAR.findall(citation)]


def gone_page(identity: str, what: str, since: str) -> Markup:
    """Build the page of a withdrawn, hidden or erased entry: only that status and, if known, its date."""
    return render("entry_gone.html", id=identity, what=what, day=since[:10])


def released_page(
    page: EntryPage, releases: Mapping[str, tuple[str, Released]], nominated: Sequence[str], *, has_rounds: bool
) -> Markup:
    """Build the page of an entry on withheld labels, with its results in the last rounds, by board.

    ``has_rounds``: whether any round has taken place here.
    """
    about = notices([page.folder] if page.folder else [])
    given = {"page": page, "notices": about, "releases": releases}
    return render("entry_released.html", **given, nominated=nominated, has_rounds=has_rounds)
