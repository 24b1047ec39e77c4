"""The command ``predict``: any model's predictions for a task of a dataset folder, as a file with its card."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.baselines.models.settings import ModelArgument, ModelOptions
from shiftbench.validation.command_line import DataOption, PredictionOut, SubsetOption, with_options
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, counted, did_you_mean
from shiftbench.validation.vocabulary import ELSEWHERE, GOLD, NO_SOURCE, SPLITS, TaskKind

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.baselines.models import LoadedModel
    from shiftbench.builders.folder.reader import DatasetFolder

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
    str | None, typer.Option("--name", metavar="TEXT", help="The model's name in the card. Default: from MODEL.")
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
    """Predict the rows of a task with any model, and write a prediction file with its card.

    Predictions are saved beside --out: after a stop, the same command continues.

    Example: shiftbench predict ./my-model --data build/dr --task nli --source fiction --out preds.parquet
    """
    from shiftbench.baselines.models import predict_in_parts
    from shiftbench.baselines.program import check_out_path, make_card, open_work_folder, write_outputs
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.builders.folder.reader import DatasetFolder

    check_out_path(out)
    folder = DatasetFolder.open(data)
    task = task or _only_task(folder)
    info, source = folder.task(task), _check_source(folder, task, source)
    rows = _rows_to_predict(folder, task, split, subset, target)
    prompt = TaskPrompt.of(folder, task, None, options.settings.instruction)
    loaded = options.load(model, kind=info.kind, inputs=info.inputs, labels=info.labels, prompt=prompt)
    for note in loaded.notes:
        typer.echo(f"note: {note}", err=True)
    work = open_work_folder(
        out,
        "predict",
        folder,
        loaded.libraries,
        rows=[task, split, subset, target],
        model=[model, options.served_model, loaded.version],
    )
    resumed = f"; continuing from the work saved in {work.path}" if work.path.is_dir() else ""
    typer.echo(f"predicting {counted(len(rows), 'row')} of task '{task}' with {loaded.name}{resumed}", err=True)
    predictions = predict_in_parts(loaded, rows, info.inputs, work=work)
    print_reading(loaded)
    if info.kind is TaskKind.CLASSIFICATION:
        _warn_of_mixed_labels(rows, predictions, info.labels)
    facts: dict[str, Any] = {"paradigm": "other", **loaded.facts}
    card = make_card(folder, libraries=loaded.libraries, name=name or loaded.name, subset=subset, **facts)
    if not probabilities and "probabilities" in predictions.columns:
        predictions = predictions.drop("probabilities")
    write_outputs(_add_run_columns(rows, predictions, source, seed), card, out)
    work.clear()


def print_reading(model: "LoadedModel") -> None:
    """Print on standard error how many texts a model could not read whole, or that had nothing to read."""
    counts = model.counts
    if counts.truncated:
        share = f"{counts.truncated:,} of {counts.rows:,} ({100 * (model.truncated or 0):.1f}%)"
        typer.echo(f"note: {share} texts are longer than the model reads: their ends were cut", err=True)
    if counts.empty:
        typer.echo(f"note: {counted(counts.empty, 'row')} of {counts.rows:,} with an empty text", err=True)


def _only_task(folder: "DatasetFolder") -> str:
    names = list(folder.manifest.tasks)
    if len(names) > 1:
        what, cure = "the folder has several tasks", f"choose one with --task: {', '.join(names)}"
        raise InvalidInput(Problem(what, str(folder.path), cure=cure))
    return names[0]


def _check_source(folder: "DatasetFolder", task: str, source: str) -> str:
    from shiftbench.baselines.runs import choose_sources

    return source if source in (NO_SOURCE, ELSEWHERE) else choose_sources(folder, task, [source])[0]


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


def _warn_of_mixed_labels(rows: "pl.DataFrame", predictions: "pl.DataFrame", labels: tuple[str, ...]) -> None:
    """Warn where another order of labels would score far better; withheld labels are not looked at."""
    from shiftbench.baselines.models import permutation_warning

    gold = rows[GOLD[TaskKind.CLASSIFICATION]]
    if gold.null_count() or not len(gold):
        return
    if warning := permutation_warning(gold.to_numpy(), predictions["prediction"].to_list(), labels):
        print(f"warning: {warning}", file=sys.stderr)


def _add_run_columns(rows: "pl.DataFrame", predictions: "pl.DataFrame", source: str, seed: int) -> "pl.DataFrame":
    """Add source, id and seed to predictions, columns in the order in which the baselines write them."""
    import polars as pl

    frame = predictions.with_columns(source=pl.lit(source), id=rows["id"], seed=pl.lit(seed, pl.Int64))
    first = ["source", "id", "prediction", "seed"]
    return frame.select(*first, *(column for column in predictions.columns if column not in first))
