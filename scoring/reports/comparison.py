"""A comparison prepared for pages and reports: the values that the macros of ``comparison.html`` render."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.comparing.shape import (
    RECIPES,
    TRAINED_MODELS,
    Comparison,
    Difference,
    MeanComparison,
    ShiftComparison,
    winner,
)
from shiftbench.scoring.comparing.words import about_lines, failure_words, floor_words, not_comparable_words
from shiftbench.scoring.reports.frame.sentences import sentence
from shiftbench.scoring.reports.numbers import signed
from shiftbench.scoring.reports.pictures.rows import draw_forest
from shiftbench.scoring.reports.pictures.words import ARROW, source_name
from shiftbench.scoring.reports.task_page import Picture
from shiftbench.validation.csv_export import Cell, guarded_csv

MOST_WORDS = 35
"""Maximum number of words of a sentence to cite."""


@dataclass(frozen=True)
class PairPage:
    """The first entry and another one; ``where`` is the benchmark and task, such as dr/nli."""

    pair: Comparison
    names: tuple[str, str]
    where: str

    @cached_property
    def ranked(self) -> MeanComparison | None:
        """Return the mean that the board ranks by; None if they share no shift."""
        return next((mean for mean in self.pair.means if mean.ranked and mean.difference.value is not None), None)

    @property
    def _ranked(self) -> tuple[Difference | None, str | None]:
        """Return the difference in the ranked mean, and which entry is better."""
        return (self.ranked.difference, winner(self.ranked.difference)) if self.ranked else (None, None)

    @property
    def sentence(self) -> str:
        """Summarise which entry is better, by how much, and for which claims; or why they cannot be compared."""
        return signed(sentence("comparisons", "pair", *self.names, *self._ranked, self.pair.about == RECIPES))

    @property
    def citation(self) -> str:
        """Return a sentence of at most ``MOST_WORDS`` words for citing the comparison."""
        words = signed(sentence("comparisons", "citation", self.where, *self.names, *self._ranked))
        split = words.split()
        return words if len(split) <= MOST_WORDS else f"{' '.join(split[: MOST_WORDS - 1])} …"

    @property
    def notes(self) -> list[str]:
        """List what the tests are about, which runs failed, and the shifts that only one entry has."""
        named = self.pair.model_copy(update={"a": self.names[0], "b": self.names[1]})
        alone = zip(self.names, (self.pair.only_a, self.pair.only_b), strict=True)
        only = [sentence("comparisons", "only", name, shifts) for name, shifts in alone if shifts]
        failed = [failure_words(task, self.names) for task in self.pair.tasks if task.about == RECIPES]
        return [
            *(f"{line}." for line in about_lines([named])),
            *only,
            *(f"{each[0].upper()}{each[1:]}." for each in failed if each),
        ]

    def result(self, difference: Difference) -> tuple[str, bool]:
        """Return which entry is better in a figure, as text, and whether the difference is significant."""
        better = {"a": self.names[0], "b": self.names[1], None: None}[winner(difference)]
        why = floor_words(difference, self.names)
        return why or (f"{better} better" if better else "undecided"), better is not None

    @property
    def forest(self) -> Picture:
        """Draw a forest plot of the differences in score by target, with the mean at the bottom."""
        by_target: dict[str, list[ShiftComparison]] = {}
        for shift in self.pair.shifts:
            by_target.setdefault(shift.target, []).append(shift)
        rows: list[tuple[str, Difference | None]] = []
        for target, shifts in by_target.items():
            if len(shifts) == 1:
                rows.append((f"{source_name(shifts[0].source)} {ARROW} {target}", shifts[0].differences[0]))
            else:
                rows.append((target, None))
                rows += [(f"from {source_name(each.source)}", each.differences[0]) for each in shifts]
        rows += [("mean", self.ranked.difference)] if self.ranked else []
        title = f"{self.names[0]} minus {self.names[1]}"
        caption = (
            f"Difference in score under shift by target, in points, with its 95% interval: above 0 {self.names[0]} "
            f"is better, below 0 {self.names[1]}. Filled: significant, corrected over all tests here."
        )
        return Picture("forest", title, caption, draw_forest(rows, title))


@dataclass(frozen=True)
class ComparisonPage:
    """The first entry compared with each of the others."""

    pairs: Sequence[PairPage]

    @property
    def sentences(self) -> list[str]:
        """List the summaries, first those of pairs that cannot be compared, after the number of such pairs."""
        apart = [each.sentence for each in self.pairs if each.ranked is None]
        first = [not_comparable_words(len(apart), len(self.pairs))] if apart and len(self.pairs) > 1 else []
        return [*first, *apart, *(each.sentence for each in self.pairs if each.ranked is not None)]


_PROVENANCE = ("data", "settings", "subset", "metric_version", "depth_encoder", "token_encoder")


def csv_table(pairs: Sequence[Comparison], names: Sequence[str]) -> str:
    """Format comparisons of a first entry with others as CSV, one row per difference.

    Args:
        pairs: the comparisons.
        names: display names of the entries, the first entry first.

    Returns: CSV text; fractions, unrounded.
    """
    header = [
        "a", "b", "entry_a", "entry_b", "task", "source", "target", "figure", "a_minus_b", "low", "high", "p",
        "p_corrected", "better", "at_floor", "about", "runs_needed", "margin", "p_equivalent", *_PROVENANCE,
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for other, pair in zip(names[1:], pairs, strict=True):
        facts = [(shift.task, shift.source, shift.target, each) for shift in pair.shifts for each in shift.differences]
        facts += [(mean.task, mean.source or "", "+".join(mean.targets), mean.difference) for mean in pair.means]
        for task, source, target, each in facts:
            better = {"a": names[0], "b": other, None: ""}[winner(each)]
            ids = [names[0], other, pair.a, pair.b]
            test_of_task = next((one for one in pair.tasks if one.task == task), None)
            about = (test_of_task.about, test_of_task.runs_needed) if test_of_task else (TRAINED_MODELS, MIN_RUNS)
            values: list[Cell] = [each.figure, each.value, each.low, each.high, each.p, each.p_corrected, better]
            tested = [*values, each.at_floor or "", *about, pair.margin, each.p_equivalent]
            rows.append([*ids, task, source, target, *tested, *(getattr(pair, name) for name in _PROVENANCE)])
    return guarded_csv(header, rows)
