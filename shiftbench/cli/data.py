"""The group ``data``: fetch, check, publish and export data. Imports other than typer are inside the functions."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.data_options import FormerSubsetOption
from shiftbench.cli.fetch import fetch
from shiftbench.cli.help import group_of
from shiftbench.validation.command_line import (
    JsonOption,
    LabelsByIndexOption,
    SubsetOption,
    write_json,
)
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import GOLD, TOKENS, TaskKind

if TYPE_CHECKING:
    from shiftbench.builders.folder.manifest import Manifest
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.interchange.task_files import PromptedTask


def validate(
    path: Annotated[Path, typer.Argument(metavar="FILE_OR_DIR", help="A prediction file, or a dataset folder.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Dataset folder that the predictions are for.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option("--card", metavar="FILE", help="Card to check with the predictions.")
    ] = None,
    subset: FormerSubsetOption = None,
    labels_by_index: LabelsByIndexOption = False,
    json_: JsonOption = None,
) -> None:
    """Check predictions and their card, or a dataset folder.

    Lists all problems; if there are none, summarises the content.

    Example: shiftbench data validate preds.parquet --data build/dr --card preds.card.yaml
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.contents import (
        coverage_of,
        folder_lines,
        next_for_folder,
        next_for_predictions,
        prediction_lines,
    )
    from shiftbench.checking.inputs import find_subset
    from shiftbench.leaderboard.store import find_folder
    from shiftbench.scoring.scores.score import checked_predictions
    from shiftbench.validation.cards import read_card
    from shiftbench.validation.prediction_files import PredictionInput
    from shiftbench.validation.versions import NO_SETTINGS

    if path.is_dir():
        folder = DatasetFolder.unchecked(path)
        folder.check()
        not_recorded = "" if folder.version.settings else f"; {NO_SETTINGS}"
        typer.echo(f"{path}: a valid dataset folder, {folder.version}{not_recorded}", err=True)
        for line in (*folder_lines(folder), next_for_folder(folder, path)):
            typer.echo(line, err=True)
        write_json({"ok": True, "data": folder.content_hash, "settings": folder.version.settings}, json_)
        return
    if data is None:
        raise typer.BadParameter("give --data, the dataset folder that the predictions are for")
    folder = DatasetFolder.open(data)
    if card is not None:
        checked = read_card(card)
        find_folder(checked, [folder])
        if checked.settings is None:
            typer.echo(f"{card}: {NO_SETTINGS}", err=True)
        subset = checked.subset
    subset = subset or find_subset(path, folder)
    frame = checked_predictions(PredictionInput(path, labels_by_index), folder, subset)
    runs = frame.select("task", "source", "target", "seed").n_unique()
    typer.echo(f"{path}: {len(frame):,} predictions of {runs} runs on targets, all valid", err=True)
    for line in (*prediction_lines(frame, folder, subset), next_for_predictions(path, data, card)):
        typer.echo(line, err=True)
    write_json({"ok": True, "predictions": len(frame), "runs": runs, "tasks": coverage_of(frame)}, json_)


def publish(
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Dataset folder, or a folder with 'public' and 'gold' of one build."),
    ],
    repo_id: Annotated[str, typer.Option("--repo-id", metavar="ORG/NAME", help="Dataset repository on the Hub.")],
    revision: Annotated[
        str,
        typer.Option(
            "--revision", metavar="BRANCH", help="removed in 0.4: datasets are published to 'main'", hidden=True
        ),
    ] = "main",
    tag: Annotated[
        str | None,
        typer.Option(
            "--tag", metavar="NAME", help="removed in 0.4: versions are tagged by format and content", hidden=True
        ),
    ] = None,
    private_gold: Annotated[
        str | None,
        typer.Option("--private-gold", metavar="ORG/NAME", help="Private repository for the withheld labels."),
    ] = None,
    cite: Annotated[
        Path | None,
        typer.Option("--cite", metavar="FILE", help="YAML with title, authors, date-released, license, contact."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be uploaded; upload nothing.")] = False,
    json_: JsonOption = None,
) -> None:
    """Publish a dataset folder to the Hugging Face Hub.

    It is uploaded in one commit, and only if something changed. Domains whose licence does not allow publishing their
    rows are excluded and listed. Tasks with labels get an eval.yaml, which registers a benchmark on the Hub. After an
    interruption, run the command again to continue; incomplete versions are never visible. The file of --cite has the
    keys of CITATION.cff; if texts may be harmful, it must give a contact.

    Example: shiftbench data publish build/dr --repo-id ORG/domain-robustness --dry-run
    """
    from shiftbench.builders.folder.publication import read_publication
    from shiftbench.builders.publishing.publish import publish_folders

    content = publish_folders(
        folder,
        repo_id,
        revision,
        tag=tag,
        private_gold=private_gold,
        dry_run=dry_run,
        publication=None if cite is None else read_publication(cite),
        describe=benchmark_file,
    )
    write_json(content, json_)


def benchmark_file(manifest: "Manifest") -> dict[str, str]:
    """Return the file that makes a dataset a benchmark of the Hub, by its name; empty if no task qualifies."""
    from shiftbench.baselines.prompting.instructions import numbered_wording
    from shiftbench.scoring.interchange.eval_yaml import EVAL_YAML, eval_yaml

    text = eval_yaml(manifest, lambda task: numbered_wording(manifest.benchmark, task, manifest.tasks[task]))
    return {} if text is None else {EVAL_YAML: text}


class ExportTool(StrEnum):
    """Tools that tasks can be exported to."""

    LM_EVAL = "lm-eval"
    INSPECT = "inspect"


def export(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Dataset folder that 'shiftbench build' wrote.")],
    to: Annotated[ExportTool, typer.Option("--to", metavar="TOOL", help="lm-eval or inspect.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for the task files and their rows.")],
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="NAME", help="Write only this task; may be repeated. Default: all."),
    ] = None,
    subset: SubsetOption = "all",
) -> None:
    """Write tasks for lm-eval or Inspect.

    They contain our prompts and ids. 'shiftbench logs import' converts the logs of these tools to a prediction file.

    Example: shiftbench data export build/dr --to lm-eval --out tasks --task nli
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.interchange.task_files import write_inspect, write_lm_eval
    from shiftbench.validation.output_files import check_new_folder

    folder = DatasetFolder.open(data)
    folder.refuse_withheld()
    names = tasks or [name for name, info in folder.manifest.tasks.items() if subset in info.subsets]
    if not names:
        raise InvalidInput(Problem("no task has such a subset", str(data), f"'{subset}'", "omit --subset"))
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
    # All rows get the same limit on output tokens, so it must suffice for the one with the most tags.
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


group = group_of(
    "Fetch, check, publish and export data.",
    {"fetch": fetch, "validate": validate, "publish": publish, "export": export},
)
