"""The command ``score``. Imports other than typer are inside the function."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.data_options import (
    AnyDataOption,
    FormatOption,
    FormerEncoderOption,
    FormerSubsetOption,
    NamesOption,
    own_file,
    parse_names,
)
from shiftbench.validation.command_line import (
    OWN_FILE,
    ColumnsOption,
    JsonOption,
    LabelMap,
    LabelsByIndexOption,
    MarginOption,
    MinTextsOption,
    ReportOption,
    TableFormat,
    as_fraction,
    print_results,
    show,
    write_json,
)

if TYPE_CHECKING:
    from shiftbench.checking.opened_data import OwnFile
    from shiftbench.validation.prediction_files import PredictionInput


_TABLE, _FOLDER, _FILE = "several files, --names or --format", "a dataset folder as --data", "a file as --data"
_EXCLUDED = {
    "--sampled": (
        "--subset", "--reference", "--encoder", "--depth", "--margin", "--labels-by-index", "--report",
        "--min-texts",
    ),
    _TABLE: ("--sampled", "--reference", "--encoder", "--depth", "--report"),
    _FOLDER: ("--sampled", "--depth"),
    _FILE: ("--subset", "--reference"),
}  # fmt: skip
"""For an option or a kind of argument (key): the options that cannot be combined with it."""


def score(
    predictions: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Prediction files: parquet, JSON lines or CSV, recognised by content."),
    ],
    data: AnyDataOption,
    subset: FormerSubsetOption = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="FILE",
            help="Prediction file from which missing in-domain scores of targets (TT) are taken.",
        ),
    ] = None,
    encoder: FormerEncoderOption = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    label_map: LabelMap = None,
    depth: Annotated[
        bool,
        typer.Option(
            "--depth",
            help="For a file with train rows: also score by depth (extra 'encoder').",
            rich_help_panel=OWN_FILE,
        ),
    ] = False,
    sampled: Annotated[
        Path | None,
        typer.Option(
            "--sampled",
            metavar="FILE",
            help="Output of 'shiftbench label', with the labels filled in.",
            rich_help_panel=OWN_FILE,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="A,B",
            help="With --sampled: labels that occur neither in the data nor in the predictions.",
            rich_help_panel=OWN_FILE,
        ),
    ] = None,
    margin: MarginOption = None,
    names: NamesOption = None,
    format_: FormatOption = TableFormat.TABLE,
    labels_by_index: LabelsByIndexOption = False,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Score prediction files by domain, with 95% intervals.

    Example: shiftbench score preds.parquet --data build/dr --json scores.json --report report.html

    Own data: shiftbench score preds.csv --data my.csv --columns domain=site,label=stars,id=key

    Several files, or --format, give one table of all models, each tested against the best. With --sampled: accuracy
    by domain from a labelled sample, compared with a random sample of the same size.
    """
    from shiftbench.checking.inputs import is_own
    from shiftbench.checking.opened_data import refuse_own
    from shiftbench.scoring.reports.terminal import score_lines

    own, of_file, is_table = own_file(columns, min_texts, label_map), is_own(data), format_ is not TableFormat.TABLE
    is_table = is_table or len(predictions) > 1 or names is not None
    given = {
        "--subset": subset not in (None, "all"), "--reference": reference, "--encoder": encoder, "--depth": depth,
        "--sampled": sampled, "--margin": margin is not None, "--labels-by-index": labels_by_index, "--report": report,
        "--min-texts": min_texts is not None,
        _TABLE: is_table, _FOLDER: not of_file, _FILE: of_file,
    }  # fmt: skip
    for what, others in _EXCLUDED.items():
        for other in others:
            if given[what] and given[other]:
                raise typer.BadParameter(f"{other} cannot be combined with {what}")
    if labels is not None and sampled is None:
        raise typer.BadParameter("--labels needs --sampled")
    if not of_file:
        refuse_own(own)
    if sampled is not None:
        _score_sampled(predictions[0], data, own, sampled, labels, json_)
        return
    share = as_fraction(margin)
    from shiftbench.validation.prediction_files import PredictionInput

    files = [PredictionInput(path, labels_by_index) for path in predictions]
    if is_table:
        _score_several(files, parse_names(names, predictions), data, own, subset, share, format_, json_)
        return
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.score import run_score
    from shiftbench.scoring.reports.titles import domain_titles, rename_domains

    place = data if of_file else DatasetFolder.open(data)
    scores = run_score(
        files[0], place, own, subset=subset, reference=reference, encoder=encoder, has_depth=depth, margin=share,
        report=report,
    )  # fmt: skip
    titled = scores if isinstance(place, Path) else rename_domains(scores, domain_titles(place))
    print_results(score_lines(titled), scores.model_dump(mode="json"), json_)


def _score_sampled(
    predictions: Path, data: Path, own: "OwnFile", sampled: Path, labels: str | None, json_: str | None
) -> None:
    """Estimate one model's accuracy from labelled samples of a user file, and print it."""
    from shiftbench.checking.sampled_scores import sampled_lines, score_sampled

    more = [each.strip() for each in labels.split(",")] if labels else []
    estimates = score_sampled(predictions, data, own.columns, sampled, more, own.kind)
    print_results(sampled_lines(estimates), {"sampled": [each.model_dump(mode="json") for each in estimates]}, json_)


def _score_several(
    files: "Sequence[PredictionInput]",
    names: Sequence[str],
    data: Path,
    own: "OwnFile",
    subset: str | None,
    margin: float | None,
    format_: TableFormat,
    json_: str | None,
) -> None:
    """Score several files, and print one table."""
    from shiftbench.checking.opened_data import opened_data
    from shiftbench.checking.paper import format_table, models_table
    from shiftbench.scoring.reports.paper_table import paper_lines

    with opened_data(data, own, files[0], subset) as opened:
        table, scores = models_table(opened, dict(zip(names, files, strict=True)), margin=margin)
    if json_ != "-" and format_ is TableFormat.TABLE:
        show(paper_lines(table))
    elif json_ != "-":
        typer.echo(format_table(table, format_), nl=False)
    write_json({"scores": {name: each.model_dump(mode="json") for name, each in scores.items()}}, json_)
