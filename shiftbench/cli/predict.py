"""The command ``predict``: writes any model's predictions for a task of a dataset folder, with a card."""

import logging
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from shiftbench.baselines.models.options import ModelArgument, ModelOptions
from shiftbench.validation.command_line import DataOption, PredictionOut, SubsetOption, with_options
from shiftbench.validation.notices import ModelWarning
from shiftbench.validation.report import plural
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE, SPLITS, TaskKind

log = logging.getLogger(__name__)

TaskOption = Annotated[
    str | None, typer.Option("--task", metavar="NAME", help="Task of the folder. Default: the only one.")
]
SourceOption = Annotated[
    str,
    typer.Option(
        "--source",
        metavar="NAME",
        help=f"Training domain of the model: a domain of the folder (several joined by '+'), '{NO_SOURCE}' for no "
        f"training on the task, '{ELSEWHERE}' for other data.",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option("--target", metavar="NAME", help="Predict only this domain; may be repeated."),
]
SeedOption = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed of the training run, which distinguishes runs in one file.", min=0),
]
ProbabilitiesOption = Annotated[
    bool,
    typer.Option(
        "--probabilities/--no-probabilities",
        help="removed in 0.4: probabilities are written if the model has them",
        hidden=True,
    ),
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="TEXT", help="removed in 0.4: write the name into the card", hidden=True)
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

    Predictions are saved next to --out: after an interruption, run the command again to continue.

    Example: shiftbench predict ./my-model --data build/dr --task nli --source fiction --out preds.parquet
    """
    from shiftbench.baselines.models.loading import require_loader

    require_loader(model)  # before slow imports
    from shiftbench.baselines.models.doubts import list_doubts
    from shiftbench.baselines.program import check_out_path, make_card, open_work_folder, write_outputs
    from shiftbench.baselines.prompting.task_prompt import TaskPrompt
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.checking.predicted import RowsToPredict

    check_out_path(out)
    folder = DatasetFolder.open(data)
    chosen = RowsToPredict.of(folder, task, source, split, subset, target)
    rows, info = chosen.rows, chosen.info
    prompt = TaskPrompt.of(folder, chosen.task, None, options.settings.instruction)
    loaded = options.load(model, info, prompt)
    _warn(loaded.notes)
    work = open_work_folder(
        out, "predict", folder, loaded.libraries, rows=[chosen.task, split, subset, target],
        model=[model, loaded.version],
    )  # fmt: skip
    resumed = f"; continuing from the work saved in {work.path}" if work.path.is_dir() else ""
    log.info("predicting %s of task '%s' with %s%s", plural(len(rows), "row"), chosen.task, loaded.name, resumed)
    predictions = chosen.predict(loaded, seed, work)
    gold = rows["label"] if info.kind is TaskKind.CLASSIFICATION else None
    _warn(list_doubts(loaded, gold, predictions["prediction"], info.labels))
    facts: dict[str, Any] = {"paradigm": "other", **loaded.facts}
    card = make_card(folder, libraries=loaded.libraries, name=name or loaded.name, subset=subset, **facts)
    if not probabilities:
        predictions = predictions.drop("probabilities", strict=False)
    write_outputs(predictions, card, out)
    work.clear()


def _warn(doubts: Sequence[str]) -> None:
    for doubt in doubts:
        warnings.warn(doubt, ModelWarning, stacklevel=3)
