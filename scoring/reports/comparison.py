"""A comparison prepared for pages and reports: the values that the macros of ``comparison.html`` render."""

from collections.abc import Sequence
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
    p_text,
    winner,
)
from shiftbench.scoring.comparing.words import about_lines, apart_words, failure_words, floor_words
from shiftbench.scoring.reports.numbers import drop_text
from shiftbench.scoring.reports.pictures.rows import draw_forest
from shiftbench.scoring.reports.pictures.words import ARROW, source_name
from shiftbench.scoring.reports.task_page import Picture

MOST_WORDS = 35
"""Maximum number of words of a sentence to cite."""
_MEAN_WORDS = {
    MEAN_ST: "Score under shift (mean ST)",
    MEAN_OOD: "Score under shift (mean OOD)",
    AVERAGE_DROP: "Average drop",
}


@dataclass(frozen=True)
class MeanRow:
    """One mean of a pair: its label, the difference, and which entry is better, as text."""

    words: str
    is_ranked: bool
    difference: Difference
    kind: str
    result: str
    is_decided: bool


@dataclass(frozen=True)
class PairPage:
    """The first entry and another one.

    Attributes:
        pair: their comparison.
        names: their display names.
        where: the benchmark and task, such as dr/nli.
    """

    pair: Comparison
    names: tuple[str, str]
    where: str

    @cached_property
    def ranked(self) -> MeanComparison | None:
        """Return the mean that the board ranks by; None if they share no shift."""
        return next((mean for mean in self.pair.means if mean.ranked and mean.difference.value is not None), None)

    @property
    def sentence(self) -> str:
        """Summarise which entry is better, by how much, and for which claims; or why they cannot be compared."""
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
        """Return a sentence of at most ``MOST_WORDS`` words for citing the comparison."""
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
        """List what the tests are about, which runs failed, and the shifts that only one entry has."""
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
        """Return which entry is better in a figure, as text, and whether the difference is significant."""
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
        """Draw a forest plot of the differences in score by target, with the mean at the bottom."""
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
    """The first entry compared with each other one."""

    pairs: Sequence[PairPage]

    @property
    def sentences(self) -> list[str]:
        """List the summaries; with several pairs, those that cannot be compared come first, after their number."""
        apart = [each.sentence for each in self.pairs if each.ranked is None]
        first = [apart_words(len(apart), len(self.pairs))] if apart and len(self.pairs) > 1 else []
        return [*first, *apart, *(each.sentence for each in self.pairs if each.ranked is not None)]
