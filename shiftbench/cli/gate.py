"""The command ``gate``. Imports other than typer are inside the function."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import FAILED, AnyDataOption, FormerSubsetOption, own_file
from shiftbench.validation.command_line import (
    LIMITS,
    OUTPUT,
    ColumnsOption,
    JsonOption,
    LabelMap,
    MinTextsOption,
    PredictionsArgument,
    as_fraction,
    show,
    writable_file,
    write_json,
)

_COLUMNS = "shiftbench.gate.columns"


def _read_settings(context: typer.Context, project: Path | None) -> Path | None:
    """Read the settings of the nearest project, as defaults for options that are not given."""
    from shiftbench.checking.gate import read_gate_settings

    settings = read_gate_settings(project)
    context.meta[_COLUMNS] = settings.pop("columns", ())  # each role is a separate setting
    context.default_map = settings
    return project


def gate(
    context: typer.Context,
    predictions: PredictionsArgument,
    data: AnyDataOption,
    max_drop: Annotated[
        float | None,
        typer.Option(
            "--max-drop",
            metavar="POINTS",
            help="Largest drop of a domain from the in-domain score.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    min_score: Annotated[
        float | None,
        typer.Option(
            "--min-score",
            metavar="POINTS",
            help="Lowest score of a domain, from 0 to 100.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Prediction file to compare with, such as the main branch's.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    max_regression: Annotated[
        float | None,
        typer.Option(
            "--max-regression",
            metavar="POINTS",
            help="Largest loss of a domain against --baseline.",
            rich_help_panel=LIMITS,
        ),
    ] = None,
    trained_on: Annotated[
        str | None,
        typer.Option(
            "--trained-on", metavar="NAME", help="The source domain. Default: the only source in the predictions."
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option("--strict/--no-strict", help="Fail also if a test is inconclusive.", rich_help_panel=LIMITS),
    ] = False,
    subset: FormerSubsetOption = None,
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="Task, if the data has several.")] = None,
    columns: ColumnsOption = None,
    min_texts: MinTextsOption = None,
    label_map: LabelMap = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit",
            metavar="FILE",
            help="Write the decision as JUnit XML.",
            callback=writable_file,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            "--summary",
            metavar="FILE",
            help='Append the decision as Markdown, for example to "$GITHUB_STEP_SUMMARY".',
            callback=writable_file,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            "--project",
            metavar="FILE",
            hidden=True,
            help="removed in 0.4: settings are read from the nearest pyproject.toml with [tool.shiftbench.gate]",
            is_eager=True,
            callback=_read_settings,
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Fail if a limit is significantly violated on a domain.

    For continuous integration: the exit code is then 3. Options that are not given are read from
    [tool.shiftbench.gate] of the nearest pyproject.toml that has it.

    Example: shiftbench gate preds.csv --data my.csv --columns domain=site,label=stars,id=key --min-score 70

    Limits are in points. Tests are corrected over all domains and limits (Holm) and apply to these trained models.
    """
    from shiftbench.checking.gate import run_gate
    from shiftbench.scoring.reports.gate import gate_lines, junit_xml, markdown_summary
    from shiftbench.scoring.scores.limits import Limits

    limits = Limits(as_fraction(max_drop), as_fraction(min_score), as_fraction(max_regression))
    more = {"baseline": baseline, "trained_on": trained_on, "subset": subset, "task": task}
    own = own_file(columns, min_texts, label_map).with_defaults(own_file(context.meta[_COLUMNS], None))
    report = run_gate(predictions, data, own, limits, strict=strict, **more)  # type: ignore[arg-type]
    if junit is not None:  # files come first: whoever reads the lines may close the pipe early
        junit.write_text(junit_xml(report), encoding="utf-8")
    if summary is not None:
        with summary.open("a", encoding="utf-8") as page:  # keeps the summaries of other steps
            page.write(f"{markdown_summary(report)}\n")
    write_json({"passed": report.passed, **report.model_dump(mode="json")}, json_)
    if json_ != "-":
        show(gate_lines(report))
    if not report.passed:
        raise typer.Exit(FAILED)
