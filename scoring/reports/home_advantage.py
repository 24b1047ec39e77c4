"""Whether training on a domain helps there, in words and in a table: three scales, and each domain's own."""

from collections.abc import Iterator

from shiftbench.scoring.reports.cells import figure_table
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.numbers import MINUS, MISSING, plain_points
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.shape import HomeAdvantage, HomeScale

HOME_ABOUT = (
    f"Mean in-domain score {MINUS} mean cross-domain score, as a difference of scores (points), of their logarithms "
    "and of their logits; of a domain, what its model has at home beyond how good it is elsewhere and how easy the "
    "domain is for others. In brackets: 95% intervals over resampled test texts; after 'with "
    "training runs' over resampled texts and training runs."
)
_SCALES = (("raw", "Points"), ("log", "Logarithm"), ("logit", "Logit"))


def claim_words(advantage: HomeAdvantage, *, at_floor: bool) -> str:
    """Return what the three scales show together: of recipes where training runs are in the intervals.

    Args:
        advantage: the home advantage.
        at_floor: whether the entry is at chance, so that nothing is concluded.
    """
    if at_floor:
        return "Home advantage: none is concluded, as mean ST is not shown to be above chance."
    about = "of these trained models" if advantage.raw.total is None else "of the recipe"
    if advantage.claimed is None:
        return f"No home advantage {about} is claimed: not all three scales show one with a 95% interval without 0."
    helps = "helps there" if advantage.claimed == "advantage" else "is worse there than training elsewhere"
    return f"Home advantage {about}: training on a domain {helps}, on all three scales (95% intervals exclude 0)."


def home_lines(advantage: HomeAdvantage | None) -> Iterator[tuple[str, str]]:
    """List labels and figures of a terminal's table: the means on three scales, then each domain's own in points."""
    if advantage is None:
        return
    for scale, name in _SCALES:
        of_scale: HomeScale = getattr(advantage, scale)
        unit = "" if scale == "raw" else f" ({name.lower()}s, not points)"
        yield f"home advantage{unit}", _format_estimate(of_scale.mean, scale)
        if of_scale.total is not None:
            yield f"home advantage{unit}, training runs too", _bounds(of_scale.total, scale)
    for domain, estimate in advantage.raw.by_domain.items():
        yield f"home advantage of {domain}", _format_estimate(estimate, "raw")


def home_advantage_part(advantage: HomeAdvantage, *, at_floor: bool) -> Markup:
    """Build the sentence and the table of an entry's page."""
    heads = [("", "", False), *((name, "", True) for _, name in _SCALES)]
    rows = [
        _row("Mean", [(scale, getattr(advantage, scale).mean, getattr(advantage, scale).total) for scale, _ in _SCALES])
    ]
    for domain in advantage.raw.by_domain:
        rows.append(_row(domain, [(scale, getattr(advantage, scale).by_domain[domain], None) for scale, _ in _SCALES]))
    table = figure_table("Home advantage", heads, rows, "Home advantage on three scales")
    return join([tag("p", claim_words(advantage, at_floor=at_floor)), table])


def _row(name: str, figures: list[tuple[str, Estimate, Interval | None]]) -> Markup:
    cells = []
    for scale, estimate, total in figures:
        missing = estimate.value is None
        notes = []
        if estimate.no_interval:
            notes.append(tag("span", f"no interval: {estimate.no_interval}", class_="sb-interval"))
        if estimate.low is not None and estimate.high is not None:
            bounds = _bounds(Interval(low=estimate.low, high=estimate.high), scale).replace("-", MINUS)
            notes.append(tag("span", bounds, class_="sb-interval"))
        if total is not None:
            notes.append(
                tag("span", f"with training runs {_bounds(total, scale).replace('-', MINUS)}", class_="sb-interval")
            )
        value = _number(estimate.value, scale).replace("-", MINUS)
        cells.append(tag("td", value, *notes, class_="sb-num sb-na" if missing else "sb-num"))
    return tag("tr", tag("th", name, scope="row"), *cells)


def _format_estimate(estimate: Estimate, scale: str) -> str:
    value = _number(estimate.value, scale)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} {_bounds(Interval(low=estimate.low, high=estimate.high), scale)}"


def _bounds(interval: Interval, scale: str) -> str:
    return f"[{_number(interval.low, scale)}, {_number(interval.high, scale)}]"


def _number(value: float | None, scale: str) -> str:
    """Format a figure: points of the raw scale, three decimals of the others."""
    if scale == "raw" or value is None:
        return plain_points(value) if value is not None else MISSING
    return f"{round(value, 3) + 0.0:.3f}"
