"""The command ``score``. Everything heavier than typer is imported inside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from validation.command_line import (
    JsonOption,
    PredictionsArgument,
    SubsetOption,
    console,
    require,
    writable_file,
    write_json,
)

if TYPE_CHECKING:
    from leaderboard.scoring.shape import Scores


def score(
    predictions: PredictionsArgument,
    data: Annotated[Path, typer.Option("--data", metavar="DIR_OR_CSV", help="Dataset folder, or a CSV of your own.")],
    subset: SubsetOption = "all",
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="FILE", help="Prediction file whose TT stands in where this one has none."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", metavar="NAME", help="Encoder of BERTScore; of a CSV, of depths: Hub id or path."),
    ] = None,
    domain_column: Annotated[
        str | None, typer.Option("--domain-column", metavar="NAME", help="Column of the CSV that holds domains.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option("--label-column", metavar="NAME", help="Column of the CSV that holds labels.")
    ] = None,
    text_column: Annotated[
        str | None,
        typer.Option("--text-column", metavar="NAME", help="Its texts. Default: 'text', or premise and hypothesis."),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", metavar="NAME", help="Its ids, as predicted. Default: ids of 'build own'."),
    ] = None,
    split_column: Annotated[
        str | None, typer.Option("--split-column", metavar="NAME", help="Its splits: train, validation, test.")
    ] = None,
    depth: Annotated[
        bool, typer.Option("--depth", help="Of a CSV with train rows: score by depth, too (extra 'encoder').")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write a report as one HTML file.", callback=writable_file),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Check and score a prediction file; figures stand with their 95% intervals where they have one.

    Example: shiftbench score preds.parquet --data build/dr --json scores.json --report report.html

    Own data: shiftbench score preds.csv --data my.csv --domain-column domain --label-column label --id-column id
    """
    from builders.encoder import DEFAULT_ENCODER
    from builders.folder.reader import DatasetFolder
    from leaderboard.scoring.score import score_file, token_encoder
    from leaderboard.views.terminal import print_scores

    columns = {"domain": domain_column, "label": label_column, "text": text_column, "id": id_column,
               "split": split_column}  # fmt: skip
    if data.is_file() or data.suffix.lower() == ".csv":
        if subset != "all" or reference is not None:
            raise typer.BadParameter("--subset and --reference are for dataset folders; --data is a CSV")
        scores = _score_csv(predictions, data, columns, encoder or (DEFAULT_ENCODER if depth else None), report)
    else:
        given = [f"--{name}-column" for name, column in columns.items() if column is not None] + ["--depth"] * depth
        if given:
            raise typer.BadParameter(f"{given[0]} is for a CSV; --data is a dataset folder")
        folder = DatasetFolder.open(data)
        tokens = token_encoder(folder, encoder or DEFAULT_ENCODER)
        scores = score_file(predictions, folder, subset, encoder=tokens, reference=reference)
        if report is not None:
            from leaderboard.views.folder_report import folder_report

            _write_report(report, folder_report(predictions, scores, folder))
    if json_ != "-":
        print_scores(scores, console())
    write_json(scores.model_dump(mode="json"), json_)


def _score_csv(
    predictions: Path, csv: Path, columns: Mapping[str, str | None], encoder: str | None, report: Path | None
) -> "Scores":
    """Score predictions on a CSV; write the report while what it is made from is there."""
    from shiftbench.own_data import Columns, scored_own_data

    if columns["domain"] is None or columns["label"] is None:
        raise typer.BadParameter("of a CSV give --domain-column and --label-column")
    vectors = None
    if encoder is not None:
        require("sentence_transformers", "encoder")
        from builders.encoder import Encoder

        vectors = Encoder(encoder)
    named = Columns(columns["domain"], columns["label"], columns["text"], columns["id"], columns["split"])
    with scored_own_data(predictions, csv, named, encoder=vectors) as found:
        if found.repeats:
            typer.echo(f"{csv}: {found.repeats:,} rows repeat another word for word and are left out", err=True)
        if report is not None:
            from shiftbench.own_data import own_report

            _write_report(report, own_report(predictions, csv, found))
        return found.scores


def _write_report(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    typer.echo(f"{path}: the report", err=True)
