"""MSCL, memory-based supervised contrastive learning (Tan et al. 2022), a baseline of the Depth F1 paper (app. B.2).

The encoder's first token is projected to a unit vector, which is classified and pulled towards the vectors of its class
in the current batch and in a memory of the last 128 texts. The settings are the paper's; as in Depth F1, training takes
5 epochs and the last one is used. Unlike in the authors' code, padding is masked, and dropout stays on throughout
training. Not supported: tuning, as the paper has none.

    shiftbench train mscl nli --data build/dr --out mscl.parquet --model roberta-large
"""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from shiftbench.baselines.finetune_classifier import ClassifierFinetuner
from shiftbench.baselines.program import RunOptions, run_alone, with_options
from shiftbench.baselines.robust.method import Robustness
from shiftbench.baselines.runs import Run, Trained, require_two_labels
from shiftbench.baselines.training.options import Hyperparameters, OptimizerOptions, TrainingOptions
from shiftbench.baselines.training.program import finetune
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.validation.command_line import option

WARMUP_STEPS = 200
SETTINGS = Hyperparameters(
    epochs=5, batch_size=16, learning_rate=1e-5, weight_decay=0, clip=10, max_length=180, eval_max_length=180
)


class Mscl(ClassifierFinetuner):
    """Trains MSCL classifiers of one task."""

    def __init__(self, info: TaskInfo, options: TrainingOptions, robustness: Robustness) -> None:
        super().__init__(info, options, robustness, {"default": SETTINGS})

    def build(self, seed: int) -> Any:
        """Load a pretrained encoder, and add the projection, the classifier and the memory."""
        from shiftbench.baselines.robust.contrastive import MemoryClassifier
        from shiftbench.baselines.training.models import load_model, seeded

        encoder = load_model("AutoModel", self.options.model, seed)
        with seeded(seed):
            return MemoryClassifier(encoder, len(self.info.labels))

    def train_on_rows(self, run: Run, rows: pl.DataFrame) -> Trained:
        """Train with the contrastive loss; the warm-up always takes 200 steps."""
        from shiftbench.baselines.robust.contrastive import mscl_loss
        from shiftbench.baselines.training.trainer import Objective

        require_two_labels(rows)
        (settings,) = self._candidates
        steps = -(-len(rows) // settings.batch_size) * settings.epochs
        self._candidates = [replace(settings, warmup=min(1.0, WARMUP_STEPS / max(1.0, steps)))]
        return self.train_candidates(run, rows, lambda _: Objective(mscl_loss))


@dataclass(frozen=True)
class MsclOptions(OptimizerOptions):
    """Options of MSCL's training, and its encoder."""

    model: str = option("roberta-large", "Hub id or path of the pretrained encoder.")


@with_options
def main(runs: RunOptions, options: MsclOptions) -> None:
    """Train an encoder with a contrastive loss (MSCL).

    The loss is cross entropy plus a supervised contrastive loss with a memory. Default: the paper's 5 epochs at 1e-5.

    Example: shiftbench train mscl nli --data build/dr --out mscl.parquet --model roberta-large
    """
    finetune("mscl", Mscl, runs, TrainingOptions(**vars(options), select=False, name="MSCL"))


if __name__ == "__main__":
    run_alone(main)
