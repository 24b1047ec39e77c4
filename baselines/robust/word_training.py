"""Training of taggers and of text-generating models with the methods that support them:

EDA, FreeLB, focal, smoothing.
"""

from abc import abstractmethod

import polars as pl

from shiftbench.baselines.robust.method import MethodStages, MethodTraining, Robustness
from shiftbench.baselines.runs import Run, Trained
from shiftbench.baselines.training.finetuner import Finetuner


class WordFinetuner(Finetuner):
    """Trains models whose labels are tags of words, or generated texts.

    Attributes:
        robustness: the methods.
        reads_labels: whether the model's decoder reads the labels (teacher forcing).
    """

    robustness: Robustness
    reads_labels = False

    @property
    @abstractmethod
    def copied_column(self) -> str:
        """Return the column that EDA changes in its copies."""

    @property
    def outside(self) -> int:
        """Return the code of the tag for words outside spans; unused if nothing is tagged."""
        return 0

    def train_on_rows(self, run: Run, rows: pl.DataFrame) -> Trained:
        """Train on rows as changed by the robustness methods, which also choose the objective."""
        methods = self.robustness
        if not methods.methods:
            return self.train_candidates(run, rows)
        training = methods.prepare(
            MethodTraining(
                rows, (self.copied_column,), len(self.info.labels), run.seed, self.embeddings, self.tokenizer,
                outside=self.outside, reads_labels=self.reads_labels, validation=run.validation,
            )
        )  # fmt: skip
        stages = MethodStages(methods, training)
        return self.train_candidates(run, training.rows, lambda model: methods.objective(training, model), stages)
