"""Fine-tune an encoder for extractive question answering.

Any encoder (Hub id or path). Long contexts are read in overlapping windows. If some training questions have no answer,
a threshold tuned on the source's validation rows decides when to predict no answer (SQuAD 2.0); otherwise an answer is
always predicted. Validation rows select the epoch (and, with --sweep, the hyperparameters) by token F1. An interrupted
training resumes where it stopped. Not supported: article titles, soft prompts, and generated answers, as with T5 in
the BOSS paper (see ``finetune-seq2seq``).

    shiftbench train finetune-qa qa --data build/dr --out qa.parquet --model microsoft/deberta-v3-base
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shiftbench.baselines.program import AnswerOptions, run_alone, with_options
from shiftbench.baselines.robust.method import Robustness
from shiftbench.baselines.runs import Features, Predict, Run
from shiftbench.baselines.training.finetuner import Finetuner, Score
from shiftbench.baselines.training.options import RECIPES, TrainingOptions
from shiftbench.baselines.training.program import finetune
from shiftbench.baselines.training.qa_windows import QaWindows, SpanAnswers, null_threshold, qa_windows
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.metrics.qa import qa_scores
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

QA_RECIPES = {name: replace(settings, max_length=384, eval_max_length=384) for name, settings in RECIPES.items()}
"""The classifiers' settings, but windows of 384 pieces."""
SHORTEST_WINDOW = 32


class QaFinetuner(Finetuner):
    """Trains extractive question answering models of one task."""

    def __init__(self, info: TaskInfo, options: TrainingOptions, robustness: Robustness | None = None) -> None:
        super().__init__(info, options, robustness, QA_RECIPES)
        self.check_places()
        shortest = min(settings.max_length for settings in self._candidates)
        if min(shortest, self.eval_length) < SHORTEST_WINDOW:
            what, cure = "the window is too short for a question and its context", f"give {SHORTEST_WINDOW} or more"
            raise InvalidInput(Problem(what, "--max-length, --eval-max-length", cure=cure))

    def build(self, seed: int) -> Any:
        """Load a pretrained encoder with a new head that scores start and end positions."""
        from shiftbench.baselines.training.models import load_model, prepare

        model = load_model("AutoModelForQuestionAnswering", self.options.model, seed)
        return prepare(model, self.options, "QUESTION_ANS")

    def labelled_features(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        """Build windows, labelled with the positions of the answer's first and last word piece."""
        windows = self._windows(rows, max_length)
        labels = windows.labels(rows["answers"].to_list()).tolist()
        return [
            {**window, "start_positions": start, "end_positions": end}
            for window, (start, end) in zip(windows.features, labels, strict=True)
        ]

    def scorer(self, run: Run, validation: pl.DataFrame) -> Score:
        """Return a function that scores a model by token F1 at its best threshold."""
        windows = self._windows(validation, self.eval_length)

        def score(model: Any) -> float:
            answers = self._answers(model, windows, "validating")
            return float(_f1(answers.apply_threshold(self._threshold(run, answers)), validation).mean())

        return score

    def predictor(self, run: Run, model: Any) -> Predict:
        """Return a function that answers the questions of rows; "" if it predicts no answer."""
        windows = None if run.validation is None else self._windows(run.validation, self.eval_length)
        validation_answers = None if windows is None else self._answers(model, windows, "tuning the threshold")
        threshold = self._threshold(run, validation_answers)

        def predict(rows: pl.DataFrame) -> tuple[list[str], None]:
            answers = self._answers(model, self._windows(rows, self.eval_length), "predicting")
            return answers.apply_threshold(threshold), None

        return predict

    def _threshold(self, run: Run, answers: SpanAnswers | None) -> float:
        """Choose the threshold above which no answer is predicted, from the answers to a run's validation rows."""
        if run.train["answers"].struct.field("text").list.len().min():
            return np.inf
        if answers is None or run.validation is None:
            return 0.0
        answered, abstained = answers.apply_threshold(np.inf), [""] * len(answers.texts)
        return null_threshold(answers.preference, _f1(answered, run.validation), _f1(abstained, run.validation))

    def _windows(self, rows: pl.DataFrame, max_length: int) -> QaWindows:
        return qa_windows(rows["question"].to_list(), rows["context"].to_list(), self.tokenizer, max_length)

    def _answers(self, model: Any, windows: QaWindows, description: str) -> SpanAnswers:
        from shiftbench.baselines.training.prediction import starts_and_ends

        return windows.answers(self.read(model, windows.features, starts_and_ends, description))


def _f1(answers: Sequence[str], rows: pl.DataFrame) -> np.ndarray:
    return qa_scores(answers, rows["answers"].struct.field("text").to_list()).f1


@with_options
def main(runs: AnswerOptions, training: TrainingOptions) -> None:
    """Fine-tune an encoder to find answers in contexts.

    Example: shiftbench train finetune-qa qa --data build/dr --out minilm.parquet --epochs 2
    """
    finetune("finetune-qa", QaFinetuner, runs, training, kinds=(TaskKind.EXTRACTIVE_QA,))


if __name__ == "__main__":
    run_alone(main)
