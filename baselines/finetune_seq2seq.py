"""Fine-tune an encoder-decoder for question generation, summarisation, title generation, and generated answers.

Any encoder-decoder (Hub id or path), such as T5 and BART. The source's validation rows select the epoch (and, with
--sweep, the hyperparameters): by ROUGE-L for generated text, which needs no other model, and by token F1 for answers.
BOSS's methods except the ensemble can be added (--method). For a question without an answer, the model learns to write
that there is none. Decoding is beam search, greedy by default. An interrupted training resumes where it stopped. Not
supported: sampling.

    shiftbench train finetune-seq2seq qg --data build/dr --out qg.parquet --model google-t5/t5-base
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shiftbench.baselines.program import AnswerOptions, run_alone, with_options
from shiftbench.baselines.robust.method import MethodOptions, Robustness
from shiftbench.baselines.runs import Features, Predict, Run
from shiftbench.baselines.training.finetuner import Finetuner, Score
from shiftbench.baselines.training.options import GENERATION_RECIPES, GENERATION_SWEEPS, TrainingOptions
from shiftbench.baselines.training.program import finetune
from shiftbench.baselines.training.text_to_text import encode_form, input_form, predicted_texts, target_texts
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.metrics.generation import rouge_l
from shiftbench.metrics.qa import qa_scores
from shiftbench.validation.command_line import option
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

MAX_TARGET = {TaskKind.GENERATION: 128, TaskKind.EXTRACTIVE_QA: 20}
"""Maximum tokens of a generated text; for answers, the value of the BOSS paper."""
_MARKS = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id")


@dataclass(frozen=True)
class WritingOptions(TrainingOptions):
    """The options of a fine-tuning program, and those of generation."""

    model: str = option("google-t5/t5-base", "Hub id or path of the encoder-decoder.")
    beams: int = option(1, "Beams of beam search; 1: greedy decoding.", min=1)
    max_target: int | None = option(None, "Maximum tokens of a generated text. Default: 128; 20 for answers.", min=2)


class Seq2seqFinetuner(Finetuner):
    """Trains encoder-decoders for one task."""

    options: WritingOptions
    reads_labels = True

    def __init__(self, info: TaskInfo, options: WritingOptions, robustness: Robustness | None = None) -> None:
        super().__init__(info, options, robustness, GENERATION_RECIPES, GENERATION_SWEEPS)
        if not self.config.is_encoder_decoder:
            what, found = "the model is not an encoder-decoder", f"'{options.model}', {self.config.model_type}"
            raise InvalidInput(Problem(what, "--model", found, "choose an encoder-decoder, such as T5 or BART"))
        if len(self.tokenizer) > self.config.vocab_size:
            what, found = "the tokenizer's vocabulary is larger than the model's", f"{len(self.tokenizer):,}"
            raise InvalidInput(Problem(what, "--model", found, f"the model has {self.config.vocab_size:,}"))
        self._form = input_form(info.inputs)
        # EDA changes only the last of these columns: the context must keep the answer, and answers must not change.
        self.copied_columns = ("question",) if info.kind is TaskKind.EXTRACTIVE_QA else info.inputs[:1]
        self._max_target = options.max_target or MAX_TARGET.get(info.kind, 0)

    def build(self, seed: int) -> Any:
        """Load the model, and replace its generation settings."""
        from transformers import GenerationConfig

        from shiftbench.baselines.training.models import load_model, prepare

        model = load_model("AutoModelForSeq2SeqLM", self.options.model, seed)
        # A model's own settings may request long summaries, or stop at 20 tokens.
        marks = {name: getattr(model.generation_config, name) for name in _MARKS}
        model.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            max_new_tokens=self._max_target, num_beams=self.options.beams, do_sample=False, **marks
        )
        return prepare(model, self.options, "SEQ_2_SEQ_LM")

    def labelled_features(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        """Build inputs, labelled with the tokens of the target text."""
        texts = target_texts(rows, self.info.kind)
        targets = self.tokenizer(text_target=texts, truncation=True, max_length=self._max_target)["input_ids"]
        return [{**row, "labels": own} for row, own in zip(self._inputs(rows, max_length), targets, strict=True)]

    def scorer(self, run: Run, validation: pl.DataFrame) -> Score:
        """Return a function that scores a model by token F1 of answers, or ROUGE-L of other texts."""
        inputs = self._inputs(validation, self.eval_length)

        def score(model: Any) -> float:
            texts = self._write_texts(model, inputs, "validating")
            if self.info.kind is TaskKind.EXTRACTIVE_QA:
                return float(qa_scores(texts, validation["answers"].struct.field("text").to_list()).f1.mean())
            return float(rouge_l(texts, validation["target_text"].to_list()).f1.mean())

        return score

    def predictor(self, run: Run, model: Any) -> Predict:
        """Return a function that writes a text for each row."""
        return lambda rows: (self._write_texts(model, self._inputs(rows, self.eval_length), "writing"), None)

    def _inputs(self, rows: pl.DataFrame, max_length: int) -> list[Features]:
        ids = encode_form(self._form, rows, self.tokenizer, max_length)
        return [{"input_ids": tokens, "attention_mask": [1] * len(tokens)} for tokens in ids]

    def _write_texts(self, model: Any, inputs: Sequence[Features], description: str) -> list[str]:
        tokens = self.read(model, inputs, lambda each, batch: list(each.generate(**batch).cpu().numpy()), description)
        return predicted_texts(self.tokenizer.batch_decode(tokens, skip_special_tokens=True), self.info.kind)


@with_options
def main(runs: AnswerOptions, methods: MethodOptions, training: WritingOptions) -> None:
    """Fine-tune an encoder-decoder that writes texts.

    --method adds a robustness method.

    Example: shiftbench train finetune-seq2seq as --data build/dr --out t5.parquet --model google-t5/t5-small
    """
    kinds = (TaskKind.GENERATION, TaskKind.EXTRACTIVE_QA)
    finetune("finetune-seq2seq", Seq2seqFinetuner, runs, training, methods, kinds=kinds)


if __name__ == "__main__":
    run_alone(main)
