"""Forecasts of ``shiftbench check``: what to expect of a model on the domains of a file that have no labels."""

from pathlib import Path

import polars as pl

from shiftbench.baselines.models import LoadedModel
from shiftbench.checking.check_data import CheckData
from shiftbench.checking.check_predictions import predict_unlabelled
from shiftbench.scoring.forecasting.files import forecast_predictions
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.titles import domain_titles, with_forecast_titles


def forecast_unlabelled(model: LoadedModel, rows: CheckData, predictions: pl.DataFrame, place: Path) -> Forecasts:
    """Predict the rows without labels and forecast the model's accuracy on them.

    Args:
        model: the model.
        rows: what it is checked on; it has rows without labels, and a home domain.
        predictions: its checked predictions on the rows with labels.
        place: where the predictions on the others are kept.
    Returns: forecasts of the domains without labels, by what the file calls them.
    """
    assert rows.unlabelled is not None
    checked = predict_unlabelled(model, rows, place)
    facts = rows.unlabelled.prediction_task(rows.folder)
    forecasts = forecast_predictions(
        model.name,
        predictions,
        rows.folder,
        unlabelled=rows.unlabelled.samples(checked, facts.labels),
        targets=list(rows.unlabelled.titles),
    )
    return with_forecast_titles(forecasts, {**domain_titles(rows.folder), **rows.unlabelled.titles})
