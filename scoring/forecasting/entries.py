"""Forecasts of a stored entry, computed from its predictions only and cached: other entries do not affect them."""

import polars as pl
import pydantic

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting.methods import NO_PROBABILITIES, chosen_methods
from shiftbench.scoring.forecasting.run import forecast_task
from shiftbench.scoring.forecasting.samples import reason_against_forecasts, task_samples
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.scores.shape import Record
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import PLACEBO

FORECAST_VERSION = "3"
"""Changes if the same predictions would have other forecasts; stored forecasts of another version are recomputed."""
MAX_PREDICTIONS = 1_000_000
"""Maximum number of predictions of one task that a server forecasts: some minutes on one core."""


class EntryForecasts(Record):
    """All forecasts of an entry.

    ``has_validation``: whether there were validation rows. ``reasons``: by task, why there is no forecast; each task of
    the entry, except placebos, is in ``tasks`` or in ``reasons``.
    """

    version: str = FORECAST_VERSION
    has_validation: bool
    tasks: tuple[TaskForecast, ...]
    reasons: dict[str, str] = pydantic.Field(default_factory=dict)

    def of(self, task: str) -> TaskForecast | None:
        """Return the forecasts of a task; None without any."""
        return next((each for each in self.tasks if each.task == task), None)


def forecast_entry(predictions: pl.DataFrame, validation: pl.DataFrame | None, folder: DatasetFolder) -> EntryForecasts:
    """Forecast the accuracy of an entry on every shift by all methods.

    Args:
        predictions: its checked predictions on test rows.
        validation: its checked predictions on validation rows; None without.
        folder: the dataset.
    Raises: InvalidInput if labels are withheld: a forecast shown with the truth, or calibrated on the source's test
        rows, would reveal them.
    """
    if not folder.has_public_labels:
        what, cure = "there are no forecasts for withheld labels", "see the results of the last round"
        raise InvalidInput(Problem(what, folder.manifest.benchmark, cure=cure))
    found, reasons = [], {}
    for task in predictions["task"].unique(maintain_order=True).to_list():
        if task.endswith(PLACEBO):
            continue
        rows = predictions.filter(pl.col("task") == task)
        held_out = None if validation is None else validation.filter(pl.col("task") == task)
        reason = _why_not(task, rows, folder)
        try:
            if reason is None:
                samples = task_samples(task, rows, folder, held_out)
                found.append(forecast_task(samples, chosen_methods(None)))
        except InvalidInput as error:
            reason = error.problems[0].what
        if reason is not None:
            reasons[task] = reason
    return EntryForecasts(has_validation=validation is not None, tasks=tuple(found), reasons=reasons)


def read_forecasts(content: bytes) -> EntryForecasts | None:
    """Parse cached forecasts.

    Args:
        content: JSON of ``EntryForecasts``.

    Returns: the forecasts; None if they are damaged or of another version, so that they must be recomputed.
    """
    try:
        found = EntryForecasts.model_validate_json(content)
    except ValueError:
        return None
    return found if found.version == FORECAST_VERSION else None


def _why_not(task: str, rows: pl.DataFrame, folder: DatasetFolder) -> str | None:
    """Return why a task's predictions are not forecast; None if they may be."""
    reason = reason_against_forecasts(folder.task(task), rows)
    if reason is not None:
        return reason
    if PROBABILITIES not in rows.columns or rows[PROBABILITIES].is_null().all():
        return NO_PROBABILITIES
    if len(rows) > MAX_PREDICTIONS:
        return f"it has {len(rows):,} predictions; a server forecasts at most {MAX_PREDICTIONS:,}"
    return None
