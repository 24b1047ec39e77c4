"""The command ``check``: scores one model on a user file by domain. Heavy imports are inside the function."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from shiftbench.baselines.models.options import ModelArgument, ModelOptions
from shiftbench.cli.data_options import FAILED, AnyDataOption, FormerEncoderOption, own_file
from shiftbench.validation.command_line import (
    ColumnsOption,
    JsonOption,
    MinTextsOption,
    as_fraction,
    show,
    with_options,
    writable_file,
    write_json,
)
from shiftbench.validation.notices import ModelWarning
from shiftbench.validation.vocabulary import ELSEWHERE

REPORT = Path("report.html")


@with_options
def check(
    context: typer.Context,
    model: ModelArgument,
    data: AnyDataOption,
    task: Annotated[
        str | None, typer.Option("--task", metavar="NAME", help="Task, if a dataset folder has several.")
    ] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(
            "--trained-on",
            metavar="NAME",
            help="Domain that the model was trained on; drops are measured from it. Default: elsewhere.",
        ),
    ] = None,
    train_file: Annotated[
        Path | None,
        typer.Option(
            "--train-file",
            metavar="FILE",
            help="Texts that the model was trained on: test texts among them are excluded. With a source domain and "
            "labels, scores are also shown by distance from them.",
        ),
    ] = None,
    probes: Annotated[
        bool | None,
        typer.Option(
            "--probes/--no-probes",
            help="Train cheap models on each domain, to distinguish harder from shifted domains. Default: if the data "
            "has up to 5,000 rows.",
        ),
    ] = None,
    encoder: FormerEncoderOption = None,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="Report to write, one HTML file.", callback=writable_file)
    ] = REPORT,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            metavar="POINTS",
            help="Accept domains that lose significantly less than this; choose it before seeing the results. "
            "Default: 5.",
        ),
    ] = None,
    ordered: Annotated[
        bool,
        typer.Option("--ordered", help="Domains are ordered, by number or as in the file. Dates are always ordered."),
    ] = False,
    reference: Annotated[
        str | None,
        typer.Option(
            "--reference",
            metavar="FIRST..LAST",
            help="Raise an alarm (exit code 3) if scores fall below those of these periods.",
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(
            "--history",
            metavar="FILE",
            help="Append this run's periods to those of earlier runs. By default, the periods of the first run are "
            "the reference.",
            callback=writable_file,
        ),
    ] = None,
    find_domains: Annotated[
        bool,
        typer.Option(
            "--find-domains",
            help="Search for groups of texts with deviating scores that no column identifies; no domain column is "
            "needed.",
        ),
    ] = False,
    write_domains: Annotated[
        Path | None,
        typer.Option(
            "--write-domains",
            metavar="FILE",
            help="Write the rows with the groups found in a column 'slice', for --columns domain=slice.",
            callback=writable_file,
        ),
    ] = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    *,
    options: ModelOptions,
    json_: JsonOption = None,
) -> None:
    """Score a model by domain on your own data.

    Writes a report with a recommendation for each domain, the significant differences, and the evidence. Domains
    without labels are forecast if --trained-on gives a source domain. Domains that are dates are tested for a trend
    and a change. Without a domain column, --find-domains searches for domains.

    Example: shiftbench check ./my-model --data mine.csv --columns domain=site,text=review,label=stars
    """
    from shiftbench.baselines.models.loading import require_loader
    from shiftbench.checking.encoders import check_encoder

    require_loader(model)
    has_depth = train_file is not None and trained_on not in (None, ELSEWHERE)
    is_searched = find_domains or write_domains is not None
    vectors = check_encoder(encoder, probes=probes, has_depth=has_depth, is_searched=is_searched)
    # Slow imports come after the checks of options.
    from shiftbench.checking.check import PredictionPaths, run_check
    from shiftbench.checking.history import TimeOptions
    from shiftbench.checking.inputs import given_predictions
    from shiftbench.checking.step_commands import shell_formatter
    from shiftbench.scoring.reports.check import check_lines

    given = given_predictions(model)
    if given and (options.served_model or options.model_arg):
        raise typer.BadParameter("--model and --model-arg do not apply to a prediction file")
    places = PredictionPaths(
        *(report.with_name(f"{report.stem}.{what}.parquet") for what in ("predictions", "unlabelled"))
    )
    own = own_file(columns, min_texts, options.label_map)
    checked = run_check(
        given or (lambda task: options.load(model, task)), data, own, places,
        trained_on=trained_on, task=task, train_file=train_file, probes=probes, encoder=vectors,
        margin=as_fraction(margin), again=shell_formatter(context), time=TimeOptions(ordered, reference, history),
        is_searched=is_searched, write_domains=write_domains,
    )  # fmt: skip
    report.write_text(checked.html, encoding="utf-8")
    for doubt in checked.doubts:
        warnings.warn(doubt, ModelWarning, stacklevel=2)
    if json_ != "-":
        show(check_lines(checked.found, checked.forecasts))
    kept = "" if given else f"; {places.predictions}: the predictions"
    typer.echo(f"{report}: the report{kept}", err=True)
    if history is not None:
        typer.echo(f"{history}: the periods of all runs", err=True)
    if write_domains is not None:
        has_slices = checked.found.slices is not None and checked.found.slices.slices
        what = "the rows with their slices" if has_slices else "not written, as no slice was found"
        typer.echo(f"{write_domains}: {what}", err=True)
    if checked.forecasts is not None and not given:
        typer.echo(f"{places.unlabelled}: the predictions on rows without labels", err=True)
    write_json(checked.as_json(), json_)
    if checked.has_alarm:
        raise typer.Exit(FAILED)
