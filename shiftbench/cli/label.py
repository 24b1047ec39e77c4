"""The command ``label``. Imports other than typer are inside the function."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import own_file
from shiftbench.validation.command_line import (
    OUTPUT,
    ColumnsOption,
    PredictionsArgument,
    as_fraction,
    show,
    writable_file,
)


def label(
    predictions: PredictionsArgument,
    data: Annotated[
        Path,
        typer.Option("--data", metavar="FILE", help="Your own file; texts are sampled from its rows without labels."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="CSV to fill in; the record of the sample is written next to it.",
            callback=writable_file,
            rich_help_panel=OUTPUT,
        ),
    ],
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget",
            metavar="N",
            help="Total number of texts to label, allocated to the domains with uncertain decisions.",
            min=1,
        ),
    ] = None,
    to_within: Annotated[
        float | None,
        typer.Option(
            "--to-within",
            metavar="POINTS",
            help="Instead of --budget: target half-width of each interval.",
            min=0.5,
            max=50,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option("--margin", metavar="POINTS", help="Loss at which a domain is no longer accepted. Default: 5."),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="NAME", help="Sample only from this domain; may be repeated. Default: all."),
    ] = None,
    columns: ColumnsOption = None,
    min_texts: Annotated[
        int | None,
        typer.Option("--min-texts", metavar="N", hidden=True, help="removed in 0.4: it has no effect on the sample"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", metavar="N", help="removed in 0.4: the sample does not depend on a seed", min=0, hidden=True
        ),
    ] = 0,
) -> None:
    """Choose a few texts to label, to estimate accuracy.

    Samples from the domains without labels of a file, within a budget or until intervals are narrow enough.

    Example: shiftbench label preds.parquet --data mine.csv --columns id=key --budget 100 --out to_label.csv

    Then: shiftbench score preds.parquet --data mine.csv --columns id=key --sampled to_label.csv
    """
    from shiftbench.checking.label_draws import draw_file, draw_lines, draw_unlabelled, write_draw

    if out.suffix.lower() != ".csv":
        raise typer.BadParameter("--out must end in .csv")
    draw, rows = draw_unlabelled(
        predictions, data, own_file(columns, min_texts), budget, domain or (), seed,
        within=as_fraction(to_within), **({} if margin is None else {"margin": as_fraction(margin) or 0.0}),
    )  # fmt: skip
    write_draw(draw, rows, out)
    show(draw_lines(draw))
    typer.echo(f"{out}: {len(draw.probabilities):,} texts to label; keep {draw_file(out)}, the record of the sample")
