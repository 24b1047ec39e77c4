"""Confidence metrics with their display names."""

from collections.abc import Iterator
from typing import NamedTuple

from shiftbench.scoring.scores.shape import Confidence, ConfidenceFigures, Estimate

NAMES = ("In domain", "Out of domain", "Difference")
"""Column titles of the means."""
_NONE = Estimate(value=None)


class Named(NamedTuple):
    """A metric as displayed: its field in ``ConfidenceFigures``, its name, and its definition in a sentence.

    ``decimals``: number of decimals in points; ``signed``: whether positive values get a plus sign.
    """

    field: str
    name: str
    meaning: str
    decimals: int = 1
    signed: bool = False

    def of(self, figures: ConfidenceFigures | None) -> Estimate:
        """Return the metric's value; undefined if ``figures`` is None."""
        return getattr(figures, self.field) if figures else _NONE


FIGURES = (
    Named(
        "overconfidence",
        "Overconfidence",
        "mean confidence \N{MINUS SIGN} accuracy: above 0, overconfident",
        signed=True,
    ),
    Named(
        "calibration_error",
        "Calibration error, squared",
        "squared difference of confidence and accuracy in bins of equal mass, debiased; can be below 0 by chance",
        2,
    ),
    Named("brier", "Brier score", "squared error of the probabilities"),
    Named(
        "failure_auroc",
        "Failure AUROC",
        "probability that a correct prediction has higher confidence than an incorrect one; 50 by chance",
    ),
    Named(
        "excess_aurc",
        "Excess AURC",
        "error rate averaged over coverage levels, most confident first, minus that of the optimal order",
        2,
    ),
)


def mean_rows(confidence: Confidence) -> Iterator[tuple[Named, tuple[Estimate, Estimate, Estimate]]]:
    """Return each metric with its means, in the order of ``NAMES``."""
    means = (confidence.mean_in_domain, confidence.mean_out, confidence.mean_difference)
    for figure in FIGURES:
        in_domain, out, difference = (figure.of(each) for each in means)
        yield figure, (in_domain, out, difference)
