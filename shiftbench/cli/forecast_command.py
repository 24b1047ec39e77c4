"""The commands ``forecast`` and ``score-forecasts``. Everything heavier than typer is imported inside them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.data_options import AnyDataOption, FormerEncoderOption, FormerSubsetOption, load_encoder, own_file
from shiftbench.validation.command_line import (
    ColumnsOption,
    JsonOption,
    MinTextsOption,
    PredictionsArgument,
    ReportOption,
    console,
    write_json,
    write_report,
)

if TYPE_CHECKING:
    from shiftbench.builders.encoder import Encoder
    from shiftbench.scoring.forecasting.shape import Forecasts, MethodComparison


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
    encoder: FormerEncoderOption = None,
    subset: FormerSubsetOption = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Forecast a model's accuracy on domains without labels, from its probabilities; intervals from the other domains.

    Example: shiftbench forecast preds.parquet --data build/dr --report forecast.html

    Own data: shiftbench forecast preds.csv --data my.csv --id-column id; rows of a domain to forecast have no label.

    Predictions on validation rows of the source (NAME.validation.parquet, train --validation) are read beside the file.
    """
    from shiftbench.checking.forecast_data import forecast_data, titled_problems
    from shiftbench.scoring.forecasting.files import forecast_predictions
    from shiftbench.scoring.forecasting.run import chosen_methods
    from shiftbench.scoring.reports.forecast_page import forecast_html
    from shiftbench.scoring.reports.forecast_terminal import print_forecasts
    from shiftbench.scoring.reports.titles import with_forecast_titles

    chosen_methods(method)  # before any work
    vectors = _text_encoder(encoder, method)
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
        print_forecasts(shown, console(), main)
    _write_results(report, lambda: forecast_html(shown, data.name, main), json_, shown)


def _text_encoder(name: str | None, methods: list[str] | None) -> "Encoder | None":
    """Load what embeds texts, where an encoder was named or set, or a method that needs it was; None otherwise."""
    from shiftbench.builders.encoder import machine_encoder
    from shiftbench.scoring.forecasting.methods import OF_TEXTS

    is_wanted = name or (machine_encoder() if methods is None else set(OF_TEXTS) & set(methods))
    return load_encoder(name) if is_wanted else None


def _write_results(
    report: Path | None, page: Callable[[], str], json_: str | None, content: "Forecasts | MethodComparison"
) -> None:
    """Write what ``--report`` and ``--json`` ask for."""
    write_report(report, page)
    write_json(content.model_dump(mode="json"), json_)


def score_forecasts(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder; may be given several times.")
    ],
    forecasts: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Your own forecasts of the one prediction file: task,source,target,seed,value,low,high.",
        ),
    ] = None,
    predictions: Annotated[
        list[Path] | None,
        typer.Option(
            "--predictions",
            metavar="FILE",
            help="Prediction file that is forecast, or a grid's folder of runs; repeat for more models.",
        ),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="DIR", help="Take all entries with probabilities: a folder, hf://datasets/..."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Compare this method with the floors; repeat. Default: all."),
    ] = None,
    encoder: FormerEncoderOption = None,
    set_on: Annotated[
        str | None,
        typer.Option(
            "--set-on",
            metavar="BOARD",
            help="Set all other boards' intervals on this one's domains (dr/nli): an assumption, which is tested.",
        ),
    ] = None,
    level: Annotated[
        float, typer.Option("--level", metavar="X", help="Level of your own intervals.", min=0.01, max=0.99)
    ] = 0.8,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Compare methods of forecasting where labels are known: errors, intervals, skill against two floors, tests.

    Example: shiftbench score-forecasts --predictions preds.parquet --data build/dr

    Your own method: shiftbench score-forecasts mine.csv --predictions preds.parquet --data build/dr --level 0.9

    All models of grids: shiftbench score-forecasts --predictions results/dr-nli/runs --data build/dr

    Intervals from another benchmark: --set-on dr/nli, with --data and --predictions of both.

    All entries of a store: shiftbench score-forecasts --store store --data build/dr --data build/boss
    """
    if not predictions and store is None:
        raise typer.BadParameter("give --predictions, --store, or both")
    if forecasts is not None and (len(predictions or ()) != 1 or store is not None):
        raise typer.BadParameter("your own forecasts are of one prediction file: give one --predictions, no --store")
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.forecast_entries import forecast_entrants, read_files, read_store
    from shiftbench.leaderboard.store import open_store
    from shiftbench.scoring.forecasting.comparison import compare_methods
    from shiftbench.scoring.forecasting.own_forecasts import add_own_forecasts
    from shiftbench.scoring.forecasting.run import chosen_methods
    from shiftbench.scoring.reports.forecast_comparison import print_method_comparison
    from shiftbench.scoring.reports.forecast_page import comparison_html

    chosen = chosen_methods(method)
    folders = [DatasetFolder.open(path) for path in data]
    for folder in folders:
        folder.refuse_withheld()
    entrants, left_out = read_store(open_store(store), folders) if store else ([], [])
    entrants += read_files(predictions or [], folders)
    found, more = forecast_entrants(entrants, chosen, _text_encoder(encoder, method))
    levels = {}
    if forecasts is not None:
        levels[forecasts.stem] = level
        found = add_own_forecasts(found, forecasts)
    compared = compare_methods(found, [*left_out, *more], levels, set_on)
    if json_ != "-":
        print_method_comparison(compared, console())
    title = "Forecasts of accuracy against the truth"
    _write_results(report, lambda: comparison_html(compared, title), json_, compared)
