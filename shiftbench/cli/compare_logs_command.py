"""The command ``logs compare``. Everything heavier than typer is imported inside it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import FormatOption, parse_names
from shiftbench.validation.command_line import JsonOption, ReportOption, TableFormat, console, write_json, write_report

MAX_LOGS = 10
"""More logs make so many pairs that hardly a difference is left to be found."""


class Difference(StrEnum):
    """What may differ between logs that are compared."""

    ITEMS = "items"
    PROMPTS = "prompts"


def compare_logs(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="lm-eval's samples_*.jsonl, Inspect's .eval or .json, or run folders of HELM; one benchmark, 2 to 10.",
        ),
    ],
    by: Annotated[
        str | None, typer.Option("--by", metavar="FIELD", help="Field of the items that is their domain.")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="FIELD", help="Field that items of one cluster share: a passage.")
    ] = None,
    metric: Annotated[
        str | None, typer.Option("--metric", metavar="NAME", help="Score to compare. Default: the first that all have.")
    ] = None,
    filter_: Annotated[
        str | None, typer.Option("--filter", metavar="NAME", help="For lm-eval: read the answers of this filter.")
    ] = None,
    names: Annotated[
        str | None,
        typer.Option("--names", metavar="A,B", help="Names of the models, in order. Default: as logged."),
    ] = None,
    *,
    allow: Annotated[
        list[Difference] | None,
        typer.Option(
            "--allow",
            metavar="WHAT",
            help="items: compare on those that all logs have scored. prompts: models may have had different ones. "
            "Repeat for both.",
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The score is an error or a perplexity.")
    ] = False,
    swaps: Annotated[
        int,
        typer.Option(
            "--swaps", hidden=True, min=1, max=1_000_000, help="goes in 0.4: every comparison makes 20,000 swaps a pair"
        ),
    ] = 20_000,
    seed: Annotated[
        int, typer.Option("--seed", hidden=True, min=0, help="goes in 0.4: every comparison has seed 0")
    ] = 0,
    format_: FormatOption = TableFormat.TABLE,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Test whether models differ on one benchmark's items.

    lm-eval, Inspect or HELM ran it; models are paired by item and by cluster. Logs whose items, prompts or scorers
    differ are refused. With --by: scores by domain. Their differences are not drops, because no model was trained on
    one of the domains.

    Example: shiftbench logs compare a/samples_arc_easy_*.jsonl b/samples_arc_easy_*.jsonl --report report.html
    """
    from shiftbench.scoring.interchange.comparison import Joining, read_logs
    from shiftbench.scoring.interchange.comparison import compare_logs as compare
    from shiftbench.scoring.reports import item_tables

    if not 2 <= len(logs) <= MAX_LOGS:
        raise typer.BadParameter(f"give 2 to {MAX_LOGS} logs")
    called = parse_names(names, logs) if names is not None else None
    differ = allow or []
    how = Joining(metric, by, cluster, Difference.ITEMS in differ, Difference.PROMPTS in differ, lower_is_better)
    compared = compare(read_logs(logs, how, filter_), how, names=called, n_swaps=swaps, seed=seed)
    write_report(report, lambda: item_tables.items_html(compared.report))
    if json_ != "-" and format_ is TableFormat.TABLE:
        item_tables.print_items(compared.report, console())
    elif json_ != "-":
        write = {
            TableFormat.MARKDOWN: item_tables.items_markdown,
            TableFormat.LATEX: item_tables.items_latex,
            TableFormat.CSV: item_tables.items_csv,
        }[format_]
        typer.echo(write(compared.report), nl=False)
    write_json(compared.as_dict(), json_)
