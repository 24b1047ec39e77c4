"""Fine-tune an encoder as a tagger: one tag per word, for example aspect terms and named entities.

Any encoder (Hub id or path). A word's tag is predicted at its first piece. Long sentences are read in overlapping
windows, so that every word gets a tag. The source's validation rows select the epoch (and, with --sweep, the
hyperparameters) by span-F1. BOSS's methods except the ensemble can be added (--method). An interrupted training resumes
where it stopped. Not supported: a CRF over the tags, and soft prompts.

    shiftbench train finetune-tagger ner --data build/boss --out ner.parquet --model microsoft/deberta-v3-base
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.models.heads import TAGGER, Head
from shiftbench.baselines.program import AnswerOptions, run_alone, with_options
from shiftbench.baselines.robust.method import MethodOptions, MethodTraining, Robustness
from shiftbench.baselines.runs import Features, Predict, Run
from shiftbench.baselines.training.finetuner import Finetuner, Score
from shiftbench.baselines.training.options import TrainingOptions
from shiftbench.baselines.training.program import finetune
from shiftbench.baselines.training.word_pieces import WordPieces, word_pieces
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.metrics.tagging import span_counts, span_f1, tag_notation, tag_scheme
from shiftbench.validation.vocabulary import TOKENS, TaskKind

log = logging.getLogger(__name__)

_OUTSIDE = "O"


class TaggerFinetuner(Finetuner):
    """Trains taggers of one task."""

    def __init__(self, info: TaskInfo, options: TrainingOptions, robustness: Robustness | None = None) -> None:
        # RoBERTa's tokenizers need this to read a list of words; others ignore it.
        super().__init__(info, options, robustness, add_prefix_space=True)
        self.check_places()
        self._head = Head.of(self.config, TAGGER, info.labels)
        if self._head.note:
            log.info("%s", self._head.note)
        self.copied_columns = (TOKENS,)

    @property
    def _outside(self) -> int:
        return self.info.labels.index(_OUTSIDE)

    def method_training(self, run: Run, rows: pl.DataFrame) -> MethodTraining:
        """Collect the data that the methods can use in a training run."""
        return replace(super().method_training(run, rows), outside=self._outside)

    def build(self, seed: int) -> Any:
        """Load a pretrained encoder with a tagging head: its own if the tags match, else a new one."""
        from shiftbench.baselines.training.models import prepare

        return prepare(self._head.load(self.options.model, seed), self.options, "TOKEN_CLS")

    def labelled_features(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        """Build windows of word pieces, with each word's tag at its first piece."""
        pieces = word_pieces(rows["tokens"].to_list(), self.tokenizer, max_length)
        labels = pieces.labels(rows["tags"].to_list())
        return [{**window, "labels": own} for window, own in zip(pieces.features, labels, strict=True)]

    def scorer(self, run: Run, validation: pl.DataFrame) -> Score:
        """Return a function that scores a model by span-F1, the task's metric."""
        pieces = self._pieces(validation)
        scheme = tag_scheme(self.info.labels, tag_notation(self.info.labels))
        gold = np.concatenate([np.asarray(tags, dtype=np.int64) for tags in validation["tags"].to_list()])
        offsets = np.append(0, np.cumsum(pieces.n_words))

        def score(model: Any) -> float:
            predicted = np.concatenate(self._tags(model, pieces, "validating"))
            f1 = float(span_f1(span_counts(gold, predicted, offsets, scheme).sum(axis=0)))
            return 1.0 if np.isnan(f1) else f1  # no gold spans and no predicted spans

        return score

    def predictor(self, run: Run, model: Any) -> Predict:
        """Return a function that tags the words of rows."""
        return lambda rows: ([tags.tolist() for tags in self._tags(model, self._pieces(rows), "predicting")], None)

    def _pieces(self, rows: pl.DataFrame) -> WordPieces:
        return word_pieces(rows["tokens"].to_list(), self.tokenizer, self.eval_length)

    def _tags(self, model: Any, pieces: WordPieces, description: str) -> list[NDArray[np.int64]]:
        def best(model: Any, batch: Mapping[str, Any]) -> Sequence[NDArray[np.int64]]:
            return list(model(**batch).logits.argmax(dim=-1).cpu().numpy())

        codes = self.read(model, pieces.features, best, description)
        own = [tags[: len(words)] for tags, words in zip(codes, pieces.words, strict=True)]
        return pieces.tags(own, self._outside)


@with_options
def main(runs: AnswerOptions, methods: MethodOptions, training: TrainingOptions) -> None:
    """Fine-tune an encoder as a tagger.

    --method adds a robustness method.

    Example: shiftbench train finetune-tagger ab --data build/dr --out minilm.parquet --epochs 3
    """
    finetune("finetune-tagger", TaggerFinetuner, runs, training, methods, kinds=(TaskKind.TAGGING,))


if __name__ == "__main__":
    run_alone(main)
