"""An entry's page: model and submitter, how robust it is on one task, how sure that is, how exposed the test was."""

import re
from collections.abc import Callable, Sequence

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.places import BoardPlace
from shiftbench.leaderboard.pages.addresses import entry_address
from shiftbench.leaderboard.pages.entry_head import heading
from shiftbench.leaderboard.pages.forecast_part import EntryForecast, forecast_part
from shiftbench.leaderboard.pages.place_part import place_part
from shiftbench.leaderboard.pages.task_names import plain_task_name
from shiftbench.leaderboard.store import Entry
from shiftbench.scoring.reports.above_line_part import AboveLine
from shiftbench.scoring.reports.cells import card_html, choices
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.score_parts import Examples, Shown, find_task, score_parts, shown_tasks
from shiftbench.scoring.scores.shape import Scores, TaskScores
from shiftbench.scoring.scores.unseen import Unseen

_YEAR = re.compile(r"\byear\s*=\s*[{\"]?\s*(\d{4})\b")


def entry_page(
    identity: str,
    entry: Entry | None,
    scores: Scores | None,
    reasons: Sequence[str] = (),
    *,
    task: str | None = None,
    folder: DatasetFolder | None = None,
    examples: Examples | None = None,
    unseen: Callable[[TaskScores], Unseen | None] | None = None,
    above_line: Callable[[TaskScores], AboveLine | None] | None = None,
    place: Callable[[TaskScores], BoardPlace | None] | None = None,
    forecast: Callable[[TaskScores], EntryForecast | None] | None = None,
) -> Markup:
    """Build the page of an entry on one task.

    Args:
        identity: the entry's id.
        entry: the entry; None where its card cannot be read.
        scores: its scores; None where it has none here.
        reasons: why it has none.
        task: the task to show; without one, or with one that it does not have, its first.
        folder: the dataset that it was scored on.
        examples: gives what it predicted wrong (``shiftbench.scoring.scores.examples.wrong_examples``).
        unseen: gives the means over domains not in pretraining
            (``shiftbench.scoring.scores.unseen.unseen_drops``).
        above_line: compares it with the board's others
            (``shiftbench.leaderboard.board.effective.effective_robustness_of``).
        place: finds its rank on the task's board (``shiftbench.leaderboard.board.places.place_of``).
        forecast: gives the forecasts of the task.
    Returns: what stands below the page's head.
    """
    shown = find_task(scores, task) if scores else None
    parts = [
        notices([folder] if folder else []),
        heading(identity, entry, shown, folder),
        _reasons(reasons) if scores is None else Markup(""),
        _exposure(entry, shown, folder) if entry and shown and folder else Markup(""),
        card_html(entry.card) if entry else Markup(""),
        _chooser(identity, scores, shown, folder) if scores and shown else Markup(""),
    ]
    if scores and shown:
        means = unseen(shown) if unseen else None
        compared = above_line(shown) if above_line else None
        ranked = place(shown) if place else None
        parts += [place_part(ranked)] if ranked else []
        parts.append(score_parts(Shown(scores, shown, folder, examples, means, compared)))
        forecasts = forecast(shown) if forecast else None
        parts += [forecast_part(forecasts)] if forecasts else []
    return tag("div", *parts, class_="sb-entry")


def public_years(folder: DatasetFolder, task: str) -> tuple[int, int] | None:
    """Return the first and last year in which the texts of a task's test sets were published, by their citations.

    Returns: None where no source names a year.
    """
    manifest = folder.manifest
    tested = [facts for facts in folder.task(task).domains.values() if "test" in facts.splits]
    citations = [manifest.sources[source].citation for facts in tested for source in facts.sources]
    years = [year for citation in citations for year in citation_years(citation)]
    return (min(years), max(years)) if years else None


def citation_years(citation: str) -> list[int]:
    """Return the years that a BibTeX citation names.

    >>> citation_years("@inproceedings{key, year = {2018}}")
    [2018]
    """
    return [int(year) for year in _YEAR.findall(citation)]


def _chooser(identity: str, scores: Scores, task: TaskScores, folder: DatasetFolder | None) -> Markup:
    def words(name: str) -> str:
        info = folder.manifest.tasks.get(name) if folder else None
        return plain_task_name(name, info.title if info else "")

    names = shown_tasks(scores)
    key = tag("span", f" {scores.benchmark}/{task.task}", class_="sb-soft sb-mono")
    title = tag("h2", words(task.task), key, class_="sb-task")
    if len(names) < 2:
        return title
    links = [
        tag(
            "a",
            words(name),
            href=entry_address(identity, name),
            aria_current="page" if name == task.task else None,
        )
        for name in names
    ]
    return join([choices("Tasks", [("", links)]), title])


def _exposure(entry: Entry, task: TaskScores, folder: DatasetFolder) -> Markup:
    """Write how much of the test may have been seen: labels and texts that are public."""
    said = ["Test labels are public, so any model may have been trained on them."]
    years = public_years(folder, task.task)
    if years:
        first, last = years
        sent = int(entry.submitted_at[:4])
        ages = _range(max(sent - last, 0), max(sent - first, 0))
        said.append(
            f"The test texts have been public since {_range(first, last)}, {ages} years before this was submitted."
        )
    return tag("p", " ".join(said), class_="sb-exposure")


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _reasons(reasons: Sequence[str]) -> Markup:
    lines = tag("ul", *(tag("li", reason) for reason in reasons))
    return tag("div", tag("strong", "Not scored on this server."), lines, class_="sb-notice", role="note")
