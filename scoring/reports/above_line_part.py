"""The part of an entry's page that compares it with the line through the board's other entries."""

from dataclasses import dataclass

from shiftbench.scoring.reports.cells import fact_list, section
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import drop_text, points
from shiftbench.scoring.scores.shape import Estimate

_ABOUT = (
    "Models that score higher in domain nearly always score higher under shift, too. Effective robustness is how far "
    "this entry's score under shift lies above what its score in domain predicts, by a line through the board's other "
    "entries (on logits). Its 95% interval is over test texts and over the line."
)


@dataclass(frozen=True)
class AboveLine:
    """One entry compared with the line of logit(OOD) on logit(ID) through other entries; fractions.

    Attributes:
        effective: the OOD score above what the line expects, with its 95% interval over test texts and over the line.
        expected: the OOD score that the line expects.
        n_others: entries that the line is drawn through.
        is_extended: whether the entry's ID score lies beyond all of theirs.
    """

    effective: Estimate
    expected: float
    n_others: int
    is_extended: bool


def above_line_part(effective: AboveLine) -> Markup:
    """Write an entry's effective robustness, in points, as a section of its page."""
    facts = [
        ("Effective robustness", drop_text(effective.effective)),
        ("Expected score", points(effective.expected)),
        ("Entries that the line is fitted to", str(effective.n_others)),
    ]
    extended = "This entry's score in domain lies outside the range of the others, so the line is extrapolated."
    more = [tag("p", extended, class_="sb-soft")] if effective.is_extended else []
    return section("Effective robustness", _ABOUT, *more, fact_list(facts, "sb-tiles sb-small"))
