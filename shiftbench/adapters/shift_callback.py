"""A callback for transformers' Trainer that computes scores under shift on a dataset folder at each evaluation.

Example:
    trainer.add_callback(shift_callback(trainer, "build/dr", "nli", source="slate"))
"""

from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import as_folder
from shiftbench.scoring.scores.score import checked_predictions, prediction_tasks, score_predictions
from shiftbench.scoring.scores.shape import TaskScores
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput, Problem


def shift_callback(
    trainer: Any, data: Any, task: str, *, source: str, targets: list[str] | None = None, reference: Any = None
) -> Any:
    """Build a ``transformers.TrainerCallback`` that logs scores and drops, as fractions, to the Trainer's log.

    The evaluation's metrics also get ``eval_ss``, ``eval_mean_st``, ``eval_mean_sd`` and, for each domain,
    ``eval_st_<domain>``, ``eval_sd_...`` and (with a reference) ``eval_td_...``. If a checkpoint is selected by these
    test scores, this is oracle selection, which the card of its predictions must state.

    Args:
        trainer: a Trainer with a tokenizer, for a classifier whose ``id2label`` contains the task's labels.
        data: a dataset folder, its path, or ORG/NAME on the Hub.
        task: a classification task.
        source: the source domain.
        targets: domains to test; by default all.
        reference: a prediction file of models trained on each target, for TT.
    Raises: InvalidInput if the labels differ.
    """
    from transformers import DataCollatorWithPadding, TrainerCallback

    folder = as_folder(data)
    labels, inputs = _check_labels(trainer.model.config, folder, task), folder.task(task).inputs
    rows = folder.test(task, columns=["id", "domain", *inputs])
    rows = rows.filter(pl.col("domain").is_in(targets or rows["domain"].unique().to_list()))
    encoded = trainer.processing_class(*(rows[name].to_list() for name in inputs), truncation=True)
    texts = [{name: values[n] for name, values in encoded.items()} for n in range(len(rows))]
    pinned = checked_predictions(Path(reference), folder).filter(task=task) if reference is not None else None

    class ShiftCallback(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            # Our texts lack the columns that the Trainer's own collator may need, such as labels.
            before, trainer.data_collator = trainer.data_collator, DataCollatorWithPadding(trainer.processing_class)
            try:
                codes = trainer.predict(texts).predictions.argmax(axis=-1)
            finally:
                trainer.data_collator = before
            predicted = pl.Series([labels[code] for code in codes])
            frame = rows.select("id", source=pl.lit(source), prediction=predicted, seed=pl.lit(0, pl.Int64))
            frame = check_predictions(frame, prediction_tasks(folder), "ShiftCallback")
            figures = _metric_values(score_predictions(frame, folder, reference=pinned).scores.tasks[0])
            kwargs["metrics"].update(figures)
            trainer.log(dict(figures))

    return ShiftCallback()


def _check_labels(config: Any, folder: DatasetFolder, task: str) -> list[str]:
    labels, names = folder.task(task).labels, [str(name) for _, name in sorted((config.id2label or {}).items())]
    if sorted(names) != sorted(labels):
        cure = f"set id2label of its config to: {', '.join(labels)}"
        raise InvalidInput(Problem("the model's labels differ from the task's", "id2label", ", ".join(names), cure))
    return names


def _metric_values(task: TaskScores) -> dict[str, float]:
    figures = {"ss": task.summary.mean_ss, "mean_st": task.summary.mean_st, "mean_sd": task.summary.mean_sd}
    for each in task.shifts:
        td = each.td if each.reference_td is None else each.reference_td
        figures |= {f"st_{each.target}": each.st, f"sd_{each.target}": each.sd, f"td_{each.target}": td}
    return {f"eval_{name}": figure.value for name, figure in figures.items() if figure.value is not None}
