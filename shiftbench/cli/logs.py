"""The group ``logs``: compare logs of other evaluation tools, rank leaderboards, convert logs to predictions.

Heavy imports are inside the functions.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.data_options import FAILED, FormatOption, FormerSubsetOption, NamesOption, parse_names
from shiftbench.cli.help import group_of
from shiftbench.validation.command_line import (
    OUTPUT,
    DataOption,
    JsonOption,
    LabelMap,
    PredictionOut,
    ReportOption,
    TableFormat,
    require,
    show,
    writable_file,
    write_json,
    write_report,
)
from shiftbench.validation.notices import DataWarning
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE, TOKENS, ExampleId, TaskKind

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.interchange.log import EvaluationLog
    from shiftbench.scoring.interchange.predictions import Match, Parse


_FilterOption = Annotated[
    str | None,
    typer.Option("--filter", metavar="NAME", help="For lm-eval: use the responses of this filter. Default: the first."),
]


_MetricOption = Annotated[
    str | None, typer.Option("--metric", metavar="NAME", help="Metric of the logs. Default: the first that all have.")
]
_LowerOption = Annotated[bool, typer.Option("--lower-is-better", help="The metric is an error or a perplexity.")]


class Difference(StrEnum):
    """Allowed differences between compared logs."""

    ITEMS = "items"
    PROMPTS = "prompts"


def compare_logs(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOG...",
            help="lm-eval's samples_*.jsonl, Inspect's .eval or .json, or run folders of HELM; one benchmark, 2 to 10 "
            "models. Several logs of a model (prompts, seeds) are its runs.",
        ),
    ],
    by: Annotated[
        str | None, typer.Option("--by", metavar="FIELD", help="Field of the items with their domain.")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster", metavar="FIELD", help="Field that identifies the cluster of an item, such as its passage."
        ),
    ] = None,
    metric: _MetricOption = None,
    filter_: _FilterOption = None,
    names: NamesOption = None,
    *,
    allow: Annotated[
        list[Difference] | None,
        typer.Option(
            "--allow",
            metavar="WHAT",
            help="items: compare on the items that all logs have scored. prompts: allow different prompts. May be "
            "repeated.",
        ),
    ] = None,
    lower_is_better: _LowerOption = False,
    swaps: Annotated[
        int | None,
        typer.Option(
            "--swaps",
            hidden=True,
            min=1,
            max=1_000_000,
            help="removed in 0.4: there is no resampling, p is that of the interval",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", hidden=True, min=0, help="removed in 0.4: there is no resampling")
    ] = None,
    format_: FormatOption = TableFormat.TABLE,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Test whether models differ on one benchmark's items.

    Reads logs of lm-eval, Inspect or HELM; models are paired by item and by cluster. Logs with different items,
    prompts or scorers are refused; several prompts or seeds of a model are averaged, and their variance components
    are reported. With --by: scores by domain. Their differences are not drops, because no model was trained on any of
    the domains.

    Example: shiftbench logs compare a/samples_arc_easy_*.jsonl b/samples_arc_easy_*.jsonl --report report.html
    """
    from shiftbench.scoring.interchange.comparison import Joining, read_logs
    from shiftbench.scoring.interchange.comparison import compare_logs as compare
    from shiftbench.scoring.reports.item_tables import item_lines, items_csv
    from shiftbench.scoring.reports.plain_tables import report as report_page

    if len(logs) < 2:
        raise typer.BadParameter("give 2 logs or more")
    called = parse_names(names, logs) if names is not None else None
    differ = allow or []
    how = Joining(metric, by, cluster, Difference.ITEMS in differ, Difference.PROMPTS in differ, lower_is_better)
    compared = compare(read_logs(logs, how, filter_), how, names=called)
    lines = list(item_lines(compared.report))
    write_report(report, lambda: report_page(compared.report.title, lines, "shiftbench logs compare"))
    if json_ != "-":
        _show_in(format_, lines, lambda: items_csv(compared.report))
    write_json(compared.as_dict(), json_)


class FirstOnly(StrEnum):
    """Values of ``--fail-if-undecided``: the rank that must be decided."""

    FIRST = "first"


def rank_scores(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="A table of scores (CSV, Markdown, Parquet, JSON), or logs, MTEB's results, lists of solved items, or "
            "folders of them.",
        ),
    ],
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="items|tasks", help="Unit of the columns, which determines the claim. Default: inferred."
        ),
    ] = None,
    families: Annotated[
        Path | None, typer.Option("--families", metavar="CSV", help="Family of each task: columns task, family.")
    ] = None,
    lower_is_better: _LowerOption = False,
    lower: Annotated[
        list[str] | None,
        typer.Option("--lower", metavar="UNIT", help="Lower is better for this unit; may be repeated."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="UNIT", help="Exclude a task or item; may be repeated.")
    ] = None,
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Average scores standardised per unit, instead of raw scores.")
    ] = False,
    items: Annotated[
        int | None,
        typer.Option("--items", metavar="N", min=1, help="For lists of solved items: total number of items."),
    ] = None,
    metric: _MetricOption = None,
    filter_: _FilterOption = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="OLD", help="Earlier table: report which of its claims still hold."),
    ] = None,
    fail_if_undecided: Annotated[
        FirstOnly | None,
        typer.Option(
            "--fail-if-undecided", metavar="first", help="Exit code 3 if several models are tied for first place."
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Draw the rank intervals: .svg, or .png (extra 'pictures').",
            callback=writable_file,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    format_: FormatOption = TableFormat.TABLE,
    report: ReportOption = None,
    json_: JsonOption = None,
) -> None:
    """Rank a leaderboard: ties for first, significant differences.

    No data leaves this machine. 'shiftbench study verify' checks the JSON.

    Example: shiftbench logs ranks board.csv --families families.csv --report ranks.html

    Exit code 0; 3: the first place is undecided (--fail-if-undecided first); 1: the scores cannot be read.
    """
    from shiftbench.scoring.comparing.unit_ranks import Unit, compare_rankings, rank_table
    from shiftbench.scoring.interchange.boards import read_board
    from shiftbench.scoring.interchange.ranking_claims import make_ranking_claim
    from shiftbench.scoring.interchange.score_tables import Reading, read_families
    from shiftbench.scoring.reports import rank_tables
    from shiftbench.scoring.reports.pictures.files import png_file, svg_file
    from shiftbench.scoring.reports.pictures.rows import rank_intervals

    if unit is not None and unit not in (*Unit,):
        raise UnknownChoice(Problem("no such unit", "--unit", f"'{unit}'", did_you_mean(unit, [*Unit])))
    if picture is not None and picture.suffix not in (".svg", ".png"):
        raise typer.BadParameter("--picture must end in .svg or .png")
    if picture is not None and picture.suffix == ".png":
        require("resvg_py", "pictures")
    how = Reading(
        unit=None if unit is None else Unit(unit),
        lower_is_better=lower_is_better,
        lower=tuple(lower or ()),
        without=tuple(without or ()),
        families=read_families(families) if families else {},
        n_items=items,
        metric=metric,
        filter_name=filter_,
    )
    table = read_board(files, how)
    ranking = rank_table(table, standardised=standardise)
    standing = None
    if against is not None:
        standing = compare_rankings(rank_table(read_board([against], how), standardised=standardise), ranking)
    title = files[0].name
    write_report(report, lambda: rank_tables.rank_report(ranking, title, standing))
    if picture is not None:
        drawn = svg_file(rank_intervals(ranking), title)
        picture.write_bytes(png_file(drawn, zoom=2.0) if picture.suffix == ".png" else drawn.encode())
        typer.echo(f"{picture}: the picture", err=True)
    if json_ != "-":
        _show_in(format_, rank_tables.rank_lines(ranking, standing), lambda: rank_tables.rank_csv(ranking))
    write_json(make_ranking_claim(table, ranking, files, how, standing).model_dump(mode="json"), json_)
    if fail_if_undecided and (reason := rank_tables.undecided_first(ranking)):
        typer.echo(reason, err=True)
        raise typer.Exit(FAILED)


def _show_in(form: TableFormat, lines: Iterable["RenderableType"], csv: Callable[[], str]) -> None:
    """Print sentences and tables in a format."""
    from shiftbench.scoring.reports.plain_tables import as_latex, as_markdown

    if form is TableFormat.TABLE:
        show(lines)
    elif form is TableFormat.CSV:
        typer.echo(csv(), nl=False)
    else:
        typer.echo({TableFormat.MARKDOWN: as_markdown, TableFormat.LATEX: as_latex}[form](lines), nl=False)


FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="samples_*.jsonl of lm-eval, .eval or .json of Inspect, run folders of HELM."
    ),
]


def import_logs(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="Tool that wrote the logs: lm-eval, inspect or helm.")],
    files: FilesArgument,
    data: DataOption,
    out: PredictionOut,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Domain that the model was trained on, or that its demonstrations are from (several joined by '+'), "
            f"'{NO_SOURCE}' or '{ELSEWHERE}'. Default: '{NO_SOURCE}' if the log has no demonstrations.",
        ),
    ] = None,
    filter_: _FilterOption = None,
    label_map: LabelMap = None,
    subset: FormerSubsetOption = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="TEXT", help="removed in 0.4: write the name into the card", hidden=True),
    ] = None,
) -> None:
    """Convert logs of lm-eval, Inspect or HELM to predictions.

    The items' ids must be those of the dataset, as in the tasks that 'shiftbench data export' writes. Generated
    text is parsed as in 'train prompt-llm'; with log-likelihoods, the most likely label is used, with its probability.

    Example: shiftbench logs import lm-eval results/*/samples_*.jsonl --data build/dr --out preds.parquet
    """
    from shiftbench.baselines.program import check_out_path, make_card, write_outputs
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.inputs import find_subset, prediction_file
    from shiftbench.scoring.interchange.log import TOOLS
    from shiftbench.scoring.interchange.predictions import (
        joined_predictions,
        log_predictions,
        public_model_name,
        reading_notes,
        run_facts,
    )
    from shiftbench.scoring.interchange.reader import read_log

    if tool not in TOOLS:
        raise UnknownChoice(Problem("logs of this tool cannot be read", "TOOL", f"'{tool}'", did_you_mean(tool, TOOLS)))
    check_out_path(out)
    folder = DatasetFolder.open(data)
    logs, parts = [], []
    tasks: set[str] = set()
    for file in files:
        log = read_log(file, tool=tool, filter_name=filter_)
        task = _find_task(log, folder)
        rows, (parse, match) = (
            _test_rows(folder, task, subset or "all"),
            _answer_rules(folder, task, log, label_map or ()),
        )
        predictions = log_predictions(log, rows, parse, match, _log_source(source, log, folder, task))
        typer.echo(reading_notes(log, predictions), err=True)
        tasks.add(task)
        logs.append(log)
        parts.append(predictions)
    joined = joined_predictions(parts, logs)
    if subset is None:
        with prediction_file(joined) as path:
            subset = find_subset(path, folder)
    tests = {str(id_) for task in tasks for id_ in _test_rows(folder, task, subset)["id"]}
    _warn_of_partial_domains(set(joined["id"]), tests)
    facts = run_facts(logs)
    sources = set(joined["source"])
    paradigm = "few-shot" if facts["shots"] else "zero-shot" if sources == {NO_SOURCE} else "other"
    versions = facts.pop("versions")
    card = make_card(folder, name=name or public_model_name(logs[0].model), paradigm=paradigm, subset=subset, **facts)
    write_outputs(joined, card.model_copy(update={"versions": card.versions | versions}), out)


def _warn_of_partial_domains(imported: set[str], tests: set[str]) -> None:
    """Warn of incomplete domains, such as after a run with a limit on items, because ``score`` refuses them."""
    wanted, given = (Counter(str(ExampleId.parse(id_).domain) for id_ in ids) for ids in (tests, imported))
    for domain, n in sorted(given.items()):
        if n < wanted[domain]:
            what = f"these logs contain {n:,} of {wanted[domain]:,} test rows of '{domain}'"
            warnings.warn(f"{what}: 'shiftbench score' accepts complete domains only", DataWarning, stacklevel=2)


def _find_task(log: "EvaluationLog", folder: "DatasetFolder") -> str:
    """Return the task of a log's rows, from the id of its first item."""
    from shiftbench.scoring.interchange.log import refuse_log
    from shiftbench.scoring.interchange.predictions import OWN_IDS

    first = log.samples["id"][0]
    try:
        task = ExampleId.parse(first).task
    except ValueError:
        refuse_log(log.path, "the items do not have the ids of a dataset folder", f"'{first}'", OWN_IDS)
    if task not in folder.manifest.tasks:
        cure = f"give the matching --data; this one has {', '.join(folder.manifest.tasks)}"
        refuse_log(log.path, "the log is for another dataset", f"'{first}'", cure)
    return task


def _test_rows(folder: "DatasetFolder", task: str, subset: str) -> "pl.DataFrame":
    tagged = folder.task(task).kind is TaskKind.TAGGING
    return folder.test(task, subset, ["id", *([TOKENS] if tagged else [])])


def _answer_rules(
    folder: "DatasetFolder", task: str, log: "EvaluationLog", label_map: Sequence[str]
) -> "tuple[Parse, Match | None]":
    """Return the parser of generated text, and the matcher of choices; the latter is None for tasks without labels."""
    from shiftbench.baselines.models.labels import match_labels, parse_label_map
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt

    info, mapped, parse = folder.task(task), parse_label_map(label_map), TaskPrompt.of(folder, task).prediction
    if info.kind is not TaskKind.CLASSIFICATION:
        return parse, None
    return parse, lambda names, shares: match_labels(names, info.labels, place=str(log.path), label_map=mapped).frame(
        shares
    )


def _log_source(source: str | None, log: "EvaluationLog", folder: "DatasetFolder", task: str) -> str:
    from shiftbench.baselines.runs import choose_sources

    if source is None and log.facts.shots:
        what, cure = "the prompts in the log have demonstrations", f"give the domain they are from, or '{ELSEWHERE}'"
        raise InvalidInput(Problem(what, "--source", f"{log.facts.shots} shots in {log.path}", cure))
    if source in (None, NO_SOURCE, ELSEWHERE):
        return source or NO_SOURCE
    return choose_sources(folder, task, [source])[0]


group = group_of(
    "Read the logs of other evaluation tools.", {"ranks": rank_scores, "compare": compare_logs, "import": import_logs}
)
