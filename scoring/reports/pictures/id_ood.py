"""Scores out of distribution over the score in it, as the BOSS paper draws them."""

from collections.abc import Sequence

from shiftbench.scoring.reports.frame.html import Markup, join
from shiftbench.scoring.reports.numbers import score_text
from shiftbench.scoring.reports.pictures.axes import (
    LEFT,
    SIDE,
    SYMBOLS,
    TOP,
    Axis,
    bar_of,
    ends,
    frame,
    identity_line,
    legend,
    line,
    line_sign,
    mark,
    mark_sign,
    picture,
    round_axis,
    square_axes,
)
from shiftbench.scoring.reports.pictures.colours import colour_class
from shiftbench.scoring.scores.shape import IdOod


def id_ood_plane(entries: Sequence[tuple[str, IdOod]]) -> Markup:
    """Draw each OOD score (up) over the ID score (across), with intervals; on the dashed line nothing is lost.

    Args:
        entries: names and scores of one task; a symbol is a data set, a colour a data set too or, of several
            entries, an entry.
    """
    alone = len(entries) == 1
    names = list(dict.fromkeys(domain for _, found in entries for domain in found.ood))
    shown = [(name, found) for name, found in entries if found.id.value is not None]
    estimates = [item for _, found in shown for item in (found.id, *found.ood.values())]
    across, y = square_axes(round_axis(ends(estimates), LEFT, LEFT + SIDE))
    looks = {name: SYMBOLS[number % len(SYMBOLS)] for number, name in enumerate(names)}
    parts = []
    for number, (entry, found) in enumerate(shown):
        for place, name in enumerate(name for name in names if found.ood.get(name, found.id).value is not None):
            if name in found.ood:
                colour = colour_class(names.index(name) if alone else number)
                # One ID score belongs to all marks of an entry: their intervals stand side by side.
                aside = 5 * (place - (len(found.ood) - 1) / 2)
                parts.append(_mark(found, name, across, y, looks[name], colour, aside, "" if alone else f"{entry}\n"))
    home = shown[0][1].id_domain if shown else "ID"
    keys = [(mark_sign(looks[name], colour_class(n) if alone else "sb-ink"), name) for n, name in enumerate(names)]
    if not alone:
        keys += [(mark_sign("circle", colour_class(number)), name) for number, (name, _) in enumerate(shown)]
    keys.append((line_sign("sb-identity"), "as good as in distribution"))
    said = "; ".join(_shape_words(name if not alone else "", found) for name, found in shown)
    drawn = picture(
        "Scores out of distribution over the score in it",
        said,
        TOP + SIDE + 44,
        frame(across, y, f"ID score ({home}), points", "OOD score, points"),
        identity_line(across, y),
        *parts,
    )
    return join([legend(keys), drawn])


def _mark(found: IdOod, name: str, across: Axis, y: Axis, symbol: str, colour: str, aside: float, entry: str) -> Markup:
    score = found.ood[name]
    assert found.id.value is not None
    assert score.value is not None
    left, top = across.at(100 * found.id.value) + aside, y.at(100 * score.value)
    words = f"{entry}{name} {score_text(score)}\n{found.id_domain} (ID) {score_text(found.id)}"
    parts = [bar_of(left, y, score, f"sb-whisker {colour}")]
    if found.id.low is not None and found.id.high is not None:
        low, high = across.at(100 * found.id.low), across.at(100 * found.id.high)
        parts.append(line(low, top, high, top, f"sb-whisker {colour}"))
    parts.append(mark(left, top, symbol, colour, words=words))
    return join(parts)


def _shape_words(entry: str, found: IdOod) -> str:
    scores = ", ".join(f"{name} {score_text(score)}" for name, score in found.ood.items())
    before = f"{entry}: " if entry else ""
    return f"{before}{found.id_domain} (ID) {score_text(found.id)}; {scores}"
