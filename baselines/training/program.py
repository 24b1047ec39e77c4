"""Main function of the fine-tuning programs: train, and write predictions, cards and records."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from shiftbench.baselines.program import AnswerOptions, train_runs
from shiftbench.baselines.training.finetuner import Finetuner
from shiftbench.baselines.training.models import determinism
from shiftbench.baselines.training.options import TrainingOptions
from shiftbench.baselines.training.outputs import training_work, write_training
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.validation.command_line import require
from shiftbench.validation.vocabulary import TaskKind

Options = TypeVar("Options", bound=TrainingOptions)
_NOTHING: Mapping[str, Any] = MappingProxyType({})


def finetune(
    program: str,
    trainer: Callable[[TaskInfo, Options], Finetuner],
    runs: AnswerOptions,
    training: Options,
    *,
    kinds: Sequence[TaskKind] = (TaskKind.CLASSIFICATION,),
    settings: Mapping[str, Any] = _NOTHING,
    facts: Mapping[str, Any] = _NOTHING,
) -> None:
    """Train one model per source and seed, and write prediction file, card and record.

    Args:
        settings: further options that predictions depend on, as JSON data.
        facts: fields of the card that override the options.
    Raises: InvalidInput if an option, the data or the model is unsuitable; nothing is written then.
    """
    require("peft", "train")
    folder = runs.open_folder()
    work = training_work(program, folder, runs, training, settings)
    with determinism(asked=training.deterministic):
        results = train_runs(trainer(folder.task(runs.task), training).fit, folder, runs, kinds=kinds, work=work)
    write_training(results, folder, training, runs.out, work, **facts)
