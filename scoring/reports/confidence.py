"""Confidence metrics with their display names."""

from collections.abc import Iterator
from typing import NamedTuple

from shiftbench.scoring.reports.numbers import drop_points
from shiftbench.scoring.scores.shape import Confidence, ConfidenceFigures, Estimate

NAMES = ("In domain", "Out of domain", "Difference")
"""Column titles of the means."""
_NONE = Estimate(value=None)


class Named(NamedTuple):
    """A metric as displayed.

    Attributes:
        field: its name in ``ConfidenceFigures``.
        name: its display name.
        meaning: its definition in a sentence.
        decimals: number of decimals in points.
        signed: whether positive values get a plus sign.
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
    """Return each metric with its means, in the order of ``NAMES``."""
    means = (confidence.mean_in_domain, confidence.mean_out, confidence.mean_difference)
    for figure in FIGURES:
        in_domain, out, difference = (figure.of(each) for each in means)
        yield figure, (in_domain, out, difference)


def brier_note(confidence: Confidence) -> str:
    """Describe which Brier score is used."""
    if confidence.given == "probabilities":
        return "Brier score of the probabilities of all labels, from 0 to 200."
    return "Brier score of the confidence of the predicted label alone, from 0 to 100."


def label_shift_words(confidence: Confidence) -> str:
    """Write how much of the drops reweighting by the target's class prior explains."""
    known = [shift.label_shift for shift in confidence.shifts if shift.label_shift is not None]
    rest = f", the rest of TD {drop_points(confidence.mean_rest.value)}" if confidence.mean_rest else ""
    mean = drop_points(confidence.mean_label_shift.value if confidence.mean_label_shift else None)
    low, high = (f"{choose(each.temperature for each in known):.2f}" for choose in (min, max))
    return (
        f"Mean label shift {mean}{rest}: TD = label shift + rest. Probabilities were reweighted by the target's class "
        f"shares over those in training, at temperatures from {low} to {high} set on each model's predictions at "
        "home. It explains a drop and is no score that the model could have had: the target's class shares were not "
        "known to it."
    )
