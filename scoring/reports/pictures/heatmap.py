"""Matrices as tables, names down the side and across the top: sources by targets in coloured cells, and others."""

from collections.abc import Callable, Sequence

from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import MISSING, drop_points, points, score_text
from shiftbench.scoring.reports.pictures.colours import Measure, cell_colours
from shiftbench.scoring.reports.pictures.words import ARROW, shift_words, source_name, sources
from shiftbench.scoring.scores.floors import is_drop_at_floor
from shiftbench.scoring.scores.shape import TaskScores
from shiftbench.validation.report import counted
from shiftbench.validation.vocabulary import source_parts


def matrix(
    rows: Sequence[str], columns: Sequence[str], name: str, cell: Callable[[str, str], Markup], corner: str = ""
) -> Markup:
    """Build a matrix in a box that scrolls by itself.

    Args:
        rows: names of the rows.
        columns: names of the columns.
        name: what it holds, for screen readers.
        cell: gives the cell of a row and a column.
        corner: what stands where the names meet.
    """
    heads = [tag("th", tag("span", column), scope="col", title=column) for column in columns]
    body = [
        tag("tr", tag("th", tag("span", row), scope="row", title=row), *(cell(row, column) for column in columns))
        for row in rows
    ]
    table = tag(
        "table",
        tag("caption", name, class_="sb-hidden"),
        tag("thead", tag("tr", tag("td", tag("span", corner), class_="sb-corner"), *heads)),
        tag("tbody", *body),
        class_="sb-matrix",
    )
    return tag("div", table, class_="sb-matrix-box", tabindex="0", role="region", aria_label=name)


DROPS: tuple[Measure, ...] = ("SD", "TD")
"""What is drawn besides the scores."""
_LEAST_REACH = 0.02
"""A floor of the drops' scale keeps rounding dust from looking like a loss."""
_NAMES = {
    "ST": "Scores, points: rows are trained on, columns tested on; in-domain scores on the diagonal",
    "SD": "Source drops SD = SS \N{MINUS SIGN} ST, points: rows are trained on, columns tested on",
    "TD": "Target drops TD = TT \N{MINUS SIGN} ST, points: rows are trained on, columns tested on",
}


def heatmap(task: TaskScores, measure: Measure) -> Markup:
    """Draw sources by targets: ST with in-domain scores on the diagonal, or the drops SD or TD.

    Rows are sources, columns targets. SD and TD share one scale, centred on 0: red lost score, blue gained; a drop from
    or to the floor has no colour. What a cell stands for, with intervals, is shown when a pointer rests on it.
    """
    cells, words, low = _cells(task, measure), _words(task), _at_floor(task, measure)
    scale = _range(task, measure)

    def cell(source: str, target: str) -> Markup:
        place = (source, target)
        value = cells.get(place)
        if place in low and value is not None:
            return tag("td", drop_points(value), class_="sb-na", title=words[place])
        return _cell(value, words.get(place), measure, scale, _home(source, target))

    names = {source_name(source): source for source in sources(task)}
    return matrix(
        list(names), task.domains, _NAMES[measure], lambda row, column: cell(names[row], column), f"from {ARROW} to"
    )


def has_drop_at_floor(task: TaskScores, measure: Measure) -> bool:
    """Check whether a drop of the heat map has no colour because a score behind it is at the floor."""
    cells = _cells(task, measure)
    return any(cells[place] is not None for place in _at_floor(task, measure))


def _cell(value: float | None, words: str | None, measure: Measure, scale: tuple[float, float], home: str) -> Markup:
    if value is None:
        none_expected = home == "part" or (home == "own" and measure != "ST")
        return tag("td", "" if none_expected else MISSING, class_="sb-own" if none_expected else "sb-na", title=words)
    fill, ink = cell_colours(value, *scale, measure)
    written = points(value) if measure == "ST" else drop_points(value)
    return tag(
        "td", tag("b", written) if home == "own" else written, title=words, style=f"background:{fill};color:{ink}"
    )


def _home(source: str, target: str) -> str:
    """Return whether a target is the source itself, a part of a joined one, or elsewhere."""
    return "own" if source == target else "part" if target in source_parts(source) else ""


def _cells(task: TaskScores, measure: Measure) -> dict[tuple[str, str], float | None]:
    name = measure.lower()
    cells = {(shift.source, shift.target): getattr(shift, name).value for shift in task.shifts}
    if measure == "ST":
        cells |= {(own.domain, own.domain): own.score.value for own in task.in_domain}
    return cells


def _at_floor(task: TaskScores, measure: Measure) -> set[tuple[str, str]]:
    """Find the cells of drops from or to the floor."""
    shifts = task.shifts if measure in DROPS else ()
    return {(shift.source, shift.target) for shift in shifts if is_drop_at_floor(shift, measure.lower())}


def _coloured_drops(task: TaskScores, measure: Measure) -> list[float]:
    low = _at_floor(task, measure)
    return [value for place, value in _cells(task, measure).items() if value is not None and place not in low]


def _words(task: TaskScores) -> dict[tuple[str, str], str]:
    found = {(shift.source, shift.target): shift_words(shift) for shift in task.shifts}
    for own in task.in_domain:
        size = f"{counted(own.n, 'text')}, {counted(own.runs, 'run')}"
        found[own.domain, own.domain] = f"{own.domain}, in-domain\n{score_text(own.score)}\n{size}"
    return found


def _range(task: TaskScores, measure: Measure) -> tuple[float, float]:
    if measure == "ST":
        scores = [value for value in _cells(task, "ST").values() if value is not None]
        return (min(scores), max(scores)) if scores else (0.0, 1.0)
    drops = [abs(value) for name in DROPS for value in _coloured_drops(task, name)]
    reach = max([_LEAST_REACH, *drops])
    return -reach, reach
