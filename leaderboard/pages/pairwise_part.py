"""Several entries in pairs: a heat map as a table, with the difference and what the test says in each cell.

It works without script. A cell has a colour only where the test decides; a sign and a link to the pair's own comparison
say the same without colours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shiftbench.leaderboard.pages.addresses import compare_address, entry_address
from shiftbench.scoring.comparing.entries import ComparedEntry, distinct_names
from shiftbench.scoring.comparing.shape import RECIPES, TRAINED_MODELS, Comparison, Difference, p_text, winner
from shiftbench.scoring.comparing.words import apart_words
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import MISSING, drop_points, points
from shiftbench.scoring.reports.pictures.colours import cell_colours
from shiftbench.validation.report import counted, quote_names

TIE = "\N{ALMOST EQUAL TO}"
_LEAST_REACH = 0.02
"""The colours' scale reaches this far at least, so that small differences do not look large."""


@dataclass(frozen=True)
class Pairwise:
    """Entries in order of their score, that score as a fraction, and their pairs by ids, in both directions.

    A pair that shares no shift is not in ``pairs``; a score that is not defined is None.
    """

    sides: Sequence[ComparedEntry]
    means: Sequence[float | None]
    pairs: Mapping[tuple[str, str], Comparison]
    task: str


def pairwise_table(pairwise: Pairwise) -> Markup:
    """Build the heat map: what the tests say in words, the table, and how to read it."""
    if not pairwise.pairs:
        return box("Nothing to compare", "No two of these entries share a shift: choose others of this board.")
    names = distinct_names(pairwise.sides)
    differences = {ids: _ranked(pair) for ids, pair in pairwise.pairs.items()}
    reach = max([_LEAST_REACH, *(abs(each.value or 0.0) for each in differences.values() if winner(each))])
    heads = [
        tag("th", "Entry", scope="col"),
        tag("th", "Score", scope="col", class_="sb-num"),
        *(tag("th", str(n), scope="col", title=name) for n, name in enumerate(names, start=1)),
        *(tag("th", word, scope="col", class_="sb-num") for word in ("better than", "tied with", "worse than")),
    ]
    rows = [_row(pairwise, number, names, differences, reach) for number in range(len(names))]
    caption = tag("caption", "Difference in score under shift of each pair, in points", class_="sb-hidden")
    table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sb-table sb-pairwise")
    notes = [
        "Each cell: the row's score under shift minus the column's, in points, over the shifts that both entries have. "
        f"{TIE}: the two are statistically tied. Coloured cells: they differ; blue where the row is "
        "better, red where the "
        "column is. A cell leads to the comparison of its pair.",
        *_narrower(pairwise, names),
        _tests_words(pairwise),
    ]
    return tag(
        "section",
        tag("p", _answer_words(pairwise, names, differences), class_="sb-said"),
        scroll_box(table, "Comparisons in pairs"),
        join(tag("p", note, class_="sb-soft") for note in notes),
        class_="sb-means",
    )


def _ranked(pair: Comparison) -> Difference:
    """Return the difference in the figure that the board ranks by; a comparison of one task has one."""
    return next(mean.difference for mean in pair.means if mean.ranked)


def _row(
    pairwise: Pairwise,
    number: int,
    names: Sequence[str],
    differences: Mapping[tuple[str, str], Difference],
    reach: float,
) -> Markup:
    side = pairwise.sides[number]
    link = tag("a", names[number], href=entry_address(side.id, pairwise.task))
    cells = []
    for other, name in zip(pairwise.sides, names, strict=True):
        difference = differences.get((side.id, other.id))
        if other is side:
            cells.append(tag("td", "", class_="sb-own"))
        elif difference is None or difference.value is None:
            cells.append(tag("td", MISSING, class_="sb-na", title=f"{names[number]} and {name} share no shift"))
        else:
            address = compare_address([side.id, other.id], pairwise.task)
            cells.append(_cell(difference, (names[number], name), address, reach))
    won = [winner(each) for (first, _), each in differences.items() if first == side.id and each.value is not None]
    counts = [won.count("a"), won.count(None), won.count("b")]
    return tag(
        "tr",
        tag("th", f"{number + 1}. ", link, scope="row"),
        tag("td", points(pairwise.means[number]), class_="sb-num"),
        *cells,
        *(tag("td", str(count), class_="sb-num") for count in counts),
    )


def _cell(difference: Difference, names: tuple[str, str], address: str, reach: float) -> Markup:
    value, better = difference.value or 0.0, winner(difference)
    result = {"a": f"{names[0]} is better", "b": f"{names[1]} is better", None: "not told apart"}[better]
    written = drop_points(value)
    words = f"{names[0]} minus {names[1]}: {written} points, corrected p {p_text(difference.p_corrected)}, {result}"
    text = written if better else f"{TIE}\N{NO-BREAK SPACE}{written}"
    link = tag("a", text, href=address, aria_label=words)
    if better is None:
        return tag("td", link, title=words)
    # The scale of drops has blue below 0: here the row's gain.
    fill, ink = cell_colours(-value, -reach, reach, "SD")
    return tag("td", link, title=words, style=f"background:{fill};color:{ink}")


def _answer_words(pairwise: Pairwise, names: Sequence[str], differences: Mapping[tuple[str, str], Difference]) -> str:
    """Write how many pairs cannot be compared, which entries no other one is shown to be better than, how many differ.

    Entries that share no shift with any other are not among those that none beats.
    """
    compared = {ids: each for ids, each in differences.items() if each.value is not None}
    n_compared, n_pairs = len(compared) // 2, len(names) * (len(names) - 1) // 2
    apart = apart_words(n_pairs - n_compared, n_pairs)
    met = {first for first, _ in compared}
    beaten = {first for (first, _), each in compared.items() if winner(each) == "b"}
    unbeaten = [name for side, name in zip(pairwise.sides, names, strict=True) if side.id in met - beaten]
    n_decided = sum(winner(each) == "a" for each in compared.values())
    decided = f"{n_decided} of {counted(n_compared, 'pair')} can be told apart"
    if not unbeaten:  # where pairs are over different shifts
        return f"{apart} Each entry that was compared is shown to be worse than another one: {decided}.".lstrip()
    return f"{apart} No entry here is shown to be better than {quote_names(unbeaten)}: {decided}.".lstrip()


def _tests_words(pairwise: Pairwise) -> str:
    """Write what the tests are about and how they are corrected."""
    n_recipes = sum(pair.about == RECIPES for pair in pairwise.pairs.values()) // 2
    n_pairs = len(pairwise.pairs) // 2
    about = {0: f"All results hold for {TRAINED_MODELS}", n_pairs: "All results hold for training the models again"}
    some = f"{n_recipes} of {n_pairs} results hold for training the models again, the others for {TRAINED_MODELS}"
    said = f"{about.get(n_recipes, some)}: the first takes 5 runs of every source on either side."
    return (
        f"{said} A pair has the test of its own comparison, but p is corrected over all pairs here, so what is decided "
        "there may be a tie here. Rows are in order of score; that order alone decides nothing."
    )


def _narrower(pairwise: Pairwise, names: Sequence[str]) -> list[str]:
    """List the entries that lack some of the shifts on which others are compared."""
    most = {
        side.id: max((len(pair.shifts) for (first, _), pair in pairwise.pairs.items() if first == side.id), default=0)
        for side in pairwise.sides
    }
    every = max(most.values(), default=0)
    fewer = [
        f"'{name}' on {most[side.id]}"
        for side, name in zip(pairwise.sides, names, strict=True)
        if most[side.id] < every
    ]
    return [f"Compared on fewer than {counted(every, 'shift')}: {', '.join(fewer)}."] if fewer else []
