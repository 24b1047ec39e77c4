"""An entry's rank on its board, with the ranks that it shares, and how the rank changed as others came."""

from shiftbench.leaderboard.board.places import BoardPlace
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.pictures.axes import LEFT, RIGHT, TOP, WIDTH, frame, mark, path, picture, round_axis

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

    Args:
        place: the entry's place.
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
