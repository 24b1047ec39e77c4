"""The command ``check``: one model on a file of one's own, scored by domain. Everything heavy is imported inside it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.baselines.models.options import ModelArgument, ModelOptions
from shiftbench.cli.data_options import AnyDataOption, FormerEncoderOption, load_encoder, own_file
from shiftbench.validation.command_line import (
    ColumnsOption,
    JsonOption,
    MinTextsOption,
    show,
    with_options,
    writable_file,
    write_json,
)
from shiftbench.validation.notices import ModelWarning
from shiftbench.validation.vocabulary import ELSEWHERE

if TYPE_CHECKING:
    from shiftbench.checking.check_data import CheckData
    from shiftbench.scoring.scores.examples import WrongExample
    from shiftbench.scoring.scores.shape import Scores

REPORT = Path("report.html")


@with_options
def check(
    model: ModelArgument,
    data: AnyDataOption,
    task: Annotated[
        str | None, typer.Option("--task", metavar="NAME", help="Task, where a dataset folder has several.")
    ] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(
            "--trained-on",
            metavar="NAME",
            help="Domain that the model was trained on: drops are then measured from it. Default: elsewhere.",
        ),
    ] = None,
    train_file: Annotated[
        Path | None,
        typer.Option(
            "--train-file",
            metavar="FILE",
            help="Texts that the model was trained on: test texts among them are left out; with a home domain and "
            "labels, scores are also shown by distance from them.",
        ),
    ] = None,
    probes: Annotated[
        bool,
        typer.Option("--probes", help="Train cheap models on each domain: is a domain harder, or shifted?"),
    ] = False,
    encoder: FormerEncoderOption = None,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="Report to write, one HTML file.", callback=writable_file)
    ] = REPORT,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    *,
    options: ModelOptions,
    json_: JsonOption = None,
) -> None:
    """Score a model on a file of your own, domain by domain.

    Writes a report: what holds up, and why. Domains without labels are forecast where --trained-on names a home domain.

    Example: shiftbench check ./my-model --data mine.csv --columns domain=site,text=review,label=stars
    """
    from shiftbench.checking.check_data import check_data
    from shiftbench.checking.check_predictions import forecast_unlabelled, model_doubts, predict_rows
    from shiftbench.scoring.reports.check import CheckShown, check_html, check_lines
    from shiftbench.scoring.reports.titles import domain_titles, with_titles
    from shiftbench.scoring.scores.by_domain import check_domains
    from shiftbench.scoring.scores.score import score_predictions, token_encoder

    has_depth = train_file is not None and trained_on not in (None, ELSEWHERE)
    vectors = load_encoder(encoder) if probes or has_depth else None
    own = own_file(columns, min_texts)
    place, without_labels = (
        report.with_name(f"{report.stem}.{what}.parquet") for what in ("predictions", "unlabelled")
    )
    with check_data(data, trained_on, task, own, train_file, vectors if has_depth else None) as rows:
        folder, titles = rows.folder, domain_titles(rows.folder)
        loaded = options.load(model, rows.info)
        frame = predict_rows(loaded, rows, place)
        scores = score_predictions(frame, folder, encoder=token_encoder(folder)).scores
        trained = None
        if probes and vectors:
            from shiftbench.checking.check_probes import run_probes  # scikit-learn takes a second

            trained = run_probes(rows, vectors)
        found = check_domains(loaded.name, scores, frame, folder, rows.home, trained, titles)
        found = found.model_copy(update={"leaks": rows.leaks, "notes": (*rows.notes, *found.notes)})
        doubts = model_doubts(loaded, rows, frame)
        forecasts = forecast_unlabelled(loaded, rows, frame, without_labels) if rows.unlabelled else None
        examples = _wrong_examples(rows, scores, place, titles)
        task_scores = with_titles(scores, titles).tasks[0]
        shown = CheckShown(found, data.name, folder, task_scores, examples, warnings=doubts, forecasts=forecasts)
        report.write_text(check_html(shown), encoding="utf-8")
    for doubt in doubts:
        warnings.warn(doubt, ModelWarning, stacklevel=2)
    if json_ != "-":
        show(check_lines(found, forecasts))
    typer.echo(f"{report}: the report; {place}: the predictions", err=True)
    if forecasts is not None:
        typer.echo(f"{without_labels}: the predictions on rows without labels", err=True)
    parts = {"scores": scores, "forecasts": forecasts}
    more = {name: part and part.model_dump(mode="json") for name, part in parts.items()}
    write_json(found.model_dump(mode="json") | more, json_)


def _wrong_examples(
    rows: "CheckData", scores: "Scores", predictions: Path, titles: Mapping[str, str]
) -> dict[str, Sequence["WrongExample"]]:
    """Return texts that were predicted wrong, by the file's names of their domains."""
    from shiftbench.scoring.scores.examples import wrong_examples

    examples: dict[str, Sequence[WrongExample]] = {}
    for domain in scores.tasks[0].domains:
        wrong = wrong_examples(predictions, rows.folder, rows.task, rows.home or ELSEWHERE, domain)
        examples[titles.get(domain, domain)] = [replace(each, id=rows.own_ids.get(each.id, each.id)) for each in wrong]
    return examples
