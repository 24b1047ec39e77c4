"""The page that compares 2 to 4 entries: a sentence, differences by target, means, texts on which they disagree.

More entries are compared pairwise, in groups that share shifts. Everything is drawn on the server and works with links
and a form; results are stated in text, not only by colour.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shiftbench.leaderboard.pages.addresses import compare_address, entry_address, picture_address
from shiftbench.leaderboard.pages.shell import Share, render
from shiftbench.scoring.comparing.entries import (
    MAX_ENTRIES,
    MAX_PAIRWISE,
    ComparedEntry,
    compare_command,
    distinct_names,
)
from shiftbench.scoring.comparing.shape import RECIPES, Comparison, Difference, winner
from shiftbench.scoring.comparing.words import failure_words
from shiftbench.scoring.reports.comparison import ComparisonPage, PairPage, csv_table
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.parts import MOST_COLOUR, Matrix, MatrixCell
from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.numbers import MISSING, drop_points, signed
from shiftbench.scoring.reports.plain_tables import as_latex, as_markdown
from shiftbench.scoring.reports.terminal import comparison_lines
from shiftbench.scoring.scores.examples import Disagreements
from shiftbench.scoring.scores.shape import Estimate, Scores
from shiftbench.validation.report import plural

TIE = "\N{ALMOST EQUAL TO}"
_LEAST_REACH = 0.02
"""Minimum range of the colour scale, so that small differences do not look large."""


@dataclass(frozen=True)
class EntryOption:
    """A selectable entry: its id and label."""

    id: str
    label: str


@dataclass(frozen=True)
class Compared:
    """A comparison: the entries, their scores, and the first entry compared with each of the others.

    ``scores`` are in the order of ``sides``; ``downloadable`` has the ids of entries with downloadable predictions;
    ``year`` is the newest entry's; ``disagreements`` are of the first two entries, on the shift with the largest
    difference.
    """

    sides: Sequence[ComparedEntry]
    scores: Sequence[Scores]
    pairs: Sequence[Comparison]
    benchmark: str
    task: str
    downloadable: frozenset[str]
    year: str
    disagreements: Disagreements | None = None

    @property
    def names(self) -> list[str]:
        """Return distinct names of the entries."""
        return distinct_names(self.sides)

    @property
    def page(self) -> ComparisonPage:
        """Return the drawings and sentences of the comparison."""
        names, where = self.names, f"{self.benchmark}/{self.task}"
        pairs = zip(self.pairs, names[1:], strict=True)
        return ComparisonPage([PairPage(pair, (names[0], name), where) for pair, name in pairs])

    def share(self, base: str) -> Share:
        """Return the link, preview and citation of the comparison; ``base`` is the server's URL."""
        names, first, page = self.names, self.pairs[0], self.page
        return Share(
            base,
            compare_address([side.id for side in self.sides], self.task),
            f"{names[0]} compared with {', '.join(names[1:])} on {self.benchmark}/{self.task}",
            self.year,
            note=f"Data {first.version}, metric version {first.metric_version}",
            sentences=[pair.citation for pair in page.pairs],
            has_picture=page.pairs[0].ranked is not None,
        )

    @property
    def own_scores(self) -> list[tuple[str, str, Estimate]]:
        """List each entry's name, URL and mean score under shift, with its interval."""
        tasks = [next(task for task in scores.tasks if task.task == self.task) for scores in self.scores]
        return [
            (name, entry_address(side.id, self.task), task.id_ood.mean_ood if task.id_ood else task.summary.mean_st)
            for name, side, task in zip(self.names, self.sides, tasks, strict=True)
        ]

    @property
    def command(self) -> str:
        """Return the command that recomputes the comparison; empty if some predictions cannot be downloaded."""
        may_check = {side.id for side in self.sides} <= self.downloadable
        return compare_command(self.sides, self.task) if may_check else ""

    @property
    def copies(self) -> list[tuple[str, str]]:
        """List the comparison in copyable formats."""
        names = self.names
        named = [
            pair.model_copy(update={"a": names[0], "b": name}) for pair, name in zip(self.pairs, names[1:], strict=True)
        ]
        lines = list(comparison_lines(named))
        return [
            ("LaTeX", as_latex(lines)),
            ("Markdown", as_markdown(lines)),
            ("CSV", csv_table(self.pairs, names)),
        ]


@dataclass(frozen=True)
class Pairwise:
    """Entries sorted by score, their scores as fractions, and their comparisons by pair of ids, in both directions.

    A pair that shares no shift is not in ``pairs``; an undefined score is None.
    """

    sides: Sequence[ComparedEntry]
    means: Sequence[Estimate]
    pairs: Mapping[tuple[str, str], Comparison]
    task: str

    @property
    def groups(self) -> list["PairGroup"]:
        """List the groups of entries connected by shared shifts, the largest first."""
        names = distinct_names(self.sides)
        left, found = list(range(len(self.sides))), []
        while left:
            group, new = {left[0]}, [left[0]]
            while new:
                here = self.sides[new.pop()].id
                more = [n for n in left if n not in group and (here, self.sides[n].id) in self.pairs]
                group |= set(more)
                new += more
            left = [n for n in left if n not in group]
            found.append(PairGroup(self, sorted(group), names))
        return sorted(found, key=lambda each: -len(each.members))

    @property
    def answer(self) -> str:
        """Format the numbers of incomparable and significantly different pairs, and entries not shown to be worse."""
        names = distinct_names(self.sides)
        compared = {ids: each for ids, pair in self.pairs.items() if (each := ranked(pair)).value is not None}
        met = {first for first, _ in compared}
        beaten = {first for (first, _), each in compared.items() if winner(each) == "b"}
        unbeaten = [name for side, name in zip(self.sides, names, strict=True) if side.id in met - beaten]
        n_decided = sum(winner(each) == "a" for each in compared.values())
        n_pairs = len(names) * (len(names) - 1) // 2
        return sentence("comparisons", "pairwise", n_pairs, len(compared) // 2, n_decided, unbeaten)

    @property
    def notes(self) -> list[str]:
        """List notes on whether the tests hold for recipes or only for the trained models, and on failed runs."""
        n_recipes = sum(pair.about == RECIPES for pair in self.pairs.values()) // 2
        names = dict(zip((side.id for side in self.sides), distinct_names(self.sides), strict=True))
        failed = [
            failure_words(task, (names[first], names[other]))
            for (first, other), pair in self.pairs.items()
            for task in pair.tasks
            if task.about == RECIPES and first < other and winner(ranked(pair)) is not None
        ]
        holds = sentence("comparisons", "holds", n_recipes, len(self.pairs) // 2)
        return [holds, *(f"{each[0].upper()}{each[1:]}." for each in failed if each)]


@dataclass(frozen=True)
class PairGroup:
    """Entries that share shifts (``members`` are indices), or a single entry that shares no shift with any other."""

    pairwise: Pairwise
    members: Sequence[int]
    names: Sequence[str]

    @property
    def title(self) -> str:
        """Return the group's heading."""
        if len(self.members) == 1:
            return f"{self.names[self.members[0]]} shares no shift with any other entry"
        n = len(self.members)
        there = sum((a.id, b.id) in self.pairwise.pairs for a in self._sides for b in self._sides) // 2
        return f"{n} entries, {plural(there, 'pair')} with shared shifts"

    @property
    def _sides(self) -> list[ComparedEntry]:
        return [self.pairwise.sides[n] for n in self.members]

    @property
    def rows(self) -> list[tuple[str, str, Estimate, list[int]]]:
        """List each entry: name, URL, score, and its numbers of wins, ties and losses."""
        found = []
        for n, side in zip(self.members, self._sides, strict=True):
            mine = [ranked(pair) for (first, _), pair in self.pairwise.pairs.items() if first == side.id]
            won = [winner(each) for each in mine if each.value is not None]
            address = entry_address(side.id, self.pairwise.task)
            counts = [won.count("a"), won.count(None), won.count("b")]
            found.append((self.names[n], address, self.pairwise.means[n], counts))
        return found

    @property
    def matrix(self) -> Matrix:
        """Build the matrix of differences, the row's score minus the column's; each cell links to its pair."""
        pairs = self.pairwise.pairs
        decided = [abs(each.value or 0.0) for pair in pairs.values() if winner(each := ranked(pair))]
        most = max([_LEAST_REACH, *decided])
        numbers = [str(n + 1) for n in self.members]
        rows = [
            (f"{n + 1}. {self.names[n]}", [self._cell(n, other, most) for other in self.members]) for n in self.members
        ]
        return Matrix("Difference in score under shift of each pair, in points", "row minus column", numbers, rows)

    def _cell(self, n: int, other: int, most: float) -> MatrixCell:
        a, b = self.pairwise.sides[n], self.pairwise.sides[other]
        names = self.names[n], self.names[other]
        if n == other:
            return MatrixCell("", "own")
        pair = self.pairwise.pairs.get((a.id, b.id))
        difference = ranked(pair) if pair else None
        if difference is None or difference.value is None:
            return MatrixCell(MISSING, title=f"{names[0]} and {names[1]} share no shift")
        better = winner(difference)
        words = signed(sentence("comparisons", "cell", *names, difference, better))
        address = compare_address([a.id, b.id], self.pairwise.task)
        written = drop_points(difference.value)
        if better is None:
            return MatrixCell(f"{TIE}\N{NO-BREAK SPACE}{written}", "faint", title=words, address=address)
        part = round(MOST_COLOUR * abs(difference.value) / most, 1)
        return MatrixCell(written, "gain" if better == "a" else "loss", part, words, address)


def ranked(pair: Comparison) -> Difference:
    """Return the difference in the mean that the board ranks by."""
    return next(mean.difference for mean in pair.means if mean.ranked)


@dataclass(frozen=True)
class Chooser:
    """The form: selected entries, search results, and entries that may be added."""

    chosen: Sequence[EntryOption] = ()
    choices: Sequence[EntryOption] = ()
    task: str | None = None
    search: str = ""
    found: Sequence[EntryOption] = field(default=())

    def address(self, *, more: str = "", less: str = "") -> str:
        """Return the page's URL with one more entry, or without one."""
        ids = [each.id for each in self.chosen if each.id != less]
        return compare_address([*ids, *([more] if more else [])], self.task)


def compare_page(
    chooser: Chooser, compared: Compared | Pairwise | None, *, problems: Sequence[str] = (), base: str = ""
) -> Markup:
    """Build the page of a comparison, or of the ``problems`` that prevent it; ``base`` is the server's URL."""
    share = compared.share(base) if isinstance(compared, Compared) else None
    return render(
        "compare.html",
        chooser=chooser,
        compared=compared if isinstance(compared, Compared) else None,
        pairwise=compared if isinstance(compared, Pairwise) else None,
        problems=problems,
        share=share,
        picture=picture_address("KIND", share.of) if share else "",
        most=(MAX_ENTRIES, MAX_PAIRWISE),
    )


def comparison_picture(compared: Compared) -> tuple[str, str, Markup]:
    """Return a comparison's main picture: its title, a sentence, and the forest plot of the first pair."""
    pair = compared.page.pairs[0]
    if pair.ranked is None:
        return " and ".join(pair.names), pair.sentence, PairPage(pair.pair, pair.names, pair.where).forest.drawn
    return f"{pair.names[0]} and {pair.names[1]}", pair.citation, pair.forest.drawn


def comparing_page(
    n_entries: int, seconds: float, progress: tuple[int, int] | None = None, *, place: int = 0
) -> Markup:
    """Build the page shown while a comparison runs; the page's script, or else the browser, reloads it.

    ``progress`` is (pairs done, total), if known; ``place`` is the position in the queue, 0 if the job is not waiting.
    """
    return render("comparing.html", n_entries=n_entries, seconds=seconds, progress=progress, place=place)
