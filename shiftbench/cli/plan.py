"""The command ``plan``. Libraries other than typer are imported inside."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.validation.command_line import DataOption, JsonOption, print_results


def plan(
    data: DataOption,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Training runs per source.", min=1)] = 5,
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="Plan only this task.")] = None,
    like: Annotated[
        Path | None,
        typer.Option("--like", metavar="FILE", help="Estimate the assumptions from this prediction file."),
    ] = None,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            "--assume",
            metavar="NAME=VALUE",
            help="Assume another value; may be repeated. accuracy: mean score of a text (0.75); discordance: "
            "proportion of texts that exactly one of two models classifies correctly (0.25); icc: correlation of "
            "scores within a group (0.05); run_sd: standard deviation of a score over training runs (0.01).",
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Compute before training which drops can be detected.

    Also the number of runs or texts needed to detect drops of 1, 2 and 5 points.

    Example: shiftbench plan --data build/dr --task nli --runs 5
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.reports.plan_tables import plan_lines
    from shiftbench.scoring.scores.plan import parse_assumptions
    from shiftbench.scoring.scores.plan import plan as make_plan
    from shiftbench.scoring.scores.score import token_encoder

    given = parse_assumptions(assume or ())
    folder = DatasetFolder.open(data)
    detection = make_plan(folder, runs, given, like, task, token_encoder(folder) if like else None)
    print_results(plan_lines(detection), detection.model_dump(mode="json"), json_)
