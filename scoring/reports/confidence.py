"""What confidences are worth: the figures with their names, and pictures of them for pages."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shiftbench.scoring.reports.frame.html import Markup, join
from shiftbench.scoring.reports.numbers import drop_points, points
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    SIDE,
    TOP,
    Axis,
    cut_axis,
    frame,
    identity_line,
    legend,
    line,
    line_sign,
    mark,
    path,
    picture,
    round_axis,
    sign,
    square_axes,
)
from shiftbench.scoring.scores.shape import Confidence, ConfidenceFigures, Estimate

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


def label_shift_words(confidence: Confidence) -> str:
    """Write what reweighting by the target's class shares explains of the drops."""
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


_HEIGHT = 250
_LOOKS = (("in domain", "sb-c0", "circle"), ("out of domain", "sb-c1", "square"))

Curve = tuple[str, str, str, Sequence[tuple[float, float]]]
"""Name, colour class, symbol, and points across and up, in points."""


def reliability(found: Confidence) -> Markup:
    """Draw accuracy over confidence in bins of equal mass; on the dashed line confidences are right."""
    curves = _curves(found, "confidence", "accuracy")
    values = [end for *_, places in curves for place in places for end in place]
    across, up = square_axes(cut_axis(round_axis(values, LEFT, LEFT + SIDE)))
    keys = [(line_sign("sb-identity"), "as sure as right")]
    said = [f"{name}: mean confidence {_mean(places, 0)}, accuracy {_mean(places, 1)}" for name, _, _, places in curves]
    title = "Reliability: accuracy by confidence"
    return _drawn(title, said, curves, across, up, "confidence", "accuracy", identity_line(across, up), keys)


def risk_by_coverage(found: Confidence) -> Markup:
    """Draw the error rate among the most confident predictions over the share of texts answered."""
    curves = _curves(found, "coverage", "risk")
    across = Axis(0, 100, LEFT, LEFT + SIDE, (0.0, 20.0, 40.0, 60.0, 80.0, 100.0))
    up = round_axis([0.0, *(place[1] for *_, places in curves for place in places)], TOP + _HEIGHT, TOP)
    said = [
        f"{name}: error rate {points(places[-1][1] / 100)} on all texts, {points(_at_half(places) / 100)} on the half "
        "that it is surer of"
        for name, _, _, places in curves
    ]
    title = "Risk by coverage: error rate among the most confident"
    return _drawn(title, said, curves, across, up, "texts answered, %", "error rate", Markup(""), [])


def _curves(found: Confidence, across: str, up: str) -> list[Curve]:
    drawn: list[Curve] = []
    for look, curves in zip(_LOOKS, (found.curves_in_domain, found.curves_out), strict=True):
        if curves is not None:
            places = zip(getattr(curves, across), getattr(curves, up), strict=True)
            drawn.append((*look, [(100 * x, 100 * y) for x, y in places]))
    return drawn


def _drawn(
    title: str,
    said: Sequence[str],
    curves: Sequence[Curve],
    x: Axis,
    y: Axis,
    x_name: str,
    y_name: str,
    behind: Markup,
    keys: Sequence[tuple[Markup, str]],
) -> Markup:
    parts = [frame(x, y, x_name, y_name), behind]
    signs = []
    for name, colour, symbol, places in curves:
        where = [(x.at(across), y.at(up)) for across, up in places]
        parts.append(path(where, f"sb-curve {colour}"))
        for (left, top), (across, up) in zip(where, places, strict=True):
            words = f"{name}\n{x_name.removesuffix(', %')} {across:.1f}, {y_name} {up:.1f}"
            parts.append(mark(left, top, symbol, colour, size=3.4, words=words))
        drawn_sign = sign(line(1, 7, 21, 7, f"sb-curve {colour}"), mark(11, 7, symbol, colour, size=3.4), width=22)
        signs.append((drawn_sign, name))
    return join([legend([*signs, *keys]), picture(title, ". ".join(said) + ".", y.start + 44, *parts)])


def _mean(places: Sequence[tuple[float, float]], which: int) -> str:
    """Write the mean over bins of equal mass."""
    return points(sum(place[which] for place in places) / len(places) / 100)


def _at_half(places: Sequence[tuple[float, float]]) -> float:
    return min(places, key=lambda place: abs(place[0] - 50))[1]
