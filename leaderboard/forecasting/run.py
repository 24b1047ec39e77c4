"""From the samples of a task to forecasts of all its shifts, their intervals, and how methods did where labels are."""

from collections.abc import Collection, Sequence

import numpy as np

from leaderboard.forecasting.across import Cell, forecast_cell, grid_cells
from leaderboard.forecasting.methods import FLOORS, TITLES
from leaderboard.forecasting.samples import TaskSamples
from leaderboard.forecasting.shape import Forecast, HeldIn, MethodErrors, ShiftForecast, TaskForecast
from leaderboard.forecasting.text_vectors import ShiftVectors
from leaderboard.metrics.forecast_errors import interval_score, mean_by_domain, skill
from leaderboard.metrics.hierarchical_conformal import coverage_by_domain, domain_quantile, interval_level
from validation.report import Problem, UnknownChoice, did_you_mean

_MIN_TESTED = 2
"""Domains that must be left to set an interval on when one is left out to test it."""


def chosen_methods(names: Sequence[str] | None) -> tuple[str, ...]:
    """Return methods in the order in which they are shown, floors always among them.

    Args:
        names: what was asked for; None asks for all.
    Raises: InvalidInput proposing the nearest name where there is no such method.
    """
    unknown = [name for name in names or () if name not in TITLES]
    if unknown:
        cure = did_you_mean(unknown[0], list(TITLES))
        raise UnknownChoice(Problem("there is no such method of forecasting", "--method", f"'{unknown[0]}'", cure))
    return tuple(name for name in TITLES if names is None or name in (*FLOORS, *names))


def forecast_task(samples: TaskSamples, methods: Sequence[str], vectors: ShiftVectors | None = None) -> TaskForecast:
    """Forecast every shift of a task, and see how methods did on the targets whose labels are known.

    Args:
        samples: of the task.
        methods: names, from ``chosen_methods``.
        vectors: embeddings of its texts; None leaves out the methods that need them.
    """
    grid = Grid(grid_cells(samples, vectors, methods), methods)
    return TaskForecast(
        task=samples.task,
        metric=samples.metric,
        domains=tuple(samples.domains),
        labelled=grid.labelled,
        n_validation=samples.n_validation,
        shifts=tuple(grid.shift(cell) for cell in grid.cells),
        errors=tuple(found for name in methods if (found := grid.errors(name)) is not None),
        notes=tuple(_notes(samples, grid)),
    )


class Grid:
    """The cells of one task, with what methods forecast of them and how far they were off.

    Args:
        cells: all of them.
        methods: names.
    """

    def __init__(self, cells: Sequence[Cell], methods: Sequence[str]) -> None:
        self.cells, self.methods = cells, methods
        self.labelled = tuple(sorted({cell.target for cell in cells if cell.truth is not None}))
        self._values: dict[tuple[str, str, frozenset[str], str], float | str] = {}

    def value(self, cell: Cell, method: str, left_out: Collection[str] = ()) -> float | str:
        """Return a forecast, or the reason why there is none, with further domains left out of what is known."""
        key = cell.source, cell.target, frozenset(left_out), method
        if key not in self._values:
            self._values[key] = forecast_cell(cell, self.cells, left_out, method)
        return self._values[key]

    def errors_by_domain(self, method: str, left_out: Collection[str]) -> dict[str, list[float]]:
        """List the absolute errors of shifts that do not involve the domains left out, by target."""
        found: dict[str, list[float]] = {}
        for cell in self.cells:
            if cell.truth is None or cell.involves(left_out):
                continue
            value = self.value(cell, method, left_out)
            if not isinstance(value, str):
                found.setdefault(cell.target, []).append(abs(value - cell.truth))
        return found

    def reach(self, method: str, left_out: Collection[str], level: float | None) -> float | None:
        """Return how far an interval reaches on either side; None where its level needs more domains."""
        errors = list(self.errors_by_domain(method, left_out).values())
        if level is None or len(errors) < level / (1 - level) - 1e-9:
            return None
        return domain_quantile(errors, level)

    def shift(self, cell: Cell) -> ShiftForecast:
        """Forecast one cell by all methods; its target is left out of all that is known."""
        others = [domain for domain in self.labelled if self._sets(domain, cell.target)]
        level = interval_level(len(others))
        return ShiftForecast(
            source=cell.source,
            target=cell.target,
            n_texts=cell.n_texts,
            n_runs=cell.n_runs,
            truth=cell.truth,
            source_score=cell.source_score,
            level=level,
            set_on=tuple(others),
            forecasts=tuple(self._forecast(cell, name, level) for name in self.methods),
            expected_macro_f1=cell.expected_macro_f1,
            macro_f1=cell.macro_f1,
        )

    def _sets(self, domain: str, target: str) -> bool:
        """Check whether a labelled domain has a shift that does not involve a target."""
        return any(cell.target == domain and not cell.involves({target}) for cell in self.cells)

    def _forecast(self, cell: Cell, method: str, level: float | None) -> Forecast:
        value = self.value(cell, method)
        if isinstance(value, str):
            return Forecast(method=method, value=None, reason=value)
        reach = self.reach(method, {cell.target}, level)
        if reach is None:
            return Forecast(method=method, value=value)
        return Forecast(method=method, value=value, low=max(value - reach, 0.0), high=min(value + reach, 1.0))

    def errors(self, method: str) -> MethodErrors | None:
        """Measure how a method did on the labelled targets; None where it has no forecast there."""
        cells = [
            cell for cell in self.cells if cell.truth is not None and not isinstance(self.value(cell, method), str)
        ]
        if not cells:
            return None
        targets = [cell.target for cell in cells]
        off = np.array([self._off(cell, method) for cell in cells])
        held, winkler = self._held(method)
        return MethodErrors(
            method=method,
            n_domains=len(set(targets)),
            n_shifts=len(cells),
            error=float(mean_by_domain(np.abs(off), targets).mean()),
            bias=float(mean_by_domain(off, targets).mean()),
            interval_score=winkler,
            skill={floor: self._skill(method, floor, cells) for floor in FLOORS if floor != method},
            held=held,
        )

    def _off(self, cell: Cell, method: str) -> float:
        value = self.value(cell, method)
        assert not isinstance(value, str)
        assert cell.truth is not None
        return value - cell.truth

    def _skill(self, method: str, floor: str, cells: Sequence[Cell]) -> float | None:
        """Compare errors on the shifts that both forecast."""
        both = [cell for cell in cells if not isinstance(self.value(cell, floor), str)]
        if not both:
            return None
        targets = [cell.target for cell in both]
        sizes = [
            float(mean_by_domain([abs(self._off(cell, name)) for cell in both], targets).mean())
            for name in (method, floor)
        ]
        found = skill(*sizes)
        return None if np.isnan(found) else found

    def _held(self, method: str) -> tuple[HeldIn | None, float | None]:
        """Set an interval for each labelled domain on the others alone; count where it held, and score it."""
        wanted = interval_level(len(self.labelled))
        n_others = min((len(self.errors_by_domain(method, {domain})) for domain in self.labelled), default=0)
        if wanted is None or n_others < _MIN_TESTED:
            return None, None
        level = min(wanted, n_others / (n_others + 1))
        inside: dict[str, list[bool]] = {}
        scores: dict[str, list[float]] = {}
        for cell in self.cells:
            value = self.value(cell, method)
            if cell.truth is None or isinstance(value, str):
                continue
            reach = self.reach(method, {cell.target}, level)
            assert reach is not None
            low, high = max(value - reach, 0.0), min(value + reach, 1.0)
            inside.setdefault(cell.target, []).append(low <= cell.truth <= high)
            scores.setdefault(cell.target, []).append(float(interval_score(low, high, cell.truth, level)))
        found = coverage_by_domain(list(inside.values()), level)
        winkler = float(np.mean([np.mean(each) for each in scores.values()]))
        return HeldIn(level=level, **found._asdict()), winkler


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _notes(samples: TaskSamples, grid: Grid) -> list[str]:
    found = []
    if samples.home and not samples.n_validation:
        found.append("There are no validation rows: the source's own test rows stand in for them.")
    lacking = sorted({source for (source, _), _ in samples.shifts} - {source for source, _ in samples.home})
    if lacking:
        found.append(
            f"No labelled held-out texts of {_quoted(lacking)}: methods that need them have no forecast there."
        )
    if not samples.labels:
        found.append(f"Outputs are no labels: what is forecast is {samples.metric}, by methods that need none.")
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
        found.append(f"One label alone is predicted on {_quoted(constant)}: a forecast says little of such a model.")
    found += [f"'{name}' is left out: {n} test texts are too few." for name, n in samples.few_texts.items()]
    if not grid.labelled:
        found.append("No other domain has labels: there is no interval, and no error is known.")
    return found
