"""MSCL, memory-based supervised contrastive learning (Tan et al. 2022), a baseline of the Depth F1 paper (app. B.2).

The encoder's first token is projected to a unit vector, which is classified and pulled towards the vectors of its class
in the current batch and in a memory of the last 128 texts. The settings are the paper's; as in Depth F1, training takes
5 epochs and the last one is used. Unlike in the authors' code, padding is masked, and dropout stays on throughout
training. Not supported: tuning, as the paper has none.

    shiftbench train mscl nli --data build/dr --out mscl.parquet --model roberta-large
"""

from dataclasses import asdict, replace
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from shiftbench.baselines.program import RunOptions, make_card, open_work_folder, run_alone, train_runs, with_options
from shiftbench.baselines.runs import Run, Trained, require_two_labels
from shiftbench.baselines.training.models import determinism, model_version
from shiftbench.baselines.training.options import (
    Accumulate,
    Deterministic,
    Epochs,
    Hyperparameters,
    LearningRate,
    Precision,
    PrecisionOption,
    TrainingOptions,
)
from shiftbench.baselines.training.outputs import write_trained
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.validation.command_line import require

WARMUP_STEPS = 200
SETTINGS = Hyperparameters(epochs=5, batch_size=16, learning_rate=1e-5, weight_decay=0, clip=10, max_length=180)
_LIBRARIES = ("torch", "transformers", "accelerate")

ModelName = Annotated[str, typer.Option("--model", help="Hub id or path of the pretrained encoder.")]


class Mscl:
    """Trains MSCL classifiers of one task.

    Args:
        info: the task.
        model: Hub id or path of the encoder.
        settings: hyperparameters; warm-up always takes 200 steps.
        precision: number format of computations on a GPU.
    """

    def __init__(self, info: TaskInfo, model: str, settings: Hyperparameters, precision: Precision) -> None:
        from shiftbench.baselines.training.batches import Padding
        from shiftbench.baselines.training.models import Device, load_config, load_tokenizer, padding_token
        from shiftbench.baselines.training.pieces import usable_token_length

        self._info, self._model, self._settings = info, model, settings
        self._device = Device.best(precision)
        self._tokenizer = load_tokenizer(model)
        self._padding = Padding(padding_token(self._tokenizer, model))
        self._length = usable_token_length(load_config(model), TrainingOptions(), settings.max_length)

    def fit(self, run: Run) -> Trained:
        """Train on a run's rows."""
        from shiftbench.baselines.robust.contrastive import MemoryClassifier, mscl_loss
        from shiftbench.baselines.training.models import load_model, seeded
        from shiftbench.baselines.training.trainer import Objective, train

        require_two_labels(run.train)
        encoder = load_model("AutoModel", self._model, run.seed)
        with seeded(run.seed):
            model = MemoryClassifier(encoder, len(self._info.labels))
        labels = run.train["label"]
        rows = [{**row, "labels": label} for row, label in zip(self._features(run.train), labels, strict=True)]
        steps = -(-len(rows) // self._settings.batch_size) * self._settings.epochs
        trajectory = train(
            model,
            rows,
            self._padding,
            replace(self._settings, warmup=min(1.0, WARMUP_STEPS / max(1.0, steps))),
            seed=run.seed,
            device=self._device,
            scratch=run.scratch,
            objective=Objective(mscl_loss),
        )
        record = {**trajectory.record, "train_rows": len(run.train)}
        return Trained(lambda rows: self._predict(model, rows), record=record)

    def _features(self, rows: pl.DataFrame) -> list[Any]:
        from shiftbench.baselines.training.pieces import text_features

        return list(text_features(self._tokenizer, rows, self._info.inputs, self._length))

    def _predict(self, model: Any, rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        from scipy.special import softmax

        from shiftbench.baselines.training.prediction import logits, predict_rows

        features = self._features(rows)
        row_logits = predict_rows(model, features, self._padding, self._device, logits)
        probabilities = softmax(np.asarray(row_logits, dtype=np.float64), axis=1)
        return probabilities.argmax(axis=1), probabilities


@with_options
def main(
    runs: RunOptions,
    model: ModelName = "roberta-large",
    epochs: Epochs = SETTINGS.epochs,
    learning_rate: LearningRate = SETTINGS.learning_rate,
    accumulate: Accumulate = SETTINGS.accumulate,
    precision: PrecisionOption = Precision.AUTO,
    deterministic: Deterministic = False,
) -> None:
    """Train an encoder with a contrastive loss (MSCL).

    The loss is supervised, with a memory, beside cross entropy.

    Example: shiftbench train mscl nli --data build/dr --out mscl.parquet --model roberta-large
    """
    require("peft", "train")
    folder = runs.open_folder()
    settings = SETTINGS.with_typed(epochs=epochs, learning_rate=learning_rate, accumulate=accumulate)
    program = Mscl(folder.task(runs.task), model, settings, precision)
    work = open_work_folder(
        runs.out,
        "mscl",
        folder,
        _LIBRARIES,
        **runs.settings(),
        model=[model, model_version(model)],
        settings=asdict(settings),
        precision=precision,
        deterministic=deterministic,
    )
    with determinism(asked=deterministic):
        results = train_runs(program.fit, folder, runs, work=work)
    card = make_card(
        folder,
        libraries=_LIBRARIES,
        name="MSCL",
        base_model=model,
        family=results.records[0]["family"],
        parameters=results.records[0]["parameters"],
        paradigm="fine-tuned",
        tuning_trials=1,
    )
    write_trained(results, card, runs.out, work)


if __name__ == "__main__":
    run_alone(main)
