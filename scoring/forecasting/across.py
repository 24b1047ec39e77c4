"""Cells of the grid, and the methods that learn from other domains' shifts: the target is left out of all of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shiftbench.metrics.classification import confusion_counts, macro_f1
from shiftbench.metrics.forecasts._checks import NoForecastError
from shiftbench.metrics.forecasts.average import average_forecast
from shiftbench.metrics.forecasts.divergence_line import score_by_divergence
from shiftbench.metrics.forecasts.expected_confusion import expected_macro_f1
from shiftbench.metrics.forecasts.mean_drop import less_mean_drop
from shiftbench.metrics.forecasts.nuclear_norm import accuracy_by_norm, nuclear_norm
from shiftbench.scoring.forecasting.methods import (
    ACROSS,
    FLOORS,
    METHODS,
    NO_HOME,
    NO_PROBABILITIES,
    forecast_run,
    shift_runs,
)
from shiftbench.scoring.forecasting.samples import TaskSamples
from shiftbench.scoring.forecasting.text_vectors import ShiftVectors
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
