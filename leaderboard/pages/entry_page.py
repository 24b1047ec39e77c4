"""An entry's page: model and submitter, how robust it is on one task, how sure that is, how exposed the test was."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.places import BoardPlace
from shiftbench.leaderboard.pages.addresses import (
    BOARD,
    compare_address,
    entry_address,
    forecast_address,
    predictions_address,
    scores_address,
)
from shiftbench.leaderboard.pages.board_cells import LEADING_SET
from shiftbench.leaderboard.pages.links import named_links
from shiftbench.leaderboard.pages.task_names import plain_task_name
from shiftbench.leaderboard.release import Released
from shiftbench.leaderboard.store import Entry
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.reports.above_line_part import AboveLine
from shiftbench.scoring.reports.cells import card_html, choices, scroll_box
from shiftbench.scoring.reports.exports import bibtex_text
from shiftbench.scoring.reports.forecast import errors_table, shifts_table
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import points
from shiftbench.scoring.reports.pictures.axes import LEFT, RIGHT, TOP, WIDTH, frame, mark, path, picture, round_axis
from shiftbench.scoring.reports.plain_tables import html_table
from shiftbench.scoring.reports.score_parts import Examples, Shown, find_task, score_parts, shown_tasks
from shiftbench.scoring.scores.controls import Unseen
from shiftbench.scoring.scores.shape import Scores, TaskScores

_YEAR = re.compile(r"\byear\s*=\s*[{\"]?\s*(\d{4})\b")


@dataclass(frozen=True)
class EntryForecast:
    """Forecasts of an entry on a task, with the name of its board; or the ``reason`` why there are none."""

    board: str
    task: TaskForecast | None
    reason: str = ""


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
    """Build the page of an entry on one task, its first without a ``task`` that it has.

    ``entry`` is None where its card cannot be read, ``scores`` where it has none here, for ``reasons``. The callables
    give a task's parts: wrong ``examples``, means over ``unseen`` domains, the score ``above_line``, ``place`` and
    ``forecast``.
    """
    shown = find_task(scores, task) if scores else None
    why = tag("ul", *(tag("li", reason) for reason in reasons))
    not_scored = tag("div", tag("strong", "Not scored on this server."), why, class_="sb-notice", role="note")
    parts = [
        notices([folder] if folder else []),
        heading(identity, entry, shown, folder),
        not_scored if scores is None else Markup(""),
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
        tag("a", words(name), href=entry_address(identity, name), aria_current="page" if name == task.task else None)
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


def heading(identity: str, entry: Entry | None, task: TaskScores | None, folder: DatasetFolder | None = None) -> Markup:
    """Build the head of an entry's page: the model's name, submitter and date, its address, links, what can be done.

    ``entry`` is None where its card cannot be read, ``task`` where the page shows none.
    """
    chosen = task.task if task else None
    permalink = tag("a", entry_address(identity), href=entry_address(identity, chosen), class_="sb-mono")
    if entry is None:
        return join([tag("h1", identity, class_="sb-name"), tag("p", permalink, class_="sb-by")])
    card = entry.card
    subset = "" if card.subset == "all" else f" \N{MIDDLE DOT} subset {card.subset}"
    by = (
        f"{card.paradigm}{subset} \N{MIDDLE DOT} submitted by {entry.submitter} on "
        f"{entry.submitted_at[:10]} \N{MIDDLE DOT} "
    )
    actions = [
        tag("a", "Compare with others", href=compare_address([identity], chosen), class_="sb-button"),
        tag("a", "Scores as JSON", href=scores_address(identity), class_="sb-button"),
    ]
    if folder is not None and folder.has_public_labels and entry.card.allows_download:
        address = predictions_address(identity)
        actions.append(tag("a", "Predictions as Parquet", href=address, download="", class_="sb-button"))
    return join(
        [
            tag("h1", card.name, class_="sb-name"),
            tag("p", by, permalink, class_="sb-by"),
            named_links(card.model_dump()),
            tag("p", *(actions if task else []), class_="sb-actions"),
            _citation(entry),
        ]
    )


def _citation(entry: Entry) -> Markup:
    """Build the folded BibTeX entry, and the address to copy."""
    address = entry_address(entry.id)
    text = citation(entry)
    return tag(
        "details",
        tag("summary", "Cite or link"),
        tag("p", tag("code", address, id="copy-address", data_absolute=""), " ", _copy_button("address", "Copy link")),
        tag("pre", text, id="copy-citation", tabindex="0"),
        _copy_button("citation", "Copy BibTeX"),
        class_="sb-card",
    )


def _copy_button(name: str, words: str) -> Markup:
    return tag("button", words, type="button", data_copy=f"copy-{name}")


def citation(entry: Entry) -> str:
    """Format an entry's BibTeX.

    Returns: a ``@misc`` that names model, submitter, year, entry and data.
    """
    card = entry.card
    fields = {
        "title": "{" + bibtex_text(f"{card.name} on the shiftbench leaderboard") + "}",
        "author": "{" + bibtex_text(entry.submitter) + "}",
        "year": entry.submitted_at[:4],
        "note": bibtex_text(f"Entry {entry.id}, data {card.version}, subset {card.subset}"),
    }
    written = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{shiftbench-{entry.id},\n{written}\n}}\n"


_HEIGHT = 130


def place_words(place: BoardPlace) -> str:
    """Format a rank.

    >>> place_words(BoardPlace(2, 1, 4, 12, ()))
    'Rank 2 of 12; with 95% confidence between 1 and 4'
    """
    words = f"Rank {place.rank} of {place.n_ranked}"
    if place.low is None or place.high is None:
        return words
    if place.low == place.high:
        return f"{words}, and with 95% confidence no other"
    return f"{words}; with 95% confidence between {place.low} and {place.high}"


def place_part(place: BoardPlace) -> Markup:
    """Build the line about an entry's rank, and behind it the ranks over time where they changed days.

    Returns: a paragraph, and a folded picture with its table.
    """
    line = tag("p", place_words(place), ".", class_="sb-place")
    if len(place.history) < 2:
        return line
    summary = tag("summary", "Rank over time")
    about = tag("p", "Entries that have been withdrawn do not count.", class_="sb-soft")
    return join([line, tag("details", summary, about, _picture(place), _table(place), class_="sb-history")])


def _picture(place: BoardPlace) -> Markup:
    x = round_axis((1, len(place.history)), LEFT, WIDTH - RIGHT, whole=True)
    # The best rank is at the top.
    y = round_axis((1, *(rank for _, rank, _ in place.history)), TOP, TOP + _HEIGHT, n_ticks=4, whole=True)
    where = [(x.at(number), y.at(rank)) for number, (_, rank, _) in enumerate(place.history, 1)]
    marks = [
        mark(*at, "circle", "sb-c0", size=3, words=f"{day}: {rank} of {total}")
        for at, (day, rank, total) in zip(where, place.history, strict=True)
    ]
    first, last = place.history[0], place.history[-1]
    words = f"Rank {first[1]} of {first[2]} on {first[0]}, {last[1]} of {last[2]} on {last[0]}."
    below = frame(x, y, f"days with new entries, {first[0]} to {last[0]}", "rank")
    return picture("Rank over time", words, TOP + _HEIGHT + 44, below, path(where, "sb-curve sb-c0"), *marks)


def _table(place: BoardPlace) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Day", "Rank", "Ranked entries")))
    rows = [tag("tr", *(tag("td", str(cell)) for cell in row)) for row in place.history]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-plain")
    return scroll_box(table, "Rank over time")


_TABLE = "sb-table sb-shifts"

_ABOUT = (
    "Its accuracy on each domain, forecast without a label of that domain (each row names its method), the interval "
    "that the other domains set, and the true score."
)


def forecast_part(found: EntryForecast) -> Markup:
    """Build the folded section: every shift by the main method, how all methods did, and what no method sees."""
    link = tag("a", "All methods on all entries of this board", href=forecast_address(found.board))
    if found.task is None:
        content = [tag("p", f"No forecast: {found.reason}.")]
    else:
        content = [
            tag("p", _ABOUT, class_="sb-soft"),
            scroll_box(html_table(shifts_table(found.task), _TABLE), "Forecasts on every shift"),
            scroll_box(html_table(errors_table(found.task), _TABLE), "Methods") if found.task.errors else Markup(""),
            tag("ul", *(tag("li", line) for line in found.task.notes), class_="sb-missing"),
        ]
    said = tag("p", tag("strong", CONCEPT_SHIFT))
    summary = tag("summary", "Forecasts beside the truth")
    return tag("details", summary, *content, said, tag("p", link), class_="sb-legend")


def withdrawn_page(identity: str, withdrawn_at: str) -> Markup:
    """Build the page of a withdrawn entry: when it was withdrawn (where that can be read), and nothing else of it."""
    day = f" on {withdrawn_at[:10]}" if withdrawn_at else ""
    words = f"The person who submitted this entry withdrew it{day}. It is on no board, and its address stays."
    return tag(
        "div",
        tag("h1", "Withdrawn entry", class_="sb-name"),
        tag("p", identity, class_="sb-by sb-mono"),
        tag("p", words),
        tag("p", tag("a", "See the board", href=BOARD, class_="sb-button"), class_="sb-actions"),
        class_="sb-entry",
    )


_WITHHELD = (
    "Test labels are withheld. Four times a year each account's nominated entries are scored on the ranking half of "
    "the labels, and the figures are frozen; there are no other scores, comparisons or errors to see."
)


def released_page(
    entry: Entry, folder: DatasetFolder, releases: Mapping[str, tuple[str, Released]], nominated: Sequence[str]
) -> Markup:
    """Build the page of an entry on withheld labels, with what the last round released of it, by board."""
    words = f"Nominated for the next round of {', '.join(nominated)}." if nominated else "Not nominated."
    parts = [
        notices([folder]),
        heading(entry.id, entry, None),
        tag("p", _WITHHELD, " ", words, class_="sb-exposure"),
        card_html(entry.card),
        *(_released(board, name, each) for board, (name, each) in releases.items()),
    ]
    if not releases:
        parts.append(box("No figures yet", "The last round has released none of this entry."))
    return tag("div", *parts, class_="sb-entry")


def _released(board: str, name: str, released: Released) -> Markup:
    """Write one board's figures as a table."""
    place = "not ranked" if released.place is None else f"place {released.place}"
    place += f", {LEADING_SET}" if released.with_leader else ""
    rows = [("Mean over targets", released.mean), *released.targets.items()]
    body = [tag("tr", tag("th", what, scope="row"), tag("td", points(value), class_="sb-num")) for what, value in rows]
    head = tag("tr", tag("th", "Target", scope="col"), tag("th", "Mean ST", scope="col", class_="sb-num"))
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="sb-table sb-plain")
    since = f"Figures of round {released.since}, metric version {released.metric_version}."
    title = tag("h2", board, class_="sb-task")
    return tag("section", title, tag("p", f"Round {name}: {place}. {since}"), scroll_box(table, "Released figures"))
