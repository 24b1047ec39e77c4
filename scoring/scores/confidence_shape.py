"""The part of the shape of scores that is about confidences (see ``shiftbench.scoring.scores.shape``)."""

import pydantic

from shiftbench.scoring.scores.estimate import Estimate, Record


class ConfidenceFigures(Record):
    """Figures of calibration, and of ranking by confidence."""

    overconfidence: Estimate = pydantic.Field(description="Mean confidence less accuracy")
    calibration_error: Estimate = pydantic.Field(
        description="Squared, over bins of equal mass, without bias: below 0 by chance"
    )
    brier: Estimate
    failure_auroc: Estimate = pydantic.Field(description="Chance that a right prediction is surer than a wrong one")
    excess_aurc: Estimate = pydantic.Field(description="Area under risk by coverage, above the best order's")


class LabelShift(Record):
    """TD split in two by probabilities that were adjusted to the target's class shares.

    ``adjusted`` is the score of the adjusted predictions, ``label_shift`` it less ST, ``rest`` TT less it (null without
    a TT). ``temperature`` divides log-probabilities: set on predictions of the source's own test texts, 1 without them.
    """

    adjusted: Estimate
    label_shift: Estimate
    rest: Estimate
    temperature: float


class HomeConfidence(Record):
    """Confidences of models on the domain they were trained on."""

    domain: str
    figures: ConfidenceFigures


class ShiftConfidence(Record):
    """Confidences on one shift: out of domain, and out of domain less at home (null without predictions at home)."""

    source: str
    target: str
    figures: ConfidenceFigures
    difference: ConfidenceFigures | None
    label_shift: LabelShift | None = pydantic.Field(
        description="Null without all probabilities, or where a class of the target was never trained on"
    )


class ConfidenceCurves(Record):
    """Reliability in bins of equal mass, pooled over cells; error rate among the most confident, by coverage."""

    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]


class Confidence(Record):
    """Figures of confidences in domain, out of domain and of their difference; means are over domains and shifts.

    ``given`` is 'probabilities' (of all labels: Brier is multi-class, in [0, 2]) or 'confidence' (of the prediction
    alone: Brier is that of the top label, in [0, 1]). Means over shifts are over single sources where there are any.
    """

    given: str
    in_domain: tuple[HomeConfidence, ...]
    shifts: tuple[ShiftConfidence, ...]
    mean_in_domain: ConfidenceFigures | None
    mean_out: ConfidenceFigures | None
    mean_difference: ConfidenceFigures | None
    mean_label_shift: Estimate | None
    mean_rest: Estimate | None
    curves_in_domain: ConfidenceCurves | None
    curves_out: ConfidenceCurves | None
