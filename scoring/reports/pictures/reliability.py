"""Two pictures of confidences, in domain and out: how often they are right, and what abstaining would save."""

from collections.abc import Sequence

from shiftbench.scoring.reports.frame.html import Markup, join
from shiftbench.scoring.reports.numbers import points
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
from shiftbench.scoring.scores.confidence_shape import Confidence, ConfidenceCurves

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
            drawn.append((*look, _places(curves, across, up)))
    return drawn


def _places(curves: ConfidenceCurves, across: str, up: str) -> list[tuple[float, float]]:
    return [(100 * x, 100 * y) for x, y in zip(getattr(curves, across), getattr(curves, up), strict=True)]


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
