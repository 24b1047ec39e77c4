"""The command ``data export``: a dataset folder as tasks that other tools run. Heavy imports are inside."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.validation.command_line import SubsetOption
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import GOLD, TOKENS, TaskKind

if TYPE_CHECKING:
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.interchange.task_files import PromptedTask


class ExportTool(StrEnum):
    """Tools whose tasks are written."""

    LM_EVAL = "lm-eval"
    INSPECT = "inspect"


def export(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Dataset folder that 'shiftbench build' wrote.")],
    to: Annotated[ExportTool, typer.Option("--to", metavar="TOOL", help="lm-eval or inspect.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for the task files and their rows.")],
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="NAME", help="Write this task; repeat for more. Default: all."),
    ] = None,
    subset: SubsetOption = "all",
) -> None:
    """Write tasks as files that lm-eval or Inspect run.

    They have our prompts and ids. 'shiftbench logs import' turns what these tools log into a prediction file.

    Example: shiftbench data export build/dr --to lm-eval --out tasks --task nli
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.interchange.task_files import write_inspect, write_lm_eval
    from shiftbench.validation.output_files import check_new_folder

    folder = DatasetFolder.open(data)
    folder.refuse_withheld()
    names = tasks or [name for name, info in folder.manifest.tasks.items() if subset in info.subsets]
    if not names:
        raise InvalidInput(Problem("no task has such a subset", str(data), f"'{subset}'", "leave --subset out"))
    prompted = [_build_prompted_task(folder, name, subset) for name in names]
    check_new_folder(out, "--out")
    runs = []
    for task in prompted:
        if to is ExportTool.LM_EVAL:
            runs.append(f"lm_eval run --include_path {out} --tasks {write_lm_eval(task, out)[0]} --log_samples")
        else:
            runs.append(f"inspect eval {write_inspect(task, out)}")
        counts = ", ".join(f"{domain} {len(rows):,}" for domain, rows in task.rows.items())
        typer.echo(f"wrote {task.name}: {counts}", err=True)
    typer.echo("run them with:\n" + "\n".join(f"  {run} ..." for run in runs), err=True)


def _build_prompted_task(folder: "DatasetFolder", name: str, subset: str) -> "PromptedTask":
    """Build a task with its test rows and prompts."""
    import polars as pl

    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.scoring.interchange.task_files import GOLD_ANSWER, PromptedTask

    info, prompt = folder.task(name), TaskPrompt.of(folder, name)
    rows = folder.test(name, subset)
    answers = [prompt.answer(row) for row in rows.iter_rows(named=True)]
    kept = rows.select("id", "domain", *info.inputs, GOLD[info.kind]).with_columns(pl.Series(GOLD_ANSWER, answers))
    longest = max(rows.iter_rows(named=True), key=lambda row: len(row[TOKENS]) if info.kind is TaskKind.TAGGING else 0)
    request = prompt.request(longest, ())
    parts = kept.partition_by("domain", as_dict=True, maintain_order=True)
    return PromptedTask(
        benchmark=folder.manifest.benchmark,
        task=name,
        info=info,
        rows={str(domain): part for (domain,), part in parts.items()},
        messages=lambda row: prompt.request(row, ()).messages,
        ends_open=request.ends_open,
        max_tokens=request.max_tokens,
    )
