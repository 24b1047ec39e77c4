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
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="File of your own; rows without labels.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="FILE",
            help="CSV to fill in; the record of the draw is written beside it.",
            callback=writable_file,
            rich_help_panel=OUTPUT,
        ),
    ],
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", help="Texts to label, in all; they go where a decision hangs.", min=1),
    ] = None,
    to_within: Annotated[
        float | None,
        typer.Option(
            "--to-within",
            metavar="POINTS",
            help="Or: how far each interval is to reach to either side.",
            min=0.5,
            max=50,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option("--margin", metavar="POINTS", help="Loss from which on a domain is not accepted. Default: 5."),
    ] = None,
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="NAME", help="Draw from this domain alone; repeat. Default: all."),
    ] = None,
    columns: ColumnsOption = None,
    min_texts: Annotated[
        int | None,
        typer.Option("--min-texts", metavar="N", hidden=True, help="goes in 0.4: it decides nothing about a draw"),
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="N", help="goes in 0.4: a draw is the same for everybody", min=0, hidden=True),
    ] = 0,
) -> None:
    """Choose the few texts whose labels give a model's accuracy.

    On domains of a file whose rows have no labels: within a budget, or until intervals are narrow enough.

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
    typer.echo(f"{out}: {len(draw.probabilities):,} texts to label; keep {draw_file(out)}, the record of the draw")
