"""The command ``plan``. Libraries heavier than typer are imported inside it."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.validation.command_line import DataOption, JsonOption, answer, writable_file


def _share(name: str, words: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(name, metavar="X", help=words, min=0.0, max=1.0)
    return option


def plan(
    data: DataOption,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Training runs of each source.", min=1)] = 5,
    task: Annotated[str | None, typer.Option("--task", metavar="NAME", help="Plan this task alone.")] = None,
    like: Annotated[
        Path | None,
        typer.Option("--like", metavar="FILE", help="Measure the assumptions on this prediction file."),
    ] = None,
    accuracy: Annotated[float | None, _share("--accuracy", "Assumed mean score of a text. Default: 0.75.")] = None,
    discordance: Annotated[
        float | None,
        _share("--discordance", "Assumed share of texts that only one of two models has right. Default: 0.25."),
    ] = None,
    icc: Annotated[
        float | None, _share("--icc", "Assumed correlation of scores within a group. Default: 0.05.")
    ] = None,
    run_sd: Annotated[
        float | None, _share("--run-sd", "Assumed standard deviation of a score over training runs. Default: 0.01.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--picture", metavar="FILE", help="Draw drops by runs and by texts as PNG.", callback=writable_file
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Compute before training which drops can be detected, and the runs or texts needed to detect 1, 2 and 5 points.

    Example: shiftbench plan --data build/dr --task nli --runs 5
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.reports.plan_tables import plan_lines, plan_picture
    from shiftbench.scoring.scores.plan import plan as make_plan
    from shiftbench.scoring.scores.score import token_encoder

    folder = DatasetFolder.open(data)
    typed = {"accuracy": accuracy, "discordance": discordance, "icc": icc, "run_sd": run_sd}
    given = {name: value for name, value in typed.items() if value is not None}
    detection = make_plan(folder, runs, given, like, task, token_encoder(folder) if like else None)
    if picture is not None:
        picture.write_bytes(plan_picture(detection))
    answer(plan_lines(detection), detection.model_dump(mode="json"), json_)
