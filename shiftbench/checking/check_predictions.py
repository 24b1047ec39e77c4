"""Predictions of one model on the rows of a check, saved next to the report so that a run can be resumed."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import polars as pl

from shiftbench.baselines.models.doubts import list_doubts
from shiftbench.baselines.models.loaded import LoadedModel, TextCounts
from shiftbench.baselines.models.parts import predict_in_parts
from shiftbench.baselines.runs import WorkFolder
from shiftbench.checking.check_data import CheckData
from shiftbench.scoring.forecasting.files import forecast_predictions
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.titles import domain_titles, rename_domains
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.vocabulary import ELSEWHERE, TaskKind

log = logging.getLogger(__name__)
_SETTINGS, _COUNTS = "shiftbench.check", "shiftbench.counts"
"""Metadata keys of the prediction file: settings of the run, and counts of texts that were not read in full."""


def predict_rows(model: LoadedModel, data: CheckData, place: Path) -> pl.DataFrame:
    """Predict all test rows and write the predictions, or read saved ones of the same model and rows.

    Args:
        model: the model.
        data: the rows.
        place: the prediction file, with the user file's ids; finished parts are stored in a folder next to it.
    Returns: rows in the format of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``.
    Raises: InvalidInput naming the row at which the model fails; earlier predictions are saved.
    """
    facts = replace(data.folder.prediction_task(data.task), sources=tuple(data.info.domains))
    rows = data.folder.test(data.task, columns=["id", *data.info.inputs])
    return _predict_or_reuse(model, _settings_key(model, data), rows, facts, data, place, data.own_ids)


def _settings_key(model: LoadedModel, data: CheckData, **more: str) -> str:
    made_by = {"model": [model.name, model.version], "data": data.folder.content_hash, **more}
    return json.dumps({**made_by, "task": data.task, "home": data.source_domain}, sort_keys=True, default=str)


def _predict_or_reuse(
    model: LoadedModel,
    settings: str,
    rows: pl.DataFrame,
    facts: PredictionTask,
    data: CheckData,
    place: Path,
    own_ids: Mapping[str, str],
) -> pl.DataFrame:
    kept = _read_saved(place, settings, model)
    if kept is not None:
        ids = {own: id for id, own in own_ids.items()}
        kept = kept.with_columns(pl.col("id").replace(ids))
        log.info("%s: reused, because the same model has already predicted these rows", place)
        return check_predictions(kept, [facts], str(place))
    work = WorkFolder(place, {"settings": settings})
    answers = predict_in_parts(model, rows, data.info.inputs, work=work)
    prediction = pl.col("prediction")
    if data.info.kind is TaskKind.TAGGING:
        prediction = prediction.list.join(" ")
    more = [pl.col(name) for name in ("confidence", "probabilities") if name in answers.columns]
    source, seed = pl.lit(data.source_domain or ELSEWHERE).alias("source"), pl.lit(0, pl.Int64).alias("seed")
    frame = answers.select(source, rows["id"], prediction, seed, *more)
    checked = check_predictions(frame, [facts], model.name)
    with replace_file(place) as new:
        record = {_SETTINGS: settings, _COUNTS: json.dumps(asdict(model.counts))}
        as_own_predictions(checked, own_ids).write_parquet(new, metadata=record)
    work.clear()
    return checked


def as_own_predictions(checked: pl.DataFrame, own_ids: Mapping[str, str]) -> pl.DataFrame:
    """Return predictions in the input format of ``score`` and ``gate``, with the user file's ids.

    Args:
        checked: in the format of ``CHECKED_PREDICTIONS``.
        own_ids: maps ids in the dataset to ids in the user file; empty to keep those of the dataset.
    """
    return checked.drop("task", "target").sort("id").with_columns(pl.col("id").replace(own_ids))


def _read_saved(place: Path, settings: str, model: LoadedModel) -> pl.DataFrame | None:
    """Read predictions made with these settings, and the model's counts of texts not read in full."""
    if not place.is_file():
        return None
    try:
        record = pl.read_parquet_metadata(place)
    except pl.exceptions.PolarsError:  # another file, to be overwritten
        return None
    if record.get(_SETTINGS) != settings:
        return None
    model.counts = TextCounts(**parse_json(record[_COUNTS]))
    return pl.read_parquet(place)


def predict_unlabelled(model: LoadedModel, rows: CheckData, place: Path) -> pl.DataFrame:
    """Predict the rows without labels.

    Args:
        model: the model.
        rows: the data of the check; some rows must have no labels.
        place: file for the predictions.
    Returns: checked predictions.
    """
    assert rows.unlabelled is not None
    # The dataset's content hash does not include rows without labels.
    texts = sha256(rows.unlabelled.frame.write_json().encode()).hexdigest()
    settings = _settings_key(model, rows, unlabelled=texts)
    facts = rows.unlabelled.prediction_task(rows.folder)
    return _predict_or_reuse(model, settings, rows.unlabelled.frame, facts, rows, place, {})


def forecast_unlabelled(
    name: str, rows: CheckData, predictions: pl.DataFrame, on_unlabelled: pl.DataFrame
) -> Forecasts:
    """Forecast a model's accuracy on the rows without labels.

    Args:
        name: name of the model.
        rows: the data of the check, with unlabelled rows and a source domain.
        predictions: its checked predictions on the labelled rows.
        on_unlabelled: its checked predictions on the unlabelled rows.
    Returns: forecasts for the domains without labels, with the file's names.
    """
    assert rows.unlabelled is not None
    forecasts = forecast_predictions(
        name,
        predictions,
        rows.folder,
        unlabelled=rows.unlabelled.samples(on_unlabelled, rows.unlabelled.prediction_task(rows.folder).labels),
        targets=list(rows.unlabelled.titles),
    )
    return rename_domains(forecasts, {**domain_titles(rows.folder), **rows.unlabelled.titles})


def model_doubts(model: LoadedModel, data: CheckData, predictions: pl.DataFrame) -> tuple[str, ...]:
    """List warnings about a model and its predictions, one sentence each."""
    gold = None
    if data.info.kind is TaskKind.CLASSIFICATION:
        predictions = data.folder.test(data.task, columns=["id", "label"]).join(predictions, on="id", how="inner")
        gold = predictions["label"]
    return (*model.notes, *list_doubts(model, gold, predictions["prediction"], data.info.labels))
