"""The forecast page: all methods on a board's entries, or on those of all boards, beside the truth."""

from collections.abc import Sequence
from typing import NamedTuple

from shiftbench.leaderboard.board import Benchmark, Board
from shiftbench.leaderboard.board.forecasts import ForecastsFound, forecast_rows
from shiftbench.leaderboard.pages.addresses import (
    FORECAST,
    FORECAST_CSV,
    FORECAST_JSON,
    SUBMIT,
    board_address,
    forecast_address,
    with_query,
)
from shiftbench.leaderboard.pages.task_names import benchmark_name, board_name
from shiftbench.metrics.new_domain import MIN_DOMAINS
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.comparison import BOARDS_ARE_ALIKE
from shiftbench.scoring.forecasting.errors import sort_methods
from shiftbench.scoring.forecasting.methods import FLOORS, TITLES
from shiftbench.scoring.forecasting.samples import SCORES
from shiftbench.scoring.forecasting.shape import BoardStandings, MethodErrors
from shiftbench.scoring.reports.cells import choices, figure_table
from shiftbench.scoring.reports.forecast import CANNOT_TELL
from shiftbench.scoring.reports.frame.html import Markup, join, tag
from shiftbench.scoring.reports.frame.notices import notices
from shiftbench.scoring.reports.frame.site import box
from shiftbench.scoring.reports.numbers import MISSING, drop_points, metric_name, points
from shiftbench.scoring.reports.pictures.planes import MOST_MARKS, ForecastMark, forecast_plane
from shiftbench.validation.csv_export import guarded_csv
from shiftbench.validation.report import counted

ABOUT = (
    "How will a model do on a domain that nobody has labelled? Each method forecasts the score under shift (ST) from "
    "what the model says of the target's texts without labels and of labelled texts of its source. Here the labels are "
    "known, so every forecast stands beside the truth."
)
_READING = (
    "Figures are points (\N{MULTIPLICATION SIGN}100). What is forecast is accuracy, or the mean score of answers and "
    "texts; the source drop (SD) follows from it, the target drop (TD) needs the target's labels and is not forecast.",
    "A forecast uses no label of its target, and nothing of the target as a source either: lines, mean drops and "
    "intervals are set on the other domains alone.",
    "Each entry is forecast from its own predictions once, when it is scored, so nobody's forecasts change because "
    "someone else submits.",
    "A model of a submitter counts once on each board, as on the overall board: by its newest entry that covers every "
    "shift or, without such, its newest one.",
    "Held-out texts of the source are the validation rows that were sent with an entry, and its own test rows at home.",
)
_WITHHELD = (
    "A forecast beside the truth, or one that is set on scores at home, would reveal them, so none is made here."
)


class Shown(NamedTuple):
    """What the page is about: a board (None: all together) of those there are, and the method of its picture."""

    board: Board | None
    boards: Sequence[Board]
    benchmarks: Sequence[Benchmark]
    method: str = ""


def forecast_page(shown: Shown, found: ForecastsFound) -> Markup:
    """Build the page's body."""
    board = shown.board
    name = "all boards" if board is None else board_name(board)
    title = tag("h1", "Forecasts", tag("span", f" {name}", class_="sb-soft"))
    lead = [
        _chooser(shown),
        notices([board.folder] if board else [each.folder for each in shown.benchmarks]),
        title,
        tag("p", ABOUT, class_="sb-exposure"),
        tag("div", tag("strong", CONCEPT_SHIFT), class_="sb-notice", role="note"),
    ]
    if board is not None and not board.folder.has_public_labels:
        return _page([*lead, box("No forecasts on this board", f"Test labels of this board are withheld. {_WITHHELD}")])
    if shown.boards and not any(each.folder.has_public_labels for each in shown.boards):
        return _page([*lead, box("No forecasts here", f"Test labels of all boards are withheld. {_WITHHELD}")])
    part = _part(shown, found)
    if part is None or not part.standings:
        return _page([*lead, _empty(board, found), *_left_out(found), _reading(shown)])
    content = [
        tag("p", answer_words(part), class_="sb-answer-line"),
        tag("p", _counts(part, found), class_="sb-soft"),
        standings_part(part),
        _downloads(board),
        _picture(shown, found, part),
        *_left_out(found),
        _reading(shown),
    ]
    return _page([*lead, *content])


def forecast_csv(found: ForecastsFound) -> str:
    """Write all forecasts beside the truth as CSV, fractions (see ``forecast_rows``)."""
    rows = forecast_rows(found)
    return guarded_csv(rows.columns, rows.iter_rows())


def _page(parts: Sequence[Markup]) -> Markup:
    return tag("div", *parts, class_="sb-entry")


def _part(shown: Shown, found: ForecastsFound) -> BoardStandings | None:
    """Return the standings that the page shows: those of its board, or of all boards together."""
    parts = found.compared.boards
    pooled = next((part for part in parts if part.board is None), None)
    if shown.board is None and pooled is not None:
        return pooled
    name = shown.board.name if shown.board is not None else None
    return next((part for part in parts if name in (None, part.board)), None)


def _chooser(shown: Shown) -> Markup:
    every = tag("a", "All boards", href=FORECAST, aria_current="page" if shown.board is None else None)
    groups: list[tuple[str, Sequence[Markup]]] = [("", [every])]
    for benchmark in shown.benchmarks:
        mine = [each for each in shown.boards if each.folder.content_hash == benchmark.folder.content_hash]
        links = [
            tag(
                "a",
                board_name(each),
                href=forecast_address(each.name),
                aria_current="page" if each == shown.board else None,
            )
            for each in mine
        ]
        groups.append((benchmark_name(benchmark), links))
    return choices("Boards", groups)


def _counts(part: BoardStandings, found: ForecastsFound) -> str:
    entries = "1 entry" if found.n_entries == 1 else f"{found.n_entries:,} entries"
    said = f"{counted(len(part.models), 'model')} with forecasts, of {entries}."
    if found.n_waiting:
        said += f" {found.n_waiting:,} are still to be forecast: look again in a while."
    validation = sum(each.task.n_validation > 0 for each in found.found)
    return f"{said} Forecasts that use validation rows: {validation:,}."


def _empty(board: Board | None, found: ForecastsFound) -> Markup:
    if found.n_waiting:
        words = f"{found.n_waiting:,} of {found.n_entries:,} entries are still to be forecast: look again in a while."
        return box("Forecasts are being computed", words)
    if board is not None and board.info.kind not in SCORES:
        words = "What is forecast is a mean over texts, and the score of spans is none: no method has a meaning here."
        return box("No forecasts on this board", words)
    steps = (
        "An entry with probabilities of all labels fills it: 'shiftbench train tfidf-lr TASK --data DIR --out "
        "preds.parquet --probabilities --validation' writes them, with validation rows of the source beside; any "
        "program may write the column 'probabilities'. Send both files with 'shiftbench submit preds.parquet --card "
        "preds.card.yaml --validation preds.validation.parquet --to ADDRESS', or on the "
    )
    way = join([tag("span", steps), tag("a", "Submit", href=SUBMIT), tag("span", " page.")])
    return box("No forecasts yet", way)


def _left_out(found: ForecastsFound) -> list[Markup]:
    if not found.left_out:
        return []
    lines = tag("ul", *(tag("li", f"{line}.") for line in found.left_out))
    return [tag("details", tag("summary", "Entries without forecasts"), lines, class_="sb-legend")]


def _reading(shown: Shown) -> Markup:
    lines = [*_READING, *([BOARDS_ARE_ALIKE] if shown.board is None else [])]
    reading = tag("ul", *(tag("li", line) for line in lines))
    legend = tag("details", tag("summary", "How to read this page"), reading, class_="sb-legend")
    if shown.board is None:
        return legend
    link = tag("a", f"The board of {board_name(shown.board)}", href=board_address(shown.board.name))
    return join([legend, tag("p", link, " has the scores themselves.")])


def _downloads(board: Board | None) -> Markup:
    name = board.name if board else None
    title = "every forecast beside the truth, as fractions"
    csv = tag("a", "CSV", href=forecast_address(name, FORECAST_CSV), class_="sb-button", title=title, download="")
    title = "this table, as fractions"
    json = tag("a", "JSON", href=forecast_address(name, FORECAST_JSON), class_="sb-button", title=title)
    return tag("div", csv, json, class_="sb-actions")


def _picture(shown: Shown, found: ForecastsFound, part: BoardStandings) -> Markup:
    """Build the picture of a method, the best if none was chosen, beside that of a floor, with links to the others."""
    drawn = _by_method(found)
    ordered = [name for name in TITLES if name in drawn]
    first = next((each.method for each in sort_methods(part.standings) if each.method in drawn), ordered[0])
    method = shown.method if shown.method in drawn else first
    board = [("board", shown.board.name)] if shown.board else []
    links = [
        tag(
            "a",
            TITLES[name],
            href=f"{with_query(FORECAST, [*board, ('method', name)])}#picture",
            aria_current="true" if name == method else None,
        )
        for name in ordered
    ]
    metrics = {metric_name(each.task.metric) for each in found.found}
    metric = metrics.pop() if len(metrics) == 1 else "score"
    n = len(drawn[method])
    some = f" Of {n:,} forecasts every {-(-n // MOST_MARKS)}th is drawn." if n > MOST_MARKS else ""
    about = f"Each mark is one entry on one shift, mean over its runs. Above the dashed line: too high.{some}"
    beside = next((floor for floor in FLOORS if floor != method and floor in drawn), method)
    figures = [
        tag(
            "figure",
            tag("figcaption", tag("h3", TITLES[name])),
            forecast_plane(TITLES[name], drawn[name], metric, drawn[other]),
            class_="sb-figure",
        )
        for name, other in dict.fromkeys([(method, beside), (beside, method)])
    ]
    switch = choices("Method of the picture", [("", links)])
    head = [tag("h2", "Forecast against truth"), tag("p", about, class_="sb-soft"), switch]
    return tag("section", *head, tag("div", *figures, class_="sb-pictures"), class_="sb-section", id="picture")


def _by_method(found: ForecastsFound) -> dict[str, list[ForecastMark]]:
    drawn: dict[str, list[ForecastMark]] = {}
    for each in found.found:
        for shift in each.task.shifts:
            for one in shift.forecasts:
                if one.value is not None and shift.truth is not None:
                    mark = ForecastMark(each.model, shift.source, shift.target, one.value, shift.truth)
                    drawn.setdefault(one.method, []).append(mark)
    return drawn


_LEVEL = 0.05
_FLOOR_NAMES = dict(zip(FLOORS, ("source accuracy", "mean drop"), strict=True))


_ABOUT_SKILL = (
    "Share of that floor's error that the method saves, on the shifts that both forecast: above 0 it is better than "
    "the floor. Below it p of a paired test over target domains (signs of their differences flipped), not corrected "
    f"for the number of methods; with fewer than {MIN_DOMAINS} domains the test {CANNOT_TELL}. Higher is better."
)
_HEADS: tuple[tuple[str, ...], ...] = (
    (
        "error",
        "Mean error",
        "Mean absolute error of the forecasts, in points: over models and sources of each target domain, then over the "
        "domains. Lower is better.",
        "mean |forecast \N{MINUS SIGN} truth|",
    ),
    (
        "bias",
        "Bias",
        "Mean of forecast less truth, in points: a plus says that the forecasts were too high.",
        "mean (forecast \N{MINUS SIGN} truth)",
    ),
    (
        "interval",
        "Interval score",
        "Winkler's score of the intervals, in points: their width, and a fine for each truth outside, the larger the "
        "further out it lies. Intervals need 4 other domains with labels. Lower is better.",
        "width + 2 / (1 \N{MINUS SIGN} level) \N{MULTIPLICATION SIGN} distance outside",
    ),
    (
        "held",
        "Held",
        "Target domains in which the intervals held (at least the level's share of the shifts lay inside), of those "
        "that have intervals; each was set without its target.",
    ),
    ("skill-source", "Skill, source", f"Floor: the source accuracy, taken as it is. {_ABOUT_SKILL}"),
    (
        "skill-drop",
        "Skill, drop",
        f"Floor: the source accuracy less the mean drop on the other domains. {_ABOUT_SKILL}",
    ),
    (
        "regret",
        "Regret",
        "What labelling the target that the method names worst misses, in points: its true score less that of the "
        "worst target, mean over models and sources. Below it what a forecast without knowledge has, and p over "
        "permutations of the domains, all models at once. Lower is better.",
    ),
    (
        "pairs",
        "Pairs",
        "Share of the pairs of targets that labels separate that the method puts in their order. Below it p, likewise. "
        "Higher is better.",
    ),
    (
        "domains",
        "Domains",
        "Target domains on which the method has a forecast: the units of means and tests. Methods with fewer of them "
        "stand last, because their means are over other domains.",
    ),
)
"""Key, name and explanation of each column, and how it is computed."""
_ABOUT_METHOD = (
    "How accuracy is forecast. The two floors need no probabilities: a method that does not beat them is worth nothing."
)


def standings_part(part: BoardStandings) -> Markup:
    """Build the table of a row a method, the smallest mean error first; methods that lack domains stand last."""
    heads = [("Method", _ABOUT_METHOD, False), *((name, " ".join(words), True) for _, name, *words in _HEADS)]
    rows = [_row(each) for each in sort_methods(part.standings)]
    words = "Methods of forecasting, in points, by mean error; those that lack domains last"
    return figure_table("Methods of forecasting", heads, rows, words)


def _row(each: MethodErrors) -> Markup:
    cells = [
        tag("td", points(each.error), class_="sb-num"),
        tag("td", drop_points(each.bias), class_="sb-num"),
        _cell(None if each.interval_score is None else points(each.interval_score)),
        _cell(None if each.held is None else f"{each.held.held} of {each.held.n_domains}"),
        *(_skill(each, floor) for floor in FLOORS),
        *_order(each),
        tag("td", str(each.n_domains), class_="sb-num"),
    ]
    return tag("tr", tag("th", TITLES.get(each.method, each.method), scope="row"), *cells)


def _cell(text: str | None) -> Markup:
    return tag("td", text or MISSING, class_="sb-num" if text else "sb-num sb-na")


def _order(each: MethodErrors) -> tuple[Markup, Markup]:
    order = each.order
    if order is None:
        return _cell(None), _cell(None)
    by_chance = tag("span", f"{points(order.chance)} by chance, p {p_text(order.p_regret)}", class_="sb-interval")
    regret = tag("td", points(order.regret), by_chance, class_="sb-num")
    if order.pairs is None or order.p_pairs is None:
        return regret, _cell(None)
    p = tag("span", f"p {p_text(order.p_pairs)}", class_="sb-interval")
    return regret, tag("td", f"{100 * order.pairs:.0f}%", p, class_="sb-num")


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
