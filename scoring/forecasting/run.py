"""Forecasts of all shifts from a task's samples, with their intervals, their order, and the errors of methods."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shiftbench.metrics.domain_order import MIN_ORDERED, judge_order, separated
from shiftbench.metrics.forecasts import NoForecastError, less_mean_error
from shiftbench.metrics.new_domain import domain_quantile, interval_level
from shiftbench.scoring.forecasting.errors import Point, errors_by_domain, method_errors
from shiftbench.scoring.forecasting.methods import (
    CORRECTED,
    FLOORS,
    METHODS,
    ORDERING,
    forecast_run,
    shift_runs,
)
from shiftbench.scoring.forecasting.samples import TaskSamples
from shiftbench.scoring.forecasting.shape import (
    Forecast,
    MethodErrors,
    OrderEvidence,
    ShiftForecast,
    TaskForecast,
)
from shiftbench.validation.report import quote_names
from shiftbench.validation.vocabulary import source_parts


@dataclass(frozen=True)
class Cell:
    """One source on one target, means over seeds.

    Attributes:
        source, target: names.
        n_texts: texts of the target.
        n_runs: number of seeds.
        truth: score on the target; None if its labels are unknown.
        truth_error: its standard error over test texts; None if its labels are unknown.
        source_score: in-domain score; None without labelled held-out texts.
        own: the forecast of each method of ``METHODS``, or why there is none.
    """

    source: str
    target: str
    n_texts: int
    n_runs: int
    truth: float | None
    truth_error: float | None
    source_score: float | None
    own: Mapping[str, float | str]

    def involves(self, domains: Collection[str]) -> bool:
        """Check whether one of these domains is the cell's target or a part of its source."""
        return bool({self.target, *source_parts(self.source)} & set(domains))


def grid_cells(samples: TaskSamples, methods: Sequence[str]) -> list[Cell]:
    """Forecast every shift by the methods that do not need other shifts.

    Args:
        samples: of one task.
        methods: names.

    Returns: cells by target and source.
    """
    names = [name for name in METHODS if name in {*methods, *(CORRECTED.get(each, each) for each in methods)}]
    by_cell: dict[tuple[str, str], list[Cell]] = {}
    for shift in shift_runs(samples):
        away = shift.away
        cell = Cell(
            shift.run[0],
            shift.target,
            len(away.ids),
            1,
            float(away.scores.mean()) if away.is_labelled else None,
            away.error if away.is_labelled else None,
            None if shift.home is None else float(shift.home.scores.mean()),
            forecast_run(shift, names),
        )
        by_cell.setdefault((cell.target, cell.source), []).append(cell)
    return [_average_seeds(cells) for _, cells in sorted(by_cell.items())]


def forecast_cell(cell: Cell, cells: Sequence[Cell], left_out: Collection[str], method: str) -> float | str:
    """Forecast one cell by one method.

    Args:
        cell: the cell.
        cells: all cells of the grid. Corrections use labelled cells that involve neither the target nor a domain of
            ``left_out``: those of the same source, or, if there are none, those of all sources.
        left_out: further domains whose labels must not be used.
        method: its name.

    Returns: a fraction, or the reason why there is none.
    """
    if method in METHODS:
        return cell.own[method]
    value = cell.own[CORRECTED[method]]
    if isinstance(value, str):
        return value
    avoided = {cell.target, *left_out}
    known = [
        (each.source, said, each.truth)
        for each in cells
        if each.truth is not None
        and not each.involves(avoided)
        and not isinstance(said := each.own[CORRECTED[method]], str)
    ]
    pairs = [each[1:] for each in known if each[0] == cell.source] or [each[1:] for each in known]
    try:
        return less_mean_error(value, [said for said, _ in pairs], [came for _, came in pairs])
    except NoForecastError as reason:
        return str(reason)


def _average_seeds(cells: Sequence[Cell]) -> Cell:
    """Average one source's cells on one target over seeds."""
    first = cells[0]
    if len(cells) == 1:
        return first

    def mean(name: str) -> float | None:
        values = [getattr(cell, name) for cell in cells]
        return None if any(value is None for value in values) else float(np.mean(values))

    own: dict[str, float | str] = {}
    for name in first.own:
        values = [cell.own[name] for cell in cells]
        reasons = [value for value in values if isinstance(value, str)]
        own[name] = reasons[0] if reasons else float(np.mean([value for value in values if not isinstance(value, str)]))
    return replace(
        first,
        n_runs=len(cells),
        truth=mean("truth"),
        truth_error=mean("truth_error"),
        source_score=mean("source_score"),
        own=own,
    )


_SEED = 0
_MIN_TESTED = 2
"""Minimum number of domains left to calibrate an interval on when one is left out for testing."""


def forecast_task(samples: TaskSamples, methods: Sequence[str]) -> TaskForecast:
    """Forecast every shift of a task, and measure the methods' errors on targets whose labels are known.

    Args:
        samples: of the task.
        methods: names, from ``chosen_methods``.
    """
    grid = Grid(grid_cells(samples, methods), methods)
    return TaskForecast(
        task=samples.task,
        metric=samples.metric,
        domains=tuple(samples.domains),
        labelled=grid.labelled,
        n_validation=samples.n_validation,
        shifts=tuple(grid.shift(cell) for cell in grid.cells),
        orders=tuple(grid.order(source) for source in dict.fromkeys(cell.source for cell in grid.cells)),
        errors=tuple(found for name in methods if (found := grid.errors(name)) is not None),
        notes=tuple(_list_notes(samples, grid)),
    )


class Grid:
    """The cells of one task, with the methods' forecasts and errors.

    Args:
        cells: all of them.
        methods: names.
    """

    def __init__(self, cells: Sequence[Cell], methods: Sequence[str]) -> None:
        self.cells, self.methods = cells, methods
        self.labelled = tuple(sorted({cell.target for cell in cells if cell.truth is not None}))
        self._values: dict[tuple[str, str, frozenset[str], str], float | str] = {}
        self._known: dict[str, list[Point]] = {}

    def value(self, cell: Cell, method: str, left_out: Collection[str] = ()) -> float | str:
        """Return a forecast, or the reason why there is none, without using the labels of ``left_out``."""
        key = cell.source, cell.target, frozenset(left_out), method
        if key not in self._values:
            self._values[key] = forecast_cell(cell, self.cells, left_out, method)
        return self._values[key]

    def errors_by_domain(self, method: str, left_out: Collection[str]) -> dict[str, list[float]]:
        """List the absolute errors on shifts that do not involve ``left_out``, by target."""
        return errors_by_domain(
            _build_point(cell, cell.truth, value)
            for cell in self.cells
            if cell.truth is not None
            and not cell.involves(left_out)
            and not isinstance(value := self.value(cell, method, left_out), str)
        )

    def reach(self, method: str, left_out: Collection[str], level: float | None) -> float | None:
        """Return the half-width of an interval; None if its level needs more domains."""
        errors = list(self.errors_by_domain(method, left_out).values())
        # The largest of n errors is a quantile of level n / (n + 1) at most; 1e-9 is for rounding.
        if level is None or len(errors) < level / (1 - level) - 1e-9:
            return None
        return domain_quantile(errors, level)

    def shift(self, cell: Cell) -> ShiftForecast:
        """Forecast one cell by all methods, without using its target's labels."""
        others = [domain for domain in self.labelled if self._sets_interval(domain, cell.target)]
        level = interval_level(len(others))
        return ShiftForecast(
            source=cell.source,
            target=cell.target,
            n_texts=cell.n_texts,
            n_runs=cell.n_runs,
            truth=cell.truth,
            truth_error=cell.truth_error,
            source_score=cell.source_score,
            level=level,
            set_on=tuple(others),
            forecasts=tuple(self._forecast_by(cell, name, level) for name in self.methods),
        )

    def order(self, source: str) -> OrderEvidence:
        """Choose the method that orders a source's targets, and evaluate its order where labels are known.

        Below ``MIN_ORDERED`` labelled targets it is the first method that has a forecast of every target, without
        evaluation.
        """
        cells = [cell for cell in self.cells if cell.source == source]
        able = [
            name
            for name in ORDERING
            if name in self.methods and not any(isinstance(cell.own[name], str) for cell in cells)
        ]
        known = [
            (cell, cell.truth, cell.truth_error)
            for cell in cells
            if cell.truth is not None and cell.truth_error is not None
        ]
        if not able or len(known) < MIN_ORDERED:
            return OrderEvidence(source=source, method=able[0] if able else None, n_domains=len(known))
        values = [[float(cell.own[name]) for cell, *_ in known] for name in able]
        signs = separated([truth for _, truth, _ in known], [error for *_, error in known])
        found = judge_order(values, signs, np.random.default_rng([_SEED, *source.encode()]))
        return OrderEvidence(
            source=source, method=able[found.method], n_domains=len(known), n_methods=len(able), right=found.right,
            n_pairs=found.n_pairs, p=found.p,
        )  # fmt: skip

    def _sets_interval(self, domain: str, target: str) -> bool:
        """Check whether a domain can calibrate a target's interval: some source must not include the target."""
        return any(cell.target == domain and not cell.involves({target}) for cell in self.cells)

    def _forecast_by(self, cell: Cell, method: str, level: float | None) -> Forecast:
        value = self.value(cell, method)
        if isinstance(value, str):
            return Forecast(method=method, value=None, reason=value)
        low, high = self._set_ends(cell, method, value, level)
        return Forecast(method=method, value=value, low=low, high=high)

    def errors(self, method: str) -> MethodErrors | None:
        """Measure a method's errors on the labelled targets; None if it has no forecast there."""
        return method_errors(method, {name: self._list_points(name) for name in {method, *FLOORS} & {*self.methods}})

    def _list_points(self, method: str) -> list[Point]:
        """List a method's forecasts of labelled targets; each interval is calibrated on the other targets only.

        There are no intervals if fewer than two domains remain when one is left out.
        """
        if method not in self._known:
            wanted = interval_level(len(self.labelled))
            n_others = min((len(self.errors_by_domain(method, {domain})) for domain in self.labelled), default=0)
            is_tested = wanted is not None and n_others >= _MIN_TESTED
            level = min(wanted, n_others / (n_others + 1)) if wanted is not None and is_tested else None
            self._known[method] = [
                _build_point(cell, cell.truth, value)._replace(low=low, high=high, level=level)
                for cell in self.cells
                if cell.truth is not None and not isinstance(value := self.value(cell, method), str)
                for low, high in [self._set_ends(cell, method, value, level)]
            ]
        return self._known[method]

    def _set_ends(
        self, cell: Cell, method: str, value: float, level: float | None
    ) -> tuple[float, float] | tuple[None, None]:
        """Return the ends of a forecast's interval, calibrated without the target; None without one."""
        reach = self.reach(method, {cell.target}, level)
        return (None, None) if reach is None else (max(value - reach, 0.0), min(value + reach, 1.0))


def _build_point(cell: Cell, truth: float, value: float) -> Point:
    """Return a forecast of a cell whose truth is known; a prediction file is a single model, so its name is empty."""
    return Point(cell.target, "", cell.source, truth, value, truth_error=cell.truth_error)


def _list_notes(samples: TaskSamples, grid: Grid) -> list[str]:
    found = []
    if samples.home and not samples.n_validation:
        found.append("There are no validation rows; the source's test rows are used instead.")
    lacking = sorted({source for (source, _), _ in samples.shifts} - {source for source, _ in samples.home})
    if lacking:
        found.append(f"No labelled held-out texts of {quote_names(lacking)}: methods that need them make no forecast.")
    if not samples.labels:
        found.append(
            f"Outputs are not labels, so {samples.metric} is forecast, by the methods that need no probabilities."
        )
    elif all(sample.probabilities is None for sample in samples.shifts.values()):
        found.append("The predictions have no probabilities of all labels, which most methods need.")
    constant = sorted(
        {
            target
            for (_, target), sample in samples.shifts.items()
            if sample.predicted is not None and np.unique(sample.predicted).size == 1
        }
    )
    if constant:
        found.append(
            f"Only one label is predicted on {quote_names(constant)}: forecasts for such a model are not informative."
        )
    found += [f"'{name}' is excluded: {n} test texts are too few." for name, n in samples.few_texts.items()]
    if not grid.labelled:
        found.append("No other domain has labels, so there is no interval and no error estimate.")
    return found
