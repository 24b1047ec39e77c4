"""The commands ``forecast`` and ``score-forecasts``. Everything heavier than typer is imported inside them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.data_options import AnyDataOption, OwnOptions
from validation.command_line import (
    JsonOption,
    PredictionsArgument,
    SubsetOption,
    console,
    require,
    with_options,
    writable_file,
    write_json,
)

if TYPE_CHECKING:
    from builders.encoder import Encoder


@with_options
def forecast(
    predictions: PredictionsArgument,
    data: AnyDataOption,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Forecast by this method, and the floors; repeat. Default: all."),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="NAME", help="Show this domain alone; repeat. Default: all. Others set intervals."
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder", metavar="NAME", help="Sentence encoder of importance weighting and depth: Hub id or path."
        ),
    ] = None,
    subset: SubsetOption = "all",
    *,
    own: OwnOptions,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write a report as one HTML file.", callback=writable_file),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Forecast a model's accuracy on domains without labels, from its probabilities; intervals from the other domains.

    Example: shiftbench forecast preds.parquet --data build/dr --report forecast.html

    Own data: shiftbench forecast preds.csv --data my.csv --id-column id; rows of a domain to forecast have no label.

    Predictions on validation rows of the source (NAME.validation.parquet, train --validation) are read beside the file.
    """
    from leaderboard.forecasting.files import forecast_predictions
    from leaderboard.forecasting.run import chosen_methods
    from leaderboard.views.forecast_page import forecast_html
    from leaderboard.views.forecast_terminal import print_forecasts
    from leaderboard.views.titles import with_forecast_titles
    from shiftbench.forecast_data import forecast_data

    chosen_methods(method)  # before any work
    vectors = None if encoder is None else _encoder(encoder)
    with forecast_data(predictions, data, own, subset) as given:
        found = forecast_predictions(
            predictions.name,
            given.predictions,
            given.folder,
            validation=given.validation,
            methods=method,
            encoder=vectors,
            unlabelled=given.unlabelled,
            targets=[given.domain(name) for name in target or ()],
        )
        shown = with_forecast_titles(found, given.titles)
    main = method[0] if method and len(method) == 1 else None
    if json_ != "-":
        print_forecasts(shown, console(), main)
    if report is not None:
        report.write_text(forecast_html(shown, data.name, main), encoding="utf-8")
        typer.echo(f"{report}: the report", err=True)
    write_json(shown.model_dump(mode="json"), json_)


def _encoder(name: str) -> "Encoder":
    from builders.encoder import Encoder

    require("sentence_transformers", "encoder")
    return Encoder(name)
