"""The command ``check``: one model on a file of one's own, scored by domain. Everything heavy is imported inside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.baselines.models.settings import ModelArgument, ModelOptions
from shiftbench.cli.data_options import load_encoder, own_file
from shiftbench.validation.command_line import (
    ColumnsOption,
    JsonOption,
    MinTextsOption,
    console,
    with_options,
    writable_file,
    write_json,
)

if TYPE_CHECKING:
    from shiftbench.baselines.models import LoadedModel
    from shiftbench.builders.encoder import Encoder
    from shiftbench.checking.check_data import CheckData
    from shiftbench.scoring.forecasting.shape import Forecasts
    from shiftbench.scoring.scores.domain_shape import DomainCheck
    from shiftbench.scoring.scores.shape import Scores

REPORT = Path("report.html")


@with_options
def check(
    model: ModelArgument,
    data: Annotated[Path, typer.Option("--data", metavar="FILE_OR_DIR", help="File of your own, or a dataset folder.")],
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
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", hidden=True, help="goes in 0.4: set SHIFTBENCH_ENCODER instead"),
    ] = None,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="Report to write, one HTML file.", callback=writable_file)
    ] = REPORT,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    *,
    options: ModelOptions,
    json_: JsonOption = None,
) -> None:
    """Score one model on a file of your own, domain by domain, and write a report: what holds up, and why.

    Domains whose rows have no label are forecast from the others, where --trained-on names a home domain.

    Example: shiftbench check ./my-model --data mine.csv --columns domain=site,label=stars --trained-on books
    """
    from shiftbench.checking.check_data import check_data
    from shiftbench.scoring.reports.check_terminal import print_check
    from shiftbench.validation.vocabulary import ELSEWHERE

    has_depth = train_file is not None and trained_on not in (None, ELSEWHERE)
    vectors = load_encoder(encoder) if probes or has_depth else None
    own = own_file(columns, min_texts)
    with check_data(data, trained_on, task, own, train_file, vectors if has_depth else None) as rows:
        info = rows.info
        loaded = options.load(model, kind=info.kind, inputs=info.inputs, labels=info.labels)
        done = _CheckedModel.of(loaded, rows, report, vectors if probes else None)
        done.write(report, data.name)
        print_check(done.check, console(), done.forecasts)
        content = {**done.check.model_dump(mode="json"), "scores": done.scores.model_dump(mode="json")}
        content["forecasts"] = None if done.forecasts is None else done.forecasts.model_dump(mode="json")
    typer.echo(f"{report}: the report; {done.predictions}: the predictions", err=True)
    if done.forecasts is not None:
        typer.echo(f"{_unlabelled_path(report)}: the predictions on rows without labels", err=True)
    write_json(content, json_)


def _unlabelled_path(report: Path) -> Path:
    return report.with_name(f"{report.stem}.unlabelled.parquet")


@dataclass(frozen=True)
class _CheckedModel:
    """A model that was checked, while its rows are there.

    Attributes:
        rows: what it was checked on.
        check: what was found.
        scores: the scores of its predictions.
        predictions: the file that these are kept in.
        warnings: what the user must know of the model.
        forecasts: of the domains without labels; None where all have some.
    """

    rows: "CheckData"
    check: "DomainCheck"
    scores: "Scores"
    predictions: Path
    warnings: tuple[str, ...]
    forecasts: "Forecasts | None"

    @classmethod
    def of(
        cls, model: "LoadedModel", rows: "CheckData", report: Path, probe_encoder: "Encoder | None"
    ) -> "_CheckedModel":
        """Predict and score the rows with one model; with ``probe_encoder`` train probes, too."""
        from shiftbench.checking.check_predictions import model_warnings, predict_rows
        from shiftbench.scoring.reports.titles import domain_titles
        from shiftbench.scoring.scores.by_domain import check_domains
        from shiftbench.scoring.scores.score import score_predictions, token_encoder

        place = report.with_name(f"{report.stem}.predictions.parquet")
        frame = predict_rows(model, rows, place)
        scores = score_predictions(frame, rows.folder, encoder=token_encoder(rows.folder)).scores
        probes = None
        if probe_encoder is not None:
            from shiftbench.checking.check_probes import run_probes

            probes = run_probes(rows, probe_encoder)
        titles = domain_titles(rows.folder)
        domain_check = check_domains(model.name, scores, frame, rows.folder, rows.home, probes, titles)
        check = domain_check.model_copy(update={"leaks": rows.leaks, "notes": (*rows.notes, *domain_check.notes)})
        warnings = model_warnings(model, rows, frame)
        forecasts = None
        if rows.unlabelled is not None:
            from shiftbench.checking.check_forecasts import forecast_unlabelled

            forecasts = forecast_unlabelled(model, rows, frame, _unlabelled_path(report))
        return cls(rows, check, scores, place, warnings, forecasts)

    def write(self, report: Path, data: str) -> None:
        """Write the report."""
        from shiftbench.scoring.reports.check_page import CheckShown, check_html
        from shiftbench.scoring.reports.titles import domain_titles, with_titles

        for warning in self.warnings:
            typer.echo(f"warning: {warning}", err=True)
        titled = with_titles(self.scores, domain_titles(self.rows.folder))
        shown = CheckShown(
            self.check,
            data,
            self.rows.folder,
            titled.tasks[0],
            _wrong_examples(self),
            warnings=self.warnings,
            forecasts=self.forecasts,
        )
        report.write_text(check_html(shown), encoding="utf-8")


def _wrong_examples(done: _CheckedModel) -> dict[str, Any]:
    """Return texts that were predicted wrong, by the file's names of their domains."""
    from dataclasses import replace

    from shiftbench.scoring.reports.titles import domain_titles
    from shiftbench.scoring.scores.examples import wrong_examples
    from shiftbench.validation.vocabulary import ELSEWHERE

    rows, titles = done.rows, domain_titles(done.rows.folder)
    examples = {}
    for domain in done.scores.tasks[0].domains:
        wrong = wrong_examples(done.predictions, rows.folder, rows.task, rows.home or ELSEWHERE, domain)
        examples[titles.get(domain, domain)] = [replace(each, id=rows.own_ids.get(each.id, each.id)) for each in wrong]
    return examples
