"""Pictures of a comparison: a bar for each difference, runs, drops by depth and by shift, and the table of flips."""

from collections.abc import Sequence

from shiftbench.scoring.comparing.shape import Comparison, SourceRuns
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.pictures.axes import (
    RIGHT,
    SYMBOLS,
    WIDTH,
    legend,
    line,
    mark,
    mark_sign,
    picture,
    round_axis,
)
from shiftbench.scoring.reports.pictures.colours import colour_class
from shiftbench.scoring.reports.pictures.curves import depth_curves, drops_by_depth, has_depth, has_depth_drops
from shiftbench.scoring.reports.pictures.rows import row_grid, row_name
from shiftbench.scoring.reports.pictures.words import source_name
from shiftbench.scoring.scores.shape import Shift, TaskScores

_BAR = (96.0, 10.0)
"""Width and height of a difference's bar."""
_ROW, _TOP, _NAMES, _LETTERS = 22, 26, 160, 25


def difference_bar(value: float, most: float, better: str | None) -> Markup:
    """Draw a difference as a bar from the middle; filled where it is significant, else an outline."""
    width, height = _BAR
    middle = width / 2
    length = middle * abs(value) / most if most else 0.0
    bar = tag(
        "rect",
        x=f"{middle if value >= 0 else middle - length:.1f}",
        y="2",
        width=f"{length:.1f}",
        height=f"{height - 4:g}",
        class_="sb-sure" if better else "sb-unsure",
    )
    size = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
    return tag(
        "svg", bar, line(middle, 0, middle, height, "sb-axis"), class_="sb-difference", aria_hidden="true", **size
    )


def drop_dots(
    figure: str, names: Sequence[str], shifts: Sequence[str], values: Sequence[Sequence[float | None]]
) -> Markup | None:
    """Draw a drop of all entries, a line for each shift; None where there is none to draw.

    Args:
        figure: which drop.
        names: of the entries.
        shifts: of the rows.
        values: fractions, one sequence of the rows' an entry.
    """
    words = "Every value stands in the table of differences and on the entries' pages."
    marks = [
        [[] if value is None else [(value, f"{figure} {drop_points(value)}")] for value in each] for each in values
    ]
    return _dots(f"{figure} by shift", words, names, shifts, marks, zero=True)


def run_dots(names: Sequence[str], runs: Sequence[Sequence[SourceRuns]]) -> Markup | None:
    """Draw the mean score of each run of all entries, a line for each source; None where no entry has two runs.

    Args:
        names: of the entries.
        runs: of each entry.
    """
    if max((len(source.scores) for each in runs for source in each), default=0) < 2:
        return None
    sources = list(dict.fromkeys(source.source for each in runs for source in each))
    by_source = [{source.source: source.scores for source in each} for each in runs]
    marks = [
        [[(score, f"run at {points(score)}") for score in each.get(source, ())] for source in sources]
        for each in by_source
    ]
    words = "Each mark is a run: its mean score over the shifts that rank."
    return _dots("Runs by source", words, names, [source_name(each) for each in sources], marks, zero=False)


def _dots(
    title: str,
    description: str,
    names: Sequence[str],
    rows: Sequence[str],
    marks: Sequence[Sequence[Sequence[tuple[float, str]]]],
    *,
    zero: bool,
) -> Markup | None:
    """Draw marks on rows; None where there is none.

    Args:
        title: of the picture.
        description: of the picture.
        names: of the entries, each of which has its own sign.
        rows: their names.
        marks: by entry and row, fractions with the words that a pointer shows.
        zero: whether the axis has a line at 0.
    """
    known = [100 * value for each in marks for row in each for value, _ in row]
    if not known:
        return None
    x = round_axis([0.0, *known] if zero else known, _NAMES, WIDTH - RIGHT, n_ticks=5)
    bottom = _TOP + _ROW * len(rows)
    parts = [row_grid(x, _TOP, bottom)]
    if zero:
        parts.append(line(x.at(0), _TOP - 4, x.at(0), bottom, "sb-zero"))
    for number, row in enumerate(rows):
        middle = _TOP + _ROW * number + _ROW / 2
        parts.append(row_name(row, x, middle, _LETTERS))
        for entry, (name, each) in enumerate(zip(names, marks, strict=True)):
            for value, words in each[number]:
                place, said = x.at(100 * value), f"{name}, {row}: {words}"
                parts.append(mark(place, middle, SYMBOLS[entry], colour_class(entry), size=4.5, words=said))
    keys = [(mark_sign(SYMBOLS[number], colour_class(number)), name) for number, name in enumerate(names)]
    return join([legend(keys), picture(title, description, bottom + 6, *parts)])


def pictures(
    names: Sequence[str],
    tasks: Sequence[TaskScores],
    shifts: Sequence[dict[tuple[str, str], Shift]],
    pairs: Sequence[Comparison],
) -> Markup:
    """Draw runs, Depth F1, drops by depth and drops by shift, as far as the entries have them.

    Args:
        names: of the entries.
        tasks: their scores on the task.
        shifts: their shifts by source and target.
        pairs: comparisons of the first with each other one.
    Returns: figures side by side; nothing where there is none.
    """
    missing = [task for pair in pairs for task in pair.tasks if task.runs_needed]
    about = "".join(dict.fromkeys(f" Of {task.about}: {task.runs_missing}." for task in missing))
    shared = sorted(set.intersection(*(set(each) for each in shifts)))
    labels = [f"{source} \N{RIGHTWARDS ARROW} {target}" for source, target in shared]
    dots = drop_dots("TD", names, labels, [[each[cell].td.value for cell in shared] for each in shifts])
    named = list(zip(names, tasks, strict=True))
    runs = (
        [pairs[0].tasks[0].run_scores_a, *(pair.tasks[0].run_scores_b for pair in pairs)]
        if all(pair.tasks for pair in pairs)
        else []
    )
    parts = []
    if (drawn := run_dots(names, runs)) is not None:
        what = (
            "Score under shift of each run, by what it was trained on: the mean hides a run that fails, and a recipe "
            "that fails rarely may show none here."
        )
        parts.append(_figure("Runs", what, drawn))
    if all(has_depth(task) for task in tasks):
        what = (
            "Micro F1, with each text weighted by its distance from the source's texts. To the right, more of the "
            "source-like texts are left out."
        )
        parts.append(_figure("Depth F1", what + about, depth_curves(named)))
    if all(has_depth_drops(task) for task in tasks):
        what = "Means over each entry's shifts of SD and TD, weighted in the same way."
        parts.append(_figure("Drops by depth", what + about, drops_by_depth(named)))
    if dots is not None:
        what = (
            "Target drop (TD) of each shift, in points: above 0, the score is lower than that of a "
            "model trained on the target."
        )
        parts.append(_figure("Drops by shift", what + about, dots))
    return tag("div", *parts, class_="sb-pictures") if parts else Markup("")


def _figure(title: str, caption: str, drawn: Markup) -> Markup:
    return tag("figure", tag("h2", title), tag("p", caption, class_="sb-soft"), drawn, class_="sb-figure")


def flip_table(names: Sequence[str], shifts: Sequence[dict[tuple[str, str], Shift]]) -> Markup:
    """Build a section of how many texts a shift turns from right to wrong and back; nothing without flips."""
    shared = sorted(set.intersection(*(set(each) for each in shifts))) if shifts else []
    known = [cell for cell in shared if any(each[cell].flips is not None for each in shifts)]
    if not known:
        return Markup("")
    groups = [tag("th", name, scope="colgroup", colspan="3") for name in names]
    heads = [tag("th", word, scope="col", class_="sb-num") for _ in names for word in ("loss", "gain", "excess")]
    rows = [
        tag(
            "tr",
            tag("th", f"{cell[0]} → {cell[1]}", scope="row"),
            *(part for each in shifts for part in _flip_cells(each[cell])),
        )
        for cell in known
    ]
    head = tag("thead", tag("tr", tag("th", "Shift", scope="col", rowspan="2"), *groups), tag("tr", *heads))
    note = (
        "Of 100 texts: those that a model trained on the target gets right and this one gets wrong (loss), those the "
        "other way round (gain), and how many more change either way than without any shift, on the task's placebo "
        "(excess; n/a where it was not measured). Loss minus gain is the target drop of these texts."
    )
    table = tag("table", head, tag("tbody", *rows), class_="sb-table")
    return tag("section", tag("h2", "Flips"), tag("p", note, class_="sb-soft"), scroll_box(table, "Flips"))


def _flip_cells(shift: Shift) -> list[Markup]:
    flips = shift.flips
    values = [None, None, None] if flips is None else [flips.loss, flips.gain, flips.excess]
    return [tag("td", points(value), class_="sb-num" if value is not None else "sb-num sb-na") for value in values]
