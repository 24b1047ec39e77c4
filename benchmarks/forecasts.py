"""Evaluation of label-free accuracy forecasts on reference results: errors, order of the domains, and use of labels.

Each target domain counts once: errors are means over its models and sources. A method is compared with the baseline
"mean drop" on the domains that both forecast: a sign-flip test and a t interval over domains. Whether the forecasts
order the domains better than chance is tested by permuting the domains (``metrics.domain_order``). All p values are
Holm-corrected over the methods. Placebo boards, with texts assigned to random domains, are negative controls. Finally,
labels spent where a decision is uncertain are compared with an even allocation on the same models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.over_time import Share
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.forecast_entries import forecast_entrants, read_files
from shiftbench.cli.demo_results import list_boards
from shiftbench.metrics.domain_order import MIN_ORDERED, judge_order, separated
from shiftbench.metrics.label_budget import Limit, anticipate, share_budget, spend_labels
from shiftbench.metrics.new_domain import mean_by_domain, paired_test
from shiftbench.metrics.precision import student
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.comparing.shape import p_text
from shiftbench.scoring.forecasting.comparison import Forecasted, compare_methods, list_points
from shiftbench.scoring.forecasting.errors import Point
from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.forecasting.shape import Forecast, MethodErrors, ShiftForecast
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.next_steps import MARGIN

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """Results of a forecasting method over some boards; errors are fractions.

    Attributes:
        errors: errors of the method on these boards.
        by_board: mean error on each board; None without a forecast.
        n_compared: number of domains with a forecast of both the method and the mean drop.
        less: mean error minus that of the baseline "mean drop", with 95% limits over domains; None below two domains.
        p: corrected p value of ``less``; None if not tested.
        p_regret, p_pairs: corrected p values of the order, by regret and by pairs of domains; None if not tested.
    """

    errors: MethodErrors
    by_board: dict[str, float | None]
    n_compared: int
    less: tuple[float, float, float] | None
    p: float | None
    p_regret: float | None
    p_pairs: float | None


def read_forecasts(
    folders: Sequence[DatasetFolder], predictions: Sequence[Path] = (), *, placebos: bool = False
) -> tuple[list[Forecasted], list[str]]:
    """Forecast the accuracy of all reference results on some datasets, and of further prediction files.

    Args:
        folders: the datasets.
        predictions: further prediction files for these datasets.
        placebos: use the placebo tasks instead of the real ones.
    Returns: the forecasts, and a sentence for each skipped model or task, with the reason.
    """
    boards = [
        board for folder in folders for board in list_boards() if board.name.startswith(f"{folder.manifest.benchmark}-")
    ]
    found: list[Forecasted] = []
    left_out: list[str] = []
    for path in [*boards, *predictions]:
        made, more = forecast_entrants(read_files([path], folders), list(TITLES), placebos=placebos)
        found += made
        left_out += more
    return found, left_out


def judge(found: Sequence[Forecasted]) -> list[Judged]:
    """Evaluate each method over all boards together; methods with the lowest mean error first."""
    compared = compare_methods(found)
    together = compared.boards[-1]
    boards = {part.board: {each.method: each for each in part.standings} for part in compared.boards if part.board}
    points = list_points(found, {})
    differences = {each.method: _less_mean_drop(points, each.method) for each in together.standings}
    tests = {name: paired_test(d, np.random.default_rng(0)) for name, d in differences.items() if d.size > 1}
    p = _corrected({name: each for name, each in tests.items() if not np.isnan(each) and name != "mean-drop"})
    orders = {each.method: each.order for each in together.standings if each.order is not None}
    p_regret = _corrected({name: order.p_regret for name, order in orders.items()})
    p_pairs = _corrected({name: order.p_pairs for name, order in orders.items() if order.p_pairs is not None})
    judged = []
    for each in together.standings:
        d = differences[each.method]
        reach = float(student(d.size - 1)) * float(d.std(ddof=1)) / d.size**0.5 if d.size > 1 else float("nan")
        mean = float(d.mean()) if d.size else float("nan")
        by_board = {
            str(name): mine[each.method].error if each.method in mine else None for name, mine in boards.items()
        }
        judged.append(
            Judged(
                each, by_board, d.size, (mean, mean - reach, mean + reach) if d.size > 1 else None, p.get(each.method),
                p_regret.get(each.method), p_pairs.get(each.method),
            )
        )  # fmt: skip
    return sorted(judged, key=lambda each: each.errors.error)


def _less_mean_drop(points: dict[str, list[Point]], method: str) -> Floats:
    """Return a method's error minus that of the baseline "mean drop", for each domain with a forecast by both."""
    floor = {point[:3]: abs(point.error) for point in points.get("mean-drop", ())}
    both = [(point.domain, abs(point.error) - floor[point[:3]]) for point in points[method] if point[:3] in floor]
    if not both:
        return np.zeros(0)
    return mean_by_domain([d for _, d in both], [domain for domain, _ in both])


def _corrected(p: dict[str, float]) -> dict[str, float]:
    return dict(zip(p, holm(list(p.values())).tolist(), strict=True)) if p else {}


def judged_tables(judged: Sequence[Judged], title: str) -> list[PlainTable]:
    """Build a table of errors in points, and one of how well the domains are ordered."""
    boards = list(judged[0].by_board)
    heads = ("method", *boards, "all", "minus mean drop", "p (Holm)")
    rows, orders = [], []
    for each in judged:
        name, less = TITLES[each.errors.method], each.less
        cells = ["" if each.by_board[board] is None else f"{100 * each.by_board[board]:.1f}" for board in boards]  # type: ignore[operator]
        compared = ""
        if less is not None and each.errors.method != "mean-drop":
            compared = f"{100 * less[0]:+.1f} [{100 * less[1]:+.1f}, {100 * less[2]:+.1f}], {each.n_compared} domains"
        p = "" if each.p is None else p_text(each.p)
        rows.append((name, *cells, f"{100 * each.errors.error:.1f} ({each.errors.n_domains})", compared, p))
        order = each.errors.order
        if order is not None:
            pairs = ("", "") if order.pairs is None else (f"{100 * order.pairs:.0f}%", _p(each.p_pairs))
            regret = f"{100 * order.regret:.2f}", f"{100 * order.chance:.2f}", _p(each.p_regret)
            orders.append((name, str(order.n_domains), *regret, *pairs))
    of_order = ("method", "domains", "regret", "expected by chance", "p (Holm)", "correctly ordered pairs", "p (Holm)")
    return [
        PlainTable(f"{title}: mean absolute error in points (number of target domains)", heads, rows),
        PlainTable(f"{title}: ordering of the targets of a source, regret in points", of_order, orders),
    ]


def _p(value: float | None) -> str:
    return "" if value is None else p_text(value)


_METHODS, _TEXTS, _SPREAD = 3, 400, 0.08
"""Simulated methods; labels per domain; standard deviation of the domains' accuracies."""


@dataclass(frozen=True)
class OrderCell:
    """How often a simulated ordering of domains is significantly better than chance.

    Attributes:
        domains: number of labelled domains.
        correlation: correlation of each method's forecasts with the true scores; the methods' errors are correlated.
        shown: share of draws with p below 5%.
    """

    domains: int
    correlation: float
    shown: Share


def simulate_orders(draws: int, seed: int) -> list[OrderCell]:
    """Simulate the test of how well three methods order domains, whose true scores have an SD of 8 points."""
    cells = []
    for k in (MIN_ORDERED, 8, 12):
        for correlation in (0.0, 0.6, 0.9):
            rng = np.random.default_rng([seed, k, round(10 * correlation)])
            shown = []
            for _ in range(draws):
                z = rng.normal(size=k)
                truth = np.clip(0.75 + _SPREAD * z, 0.05, 0.95)
                scores = rng.binomial(_TEXTS, truth) / _TEXTS
                noise = 0.8 * rng.normal(size=k) + 0.6 * rng.normal(size=(_METHODS, k))  # methods see the same texts
                forecasts = correlation * z + (1 - correlation**2) ** 0.5 * noise
                known = separated(scores, np.sqrt(scores * (1 - scores) / _TEXTS))
                shown.append(judge_order(forecasts, known, rng).p < 0.05)
            cells.append(OrderCell(k, correlation, Share.of(np.array(shown))))
    return cells


BUDGETS = (50, 100, 200)
"""Budgets: new labels per domain that is treated as unlabelled."""
_LEAST_LABELLED, _MOST_NEW = 2, 3
"""Minimum number of labelled targets of a model, and maximum number treated as unlabelled."""


@dataclass(frozen=True)
class Spent:
    """Wrong decisions about domains after a budget of labels, means over models and repeats; fractions.

    Attributes:
        models: the group of models.
        budget: labels per domain.
        evenly, targeted: share of domains decided wrongly with labels allocated evenly, or where decisions are
            uncertain.
        less: ``targeted`` minus ``evenly``, with 95% limits over repeats.
        less_lost: the same difference for the accuracy lost by wrong decisions.
        n_models: number of pairs of model and source.
    """

    models: str
    budget: int
    evenly: float
    targeted: float
    less: tuple[float, float, float]
    less_lost: tuple[float, float, float]
    n_models: int


def real_models(found: Sequence[Forecasted]) -> list[list[ShiftForecast]]:
    """List the labelled target domains of each model and source that has enough of them."""
    models: dict[tuple[str, str, str], list[ShiftForecast]] = {}
    for board, model, task in found:
        for shift in task.shifts:
            doc = shift.of("doc")
            if shift.truth is not None and shift.source_score is not None and doc is not None and doc.value is not None:
                models.setdefault((board, model, shift.source), []).append(shift)
    return [shifts for shifts in models.values() if len(shifts) >= _LEAST_LABELLED + 2]


def simulated_models(n: int, seed: int) -> list[list[ShiftForecast]]:
    """Simulate models with 15 targets whose accuracies have an SD of 8 points.

    DoC (difference of confidences) overestimates them by 5 points on average, with an SD of 2 points.
    """
    models = []
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        truths = np.clip(rng.normal(0.78, _SPREAD, 15), 0.3, 0.97)
        said = np.clip(truths + rng.normal(0.05, 0.02, 15), 0.0, 1.0)
        models.append(
            [
                ShiftForecast(
                    source="home", target=f"d{place}", n_texts=1000, n_runs=1, truth=truth, truth_error=0.013,
                    source_score=0.85, level=None, set_on=(), forecasts=(Forecast(method="doc", value=value),),
                )
                for place, (truth, value) in enumerate(zip(truths.tolist(), said.tolist(), strict=True))
            ]
        )  # fmt: skip
    return models


def spend(name: str, models: Sequence[Sequence[ShiftForecast]], repeats: int, seed: int) -> list[Spent]:
    """Compare decisions about unlabelled domains after an even and a targeted allocation of labels.

    For each model, up to three random targets are treated as unlabelled and share the budget; the others (at least two)
    are labelled. The targeted allocation expects the accuracy that DoC forecasts, minus DoC's mean error on the
    labelled domains. Labels are simulated from the true accuracy, and a domain is accepted if they show a drop below
    the margin.

    Args:
        name: name of the group of models.
        models: the targets of each model, from ``real_models`` or ``simulated_models``.
        repeats: random choices of unlabelled targets per model.
        seed: seed of all choices and labels.
    """
    able = dict(enumerate(models))
    found_of: dict[int, list[list[Floats]]] = {budget: [] for budget in BUDGETS}
    for number in range(repeats):
        rows: dict[int, list[Floats]] = {budget: [] for budget in BUDGETS}
        for place, shifts in enumerate(able.values()):
            rng = np.random.default_rng([seed, number, place])
            order = rng.permutation(len(shifts))
            n_new = min(_MOST_NEW, len(shifts) - _LEAST_LABELLED)
            known, new = ([shifts[each] for each in part] for part in (order[n_new:], order[:n_new]))
            for budget in BUDGETS:
                rows[budget].append(_decide(known, new, budget, rng))
        for budget in BUDGETS:
            found_of[budget].append(rows[budget])
    cells = []
    for budget in BUDGETS:
        values = np.array(found_of[budget]).mean(axis=1)  # (repeats, 4): see _decide
        cells.append(
            Spent(
                name, budget, float(values[:, 0].mean()), float(values[:, 1].mean()),
                _limits(values[:, 1] - values[:, 0]), _limits(values[:, 3] - values[:, 2]), len(able),
            )
        )  # fmt: skip
    return cells


def _decide(
    known: Sequence[ShiftForecast], new: Sequence[ShiftForecast], budget: int, rng: np.random.Generator
) -> Floats:
    """Return wrong decisions (even, targeted) and the accuracy lost by them (even, targeted), shape (4,)."""

    def forecasts_of(shifts: Sequence[ShiftForecast]) -> list[float]:
        return [made.value or 0.0 for shift in shifts if (made := shift.of("doc")) is not None]

    in_domain, size = new[0].source_score or 0.0, new[0].n_texts
    limit = Limit(in_domain - MARGIN, (in_domain * (1 - in_domain) / size) ** 0.5)
    truths, errors = ([getattr(shift, name) for shift in known] for name in ("truth", "truth_error"))
    expected = [anticipate(value, forecasts_of(known), truths, errors) for value in forecasts_of(new)]
    sizes = [shift.n_texts for shift in new]
    whole = min(budget * len(new), sum(sizes))
    luck = rng.normal(size=len(new))
    figures = []
    for shares in (share_budget(sizes, whole), spend_labels(sizes, whole, expected, limit)):
        truth = np.array([shift.truth for shift in new], dtype=np.float64)
        shown = truth + luck * np.sqrt(truth * (1 - truth) / np.array(shares))
        wrong = (shown >= limit.accuracy) != (truth >= limit.accuracy)
        figures.append((wrong.mean(), (wrong * np.abs(truth - limit.accuracy)).mean()))
    return np.array([figures[0][0], figures[1][0], figures[0][1], figures[1][1]])


def _limits(values: Floats) -> tuple[float, float, float]:
    reach = float(student(values.size - 1)) * float(values.std(ddof=1)) / values.size**0.5
    return float(values.mean()), float(values.mean()) - reach, float(values.mean()) + reach


def _bounds(found: tuple[float, float, float]) -> str:
    return f"{100 * found[0]:+.2f} [{100 * found[1]:+.2f}, {100 * found[2]:+.2f}]"


def spent_table(cells: Sequence[Spent]) -> PlainTable:
    """Build the table of decisions by allocation of labels."""
    rows = [
        [
            f"{cell.models} ({cell.n_models})",
            str(cell.budget),
            *(f"{100 * each:.1f}" for each in (cell.evenly, cell.targeted)),
            *map(_bounds, (cell.less, cell.less_lost)),
        ]
        for cell in cells
    ]
    heads = (
        "models (number)", "labels per domain", "wrong if even, %", "wrong if targeted, %", "difference",
        "difference in points lost",
    )  # fmt: skip
    title = f"Decisions at a margin of {100 * MARGIN:g} points, by allocation of labels"
    return PlainTable(title, heads, rows)


def order_table(cells: Sequence[OrderCell]) -> PlainTable:
    """Build the table of how often orderings are significantly better than chance."""
    rows = [[str(cell.domains), f"{cell.correlation:g}", str(cell.shown)] for cell in cells]
    heads = ("labelled domains", "correlation of forecasts and scores", "significant, %")
    title = "Orderings significantly better than chance (at most 5% expected at correlation 0)"
    return PlainTable(title, heads, rows)
