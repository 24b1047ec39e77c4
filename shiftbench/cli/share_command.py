"""The command ``board share``. Everything heavier than typer is imported inside it."""

import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shiftbench.validation.command_line import JsonOption, write_json


class ShareFormat(StrEnum):
    """Whose form results are written in."""

    EVAL_RESULTS = "eval-results"
    EVERY_EVAL_EVER = "every-eval-ever"
    CSV = "csv"


class EvaluatorIs(StrEnum):
    """How the evaluator is related to the developers of the model."""

    FIRST_PARTY = "first_party"
    THIRD_PARTY = "third_party"
    COLLABORATIVE = "collaborative"
    OTHER = "other"


def share(
    entry: Annotated[
        str,
        typer.Argument(
            metavar="ENTRY", help="Id of an entry in --store, a prediction file, or what 'score --json' wrote of one."
        ),
    ],
    to: Annotated[
        ShareFormat,
        typer.Option("--to", metavar="FORMAT", help="eval-results (of the Hub), every-eval-ever or csv."),
    ],
    data: Annotated[
        str, typer.Option("--data", metavar="DIR_OR_NAME", help="Dataset folder, or ORG/NAME of a published one.")
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Folder to write, empty or new.")] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PLACE", help="Where the entry is kept: a folder, or hf://datasets/ORG/NAME."),
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(
            "--card", hidden=True, help="goes in 0.4: the card beside the file, NAME.card.yaml, is read without it"
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ORG/NAME", help="The model's repository. Default: model_url of the card."),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--dataset", metavar="ORG/NAME", help="Where the data is published. Default: --data, if a name."),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option("--report", metavar="URL", help="https address of the whole report, named as the source."),
    ] = None,
    organization: Annotated[
        str | None,
        typer.Option(
            "--organization",
            metavar="NAME",
            help="every-eval-ever: who evaluates; the model's own developers by the ORG of --model.",
        ),
    ] = None,
    evaluator: Annotated[
        EvaluatorIs | None,
        typer.Option(
            "--evaluator",
            hidden=True,
            help="goes in 0.4: --organization says who evaluates; the ORG of --model counts as first_party",
        ),
    ] = None,
    create_pr: Annotated[
        bool, typer.Option("--create-pr", help="Send it as a pull request: to the model, or to EEE_datastore.")
    ] = False,
    json_: JsonOption = None,
) -> None:
    """Write an entry's results for a model's page on the Hub.

    Or for the datastore of Every Eval Ever, or as CSV.

    Example: shiftbench board share preds.parquet --to eval-results --data build/dr --dataset ORG/domain-robustness
    --model ORG/model --out shared
    """
    from shiftbench.checking.shared_files import open_shared, send_shared, write_shared
    from shiftbench.validation.output_files import check_new_folder, replace_folder

    if out is None and not create_pr:
        raise typer.BadParameter("give --out, a folder to write, or --create-pr")
    if create_pr and to is ShareFormat.CSV:
        raise typer.BadParameter("--create-pr does not send CSV; give --out without it")
    if organization is not None and to is not ShareFormat.EVERY_EVAL_EVER:
        raise typer.BadParameter("--organization is for --to every-eval-ever")
    if organization is None and to is ShareFormat.EVERY_EVAL_EVER:
        raise typer.BadParameter("give --organization: Every Eval Ever requires the evaluator's name")
    if out is not None:
        check_new_folder(out, "--out")
    shared = open_shared(entry, data, store=store, card=card, model=model, dataset=dataset, report=report)
    url = None
    with tempfile.TemporaryDirectory(prefix="shiftbench-") if out is None else replace_folder(out) as folder:
        files = write_shared(shared, to, Path(folder), organization or "", evaluator)
        if create_pr:
            url = send_shared(shared, to, files)
            typer.echo(f"pull request: {url}", err=True)
    if out is not None:
        for path in sorted(files):
            typer.echo(f"wrote {out / path}", err=True)
    write_json({"files": sorted(files), "pull_request": url}, json_)
