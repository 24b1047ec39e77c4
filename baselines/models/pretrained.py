"""Models of transformers from a folder or the Hub: sequence classifiers, taggers, extractive QA, encoder-decoders.

They run in single precision, on a GPU if there is one, in batches of rows with similar length. A model without trained
weights for its head is refused, because its predictions would be random. Long sentences and contexts are read in
windows; other texts are truncated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.models.labels import LabelMatch, map_label, match_labels, match_tags
from shiftbench.baselines.models.loaded import LoadedModel, refuse_row
from shiftbench.baselines.models.settings import HUB, READERS, TRANSFORMERS, WRITERS
from shiftbench.baselines.runs import PROGRAM_FOR, Features
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TOKENS, UNPARSED, TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.settings import LoadRequest

USUAL_LENGTH = 512
"""Word pieces read per text by a model without a maximum length, such as one with relative positions."""
QA_WINDOW = 384
MAX_TARGET = {TaskKind.GENERATION: 128, TaskKind.EXTRACTIVE_QA: 20, TaskKind.CLASSIFICATION: 20}
_HEADS = {
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForTokenClassification": "AutoModelForTokenClassification",
    "ForQuestionAnswering": "AutoModelForQuestionAnswering",
    "ForConditionalGeneration": "AutoModelForSeq2SeqLM",
}
"""Suffix of the architecture's name, and the class that loads it."""
_OF_KIND = {
    TaskKind.CLASSIFICATION: ("ForSequenceClassification", "ForConditionalGeneration"),
    TaskKind.TAGGING: ("ForTokenClassification",),
    TaskKind.EXTRACTIVE_QA: ("ForQuestionAnswering", "ForConditionalGeneration"),
    TaskKind.GENERATION: ("ForConditionalGeneration",),
}
_KINDS = {"ForConditionalGeneration": [WRITERS], "ForQuestionAnswering": [READERS]}
_GENERIC_MAX_LENGTH = 20
"""The default of transformers for models whose configuration does not set a maximum length."""
_NAN_CUE = "check its weights: overflow of half precision in training is a common cause"


@dataclass
class Pretrained(LoadedModel):
    """A model of transformers with its tokenizer, its device and its maximum input length."""

    model: Any = None
    tokenizer: Any = None
    max_length: int = USUAL_LENGTH
    device: Any = None
    padding: Any = None

    def read(self, rows: Sequence[Features], read: Any) -> list[Any]:
        """Run the model on features; returns one value per row."""
        from shiftbench.baselines.training.prediction import predict_rows

        # A tokenizer without special tokens returns no pieces for an empty text, but a model needs at least one.
        one_piece = {"input_ids": [self.tokenizer.pad_token_id], "attention_mask": [1]}
        shown = [row if row["input_ids"] else {name: one_piece.get(name, [0]) for name in row} for row in rows]
        return predict_rows(self.model, shown, self.padding, self.device, read, "")

    def refuse_nan(self, bad: NDArray[np.bool_], rows: pl.DataFrame, done: pl.DataFrame) -> None:
        """Raise RowFailure at the first row whose output is not finite, with the predictions before it."""
        if bad.any():
            row = int(bad.argmax())
            found = f"NaN or infinity for {int(bad.sum()):,} of {len(rows):,} rows in a batch"
            raise refuse_row(self.name, "the model's output is not a number", row, found, _NAN_CUE, done[:row])


@dataclass
class PretrainedClassifier(Pretrained):
    """A sequence classifier: maps one text, or a pair, to label probabilities."""

    match: LabelMatch = field(default_factory=lambda: LabelMatch((), ()))

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        from scipy.special import softmax

        from shiftbench.baselines.training.pieces import text_features
        from shiftbench.baselines.training.prediction import logits

        if rows.is_empty():
            return self.match.frame(np.zeros((0, len(self.match.codes))))
        features = text_features(self.tokenizer, rows, self.inputs, self.max_length)
        self.counts.add_truncated(self._count_cut(rows, features))
        outputs = np.asarray(self.read(features, logits), dtype=np.float64)
        bad = np.asarray(~np.isfinite(outputs).all(axis=1))
        predictions = self.match.frame(softmax(np.where(bad[:, None], 0.0, outputs), axis=1))
        self.refuse_nan(bad, rows, predictions)
        return predictions

    def _count_cut(self, rows: pl.DataFrame, features: Sequence[Features]) -> int:
        """Count truncated texts: among those at the maximum length, the ones that are longer without truncation."""
        full = rows[[place for place, row in enumerate(features) if len(row["input_ids"]) >= self.max_length]]
        if full.is_empty():
            return 0
        texts = [full[name].to_list() for name in self.inputs]
        whole = self.tokenizer(*texts, truncation=False, verbose=False)["input_ids"]
        return sum(len(pieces) > self.max_length for pieces in whole)


@dataclass
class PretrainedTagger(Pretrained):
    """A token classifier: maps each word to a tag, predicted at the word's first piece."""

    match: LabelMatch = field(default_factory=lambda: LabelMatch((), ()))

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        from shiftbench.baselines.training.word_pieces import word_pieces

        pieces = word_pieces(rows[TOKENS].to_list(), self.tokenizer, self.max_length)
        self.counts.add_truncated(0)  # windows cover every word
        codes = self.read(pieces.features, _finite_best_tags)
        own = [predicted[: len(words)] for predicted, words in zip(codes, pieces.words, strict=True)]
        bad = np.zeros(len(rows), dtype=np.bool_)
        for sentence, predicted in zip(pieces.sentence, own, strict=True):
            bad[sentence] |= bool((predicted < 0).any())
        names = np.array([self.match.labels[code] for code in self.match.codes], dtype=object)
        outside = self.match.codes.index(self.match.labels.index("O"))
        tags = [
            names[predicted].tolist()
            for predicted in pieces.tags([np.maximum(predicted, 0) for predicted in own], outside)
        ]
        predictions = pl.DataFrame({"prediction": pl.Series(tags, dtype=pl.List(pl.String))})
        self.refuse_nan(bad, rows, predictions)
        return predictions


@dataclass
class PretrainedReader(Pretrained):
    """An extractive question answering model: predicts a span of the context, or no answer if it may abstain."""

    may_abstain: bool = False

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        from shiftbench.baselines.training.prediction import starts_and_ends
        from shiftbench.baselines.training.qa_windows import QUESTION_SHARE, qa_windows

        questions = [question.strip() for question in rows["question"].to_list()]
        windows = qa_windows(questions, rows["context"].to_list(), self.tokenizer, self.max_length)
        lengths = self.tokenizer(questions, add_special_tokens=False, verbose=False)["input_ids"] if questions else []
        self.counts.add_truncated(sum(len(pieces) > self.max_length // QUESTION_SHARE for pieces in lengths))
        logits = self.read(windows.features, starts_and_ends)
        bad = np.zeros(len(rows), dtype=np.bool_)
        for question, scores in zip(windows.question, logits, strict=True):
            bad[question] |= not np.isfinite(scores).all()
        answers = windows.answers([np.nan_to_num(scores) for scores in logits])
        texts = answers.apply_threshold(0.0 if self.may_abstain else np.inf)
        predictions = pl.DataFrame({"prediction": pl.Series(texts, dtype=pl.String)})
        self.refuse_nan(bad, rows, predictions)
        return predictions


@dataclass
class PretrainedWriter(Pretrained):
    """An encoder-decoder that generates a text, an answer, or the name of a label."""

    kind: TaskKind = TaskKind.GENERATION
    form: str = ""
    max_target: int = 128
    labels: tuple[str, ...] = ()
    label_map: Mapping[str, str] = field(default_factory=dict)

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        from shiftbench.baselines.training.text_to_text import encode_form, predicted_texts

        names = [name for name in rows.columns if f"{{{name}}}" in self.form]
        whole = [self.form.format_map(row) for row in rows.select(names).iter_rows(named=True)]
        lengths = self.tokenizer(whole, truncation=False, verbose=False)["input_ids"] if whole else []
        self.counts.add_truncated(sum(len(pieces) > self.max_length for pieces in lengths))
        ids = encode_form(self.form, rows, self.tokenizer, self.max_length)
        features = [{"input_ids": tokens, "attention_mask": [1] * len(tokens)} for tokens in ids]
        written = self.tokenizer.batch_decode(self.read(features, self._write), skip_special_tokens=True)
        texts = predicted_texts(written, self.kind)
        if self.kind is TaskKind.CLASSIFICATION:
            texts = [map_label(text, self.label_map, self.labels) or UNPARSED for text in texts]
        return pl.DataFrame({"prediction": pl.Series(texts, dtype=pl.String)})

    def _write(self, model: Any, batch: Mapping[str, Any]) -> Sequence[Any]:
        return list(model.generate(**batch, do_sample=False, max_new_tokens=self.max_target).cpu().numpy())


def load_pretrained(request: "LoadRequest") -> LoadedModel:
    """Load a model of transformers by folder or Hub id; see ``load_model``."""
    from shiftbench.baselines.training.batches import Padding
    from shiftbench.baselines.training.models import (
        Device,
        load_config,
        load_model,
        load_tokenizer,
        model_version,
        padding_token,
    )
    from shiftbench.baselines.training.options import Precision

    spec = request.spec
    settings, is_folder = request.settings, Path(request.spec).is_dir()
    where: dict[str, Any] = {"revision": settings.revision} if settings.revision else {}
    config = load_config(spec, **where)
    head = _head(config, request)
    kinds = [TRANSFORMERS, *([] if is_folder else [HUB]), *_KINDS.get(head, ())]
    settings.refuse_unread(spec, *kinds)
    match = _match(config, request) if head in ("ForSequenceClassification", "ForTokenClassification") else None
    spaced: dict[str, Any] = {"add_prefix_space": True} if head == "ForTokenClassification" else {}
    tokenizer = load_tokenizer(spec, **where, **spaced)
    if tokenizer.pad_token_id is None and getattr(config, "pad_token_id", None) is not None:
        tokenizer.pad_token_id = config.pad_token_id  # decoder-only classifiers set it only in the config
    model, loading_info = load_model(_HEADS[head], spec, 0, output_loading_info=True, **where)
    if loading_info["missing_keys"]:
        missing = sorted(loading_info["missing_keys"])
        more = f" and {len(missing) - 4} more" if len(missing) > 4 else ""
        found, cure = f"no {', '.join(missing[:4])}{more}", f"train it: shiftbench train {PROGRAM_FOR[request.kind]}"
        raise InvalidInput(Problem("the model's head has no trained weights", spec, found, cure))
    device = Device.best(Precision.FP32)
    common: dict[str, Any] = {
        "name": Path(spec).resolve().name if is_folder else spec.rpartition("/")[2],
        "inputs": request.inputs,
        "revision": getattr(config, "_commit_hash", None),
        "notes": match.notes if match else (),
        "facts": {
            "base_model": spec,
            "family": config.model_type,
            "parameters": int(model.num_parameters()),
            "paradigm": "fine-tuned",
        },
        "version": model_version(spec) if is_folder else getattr(config, "_commit_hash", None),
        "libraries": ("torch", "transformers"),
        "model": model,
        "tokenizer": tokenizer,
        "max_length": _max_length(config, tokenizer, head, request),
        "device": device,
        # Tensor cores are fastest at multiples of 8.
        "padding": Padding(padding_token(tokenizer, spec), multiple=8 if device.name == "cuda" else 1),
        "part_rows": _part_rows(head, device.name),
    }
    if head == "ForQuestionAnswering":
        return PretrainedReader(**common, may_abstain=settings.may_abstain)
    if match is None:
        return _writer(model, request, common)
    return (PretrainedClassifier if head == "ForSequenceClassification" else PretrainedTagger)(**common, match=match)


def _writer(model: Any, request: "LoadRequest", common: Mapping[str, Any]) -> PretrainedWriter:
    from shiftbench.baselines.training.text_to_text import input_form

    own = model.generation_config.max_length
    usual = own if own not in (None, _GENERIC_MAX_LENGTH) else MAX_TARGET[request.kind]
    form = request.settings.form or input_form(request.inputs)
    if not any(f"{{{name}}}" in form for name in request.inputs):
        cure = f"write input columns in braces: {', '.join(request.inputs)}"
        raise InvalidInput(Problem("the template has no input column", "--model-arg form", f"'{form}'", cure))
    return PretrainedWriter(
        **common, kind=request.kind, form=form, max_target=request.settings.max_target or usual, labels=request.labels,
        label_map=request.label_map,
    )  # fmt: skip


def _head(config: Any, request: "LoadRequest") -> str:
    """Return the kind of head from the model's architecture; raise InvalidInput if it does not suit the task."""
    architectures = [str(name) for name in getattr(config, "architectures", None) or ()]
    heads = [head for head in _HEADS if any(name.endswith(head) for name in architectures)]
    if not set(heads) & set(_OF_KIND[request.kind]):
        what = "the model is for another kind of task"
        found = f"{', '.join(architectures) or config.model_type} for a task of kind '{request.kind.value}'"
        wanted = " or ".join(_OF_KIND[request.kind])
        trainer = PROGRAM_FOR[request.kind]
        cure = f"use a model whose architecture ends in {wanted}; 'shiftbench train {trainer}' trains one"
        if any(name.endswith(("ForCausalLM", "LMHeadModel")) for name in architectures):
            cure = "serve it and pass the server's URL with --model, or use 'shiftbench train prompt-llm --local'"
        raise InvalidInput(Problem(what, request.spec, found, cure))
    head = heads[0]
    if head == "ForSequenceClassification" and len(request.inputs) > 2:
        what, cure = (
            "the model reads only one text or a pair",
            "use such a task, or a 'module:callable' that joins texts",
        )
        raise InvalidInput(Problem(what, request.spec, ", ".join(request.inputs), cure))
    return head


def _match(config: Any, request: "LoadRequest") -> LabelMatch:
    problem_type = getattr(config, "problem_type", None)
    names = [str(config.id2label[place]) for place in sorted(config.id2label)]
    if len(names) < 2 or problem_type in ("regression", "multi_label_classification"):
        what, cure = "the model is not a single-label classifier", "use a single-label classifier"
        raise InvalidInput(Problem(what, request.spec, str(problem_type or f"{len(names)} output"), cure))
    if request.kind is not TaskKind.TAGGING:
        return match_labels(names, request.labels, place=request.spec, label_map=request.label_map, key="id2label")
    match = match_tags(names, request.labels, place=request.spec, label_map=request.label_map, key="id2label")
    if -1 in match.codes or "O" in match.absent or "O" not in match.labels:
        what, cure = "a tagger must have the tag 'O'", "map tags that are not in the task to 'O'"
        raise InvalidInput(Problem(what, request.spec, ", ".join(names), cure))
    return match


def _max_length(config: Any, tokenizer: Any, head: str, request: "LoadRequest") -> int:
    """Return the requested number of word pieces per input, capped by the model's positions and the tokenizer."""
    from shiftbench.baselines.training.options import TrainingOptions
    from shiftbench.baselines.training.pieces import usable_token_length

    endless = 10**9
    limit = min(usable_token_length(config, TrainingOptions(model=request.spec), endless), tokenizer.model_max_length)
    usual = QA_WINDOW if head == "ForQuestionAnswering" else limit if limit < endless else USUAL_LENGTH
    return int(min(request.settings.max_length or usual, limit))


def _part_rows(head: str, device: str) -> int:
    """Choose the rows per part so that an interruption loses only seconds of work."""
    rows = 32 if head == "ForConditionalGeneration" else 256
    return rows * 16 if device == "cuda" else rows


def _finite_best_tags(model: Any, batch: Mapping[str, Any]) -> Sequence[NDArray[np.int64]]:
    """Return each piece's best tag; -1 if its scores are not finite."""
    import torch

    logits = model(**batch).logits
    best = logits.argmax(dim=-1)
    real = batch["attention_mask"].bool()
    bad = ~torch.isfinite(logits).all(dim=-1) & real
    return list(torch.where(bad, -1, best).cpu().numpy())
