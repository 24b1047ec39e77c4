"""The command ``check``: one model on a file of one's own, scored by domain. Everything heavy is imported inside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli.data_options import load_encoder
from shiftbench.validation.command_line import (
    DomainByOption,
    JsonOption,
    TrustPickle,
    console,
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


def check(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Hub id, folder, module:callable, pipeline saved with skops, or URL of an OpenAI-compatible server.",
        ),
    ],
    data: Annotated[Path, typer.Option("--data", metavar="FILE_OR_DIR", help="File of your own, or a dataset folder.")],
    domain_column: Annotated[
        str | None, typer.Option("--domain-column", metavar="NAME", help="Column of the file that holds domains.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label-column", metavar="NAME", help="Column of the file that holds labels.")
    ] = None,
    text_column: Annotated[
        list[str] | None,
        typer.Option(
            "--text-column", metavar="NAME", help="Column of texts; give it twice for pairs. Default: 'text'."
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id-column", metavar="NAME", help="Column of ids, shown beside wrong predictions.")
    ] = None,
    split_column: Annotated[
        str | None,
        typer.Option(
            "--split-column", metavar="NAME", help="Column of splits; rows of 'test' are scored. Default: all rows."
        ),
    ] = None,
    group_column: Annotated[
        str | None,
        typer.Option(
            "--group-column", metavar="NAME", help="Column of groups, such as documents, resampled as a whole."
        ),
    ] = None,
    domain_by: DomainByOption = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="NAME", help="What is predicted: labels, tags, answers or texts. Default: by columns."
        ),
    ] = None,
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
    min_texts: Annotated[
        int | None,
        typer.Option("--min-texts", metavar="N", help="Leave out domains with fewer test texts. Default: 30.", min=0),
    ] = None,
    label_map: Annotated[
        list[str] | None,
        typer.Option(
            "--label-map",
            metavar="MODEL'S=DATA'S",
            help="A label of the model and its name in the data; repeat for more, or name a file of such lines.",
        ),
    ] = None,
    trust_pickle: TrustPickle = False,
    served_model: Annotated[
        str | None,
        typer.Option("--model", "--served-model", metavar="NAME", help="For a URL: the model on the server."),
    ] = None,
    revision: Annotated[
        str | None, typer.Option("--revision", metavar="NAME", help="For a Hub id: commit, branch or tag.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Sentence encoder of probes and distances: Hub id or path."),
    ] = None,
    report: Annotated[
        Path, typer.Option("--report", metavar="FILE", help="Report to write, one HTML file.", callback=writable_file)
    ] = REPORT,
    json_: JsonOption = None,
) -> None:
    """Score one model on a file of your own, domain by domain, and write a report: what holds up, and why.

    Domains whose rows have no label are forecast from the others, where --trained-on names a home domain.

    Example: shiftbench check ./my-model --data mine.csv --domain-column site --label-column label --trained-on books
    """
    from shiftbench.builders.building.own import MIN_TEXTS
    from shiftbench.builders.building.own_columns import Columns, find_kind
    from shiftbench.checking.check_data import DataOptions, check_data
    from shiftbench.scoring.reports.check_terminal import print_check
    from shiftbench.validation.vocabulary import ELSEWHERE

    columns = Columns(
        domain=domain_column,
        label=label_column,
        text=tuple(text_column or ()),
        id=id_column,
        split=split_column,
        group=group_column,
        domain_by=domain_by.value if domain_by else None,
    )
    has_depth = train_file is not None and trained_on not in (None, ELSEWHERE)
    vectors = load_encoder(encoder) if probes or has_depth else None
    options = DataOptions(columns, find_kind(kind), MIN_TEXTS if min_texts is None else min_texts, train_file, vectors)
    asked = _ModelOptions(model, _read_label_map(label_map), trust_pickle, served_model, revision)
    with check_data(data, trained_on, task, options) as rows:
        done = _CheckedModel.of(asked, rows, report, vectors if probes else None)
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


def _read_label_map(given: list[str] | None) -> dict[str, str]:
    """Read pairs as typed, or from files with a pair a line."""
    from shiftbench.baselines.models import parse_label_map

    pairs: list[str] = []
    for each in given or ():
        path = Path(each)
        lines = path.read_text(encoding="utf-8").splitlines() if "=" not in each and path.is_file() else [each]
        pairs += [line for line in lines if line.strip()]
    return parse_label_map(pairs)


@dataclass(frozen=True)
class _ModelOptions:
    """The model, as it was asked for."""

    spec: str
    label_map: dict[str, str]
    trust_pickle: bool
    served_model: str | None
    revision: str | None

    def load(self, rows: "CheckData") -> "LoadedModel":
        from shiftbench.baselines.models import load_model

        return load_model(
            self.spec,
            kind=rows.info.kind,
            inputs=rows.info.inputs,
            labels=rows.info.labels,
            label_map=self.label_map,
            trust_pickle=self.trust_pickle,
            served_model=self.served_model,
            revision=self.revision,
        )


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
        cls, asked: _ModelOptions, rows: "CheckData", report: Path, probe_encoder: "Encoder | None"
    ) -> "_CheckedModel":
        """Predict and score the rows with one model; with ``probe_encoder`` train probes, too."""
        from shiftbench.checking.check_predictions import model_warnings, predict_rows
        from shiftbench.scoring.reports.titles import domain_titles
        from shiftbench.scoring.scores.by_domain import check_domains
        from shiftbench.scoring.scores.score import score_predictions, token_encoder

        place = report.with_name(f"{report.stem}.predictions.parquet")
        model = asked.load(rows)
        frame = predict_rows(model, asked.label_map, rows, place)
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

            forecasts = forecast_unlabelled(model, asked.label_map, rows, frame, _unlabelled_path(report))
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
