"""Fine-tune a pretrained model as a classifier: one model per source and seed, each predicting every target.

Any encoder (Hub id or path) is given a new classification head, unless it already has one with the same label names,
whose outputs are reordered. An encoder-decoder such as T5 generates the label's word (BOSS paper, App. F). The
source's validation rows select the epoch (and, with --sweep, the hyperparameters). Robustness methods (--method) work
with both kinds. Interrupted training resumes where it stopped. Not supported: one training run on several GPUs;
``shiftbench grid`` runs one training per GPU.

    shiftbench train finetune-classifier nli --data build/dr --out deberta.parquet --model microsoft/deberta-v3-small
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.models.heads import CLASSIFIER, Head
from shiftbench.baselines.program import RunOptions, run_alone, with_options
from shiftbench.baselines.robust.method import MethodOptions, MethodTraining
from shiftbench.baselines.runs import Features, Predict, Run, Trained, require_two_labels
from shiftbench.baselines.training.finetuner import Finetuner, Score
from shiftbench.baselines.training.options import TrainingOptions
from shiftbench.baselines.training.program import finetune
from shiftbench.metrics.classification import accuracy, confusion_counts, macro_f1
from shiftbench.validation.report import InvalidInput, Problem

log = logging.getLogger(__name__)


class ClassifierFinetuner(Finetuner):
    """Trains classifiers of one task, with or without robustness methods."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._check_methods()
        self._writes = self.replaces_loss = bool(self.config.is_encoder_decoder)
        self._head = Head.of(self.config, CLASSIFIER, self.info.labels)
        if self._head.note and not self._writes:
            log.info("%s", self._head.note)

    def _check_methods(self) -> None:
        """Raise InvalidInput if a method does not fit the model."""
        from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

        reads_both_ways = self.config.model_type in MODEL_FOR_MASKED_LM_MAPPING_NAMES
        writes = self.config.is_encoder_decoder
        for name, method in self.robustness.methods.items():
            fits = {"encoders": reads_both_ways and not writes, "all": True}.get(
                method.models, reads_both_ways or writes
            )
            if not fits:
                what, cure = f"this method is for {method.models}", "omit it, or choose such a model"
                raise InvalidInput(Problem(what, "--method", f"'{name}' with {self.config.model_type}", cure))

    def train_on_rows(self, run: Run, rows: pl.DataFrame) -> Trained:
        """Check that the methods can use the rows, and train; an encoder-decoder learns to generate labels' words."""
        require_two_labels(rows)
        self._check_rows(run, rows)
        if self._writes:
            from shiftbench.baselines.training.text_to_text import decoder_tokens, label_tokens

            self._decoder = decoder_tokens(self.config.decoder_start_token_id, self.tokenizer)
            self._words = label_tokens(self.info.labels, self.tokenizer)
        return super().train_on_rows(run, rows)

    def _check_rows(self, run: Run, rows: pl.DataFrame) -> None:
        """Raise InvalidInput if a method needs several sources or validation rows that the run does not have."""
        name = self.robustness.any("of_domains")
        if name and rows["domain"].n_unique() < 2:
            what, cure = "this method requires several domains", "combine sources, as in --source a+b"
            raise InvalidInput(Problem(what, f"--method {name}", f"source '{run.source}'", cure))
        name = self.robustness.any("of_validation")
        if name and run.validation is None:
            what, cure = "this method requires validation rows of the source", "omit it"
            raise InvalidInput(Problem(what, f"--method {name}", f"source '{run.source}' has no validation rows", cure))

    def method_training(self, run: Run, rows: pl.DataFrame) -> MethodTraining:
        """Collect the data and functions that the methods can use in a training run."""
        from shiftbench.baselines.robust.last_layer import read_features

        def features(model: Any, rows: pl.DataFrame) -> NDArray[np.float32]:
            own = self._features(rows, self.eval_length)
            return np.array(self.read(model, own, read_features, "reading features"), dtype=np.float32)

        return replace(
            super().method_training(run, rows),
            read=self._label_logits,
            features=features,
            score=None if run.validation is None else self.scorer(run, run.validation),
            logits=lambda model, rows: self._logits(model, rows, "reading validation rows"),
        )

    def build(self, seed: int) -> Any:
        """Load a pretrained encoder with a classification head, or an encoder-decoder unchanged."""
        from shiftbench.baselines.training.models import load_model, prepare

        if self._writes:
            return prepare(load_model("AutoModelForSeq2SeqLM", self.options.model, seed), self.options, "SEQ_2_SEQ_LM")
        return prepare(self._head.load(self.options.model, seed), self.options, "SEQ_CLS")

    def labelled_features(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        """Build each row's word pieces and label and, for robustness methods, its index and domain."""
        more = pl.DataFrame({"labels": rows["label"]})
        if self.robustness.methods:
            more = more.with_row_index("row")
        if self.robustness.any("of_domains"):
            more = more.with_columns(domain=rows["domain"].rank("dense").cast(pl.Int64) - 1)
        pairs = zip(self._features(rows, max_length), more.iter_rows(named=True), strict=True)
        return [{**features, **facts} for features, facts in pairs]

    def scorer(self, run: Run, validation: pl.DataFrame) -> Score:
        """Return a function that scores a model on validation rows with the task's metric."""
        gold = validation["label"].to_numpy()

        def score(model: Any) -> float:
            predicted = self._logits(model, validation, "validating").argmax(axis=1)
            counts = confusion_counts(gold, predicted, len(self.info.labels))
            return float(macro_f1(counts) if self.info.metric == "macro_f1" else accuracy(counts))

        return score

    def predictor(self, run: Run, model: Any) -> Predict:
        """Return a function that predicts the most probable label of each row, and the probabilities of all labels."""
        from scipy.special import softmax

        def predict(rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
            logits = self._logits(model, rows, "predicting")
            for method in self.robustness.methods.values():
                logits = method.adjust(self._training, model, logits, rows.drop("label", strict=False))
            probabilities = np.asarray(softmax(logits, axis=1))
            return probabilities.argmax(axis=1), probabilities

        return predict

    def _features(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        from shiftbench.baselines.training.pieces import text_features
        from shiftbench.baselines.training.text_to_text import encode_form, label_form

        if not self._writes:
            return text_features(self.tokenizer, rows, self.info.inputs, max_length)
        form = label_form(self.info.inputs, self.info.labels)
        return [
            {"input_ids": ids, "attention_mask": [1] * len(ids), "decoder_input_ids": self._decoder}
            for ids in encode_form(form, rows, self.tokenizer, max_length)
        ]

    def _logits(self, model: Any, rows: pl.DataFrame, description: str) -> NDArray[np.float64]:
        def read(model: Any, batch: Mapping[str, Any]) -> Sequence[Any]:
            return list(self._label_logits(model(**batch)).float().cpu().numpy())

        row_logits = self.read(model, self._features(rows, self.eval_length), read, description)
        return np.asarray(row_logits, dtype=np.float64)

    def _label_logits(self, output: Any) -> Any:
        """Return the labels' logits from a model's output, shape (n, n_labels)."""
        from shiftbench.baselines.training.text_to_text import class_logits

        return class_logits(output.logits, self._words) if self._writes else output.logits


@with_options
def main(runs: RunOptions, methods: MethodOptions, training: TrainingOptions) -> None:
    """Fine-tune an encoder, or T5, as a classifier.

    --method adds a robustness method.

    Example: shiftbench train finetune-classifier nli --data build/dr --out minilm.parquet --epochs 3
    """
    finetune("finetune-classifier", ClassifierFinetuner, runs, training, methods)


if __name__ == "__main__":
    run_alone(main)
