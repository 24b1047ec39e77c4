"""From the samples of a task to forecasts of all its shifts, their intervals, and how methods did where labels are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shiftbench.metrics.classification import confusion_counts, macro_f1
from shiftbench.metrics.forecasts._checks import NoForecastError
from shiftbench.metrics.forecasts.confidence import accuracy_by_norm, nuclear_norm
from shiftbench.metrics.forecasts.lines import score_by_divergence
from shiftbench.metrics.forecasts.shift import expected_macro_f1
from shiftbench.metrics.forecasts.simple import average_forecast, less_mean_drop
from shiftbench.metrics.new_domain import domain_quantile, interval_level
from shiftbench.scoring.forecasting.errors import Point, errors_by_domain, method_errors
from shiftbench.scoring.forecasting.methods import (
    ACROSS,
    FLOORS,
    METHODS,
    NO_HOME,
    NO_PROBABILITIES,
    TITLES,
    forecast_run,
    shift_runs,
)
from shiftbench.scoring.forecasting.samples import TaskSamples
from shiftbench.scoring.forecasting.shape import Forecast, MethodErrors, ShiftForecast, TaskForecast
from shiftbench.scoring.forecasting.text_vectors import ShiftVectors, mean_likeness
from shiftbench.validation.report import Problem, UnknownChoice, did_you_mean, quote_names
from shiftbench.validation.vocabulary import source_parts


@dataclass(frozen=True)
class Cell:
    """One source on one target, means over seeds.

    Attributes:
        source, target: names.
        n_texts: texts of the target.
        n_runs: seeds.
        truth: score on the target; None where its labels are unknown.
        source_score: score at home; None without labelled held-out texts.
        norm: nuclear norm of the calibrated probabilities; None without.
        divergence: of source and target; None where unknown.
        own: what each method of ``METHODS`` forecasts, or why it does not.
        expected_macro_f1: forecast of macro-F1; None without probabilities.
        macro_f1: what it is; None where labels are unknown.
        effective_size: source texts that importance weighting effectively rests on; None where it was not asked for.
    """

    source: str
    target: str
    n_texts: int
    n_runs: int
    truth: float | None
    source_score: float | None
    norm: float | None
    divergence: float | None
    own: Mapping[str, float | str] = field(default_factory=dict)
    expected_macro_f1: float | None = None
    macro_f1: float | None = None
    effective_size: float | None = None

    def involves(self, domains: Collection[str]) -> bool:
        """Check whether one of these domains is its target or a part of its source."""
        return bool({self.target, *source_parts(self.source)} & set(domains))


def grid_cells(samples: TaskSamples, vectors: ShiftVectors | None, methods: Sequence[str]) -> list[Cell]:
    """Forecast every shift by the methods that need no other one.

    Args:
        samples: of one task.
        vectors: embeddings of its texts; None leaves out the methods that need them.
        methods: names; what the average takes is computed with it.
    Returns: cells by target and source.
    """
    asked = set(METHODS) if "average" in methods else set(methods)
    names = [name for name in METHODS if name in asked]
    by_cell: dict[tuple[str, str], list[Cell]] = {}
    for shift in shift_runs(samples, vectors):
        source, target = shift.run[0], shift.target
        away, table = shift.away, None if shift.away.probabilities is None else shift.table
        counts = None
        if away.labels is not None and away.predicted is not None:
            counts = confusion_counts(away.labels, away.predicted, shift.n_classes)
        cell = Cell(
            source,
            target,
            len(away.ids),
            1,
            float(away.scores.mean()) if away.is_labelled else None,
            None if shift.home is None else float(shift.home.scores.mean()),
            None if table is None else nuclear_norm(table),
            _average_divergence(samples, source, target),
            forecast_run(shift, names),
            None if table is None else expected_macro_f1(table, shift.codes),
            None if counts is None else float(macro_f1(counts)),
            shift.effective_size if "importance" in names else None,
        )
        by_cell.setdefault((target, source), []).append(cell)
    return [_average_seeds(cells) for _, cells in sorted(by_cell.items())]


def forecast_cell(cell: Cell, cells: Sequence[Cell], left_out: Collection[str], method: str) -> float | str:
    """Forecast one cell by one method.

    Args:
        cell: the cell.
        cells: all cells of the grid; those with known labels that involve neither the target nor a domain of
            ``left_out`` are what lines and mean drops are taken from.
        left_out: further domains that must not be known.
        method: its name.
    Returns: a fraction, or the reason why there is none.
    """
    if method in METHODS:
        return cell.own[method]
    avoided = {cell.target, *left_out}
    known = [(each, each.truth) for each in cells if each.truth is not None and not each.involves(avoided)]
    try:
        return _forecast_from_others(cell, known, cells, left_out, method)
    except NoForecastError as reason:
        return str(reason)


def _forecast_from_others(
    cell: Cell, known: Sequence[tuple[Cell, float]], cells: Sequence[Cell], left_out: Collection[str], method: str
) -> float:
    """Forecast by a method of ``ACROSS``; ``known`` are the cells that may be learnt from, with their accuracies."""
    if method == "average":
        others = [name for name in (*METHODS, *ACROSS) if name not in (*FLOORS, "average")]
        values = [forecast_cell(cell, cells, left_out, name) for name in others]
        return average_forecast([value for value in values if not isinstance(value, str)])
    if method == "nuclear-norm":
        if cell.norm is None:
            raise NoForecastError(NO_PROBABILITIES)
        usable = [(each.norm, truth) for each, truth in known if each.norm is not None]
        return accuracy_by_norm(cell.norm, [norm for norm, _ in usable], [truth for _, truth in usable])
    if cell.source_score is None:
        raise NoForecastError(NO_HOME)
    drops = [(each.divergence, each.source_score, truth) for each, truth in known if each.source_score is not None]
    if method == "mean-drop":
        return less_mean_drop(cell.source_score, [score for _, score, _ in drops], [truth for *_, truth in drops])
    if cell.divergence is None:
        raise NoForecastError("the dataset does not tell how far source and target are apart")
    apart = [(divergence, score - truth) for divergence, score, truth in drops if divergence is not None]
    return score_by_divergence(cell.source_score, cell.divergence, [d for d, _ in apart], [drop for _, drop in apart])


def _average_divergence(samples: TaskSamples, source: str, target: str) -> float | None:
    """Average the divergences of the target from the parts of a source; None where one is unknown."""
    found = [samples.divergence.get(part, {}).get(target) for part in source_parts(source)]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known and len(known) == len(found) else None


def _average_seeds(cells: Sequence[Cell]) -> Cell:
    """Average the cells of the seeds of one source on one target."""
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
        own=own,
        truth=mean("truth"),
        source_score=mean("source_score"),
        norm=mean("norm"),
        effective_size=mean("effective_size"),
        expected_macro_f1=mean("expected_macro_f1"),
        macro_f1=mean("macro_f1"),
    )


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
    grid = Grid(grid_cells(samples, vectors, methods), methods, samples.likeness)
    return TaskForecast(
        task=samples.task,
        metric=samples.metric,
        domains=tuple(samples.domains),
        labelled=grid.labelled,
        n_validation=samples.n_validation,
        shifts=tuple(grid.shift(cell) for cell in grid.cells),
        errors=tuple(found for name in methods if (found := grid.errors(name)) is not None),
        notes=tuple(_list_notes(samples, grid)),
    )


class Grid:
    """The cells of one task, with what methods forecast of them and how far they were off.

    Args:
        cells: all of them.
        methods: names.
        likeness: of domains, from ``word_likeness``; empty where their texts are not at hand.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        methods: Sequence[str],
        likeness: Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        self.cells, self.methods, self.likeness = cells, methods, likeness or {}
        self.labelled = tuple(sorted({cell.target for cell in cells if cell.truth is not None}))
        self._values: dict[tuple[str, str, frozenset[str], str], float | str] = {}
        self._known: dict[str, list[Point]] = {}

    def value(self, cell: Cell, method: str, left_out: Collection[str] = ()) -> float | str:
        """Return a forecast, or the reason why there is none, with further domains left out of what is known."""
        key = cell.source, cell.target, frozenset(left_out), method
        if key not in self._values:
            self._values[key] = forecast_cell(cell, self.cells, left_out, method)
        return self._values[key]

    def errors_by_domain(self, method: str, left_out: Collection[str]) -> dict[str, list[float]]:
        """List the absolute errors of shifts that do not involve the domains left out, by target."""
        return errors_by_domain(
            _build_point(cell, cell.truth, value)
            for cell in self.cells
            if cell.truth is not None
            and not cell.involves(left_out)
            and not isinstance(value := self.value(cell, method, left_out), str)
        )

    def reach(self, method: str, left_out: Collection[str], level: float | None) -> float | None:
        """Return how far an interval reaches on either side; None where its level needs more domains."""
        errors = list(self.errors_by_domain(method, left_out).values())
        if level is None or len(errors) < level / (1 - level) - 1e-9:
            return None
        return domain_quantile(errors, level)

    def shift(self, cell: Cell) -> ShiftForecast:
        """Forecast one cell by all methods; its target is left out of all that is known."""
        others = [domain for domain in self.labelled if self._sets_interval(domain, cell.target)]
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
            forecasts=tuple(self._forecast_by(cell, name, level) for name in self.methods),
            expected_macro_f1=cell.expected_macro_f1,
            macro_f1=cell.macro_f1,
            effective_size=cell.effective_size,
            likeness={name: alike for name, alike in self.likeness.get(cell.target, {}).items() if name in others},
            likeness_among=mean_likeness(self.likeness, others),
        )

    def _sets_interval(self, domain: str, target: str) -> bool:
        """Check whether a labelled domain has a shift that does not involve a target."""
        return any(cell.target == domain and not cell.involves({target}) for cell in self.cells)

    def _forecast_by(self, cell: Cell, method: str, level: float | None) -> Forecast:
        value = self.value(cell, method)
        if isinstance(value, str):
            return Forecast(method=method, value=None, reason=value)
        low, high = self._set_ends(cell, method, value, level)
        return Forecast(method=method, value=value, low=low, high=high)

    def errors(self, method: str) -> MethodErrors | None:
        """Measure how a method did on the labelled targets; None where it has no forecast there."""
        return method_errors(method, {name: self._list_points(name) for name in {method, *FLOORS} & {*self.methods}})

    def _list_points(self, method: str) -> list[Point]:
        """List a method's forecasts of labelled targets, each with an interval set on the other ones alone.

        There are no intervals where one domain less leaves fewer than two.
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
        """Return the ends of a forecast's interval, set without the target; None without one."""
        reach = self.reach(method, {cell.target}, level)
        return (None, None) if reach is None else (max(value - reach, 0.0), min(value + reach, 1.0))


def _build_point(cell: Cell, truth: float, value: float) -> Point:
    """Return a forecast of a cell whose truth is known; a prediction file is one model, so it has no name."""
    return Point(cell.target, "", cell.source, truth, value)


def _list_notes(samples: TaskSamples, grid: Grid) -> list[str]:
    found = []
    if samples.home and not samples.n_validation:
        found.append("There are no validation rows: the source's own test rows stand in for them.")
    lacking = sorted({source for (source, _), _ in samples.shifts} - {source for source, _ in samples.home})
    if lacking:
        found.append(
            f"No labelled held-out texts of {quote_names(lacking)}: methods that need them have no forecast there."
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
        found.append(
            f"One label alone is predicted on {quote_names(constant)}: a forecast says little of such a model."
        )
    found += [f"'{name}' is left out: {n} test texts are too few." for name, n in samples.few_texts.items()]
    if not grid.labelled:
        found.append("No other domain has labels: there is no interval, and no error is known.")
    return found
