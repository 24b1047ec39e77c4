"""The figures of confidences in rows: what pages and terminals call them, and with how many decimals."""

from collections.abc import Iterator
from typing import NamedTuple

from shiftbench.scoring.scores.confidence_shape import Confidence, ConfidenceFigures
from shiftbench.scoring.scores.estimate import Estimate

NAMES = ("In domain", "Out of domain", "Difference")
"""The means that stand beside each other."""
_NONE = Estimate(value=None)


class Named(NamedTuple):
    """A figure as readers see it.

    Attributes:
        field: its name in ``ConfidenceFigures``.
        name: what it is called.
        meaning: what it says, in a sentence.
        decimals: of its points.
        signed: whether it has a direction, so that a plus says something.
    """

    field: str
    name: str
    meaning: str
    decimals: int = 1
    signed: bool = False

    def of(self, figures: ConfidenceFigures | None) -> Estimate:
        """Return the figure; undefined where there are none."""
        return getattr(figures, self.field) if figures else _NONE


FIGURES = (
    Named(
        "overconfidence",
        "Overconfidence",
        "mean confidence \N{MINUS SIGN} accuracy: above 0, surer than right",
        signed=True,
    ),
    Named(
        "calibration_error",
        "Calibration error, squared",
        "squared difference of confidence and accuracy in bins of equal mass, without what chance adds; "
        "below 0 by chance where there is none",
        2,
    ),
    Named("brier", "Brier score", "squared error of the probabilities"),
    Named("failure_auroc", "Failure AUROC", "how often a right prediction is surer than a wrong one; 50 by chance"),
    Named(
        "excess_aurc",
        "Excess AURC",
        "error rate averaged over shares of texts answered, most confident first, above the best order's",
        2,
    ),
)


def mean_rows(confidence: Confidence) -> Iterator[tuple[Named, tuple[Estimate, Estimate, Estimate]]]:
    """Return each figure with its means, as ``NAMES`` has them."""
    means = (confidence.mean_in_domain, confidence.mean_out, confidence.mean_difference)
    for figure in FIGURES:
        in_domain, out, difference = (figure.of(each) for each in means)
        yield figure, (in_domain, out, difference)


def brier_note(confidence: Confidence) -> str:
    """Describe which Brier score it is."""
    if confidence.given == "probabilities":
        return "Brier score of the probabilities of all labels, from 0 to 200."
    return "Brier score of the confidence of the predicted label alone, from 0 to 100."
