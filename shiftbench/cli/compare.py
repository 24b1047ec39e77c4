"""The command ``compare``. Imports other than typer are inside the function."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import (
    AnyDataOption,
    FormatOption,
    FormerSubsetOption,
    NamesOption,
    own_file,
    parse_names,
)
from shiftbench.validation.command_line import (
    ColumnsOption,
    JsonOption,
    LabelMap,
    MarginOption,
    MinTextsOption,
    ReportOption,
    TableFormat,
    as_fraction,
    show,
    write_json,
    write_report,
)


def compare(
    a: Annotated[Path, typer.Argument(metavar="FILE_A", help="Prediction file of entry A.")],
    others: Annotated[
        list[Path], typer.Argument(metavar="FILE_B...", help="Prediction files that A is compared with, 1 to 3.")
    ],
    data: AnyDataOption,
    subset: FormerSubsetOption = None,
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="Compare only on this task.")] = None,
    names: NamesOption = None,
    format_: FormatOption = TableFormat.TABLE,
    swaps: Annotated[
        int | None,
        typer.Option(
            "--swaps",
            metavar="N",
            hidden=True,
            min=1,
            max=1_000_000,
            help="removed in 0.4: there is no resampling",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", metavar="N", hidden=True, min=0, help="removed in 0.4: there is no resampling"),
    ] = None,
    margin: MarginOption = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    label_map: LabelMap = None,
    json_: JsonOption = None,
    report: ReportOption = None,
) -> None:
    """Test whether models differ on the shifts that both cover.

    Example: shiftbench compare sbert.parquet tfidf.parquet --data build/dr

    With --format markdown, latex or csv: one table of all models, as in papers, each tested against the best.

    The JSON is a claim that 'shiftbench study verify' checks: hypotheses, entries with checksums, data hash, all tests.
    """
    from shiftbench.checking.opened_data import opened_data
    from shiftbench.scoring.reports.terminal import comparison_lines
    from shiftbench.scoring.reports.titles import rename_domains

    if len(others) > 3:
        raise typer.BadParameter("give 2 to 4 prediction files")
    files = [a, *others]
    called = (
        parse_names(names, files) if names is not None or format_ is not TableFormat.TABLE else list(map(str, files))
    )
    with opened_data(data, own_file(columns, min_texts, label_map), a, subset) as opened:
        if format_ is not TableFormat.TABLE and json_ != "-":
            from shiftbench.checking.paper import format_table, models_table

            table, _ = models_table(
                opened,
                dict(zip(called, files, strict=True)),
                task=task,
                margin=as_fraction(margin),
            )
            typer.echo(format_table(table, format_), nl=False)
            if json_ is None and report is None:  # only these need the claim below
                return
        from shiftbench.checking.claims import claim_of_files, read_named_file

        named = [read_named_file(name, path) for name, path in zip(called, files, strict=True)]
        made = claim_of_files(opened, named, data, task=task, margin=as_fraction(margin))
        if json_ != "-" and format_ is TableFormat.TABLE:
            show(comparison_lines([rename_domains(pair, opened.titles) for pair in made.comparisons]))
        if report is not None:
            from shiftbench.scoring.reports.report_page import comparison_report

            pairs = [rename_domains(pair, opened.titles) for pair in made.comparisons]
            write_report(report, lambda: comparison_report(pairs, called, opened.folder))
    write_json(made.model_dump(mode="json"), json_)
