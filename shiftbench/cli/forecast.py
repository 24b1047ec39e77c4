"""The command ``forecast``. Everything heavier than typer is imported inside it."""

from typing import Annotated

import typer

from shiftbench.cli.data_options import (
    AnyDataOption,
    FormerEncoderOption,
    FormerSubsetOption,
    MethodOption,
    own_file,
    text_encoder,
)
from shiftbench.validation.command_line import (
    ColumnsOption,
    JsonOption,
    MinTextsOption,
    PredictionsArgument,
    ReportOption,
    show,
    write_json,
    write_report,
)


def forecast(
    predictions: PredictionsArgument,
    data: AnyDataOption,
    method: MethodOption = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="NAME", help="Show this domain alone; repeat. Default: all. Others set intervals."
        ),
    ] = None,
    encoder: FormerEncoderOption = None,
    subset: FormerSubsetOption = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Forecast a model's accuracy on domains without labels.

    Forecasts are made from its probabilities, intervals from the other domains.

    Example: shiftbench forecast preds.parquet --data build/dr --report forecast.html

    Own data: shiftbench forecast preds.csv --data my.csv --columns id=key; rows of a domain to forecast have no label.

    Predictions on validation rows of the source (NAME.validation.parquet, train --validation) are read beside the file.
    """
    from shiftbench.checking.forecast_data import forecast_data, titled_problems
    from shiftbench.scoring.forecasting.files import forecast_predictions
    from shiftbench.scoring.forecasting.run import chosen_methods
    from shiftbench.scoring.reports.forecast_words import forecast_html, forecast_lines
    from shiftbench.scoring.reports.titles import with_forecast_titles

    chosen_methods(method)  # before any work
    vectors = text_encoder(encoder, method)
    own = own_file(columns, min_texts)
    with forecast_data(predictions, data, own, subset) as given, titled_problems(given.titles):
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
    main = method[0] if method else None
    if json_ != "-":
        show(forecast_lines(shown, main))
    write_report(report, lambda: forecast_html(shown, data.name, main))
    write_json(shown.model_dump(mode="json"), json_)
