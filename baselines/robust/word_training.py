"""Training of taggers and of models that write texts with the methods that they take: EDA, FreeLB, focal, smoothing."""

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.baselines.robust.method import Robustness
from shiftbench.baselines.runs import Run, Trained
from shiftbench.baselines.training.finetuner import Finetuner, Stages

if TYPE_CHECKING:
    from shiftbench.baselines.training.trainer import Objective


class WordFinetuner(Finetuner):
    """Trains models whose labels are words' tags or written texts.

    Attributes:
        robustness: the methods.
        reads_labels: whether the model's decoder reads the labels, as one that writes texts does.
    """

    robustness: Robustness
    reads_labels = False

    @property
    @abstractmethod
    def copied_column(self) -> str:
        """Return the column that EDA changes in its copies."""

    @property
    def outside(self) -> int:
        """Return the code of the tag that is part of no span; it means nothing where nothing is tagged."""
        return 0

    def train_on_rows(
        self,
        run: Run,
        rows: pl.DataFrame,
        objective: "Callable[[Any], Objective] | None" = None,
        stages: Stages | None = None,
    ) -> Trained:
        """Train on rows, changed as the robustness methods ask for; the methods also choose the objective."""
        methods = self.robustness
        if not methods.methods:
            return super().train_on_rows(run, rows, objective, stages)
        copied = methods.add_copies(
            rows, (self.copied_column,), run.seed, self.embeddings, self.tokenizer, self.outside
        )
        return super().train_on_rows(
            run, copied, lambda model: methods.objective(reads_labels=self.reads_labels), stages
        )
