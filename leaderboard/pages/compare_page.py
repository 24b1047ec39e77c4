"""The page that compares entries: of 2 to 4 means in a table, a sentence, and folded what stands behind them.

More are compared in pairs (``pairwise_table``).

Everything is drawn on the server and works by links and a form; who is better is said in words, not by colour alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shiftbench.leaderboard.pages.addresses import compare_address, entry_address, predictions_address
from shiftbench.leaderboard.pages.shell import render
from shiftbench.scoring.comparing.entries import (
    MAX_ENTRIES,
    MAX_PAIRWISE,
    ComparedEntry,
    compare_command,
    distinct_names,
)
from shiftbench.scoring.comparing.shape import (
    AVERAGE_DROP,
    DEPTH_F1,
    DROPS,
    FIGURES,
    MEAN_OOD,
    MEAN_ST,
    RECIPES,
    TRAINED_MODELS,
    Comparison,
    Difference,
    MeanComparison,
    p_text,
    winner,
)
from shiftbench.scoring.comparing.words import (
    CORRECTED,
    about_lines,
    apart_words,
    failure_words,
    floor_words,
    sentence,
)
from shiftbench.scoring.reports import exports
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.compare_pictures import difference_bar, flip_table, pictures
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import MISSING, NOT_APPLICABLE, drop_points, drop_text, interval, points
from shiftbench.scoring.reports.pictures.colours import cell_colours
from shiftbench.scoring.reports.pictures.words import source_name
from shiftbench.scoring.scores.shape import Scores, Shift, TaskScores
from shiftbench.validation.report import counted, quote_names
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES

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
        "better, red where the column is. A cell leads to the comparison of its pair.",
        *_narrower(pairwise, names),
        _tests_words(pairwise),
        *_failed_runs(pairwise, names),
    ]
    return tag(
        "section",
        tag("p", _answer_words(pairwise, names, differences), class_="sb-said"),
        scroll_box(table, "Comparisons in pairs"),
        join(tag("p", note, class_="sb-soft") for note in notes),
        class_="sb-means",
    )


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
    words = f"{names[0]} minus {names[1]}: {drop_text(difference.estimate)} points, {_p_words(difference)}, {result}"
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
        f"{said} A pair has the interval and p of its own comparison, and p corrected over all pairs here decides, so "
        "what is decided there may be a tie here. Rows are in order of score; that order alone decides nothing."
    )


def _failed_runs(pairwise: Pairwise, names: Sequence[str]) -> list[str]:
    """List how many runs of each entry failed, where results hold for training again."""
    name_of = {side.id: name for side, name in zip(pairwise.sides, names, strict=True)}
    said = {
        (first, other): failure_words(task, (name_of[first], name_of[other]))
        for (first, other), pair in pairwise.pairs.items()
        for task in pair.tasks
        if task.about == RECIPES and first < other and winner(_ranked(pair)) is not None
    }
    return [f"{words[0].upper()}{words[1:]}." for words in said.values() if words]


def _ranked(pair: Comparison) -> Difference:
    return next(mean.difference for mean in pair.means if mean.ranked)


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


_FEW_SHIFTS = 6
"""So many shifts, as of a task with one training domain, are shown without being asked for."""
_MEAN_WORDS = {
    MEAN_ST: "Score under shift (mean ST)",
    MEAN_OOD: "Score under shift (mean OOD)",
    AVERAGE_DROP: "Average drop",
}
_SAME = 1e-5
"""Figures that are computed twice differ by less."""


@dataclass(frozen=True)
class EntryOption:
    """An entry that may be chosen: its id, and the words that stand for it."""

    id: str
    label: str


@dataclass(frozen=True)
class Compared:
    """What is compared: the entries, the first one before, their scores, and a comparison for each other one.

    ``scores`` are in the order of the sides; ``downloadable`` has ids of those whose predictions may be.
    """

    sides: Sequence[ComparedEntry]
    scores: Sequence[Scores]
    pairs: Sequence[Comparison]
    benchmark: str
    task: str
    downloadable: frozenset[str]


def compare_page(
    choices: Sequence[EntryOption],
    chosen: Sequence[str],
    compared: Compared | Pairwise | None,
    *,
    task: str | None = None,
    problems: Sequence[str] = (),
) -> Markup:
    """Build the page of a comparison, or of the ``problems`` why there is none.

    ``choices`` are the entries that the chooser offers, ``chosen`` the ids that the address names.
    """
    parts = [tag("h1", "Compare entries"), _chooser(choices, chosen, task)]
    if problems:
        parts.append(box("These entries cannot be compared", *problems))
    elif isinstance(compared, Pairwise):
        parts.append(pairwise_table(compared))
    elif compared is not None:
        parts.append(_comparison(compared))
    elif not choices:
        parts.append(box("No entries yet", "As soon as a board has two entries, they can be compared here."))
    elif len(choices) == 1:
        parts.append(box("One entry so far", "Comparing takes two. Submit another one for the same data."))
    else:
        words = (
            f"Choose 2 to {MAX_ENTRIES} entries; the first is compared with each other one. Up to {MAX_PAIRWISE} that "
            "are ticked on a board are compared in pairs."
        )
        parts.append(box("Nothing chosen", words))
    return tag("div", join(parts), class_="sb-compare")


def _chooser(choices: Sequence[EntryOption], chosen: Sequence[str], task: str | None) -> Markup:
    if len(choices) < 2:
        return Markup("")
    # One more than there are, so that without script, too, another one can be added.
    n_fields = min(max(MAX_ENTRIES, len(chosen) + 1), MAX_PAIRWISE)
    form = render("compare_form.html", choices=choices, chosen=chosen, task=task, n_fields=n_fields)
    return _folded("Change the entries", form) if len(chosen) > MAX_ENTRIES else form


def _comparison(compared: Compared) -> Markup:
    names = distinct_names(compared.sides)
    sentences = [
        sentence(pair, (names[0], name), compared.benchmark)
        for pair, name in zip(compared.pairs, names[1:], strict=True)
    ]
    tasks = [task for scores in compared.scores for task in scores.tasks if task.task == compared.task]
    shifts = _shifts_by_cell(tasks, compared.pairs)
    pair_tables = (_pair_table(pair, names[0], name) for pair, name in zip(compared.pairs, names[1:], strict=True))
    return join(
        [
            _answers(compared, names),
            _means(compared, names, shifts),
            _citable_sentences(sentences, compared),
            _folded(
                "By shift", join(pair_tables), is_open=max(len(pair.shifts) for pair in compared.pairs) <= _FEW_SHIFTS
            ),
            _folded("Pictures", pictures(names, tasks, shifts, compared.pairs)),
            _folded("Flips", flip_table(names, shifts)),
            _copy_texts(compared, names, sentences),
        ]
    )


def _shifts_by_cell(tasks: Sequence[TaskScores], pairs: Sequence[Comparison]) -> list[dict[tuple[str, str], Shift]]:
    """Return each entry's shifts by source and target, with those that it stands in for in a pair."""
    shifts = [{(shift.source, shift.target): shift for shift in task.shifts} for task in tasks]
    for place, pair in enumerate(pairs, start=1):
        for facts in pair.tasks:
            if facts.outside is not None:
                own = shifts[{"a": 0, "b": place}[facts.outside]]
                by_target = {target: shift for (source, target), shift in own.items() if source in OUTSIDE_SOURCES}
                own |= {(shift.source, shift.target): by_target[shift.target] for shift in pair.shifts}
    return shifts


def _folded(title: str, content: Markup, *, is_open: bool = False) -> Markup:
    return tag("details", tag("summary", title), content, open="" if is_open else None) if content else content


def comparing_page(
    n_entries: int, seconds: float, progress: tuple[int, int] | None = None, *, place: int = 0
) -> Markup:
    """Build what is shown while a comparison is made: browsers ask for the page again by themselves.

    ``progress`` is the number of pairs done and of all, where that is known; ``place`` that in the line, 0 where it
    does not wait there.
    """
    words = f"Number {place} in line. " if place else ""
    words += (
        f"{n_entries} entries, for {seconds:.0f} seconds so far. The first time "
        "takes a while. It continues if you close this page, and its result is stored."
    )
    if progress is None:
        bar = tag("progress", "", aria_label="Comparing")
    else:
        n_done, n_pairs = progress
        words = f"{n_done} of {n_pairs} pairs: {words}"
        bar = tag("progress", "", value=str(n_done), max=str(n_pairs), aria_label="Comparing")
    waiting = box("Comparing", words, bar)
    return tag("div", tag("h1", "Compare entries"), tag("div", waiting, role="status"), class_="sb-compare")


def _answers(compared: Compared, names: Sequence[str]) -> Markup:
    """Write of each pair, by the test of the figure that the board ranks by, which one is better under shift."""
    names = [f"'{name}'" for name in names]
    lines, apart = [], []
    for pair, name in zip(compared.pairs, names[1:], strict=True):
        ranked = next((mean.difference for mean in pair.means if mean.ranked), None)
        if ranked is None or ranked.value is None:
            apart.append(f"{names[0]} and {name} have no shift in common, so they cannot be compared.")
            continue
        better = winner(ranked)
        first, second = (name, names[0]) if better == "b" else (names[0], name)
        about_recipes = pair.about == RECIPES
        claim = f"{first} scores higher {'on average ' if about_recipes else ''}under shift than {second}"
        words = claim if better else f"{names[0]} and {name} are statistically tied under shift"
        gap = f"{drop_text(ranked.estimate)} points, {_p_words(ranked)}"
        holds = "training them again, if runs are roughly normal" if about_recipes else TRAINED_MODELS
        failed = [failure_words(task, (names[0][1:-1], name[1:-1])) for task in pair.tasks if about_recipes]
        said = "".join(f" {each[0].upper()}{each[1:]}." for each in failed if each)
        lines.append(f"{words}: {names[0]} minus {name} is {gap}. This holds for {holds}.{said}")
    if apart and len(compared.pairs) > 1:
        apart.insert(0, apart_words(len(apart), len(compared.pairs)))
    return tag("section", *(tag("p", line, class_="sb-said") for line in (*apart, *lines)))


def _p_words(difference: Difference) -> str:
    return f"p {p_text(difference.p)} of this difference alone, corrected p {p_text(difference.p_corrected)}"


def _means(compared: Compared, names: Sequence[str], shifts: Sequence[dict[tuple[str, str], Shift]]) -> Markup:
    """Build the table that answers first: each mean of both entries, their difference, its interval and p."""
    other = names[1] if len(names) == 2 else "The other"
    heads = ("Figure", "Against", names[0], other, "Difference", "95% interval", "p", "p (corrected)", "Result")
    head = tag("tr", *(tag("th", word, scope="col", class_="sb-num" if 2 <= n <= 7 else None) for n, word in
                       enumerate(heads)))  # fmt: skip
    rows = []
    for place, (pair, name) in enumerate(zip(compared.pairs, names[1:], strict=True)):
        for mean in pair.means:
            rows.append(_mean_row(mean, (names[0], name), (shifts[0], shifts[place + 1])))
    if not rows:
        return Markup("")
    note = (
        "In points; the difference is the first entry minus the other. Interval and p are of this difference alone, "
        "over other test texts and, where both have 5 or more runs of every source, other training runs: without 0 in "
        "it, p is below 0.05. p (corrected) is over all tests of this page, ranked means and average drops among "
        "themselves: below 0.05 the better entry is named, otherwise the test decides nothing."
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="sb-table sb-differences")
    label = f"Means of {', '.join(names)}"
    return tag("section", scroll_box(table, label), tag("p", note, class_="sb-soft"), class_="sb-means")


def _mean_row(
    mean: MeanComparison,
    names: tuple[str, str],
    shifts: tuple[dict[tuple[str, str], Shift], dict[tuple[str, str], Shift]],
) -> Markup:
    difference = mean.difference
    own = tuple(_side_mean(mean, shifts[0].keys() & shifts[1].keys(), each) for each in shifts)
    known = difference.value is not None and None not in own
    fits = known and abs((own[0] or 0.0) - (own[1] or 0.0) - (difference.value or 0.0)) < _SAME
    is_drop = difference.figure in DROPS
    written = drop_points if is_drop else points
    values = [written(value) if fits and value is not None else MISSING for value in own]
    ends = interval(difference.estimate) or MISSING
    better = {"a": names[0], "b": names[1], None: None}[winner(difference)]
    words = floor_words(difference, names) or (f"{better} better" if better else "undecided")
    gap = MISSING if difference.value is None else drop_points(difference.value)
    ranked = [tag("span", "the board ranks by it", class_="sb-note")] if mean.ranked else []
    return tag(
        "tr",
        tag("th", _mean_words(mean), *ranked, scope="row"),
        tag("td", names[1]),
        *(tag("td", value, class_="sb-num") for value in values),
        tag("td", gap, class_="sb-num"),
        tag("td", ends, class_="sb-num"),
        tag("td", p_text(difference.p), class_="sb-num"),
        tag("td", p_text(difference.p_corrected), class_="sb-num"),
        tag("td", words, class_="sb-better" if better else None),
    )


def _mean_words(mean: MeanComparison) -> str:
    """Describe a mean over shifts in a reader's words, and what the models were trained on where that is one thing."""
    figure = mean.difference.figure
    words = _MEAN_WORDS.get(figure) or f"Depth F1 (\N{GREEK SMALL LETTER LAMDA} = {figure.removeprefix(DEPTH_F1)})"
    return words if mean.source is None else f"{words}, trained on {source_name(mean.source)}"


def _side_mean(
    mean: MeanComparison, shared: Iterable[tuple[str, str]], shifts: dict[tuple[str, str], Shift]
) -> float | None:
    """Return one entry's mean over the shifts that a comparison's mean is over; None where a value is not there."""
    cells = [cell for cell in shared if cell[1] in mean.targets and (mean.source is None or cell[0] == mean.source)]
    name = "sd" if mean.difference.figure == AVERAGE_DROP else "st"
    if mean.difference.figure.startswith(DEPTH_F1):
        lambda_ = mean.difference.figure.removeprefix(DEPTH_F1)
        estimates = [shifts[cell].depth_f1.get(lambda_) for cell in cells]
    else:
        estimates = [getattr(shifts[cell], name) for cell in cells]
    values = [each.value for each in estimates if each is not None and each.value is not None]
    return sum(values) / len(values) if values and len(values) == len(cells) else None


def _citable_sentences(sentences: Sequence[str], compared: Compared) -> Markup:
    lines = join(tag("p", f"{line}.") for line in sentences)
    if not {side.id for side in compared.sides} <= compared.downloadable:
        return tag("section", tag("h2", "In one sentence, to cite"), lines, class_="sb-verdict")
    files = [tag("a", f"{side.id}.parquet", href=predictions_address(side.id), download="") for side in compared.sides]
    check = tag(
        "p",
        "To check it, download the entries' predictions (",
        *[part for file in files for part in (file, ", ")][:-1],
        ") and run ",
        tag("code", compare_command(compared.sides, compared.task)),
    )
    return tag("section", tag("h2", "In one sentence, to cite"), lines, check, class_="sb-verdict")


def _pair_table(pair: Comparison, first: str, other: str) -> Markup:
    values = [each.value for shift in pair.shifts for each in shift.differences if each.value is not None]
    most = max((abs(value) for value in values), default=0.0)
    is_outside = any(task.outside for task in pair.tasks)
    heads = [tag("th", "Shift", scope="col")]
    heads += [
        tag("th", f"Δ{name}", tag("span", f"{side} 0 favours the first", class_="sb-note"), scope="col")
        for name, side in ((name, "below" if name in DROPS else "above") for name in FIGURES)
    ]
    rows = [
        tag(
            "tr",
            tag(
                "th",
                f"{shift.source} → {shift.target}",
                tag("span", f"{counted(shift.n, 'text')}, {counted(shift.runs, 'run')}", class_="sb-note"),
                scope="row",
            ),
            *(_difference(each, most, first, other, is_outside=is_outside) for each in shift.differences),
        )
        for shift in pair.shifts
    ]
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="sb-table sb-differences")
    label = f"Differences between {first} and {other}"
    unmatched = [
        tag("p", f"Only {name} has {', '.join(shift.replace('/', ' ') for shift in only)}.", class_="sb-soft")
        for name, only in ((first, pair.only_a), (other, pair.only_b))
        if only
    ]
    note = f"In points, first entry minus the other, with the 95% interval of this difference alone; {CORRECTED}."
    return tag(
        "section",
        tag("h2", first, tag("span", " minus ", class_="sb-soft"), other),
        *(tag("p", f"{line}.", class_="sb-soft") for line in about_lines([pair])),
        tag("p", note, class_="sb-soft"),
        scroll_box(table, label),
        *unmatched,
    )


def _difference(difference: Difference, most: float, first: str, other: str, *, is_outside: bool) -> Markup:
    if difference.value is None:
        return tag("td", NOT_APPLICABLE if is_outside else MISSING, class_="sb-na")
    better = {"a": first, "b": other, None: None}[winner(difference)]
    verdict = tag("span", f"{better} better", class_="sb-better") if better else tag("span", "undecided")
    words = floor_words(difference, (first, other))
    p_values = f"p {p_text(difference.p)} alone, {p_text(difference.p_corrected)} corrected, "
    note = [words] if words else [p_values, verdict]
    return tag(
        "td",
        tag("span", drop_text(difference.estimate), class_="sb-value"),
        difference_bar(difference.value, most, winner(difference)),
        tag("span", *note, class_="sb-note"),
    )


def _copy_texts(compared: Compared, names: Sequence[str], sentences: Sequence[str]) -> Markup:
    texts = {
        "LaTeX": exports.latex(compared.pairs, names),
        "Markdown": exports.markdown(compared.pairs, names),
        "CSV": exports.csv_table(compared.pairs, names),
        "BibTeX": exports.bibtex(compared.pairs, names, sentences),
    }
    boxes = [
        tag(
            "details",
            tag("summary", name),
            tag("button", "Copy", type="button", data_copy=f"copy-{name}"),
            tag("pre", text, id=f"copy-{name}", tabindex="0"),
        )
        for name, text in texts.items()
    ]
    return tag("section", tag("h2", "Copy as"), *boxes, class_="sb-copies")
