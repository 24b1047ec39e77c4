"""The command ``predict``: any model's predictions for a task of a dataset folder, as a file with its card."""

import logging
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.baselines.models.options import ModelArgument, ModelOptions
from shiftbench.validation.command_line import DataOption, PredictionOut, SubsetOption, with_options
from shiftbench.validation.notices import ModelWarning
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, counted, did_you_mean
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE, SPLITS, TaskKind

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.builders.folder.reader import DatasetFolder

log = logging.getLogger(__name__)

TaskOption = Annotated[
    str | None, typer.Option("--task", metavar="NAME", help="Task of the folder. Default: the only one.")
]
SourceOption = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="NAME",
        help=f"What the model was trained on: a domain of the folder (several joined by '+'), '{NO_SOURCE}' for no "
        f"training on the task, '{ELSEWHERE}' for other data.",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="NAME", help="Predict this domain; repeat for more."),
]
SeedOption = Annotated[
    int, typer.Option("--seed", metavar="N", help="Number of the training run, to tell runs in one file apart.", min=0)
]
ProbabilitiesOption = Annotated[
    bool,
    typer.Option(
        "--probabilities/--no-probabilities",
        help="goes in 0.4: probabilities are written where the model has them",
        hidden=True,
    ),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="TEXT", help="goes in 0.4: write the name into the card", hidden=True)
]
SplitOption = Annotated[str, typer.Option("--split", metavar="NAME", help=f"Rows to predict: {', '.join(SPLITS)}.")]


@with_options
def predict(
    model: ModelArgument,
    data: DataOption,
    out: PredictionOut,
    task: TaskOption = None,
    source: SourceOption = ELSEWHERE,
    split: SplitOption = "test",
    target: TargetOption = None,
    subset: SubsetOption = "all",
    seed: SeedOption = 0,
    probabilities: ProbabilitiesOption = True,
    name: NameOption = None,
    *,
    options: ModelOptions,
) -> None:
    """Predict a benchmark's texts with any model, and write a card.

    Predictions are saved beside --out: after a stop, the same command continues.

    Example: shiftbench predict ./my-model --data build/dr --task nli --source fiction --out preds.parquet
    """
    import polars as pl

    from shiftbench.baselines.models import list_doubts, predict_in_parts
    from shiftbench.baselines.program import check_out_path, make_card, open_work_folder, write_outputs
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.baselines.runs import choose_sources
    from shiftbench.builders.folder.reader import DatasetFolder

    check_out_path(out)
    folder = DatasetFolder.open(data)
    task = task or _only_task(folder)
    info = folder.task(task)
    source = source if source in (NO_SOURCE, ELSEWHERE) else choose_sources(folder, task, [source])[0]
    rows = _rows_to_predict(folder, task, split, subset, target)
    prompt = TaskPrompt.of(folder, task, None, options.settings.instruction)
    loaded = options.load(model, info, prompt)
    _warn(loaded.notes)
    work = open_work_folder(
        out, "predict", folder, loaded.libraries, rows=[task, split, subset, target], model=[model, loaded.version]
    )
    resumed = f"; continuing from the work saved in {work.path}" if work.path.is_dir() else ""
    log.info("predicting %s of task '%s' with %s%s", counted(len(rows), "row"), task, loaded.name, resumed)
    predictions = predict_in_parts(loaded, rows, info.inputs, work=work)
    gold = rows["label"] if info.kind is TaskKind.CLASSIFICATION else None
    _warn(list_doubts(loaded, gold, predictions["prediction"], info.labels))
    facts: dict[str, Any] = {"paradigm": "other", **loaded.facts}
    card = make_card(folder, libraries=loaded.libraries, name=name or loaded.name, subset=subset, **facts)
    if not probabilities:
        predictions = predictions.drop("probabilities", strict=False)
    run = pl.lit(source).alias("source"), rows["id"], "prediction", pl.lit(seed, pl.Int64).alias("seed")
    write_outputs(predictions.select(*run, pl.exclude("prediction")), card, out)
    work.clear()


def _warn(doubts: Sequence[str]) -> None:
    for doubt in doubts:
        warnings.warn(doubt, ModelWarning, stacklevel=3)


def _only_task(folder: "DatasetFolder") -> str:
    names = list(folder.manifest.tasks)
    if len(names) > 1:
        what, cure = "the folder has several tasks", f"choose one with --task: {', '.join(names)}"
        raise InvalidInput(Problem(what, str(folder.path), cure=cure))
    return names[0]


def _rows_to_predict(
    folder: "DatasetFolder", task: str, split: str, subset: str, targets: list[str] | None
) -> "pl.DataFrame":
    """Read the rows to predict."""
    import polars as pl

    if split not in SPLITS:
        raise UnknownChoice(Problem("there is no such split", "--split", f"'{split}'", did_you_mean(split, SPLITS)))
    if split != "test" and subset != "all":
        what, cure = "subsets have test rows only", "leave --subset out, or give --split test"
        raise InvalidInput(Problem(what, "--subset", f"'{subset}'", cure))
    there = [domain for domain, facts in folder.task(task).domains.items() if split in facts.splits]
    if unknown := [target for target in targets or () if target not in there]:
        what = f"no domain of this name has {split} rows"
        raise InvalidInput(
            Problem(what, "--target", f"'{name}'", did_you_mean(name, there) if there else "") for name in unknown
        )
    chosen = targets or there
    if not chosen:
        raise InvalidInput(Problem(f"no domain of task '{task}' has {split} rows", str(folder.path)))
    if split != "test":
        return pl.concat([folder.split(task, domain, split) for domain in chosen])
    return folder.test(task, subset).filter(pl.col("domain").is_in(chosen))
