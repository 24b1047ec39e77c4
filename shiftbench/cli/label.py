"""The command ``label``. Everything heavier than typer is imported inside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import OUTPUT, ColumnsOption, PredictionsArgument, writable_file
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.checking.label_draws import DomainDraw


def label(
    predictions: PredictionsArgument,
    data: Annotated[Path, typer.Option("--data", metavar="FILE", help="File of your own; rows without labels.")],
    budget: Annotated[int, typer.Option("--budget", metavar="N", help="Texts to label, in all.", min=1)],
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
    domain: Annotated[
        list[str] | None,
        typer.Option("--domain", metavar="NAME", help="Draw from this domain alone; repeat. Default: all, evenly."),
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

    On domains of a file whose rows have no labels.

    Example: shiftbench label preds.parquet --data mine.csv --columns id=key --budget 100 --out to_label.csv

    Then: shiftbench score preds.parquet --data mine.csv --columns id=key --sampled to_label.csv
    """
    from shiftbench.builders.building.own_columns import parse_columns
    from shiftbench.builders.building.own_tables import read_tables
    from shiftbench.checking.label_draws import draw_file, draw_texts, write_draw
    from shiftbench.checking.label_rows import join_predictions, read_rows

    if out.suffix.lower() != ".csv":
        raise typer.BadParameter("--out must end in .csv")
    (table,) = read_tables([data])
    own, kind = parse_columns(columns or ())
    rows = read_rows(table, own, kind)
    frame = _select_unlabelled(join_predictions(rows, predictions), domain or [], data)
    n_domains = frame["domain"].n_unique()
    if not n_domains <= budget <= len(frame):
        what = "the budget does not fit the texts"
        cure = f"give {n_domains:,} (one a domain) to {len(frame):,} (all texts without a label)"
        raise InvalidInput(Problem(what, "--budget", f"{budget:,}", cure))
    draw = draw_texts(frame, budget, seed, own.group)
    write_draw(draw, rows, out)
    for each in draw.domains:
        typer.echo(_describe_draw(each))
    typer.echo(f"{out}: {len(draw.probabilities):,} texts to label; keep {draw_file(out)}, the record of the draw")


def _select_unlabelled(frame: "pl.DataFrame", domains: list[str], data: Path) -> "pl.DataFrame":
    """Return the rows without a label, of some domains or of all; InvalidInput where there are none."""
    import polars as pl

    frame = frame.filter(pl.col("label").is_null())
    if frame.is_empty():
        cure = "give the file whose rows to be labelled have an empty label"
        raise InvalidInput(Problem("every row has a label", str(data), cure=cure))
    here = frame["domain"].unique(maintain_order=True).to_list()
    for name in domains:
        if name not in here:
            raise InvalidInput(
                Problem(
                    "no domain of this name has texts without a label", "--domain", repr(name), did_you_mean(name, here)
                )
            )
    return frame.filter(pl.col("domain").is_in(domains)) if domains else frame


def _describe_draw(draw: "DomainDraw") -> str:
    """Describe how a domain's texts are drawn, and how narrow an interval to expect."""
    from shiftbench.metrics.label_sampling import ENOUGH

    start = f"{draw.domain}: {draw.budget:,} of {draw.n_texts:,} texts"
    if draw.method == "wilson":
        return f"{start}, at random (Wilson's interval): fewer than {ENOUGH} errors or hits are to be expected"
    by_confidence = 100 * (1 - (1 - draw.rho**2) ** 0.5)
    return (
        f"{start}, by confidence (PPI++): expect an interval {100 * (1 - draw.expected_width):.0f}% narrower than from "
        f"as many at random, if confidences are calibrated ({by_confidence:.0f}% from the correlation alone, "
        f"sqrt(1 - rho^2) with rho {draw.rho:.2f})"
    )
