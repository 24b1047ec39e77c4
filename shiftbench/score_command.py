"""The command ``score``. Everything heavier than typer is imported inside it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from validation.command_line import (
    JsonOption,
    LabelsByIndexOption,
    MarginOption,
    PredictionsArgument,
    SubsetOption,
    as_fraction,
    console,
    require,
    sound_card,
    writable_file,
    write_json,
)

if TYPE_CHECKING:
    from leaderboard.scoring.shape import Scores
    from validation.vocabulary import TaskKind


def score(
    predictions: PredictionsArgument,
    data: Annotated[Path, typer.Option("--data", metavar="DIR_OR_FILE", help="Dataset folder, or a file of your own.")],
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
        list[str] | None,
        typer.Option(
            "--text-column", metavar="NAME", help="Its texts; twice for two. Default: 'text', or as of a build."
        ),
    ] = None,
    id_column: Annotated[
        str | None,
        typer.Option("--id-column", metavar="NAME", help="Its ids, as predicted. Default: ids of 'build own'."),
    ] = None,
    split_column: Annotated[
        str | None, typer.Option("--split-column", metavar="NAME", help="Its splits: train, validation, test.")
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="NAME", help="Of a file: labels, tags, answers or texts. Default: as columns say."
        ),
    ] = None,
    min_texts: Annotated[
        int | None,
        typer.Option(
            "--min-texts",
            metavar="N",
            help="Of a file: domains of fewer test texts leave the means. Default: 30.",
            min=0,
        ),
    ] = None,
    depth: Annotated[
        bool, typer.Option("--depth", help="Of a CSV with train rows: score by depth, too (extra 'encoder').")
    ] = False,
    margin: MarginOption = None,
    labels_by_index: LabelsByIndexOption = False,
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
    from builders.building.own import MIN_TEXTS
    from builders.building.own_columns import find_kind
    from builders.encoder import DEFAULT_ENCODER
    from builders.folder.reader import DatasetFolder
    from leaderboard.scoring.score import score_file, token_encoder
    from leaderboard.views.terminal import print_scores
    from leaderboard.views.titles import domain_titles, with_titles

    columns = {"domain": domain_column, "label": label_column, "text": text_column, "id": id_column,
               "split": split_column}  # fmt: skip
    if data.is_file() or data.suffix.lower() == ".csv":
        least = MIN_TEXTS if min_texts is None else min_texts
        if subset != "all" or reference is not None:
            raise typer.BadParameter("--subset and --reference are for dataset folders; --data is a CSV")
        vectors = encoder or (DEFAULT_ENCODER if depth else None)
        scores, titles = _score_file(
            predictions,
            data,
            columns,
            (find_kind(kind), least),
            vectors,
            as_fraction(margin),
            report,
            labels_by_index=labels_by_index,
        )
    else:
        options: dict[str, Any] = {f"--{name}-column": column for name, column in columns.items()}
        options |= {"--kind": kind, "--min-texts": min_texts, "--depth": depth or None}
        given = [name for name, value in options.items() if value]
        if given:
            raise typer.BadParameter(f"{given[0]} is for a CSV; --data is a dataset folder")
        folder = DatasetFolder.open(data)
        titles = domain_titles(folder)
        tokens = token_encoder(folder, encoder or DEFAULT_ENCODER)
        share = as_fraction(margin)
        scores = score_file(
            predictions,
            folder,
            subset,
            encoder=tokens,
            reference=reference,
            margin=share,
            labels_by_index=labels_by_index,
        )
        if report is not None:
            from leaderboard.views.folder_report import folder_report

            card = sound_card(predictions)
            _write_report(report, folder_report(predictions, scores, folder, card, labels_by_index=labels_by_index))
    if json_ != "-":
        print_scores(with_titles(scores, titles), console())
    write_json(scores.model_dump(mode="json"), json_)


def _score_file(
    predictions: Path,
    csv: Path,
    columns: Mapping[str, Any],
    how: "tuple[TaskKind | None, int]",
    encoder: str | None,
    margin: float | None,
    report: Path | None,
    *,
    labels_by_index: bool,
) -> "tuple[Scores, dict[str, str]]":
    """Score predictions on a file; write the report while what it is made from is there.

    Returns: the scores, and what the file calls its domains by their names.
    """
    from builders.building.own_columns import Columns
    from leaderboard.views.titles import domain_titles
    from shiftbench.own_data import scored_own_data

    vectors = None
    if encoder is not None:
        require("sentence_transformers", "encoder")
        from builders.encoder import Encoder

        vectors = Encoder(encoder)
    texts = tuple(columns["text"] or ())
    named = Columns(columns["domain"], columns["label"], texts, columns["id"], columns["split"])
    kind, min_texts = how
    with scored_own_data(
        predictions,
        csv,
        named,
        kind=kind,
        min_texts=min_texts,
        encoder=vectors,
        margin=margin,
        labels_by_index=labels_by_index,
    ) as found:
        if found.repeats:
            typer.echo(f"{csv}: {found.repeats:,} rows repeat another word for word and are left out", err=True)
        if report is not None:
            from shiftbench.own_data import own_report

            _write_report(report, own_report(predictions, csv, found, sound_card(predictions)))
        return found.scores, domain_titles(found.folder)


def _write_report(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    typer.echo(f"{path}: the report", err=True)
