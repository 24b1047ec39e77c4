"""Methods of forecasting beside each other on a page: the table with its explanations, and the answer in words."""

from collections.abc import Sequence
from typing import NamedTuple

from shiftbench.leaderboard.pages.table_parts import info_button, plain_head
from shiftbench.metrics.comparison import holm
from shiftbench.metrics.forecast_errors import MIN_DOMAINS
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.forecasting.errors import MIN_MODELS, sort_methods
from shiftbench.scoring.forecasting.methods import FLOORS, TITLES
from shiftbench.scoring.forecasting.shape import BoardStandings, MethodErrors
from shiftbench.scoring.reports.cells import scroll_box
from shiftbench.scoring.reports.forecast_words import CANNOT_TELL
from shiftbench.scoring.reports.frame.html import Markup, tag
from shiftbench.scoring.reports.numbers import MISSING, drop_points, points
from shiftbench.validation.report import counted

_LEVEL = 0.05
_FLOOR_NAMES = dict(zip(FLOORS, ("source accuracy", "mean drop"), strict=True))


class _Head(NamedTuple):
    key: str
    name: str
    words: str
    formula: str = ""


_ABOUT_SKILL = (
    "Share of that floor's error that the method saves, on the shifts that both forecast: above 0 it is better than "
    "the floor. Below it p of a paired test over target domains (signs of their differences flipped), not corrected "
    f"for the number of methods; with fewer than {MIN_DOMAINS} domains the test {CANNOT_TELL}. Higher is better."
)
_HEADS = (
    _Head(
        "error",
        "Mean error",
        "Mean absolute error of the forecasts, in points: over models and sources of each target domain, then over the "
        "domains. Lower is better.",
        "mean |forecast \N{MINUS SIGN} truth|",
    ),
    _Head(
        "bias",
        "Bias",
        "Mean of forecast less truth, in points: a plus says that the forecasts were too high.",
        "mean (forecast \N{MINUS SIGN} truth)",
    ),
    _Head(
        "interval",
        "Interval score",
        "Winkler's score of the intervals, in points: their width, and a fine for each truth outside, the larger the "
        "further out it lies. Intervals need 4 other domains with labels. Lower is better.",
        "width + 2 / (1 \N{MINUS SIGN} level) \N{MULTIPLICATION SIGN} distance outside",
    ),
    _Head(
        "held",
        "Held",
        "Target domains in which the intervals held (at least the level's share of the shifts lay inside), of those "
        "that have intervals; each was set without its target.",
    ),
    _Head("skill-source", "Skill, source", f"Floor: the source accuracy, taken as it is. {_ABOUT_SKILL}"),
    _Head(
        "skill-drop",
        "Skill, drop",
        f"Floor: the source accuracy less the mean drop on the other domains. {_ABOUT_SKILL}",
    ),
    _Head(
        "rank",
        "Rank corr.",
        "Spearman correlation of forecast and truth over the models of one shift, its mean over shifts: whether the "
        f"method puts models in their order. It needs {MIN_MODELS} models on a shift. Higher is better.",
    ),
    _Head(
        "domains",
        "Domains",
        "Target domains on which the method has a forecast: the units of means and tests. Methods with fewer of them "
        "stand last, because their means are over other domains.",
    ),
)
_ABOUT_METHOD = (
    "How accuracy is forecast. The two floors need no probabilities: a method that does not beat them is worth nothing."
)


def standings_part(part: BoardStandings) -> Markup:
    """Build the table of a row a method, the smallest mean error first; methods that lack domains stand last."""
    head = [plain_head("Method", info_button("method", "Method", _ABOUT_METHOD))]
    head += [
        plain_head(each.name, info_button(each.key, each.name, each.words, each.formula), class_="sb-num")
        for each in _HEADS
    ]
    rows = [_row(each) for each in sort_methods(part.standings)]
    words = "Methods of forecasting, in points, by mean error; those that lack domains last"
    caption = tag("caption", words, class_="sb-hidden")
    table = tag("table", caption, tag("thead", tag("tr", *head)), tag("tbody", *rows), class_="sb-table sb-shifts")
    return scroll_box(table, "Methods of forecasting")


def _row(each: MethodErrors) -> Markup:
    cells = [
        tag("td", points(each.error), class_="sb-num"),
        tag("td", drop_points(each.bias), class_="sb-num"),
        _cell(None if each.interval_score is None else points(each.interval_score)),
        _cell(None if each.held is None else f"{each.held.held} of {each.held.n_domains}"),
        *(_skill(each, floor) for floor in FLOORS),
        _cell(None if each.rank_correlation is None else f"{each.rank_correlation:.2f}".replace("-", "\N{MINUS SIGN}")),
        tag("td", str(each.n_domains), class_="sb-num"),
    ]
    return tag("tr", tag("th", TITLES.get(each.method, each.method), scope="row"), *cells)


def _cell(text: str | None) -> Markup:
    return tag("td", text or MISSING, class_="sb-num" if text else "sb-num sb-na")


def _skill(each: MethodErrors, floor: str) -> Markup:
    if each.method == floor:
        return tag("td", "itself", class_="sb-num sb-na")
    saved, p = each.skill.get(floor), each.p.get(floor)
    if saved is None:
        return _cell(None)
    test = CANNOT_TELL if p is None else f"p {p_text(p)}"
    value = f"{saved:+.2f}".replace("-", "\N{MINUS SIGN}")
    return tag("td", value, tag("span", test, class_="sb-interval"), class_="sb-num")


def answer_words(part: BoardStandings) -> str:
    """Write in two sentences which method errs least, and whether any is shown to beat a floor."""
    best = sort_methods(part.standings)[0]
    domains = counted(best.n_domains, "target domain")
    floors = [
        f"{name} {points(each.error)}"
        for each in part.standings
        for floor, name in _FLOOR_NAMES.items()
        if each.method == floor != best.method
    ]
    beside = f" ({' and '.join(floors)})" if floors else ""
    title = TITLES.get(best.method, best.method)
    lead = f"{title[:1].upper()}{title[1:]} has the smallest mean error: {points(best.error)} points over "
    return f"{lead}{domains}{beside}. {_shown_to_beat(part.standings)}"


def _shown_to_beat(standings: Sequence[MethodErrors]) -> str:
    """Write which methods are shown to beat a floor, with p corrected over all tests of the table."""
    tests = [
        (each, floor, p, each.skill.get(floor) or 0.0)
        for each in standings
        for floor, p in each.p.items()
        if p is not None
    ]
    if not tests:
        return f"Whether a method beats the floors cannot be tested: it takes {MIN_DOMAINS} target domains."
    corrected = holm([p for _, _, p, _ in tests])
    better = dict.fromkeys(
        TITLES.get(each.method, each.method)
        for (each, floor, _, saved), p in zip(tests, corrected, strict=True)
        if p < _LEVEL and saved > 0 and each.method not in FLOORS
    )
    if not better:
        return "No method is shown to beat a floor (p corrected over all methods and both floors)."
    return f"Shown to beat a floor (p < 0.05, corrected over all methods and both floors): {', '.join(better)}."
