"""Main function of the fine-tuning programs: train, and write predictions, cards and training records."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from shiftbench.baselines.program import (
    AnswerOptions,
    make_card,
    open_work_folder,
    train_runs,
    write_outputs,
    write_results,
)
from shiftbench.baselines.robust.method import MethodOptions, Robustness
from shiftbench.baselines.runs import Results, WorkFolder
from shiftbench.baselines.training.finetuner import Finetuner
from shiftbench.baselines.training.models import determinism, model_version
from shiftbench.baselines.training.options import Adapter, TrainingOptions
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import Card
from shiftbench.validation.command_line import require
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.vocabulary import TaskKind

Options = TypeVar("Options", bound=TrainingOptions)
_LIBRARIES = ("torch", "transformers", "accelerate", "peft")


def finetune(
    program: str,
    trainer: Callable[[TaskInfo, Options, Robustness], Finetuner],
    runs: AnswerOptions,
    training: Options,
    methods: MethodOptions | None = None,
    *,
    kinds: Sequence[TaskKind] = (TaskKind.CLASSIFICATION,),
) -> None:
    """Train one model per source and seed, and write prediction files, cards and training records.

    Args:
        trainer: builds the object that trains the models of a task.
        methods: None if the program supports no robustness methods.
        kinds: kinds of task that the program supports.
    """
    asked = methods or MethodOptions()
    of_words = TaskKind.CLASSIFICATION not in kinds
    robustness = Robustness.of(asked.method, asked.synonyms, training, of_words=of_words)
    require("peft", "train")
    folder = runs.open_folder()
    training.check()
    settings = {"options": asdict(replace(training, name=None)), "model": model_version(training.model)}
    work = open_work_folder(runs.out, program, folder, _LIBRARIES, **runs.settings(), **settings, **robustness.settings)
    with determinism(asked=training.deterministic):
        trained = trainer(folder.task(runs.task), training, robustness)
        results = train_runs(trained.fit, folder, runs, kinds=kinds, work=work)
    _write_training(results, folder, training, runs.out, work, **robustness.card_facts)


def _write_training(
    results: Results,
    folder: DatasetFolder,
    options: TrainingOptions,
    out: Path,
    work: WorkFolder,
    *,
    methods: Sequence[str] = (),
    **more: Any,
) -> None:
    """Write prediction file and card, further ones for each saved state, and ``<stem>.training.json``.

    Args:
        results: results of the training runs; some fields of their records are copied to the card.
        methods: names of the robustness methods, for the model's default name.
        more: fields of the card that override the options.
    """
    first, is_cut = results.records[0], options.train_size or options.shots
    name = options.name or ", ".join([default_name(options), *methods])
    facts = {
        "base_model": options.model,
        "family": first["family"],
        "parameters": first["parameters"],
        "tunable_parameters": first["tunable_parameters"],
        "paradigm": "fine-tuned",
        "training_size": max(each["train_rows"] for each in results.records) if is_cut else None,
        "model_selection": "source-validation" if any(each["validation"] for each in results.records) else "none",
        "tuning_trials": max(each.get("tuning_trials", 1) for each in results.records),
        **more,
    }
    for state, predictions in results.states.items():
        step = max(each["state_steps"][state] for each in results.records)
        # All states have the model's name and differ in ``step``, so that a chart draws them as one line.
        card = make_card(folder, libraries=_LIBRARIES, name=name, step=step, **facts | {"model_selection": "none"})
        write_outputs(predictions, card, out.with_name(f"{out.stem}.{state.replace(' ', '-')}{out.suffix}"))
    write_trained(results, make_card(folder, libraries=_LIBRARIES, name=name, **facts), out, work)


def write_trained(results: Results, card: Card, out: Path, work: WorkFolder) -> None:
    """Write the record of each training to ``<stem>.training.json``, then the prediction files, and clean up."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(out.with_name(f"{out.stem}.training.json")) as new:
        new.write_text(json.dumps(list(results.records), indent=1), encoding="utf-8")
    write_results(results, card, out)
    work.clear()


def default_name(options: TrainingOptions) -> str:
    """Build a model's default name from its base model and non-default training; sizes are in other fields of the card.

    >>> default_name(TrainingOptions(model="microsoft/deberta-v3-small", freeze_embeddings=True))
    'deberta-v3-small, frozen embeddings'
    """
    words = [Path(options.model).name]
    if options.adapter is Adapter.LORA:
        words.append("LoRA")
    if options.adapter is Adapter.PROMPT:
        words.append("soft prompt")
    if options.freeze_embeddings:
        words.append("frozen embeddings")
    return ", ".join(words)
