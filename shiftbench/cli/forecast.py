"""The command ``forecast``. Imports other than typer are inside the function."""

from typing import Annotated

import typer

from shiftbench.cli.data_options import (
    AnyDataOption,
    FormerSubsetOption,
    MethodOption,
    own_file,
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
            "--target",
            metavar="NAME",
            help="Show only this domain; may be repeated. Default: all. Intervals are calibrated on the others.",
        ),
    ] = None,
    subset: FormerSubsetOption = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Forecast accuracy on domains without labels, worst first.

    Forecasts use the model's probabilities; the labelled domains determine intervals and order.

    Example: shiftbench forecast preds.parquet --data build/dr --report forecast.html

    Own data: shiftbench forecast preds.csv --data my.csv --columns id=key; rows of a domain to forecast have no label.

    Predictions on validation rows of the source (NAME.validation.parquet, train --validation) are read if they are
    next to the file.
    """
    from shiftbench.checking.forecast_data import run_forecast
    from shiftbench.scoring.reports.forecast import forecast_html, forecast_lines

    found = run_forecast(
        predictions, data, own_file(columns, min_texts), methods=method, targets=target or (), subset=subset
    )
    main = method[0] if method else None
    if json_ != "-":
        show(forecast_lines(found, main))
    write_report(report, lambda: forecast_html(found, data.name, main))
    write_json(found.model_dump(mode="json"), json_)
