"""A comparison as a page and a report show it: what the macros of ``comparison.html`` draw."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from shiftbench.scoring.comparing.shape import (
    AVERAGE_DROP,
    DEPTH_F1,
    MEAN_OOD,
    MEAN_ST,
    RECIPES,
    TRAINED_MODELS,
    Comparison,
    Difference,
    MeanComparison,
    ShiftComparison,
    SourceRuns,
    p_text,
    winner,
)
from shiftbench.scoring.comparing.words import about_lines, apart_words, failure_words, floor_words
from shiftbench.scoring.reports.frame.html import Markup, join
from shiftbench.scoring.reports.numbers import drop_text, points
from shiftbench.scoring.reports.pictures.axes import (
    RIGHT,
    SYMBOLS,
    WIDTH,
    Axis,
    ends,
    legend,
    line,
    mark,
    mark_sign,
    picture,
    round_axis,
)
from shiftbench.scoring.reports.pictures.axes import text as letters
from shiftbench.scoring.reports.pictures.colours import colour_class
from shiftbench.scoring.reports.pictures.rows import row_grid, row_name
from shiftbench.scoring.reports.pictures.words import ARROW, source_name
from shiftbench.scoring.reports.task_page import Picture

MOST_WORDS = 35
"""Words of a sentence to cite."""
_MEAN_WORDS = {
    MEAN_ST: "Score under shift (mean ST)",
    MEAN_OOD: "Score under shift (mean OOD)",
    AVERAGE_DROP: "Average drop",
}
_ROW, _TOP, _NAMES, _LETTERS = 22, 26, 160, 25


@dataclass(frozen=True)
class MeanRow:
    """One mean of a pair: what it is, the difference, and who is better, in words."""

    words: str
    is_ranked: bool
    difference: Difference
    kind: str
    result: str
    is_decided: bool


@dataclass(frozen=True)
class PairPage:
    """Two entries, the first and another one.

    Attributes:
        pair: their comparison.
        names: what they are called.
        where: the benchmark and task, such as dr/nli.
    """

    pair: Comparison
    names: tuple[str, str]
    where: str

    @cached_property
    def ranked(self) -> MeanComparison | None:
        """Return the mean that the board ranks by; None where they share no shift."""
        return next((mean for mean in self.pair.means if mean.ranked and mean.difference.value is not None), None)

    @property
    def sentence(self) -> str:
        """Return who is better, by how much, and for what that holds; or why they cannot be compared."""
        a, b = (f"'{name}'" for name in self.names)
        if self.ranked is None:
            return f"{a} and {b} have no shift in common, so they cannot be compared."
        difference, is_recipe = self.ranked.difference, self.pair.about == RECIPES
        better = winner(difference)
        first, second = (b, a) if better == "b" else (a, b)
        claim = f"{first} scores higher {'on average ' if is_recipe else ''}under shift than {second}"
        words = claim if better else f"{a} and {b} are statistically tied under shift"
        holds = "training them again, if runs are roughly normal" if is_recipe else TRAINED_MODELS
        return (
            f"{words}: {a} minus {b} is {drop_text(difference.estimate)} points (p {p_text(difference.p)} alone, "
            f"{p_text(difference.p_corrected)} corrected). This holds for {holds}."
        )

    @property
    def citation(self) -> str:
        """Return a sentence of at most ``MOST_WORDS`` words that the comparison can be cited by."""
        a, b = self.names
        if self.ranked is None:
            return f"{a} and {b} share no shift on {self.where} (shiftbench)."
        better = winner(self.ranked.difference)
        gap = drop_text(self.ranked.difference.estimate)
        verb = {"a": "scores higher than", "b": "scores lower than", None: "is statistically tied with"}[better]
        words = (
            f"Under domain shift on {self.where}, {a} {verb} {b}: {gap} points in {self.ranked.difference.figure} "
            f"(corrected p {p_text(self.ranked.difference.p_corrected)}; shiftbench)."
        )
        split = words.split()
        return words if len(split) <= MOST_WORDS else f"{' '.join(split[: MOST_WORDS - 1])} …"

    @property
    def notes(self) -> list[str]:
        """List for what the tests hold, which runs failed, and which shifts only one of them has."""
        named = self.pair.model_copy(update={"a": self.names[0], "b": self.names[1]})
        lines = [f"{line}." for line in about_lines([named])]
        lines += [
            f"Only {name} has {', '.join(shift.replace('/', ' ') for shift in only)}."
            for name, only in zip(self.names, (self.pair.only_a, self.pair.only_b), strict=True)
            if only
        ]
        failed = [failure_words(task, self.names) for task in self.pair.tasks if task.about == RECIPES]
        return [*lines, *(f"{each[0].upper()}{each[1:]}." for each in failed if each)]

    @property
    def means(self) -> list[MeanRow]:
        """List the means over shifts."""
        return [self._mean(mean) for mean in self.pair.means]

    def _mean(self, mean: MeanComparison) -> MeanRow:
        figure = mean.difference.figure
        words = _MEAN_WORDS.get(figure) or f"Depth F1 (λ = {figure.removeprefix(DEPTH_F1)})"
        words += f", trained on {source_name(mean.source)}" if mean.source is not None else ""
        return MeanRow(words, mean.ranked, mean.difference, "drop", *self.result(mean.difference))

    def result(self, difference: Difference) -> tuple[str, bool]:
        """Return who is better in a figure, in words, and whether that is decided."""
        better = {"a": self.names[0], "b": self.names[1], None: None}[winner(difference)]
        why = floor_words(difference, self.names)
        return why or (f"{better} better" if better else "undecided"), better is not None

    @property
    def by_target(self) -> list[tuple[str, list[ShiftComparison]]]:
        """List the targets, each with its shifts."""
        found: dict[str, list[ShiftComparison]] = {}
        for shift in self.pair.shifts:
            found.setdefault(shift.target, []).append(shift)
        return list(found.items())

    @property
    def forest(self) -> Picture:
        """Draw the differences in score by target, with the mean below them."""
        rows: list[tuple[str, Difference | None]] = []
        for target, shifts in self.by_target:
            alone = len(shifts) == 1
            rows += [(f"{source_name(shifts[0].source)} {ARROW} {target}", shifts[0].differences[0])] if alone else []
            rows += [] if alone else [(target, None)]
            rows += [] if alone else [(f"from {source_name(each.source)}", each.differences[0]) for each in shifts]
        rows += [("mean", self.ranked.difference)] if self.ranked else []
        title = f"{self.names[0]} minus {self.names[1]}"
        caption = (
            f"Difference in score under shift by target, in points, with its 95% interval: right of 0 {self.names[0]} "
            f"is better, left of it {self.names[1]}. Filled: decided, corrected over all tests here."
        )
        return Picture("forest", title, caption, draw_forest(rows, title))


@dataclass(frozen=True)
class ComparisonPage:
    """The first entry against each other one, with what stands behind it."""

    pairs: Sequence[PairPage]

    @property
    def sentences(self) -> list[str]:
        """List the answers: first how many pairs cannot be compared, where there are several."""
        apart = [each.sentence for each in self.pairs if each.ranked is None]
        first = [apart_words(len(apart), len(self.pairs))] if apart and len(self.pairs) > 1 else []
        return [*first, *apart, *(each.sentence for each in self.pairs if each.ranked is not None)]

    @property
    def runs(self) -> Picture | None:
        """Draw the runs of all entries, where one of them has several."""
        if not self.pairs or not all(each.pair.tasks for each in self.pairs):
            return None
        names = [self.pairs[0].names[0], *(each.names[1] for each in self.pairs)]
        tasks = [each.pair.tasks[0] for each in self.pairs]
        drawn = run_dots(names, [tasks[0].run_scores_a, *(task.run_scores_b for task in tasks)])
        caption = "Score under shift of each run, by what it was trained on: the mean hides a run that fails."
        return Picture("runs", "Runs", caption, drawn) if drawn is not None else None


def draw_forest(rows: Sequence[tuple[str, Difference | None]], title: str) -> Markup:
    """Draw differences with their intervals around a line at 0; a row without one is a heading."""
    known = [difference.estimate for _, difference in rows if difference is not None]
    x = round_axis([0.0, *ends(known)], _NAMES, WIDTH - RIGHT, n_ticks=5)
    bottom = _TOP + _ROW * len(rows)
    parts = [row_grid(x, _TOP, bottom), line(x.at(0), _TOP - 4, x.at(0), bottom, "sb-zero")]
    for number, (name, difference) in enumerate(rows):
        parts += _forest_row(name, difference, x, _TOP + _ROW * number + _ROW / 2)
    said = [f"{name}: {drop_text(each.estimate)}" for name, each in rows if each is not None]
    return picture(title, "; ".join(said) or "Nothing to compare.", bottom + 6, *parts)


def _forest_row(name: str, difference: Difference | None, x: Axis, middle: float) -> Iterator[Markup]:
    if difference is None:
        yield letters(_NAMES - 8, middle + 4, name, "end", "sb-quadrant sb-ink")
        return
    yield row_name(name, x, middle, _LETTERS)
    if difference.value is None:
        return
    decided = winner(difference)
    colour = {"a": "sb-c0", "b": "sb-c1", None: "sb-faint"}[decided]
    if difference.low is not None and difference.high is not None:
        yield line(
            x.at(100 * difference.low), middle, x.at(100 * difference.high), middle, f"sb-whisker sb-strong {colour}"
        )
    words = f"{name}: {drop_text(difference.estimate)} points, corrected p {p_text(difference.p_corrected)}"
    symbol = "diamond" if name == "mean" else "circle"
    yield mark(x.at(100 * difference.value), middle, symbol, colour, filled=decided is not None, size=4.5, words=words)


def run_dots(names: Sequence[str], runs: Sequence[Sequence[SourceRuns]]) -> Markup | None:
    """Draw the mean score of each run of all entries, a line for each source; None where no entry has two runs.

    Args:
        names: of the entries.
        runs: of each entry.
    """
    if max((len(source.scores) for each in runs for source in each), default=0) < 2:
        return None
    sources = list(dict.fromkeys(source.source for each in runs for source in each))
    x = round_axis(
        [100 * score for each in runs for source in each for score in source.scores], _NAMES, WIDTH - RIGHT, n_ticks=5
    )
    bottom = _TOP + _ROW * len(sources)
    parts = [row_grid(x, _TOP, bottom)]
    for number, name in enumerate(sources):
        middle = _TOP + _ROW * number + _ROW / 2
        parts.append(row_name(source_name(name), x, middle, _LETTERS))
        for entry, each in enumerate(runs):
            for score in next((source.scores for source in each if source.source == name), ()):
                words = f"{names[entry]}, {source_name(name)}: run at {points(score)}"
                parts.append(
                    mark(x.at(100 * score), middle, SYMBOLS[entry], colour_class(entry), size=4.5, words=words)
                )
    keys = [(mark_sign(SYMBOLS[number], colour_class(number)), name) for number, name in enumerate(names)]
    said = "Each mark is a run: its mean score over the shifts that rank."
    return join([legend(keys), picture("Runs by source", said, bottom + 6, *parts)])
