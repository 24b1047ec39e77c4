"""The page of an entry on withheld labels: its card, and what rounds have released of it."""

from collections.abc import Mapping, Sequence

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.pages.board_cells import LEADING_SET
from shiftbench.leaderboard.pages.entry_head import heading
from shiftbench.leaderboard.release import Released
from shiftbench.leaderboard.store import Entry
from shiftbench.scoring.reports.cells import card_html, scroll_box
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import points

_WITHHELD = (
    "Test labels are withheld. Four times a year each account's nominated entries are scored on the ranking half of "
    "the labels, and the figures are frozen; there are no other scores, comparisons or errors to see."
)


def released_page(
    entry: Entry, folder: DatasetFolder, releases: Mapping[str, tuple[str, Released]], nominated: Sequence[str]
) -> Markup:
    """Write the page.

    Args:
        entry: the entry.
        folder: the dataset that it is for.
        releases: what the last round of a board released of it, with the round's name, by board.
        nominated: tasks that it is nominated for.
    """
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
