"""Predictions of one model on the rows of a check, kept beside the report so that a stopped run goes on."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import polars as pl

from shiftbench.baselines.models import LoadedModel, TextCounts, list_doubts, predict_in_parts
from shiftbench.baselines.runs import WorkFolder
from shiftbench.checking.check_data import CheckData
from shiftbench.scoring.forecasting.files import forecast_predictions
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.titles import domain_titles, with_forecast_titles
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.vocabulary import ELSEWHERE, TaskKind

log = logging.getLogger(__name__)
_SETTINGS, _COUNTS = "shiftbench.check", "shiftbench.counts"
"""Keys of the prediction file's own record: what it was made with, and what of the texts could not be read whole."""


def predict_rows(model: LoadedModel, data: CheckData, place: Path) -> pl.DataFrame:
    """Predict all test rows and write the predictions, or read those that the same model made of the same rows.

    Args:
        model: the model.
        data: the rows.
        place: the prediction file, by the file's own ids; parts of it wait in a folder beside it until all are there.
    Returns: rows as ``shiftbench.validation.predictions.CHECKED_PREDICTIONS`` has them.
    Raises: InvalidInput naming the row where the model fails; what it predicted before is kept.
    """
    facts = replace(data.folder.prediction_task(data.task), sources=tuple(data.info.domains))
    rows = data.folder.test(data.task, columns=["id", *data.info.inputs])
    return _predict_or_reuse(model, _settings_key(model, data), rows, facts, data, place, data.own_ids)


def _settings_key(model: LoadedModel, data: CheckData, **more: str) -> str:
    made_by = {"model": [model.name, model.version], "data": data.folder.content_hash, **more}
    return json.dumps({**made_by, "task": data.task, "home": data.home}, sort_keys=True, default=str)


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
        log.info("%s: reused, because the same model predicted these rows before", place)
        return check_predictions(kept, [facts], str(place))
    work = WorkFolder(place, {"settings": settings})
    answers = predict_in_parts(model, rows, data.info.inputs, work=work)
    prediction = pl.col("prediction")
    if data.info.kind is TaskKind.TAGGING:
        prediction = prediction.list.join(" ")
    more = [pl.col(name) for name in ("confidence", "probabilities") if name in answers.columns]
    source, seed = pl.lit(data.home or ELSEWHERE).alias("source"), pl.lit(0, pl.Int64).alias("seed")
    frame = answers.select(source, rows["id"], prediction, seed, *more)
    checked = check_predictions(frame, [facts], model.name)
    with replace_file(place) as new:
        record = {_SETTINGS: settings, _COUNTS: json.dumps(asdict(model.counts))}
        as_own_predictions(checked, own_ids).write_parquet(new, metadata=record)
    work.clear()
    return checked


def as_own_predictions(checked: pl.DataFrame, own_ids: Mapping[str, str]) -> pl.DataFrame:
    """Return checked predictions by the file's own ids, as ``score`` and ``gate`` take them with the file."""
    return checked.drop("task", "target").sort("id").with_columns(pl.col("id").replace(own_ids))


def _read_saved(place: Path, settings: str, model: LoadedModel) -> pl.DataFrame | None:
    """Read predictions that were made with these settings, and how many texts the model could not read whole."""
    if not place.is_file():
        return None
    try:
        record = pl.read_parquet_metadata(place)
    except pl.exceptions.PolarsError:  # some other file, which is replaced
        return None
    if record.get(_SETTINGS) != settings:
        return None
    model.counts = TextCounts(**parse_json(record[_COUNTS]))
    return pl.read_parquet(place)


def predict_unlabelled(model: LoadedModel, rows: CheckData, place: Path) -> pl.DataFrame:
    """Predict the rows without labels, of which there are some.

    Args:
        model: the model.
        rows: what it is checked on.
        place: where the predictions are kept.
    Returns: checked predictions.
    """
    assert rows.unlabelled is not None
    texts = sha256(rows.unlabelled.frame.write_json().encode()).hexdigest()
    settings = _settings_key(model, rows, unlabelled=texts)
    facts = rows.unlabelled.prediction_task(rows.folder)
    return _predict_or_reuse(model, settings, rows.unlabelled.frame, facts, rows, place, {})


def forecast_unlabelled(name: str, rows: CheckData, predictions: pl.DataFrame, away: pl.DataFrame) -> Forecasts:
    """Forecast a model's accuracy on the rows without labels.

    Args:
        name: what the model is called.
        rows: what it is checked on; it has rows without labels, and a home domain.
        predictions: its checked predictions on the rows with labels.
        away: those on the others.
    Returns: forecasts of the domains without labels, by what the file calls them.
    """
    assert rows.unlabelled is not None
    forecasts = forecast_predictions(
        name,
        predictions,
        rows.folder,
        unlabelled=rows.unlabelled.samples(away, rows.unlabelled.prediction_task(rows.folder).labels),
        targets=list(rows.unlabelled.titles),
    )
    return with_forecast_titles(forecasts, {**domain_titles(rows.folder), **rows.unlabelled.titles})


def model_doubts(model: LoadedModel, data: CheckData, predictions: pl.DataFrame) -> tuple[str, ...]:
    """List what matters of a model and its answers for reading its scores, a sentence each."""
    gold = None
    if data.info.kind is TaskKind.CLASSIFICATION:
        predictions = data.folder.test(data.task, columns=["id", "label"]).join(predictions, on="id", how="inner")
        gold = predictions["label"]
    return (*model.notes, *list_doubts(model, gold, predictions["prediction"], data.info.labels))
