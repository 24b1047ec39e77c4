"""Forecasts of a stored entry, computed once, from its own predictions alone: nobody else's entry changes them.

So agreement on the line has the entry's own runs and no other models; ``shiftbench study score-forecasts --store``
draws it through all of them.
"""

from importlib.util import find_spec

import polars as pl
import pydantic

from shiftbench.builders.encoder import DEFAULT_ENCODER, CachedVectors, Encoder, offline_weights
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.forecasting.methods import NO_PROBABILITIES, NO_VECTORS
from shiftbench.scoring.forecasting.run import chosen_methods, forecast_task
from shiftbench.scoring.forecasting.samples import TaskSamples, reason_against_forecasts, task_samples
from shiftbench.scoring.forecasting.shape import Forecast, ShiftForecast, TaskForecast
from shiftbench.scoring.forecasting.text_vectors import TextVectors
from shiftbench.scoring.scores.shape import Record
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import PLACEBO

FORECAST_VERSION = "2"
"""Changes when the same predictions would give other forecasts: those of another version are made again."""
MAX_PREDICTIONS = 1_000_000
"""Predictions of one task up to which a server forecasts them: some minutes of one core."""
NO_CACHED_VECTORS = "no embeddings of all its texts are cached on the machine that computed this"


class EntryForecasts(Record):
    """All forecasts of an entry.

    ``has_validation`` says whether validation rows were there. ``reasons`` say, by task, why nothing was forecast;
    each task of the entry but placebos stands in ``tasks`` or there.
    """

    version: str = FORECAST_VERSION
    has_validation: bool
    tasks: tuple[TaskForecast, ...]
    reasons: dict[str, str] = pydantic.Field(default_factory=dict)

    def of(self, task: str) -> TaskForecast | None:
        """Return the forecasts of a task; None where there are none."""
        return next((each for each in self.tasks if each.task == task), None)


def forecast_entry(predictions: pl.DataFrame, validation: pl.DataFrame | None, folder: DatasetFolder) -> EntryForecasts:
    """Forecast the accuracy of an entry on every shift by all methods.

    Embeddings are taken where those of all texts are cached; methods that need them are left out elsewhere.

    Args:
        predictions: its checked predictions on test rows.
        validation: its checked predictions on validation rows; None without.
        folder: the dataset.
    Raises: InvalidInput when labels are withheld: a forecast beside the truth, or one that was set at home on test
        rows, would reveal them.
    """
    if not folder.has_public_labels:
        what, cure = "nothing is forecast where labels are withheld", "see what the last round released"
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
                made = forecast_task(samples, chosen_methods(None), _vectors(samples, folder))
                found.append(_explain_missing_vectors(made))
        except InvalidInput as error:
            reason = error.problems[0].what
        if reason is not None:
            reasons[task] = reason
    return EntryForecasts(has_validation=validation is not None, tasks=tuple(found), reasons=reasons)


def read_forecasts(content: bytes) -> EntryForecasts | None:
    """Read kept forecasts; None when they are damaged or of another version."""
    try:
        found = EntryForecasts.model_validate_json(content)
    except ValueError:
        return None
    return found if found.version == FORECAST_VERSION else None


def _why_not(task: str, rows: pl.DataFrame, folder: DatasetFolder) -> str | None:
    """Return why nothing is forecast of a task's predictions; None where something may be."""
    reason = reason_against_forecasts(folder.task(task), rows)
    if reason is not None:
        return reason
    if PROBABILITIES not in rows.columns or rows[PROBABILITIES].is_null().all():
        return NO_PROBABILITIES
    if len(rows) > MAX_PREDICTIONS:
        return f"it has {len(rows):,} predictions, and a server forecasts {MAX_PREDICTIONS:,} at most"
    return None


def _vectors(samples: TaskSamples, folder: DatasetFolder) -> TextVectors | None:
    """Return the embeddings of a task's texts where all of them are cached on this machine."""
    facts = folder.manifest.encoder
    is_at_hand = offline_weights(DEFAULT_ENCODER) is not None and find_spec("sentence_transformers") is not None
    if facts is None and not is_at_hand:
        return None
    revision = facts.revision if facts is not None else Encoder(DEFAULT_ENCODER).revision
    try:
        return TextVectors(samples, folder, CachedVectors(revision))
    except KeyError:
        return None


def _explain_missing_vectors(task: TaskForecast) -> TaskForecast:
    """Replace the reason why texts have no embeddings: readers of a page cannot choose an encoder."""

    def forecast(each: Forecast) -> Forecast:
        return each.model_copy(update={"reason": NO_CACHED_VECTORS}) if each.reason == NO_VECTORS else each

    def shift(each: ShiftForecast) -> ShiftForecast:
        return each.model_copy(update={"forecasts": tuple(map(forecast, each.forecasts))})

    return task.model_copy(update={"shifts": tuple(map(shift, task.shifts))})
