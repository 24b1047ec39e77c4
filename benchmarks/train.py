"""Our training and prediction compared with transformers' defaults, for ``python -m benchmarks train``.

All use the same pretrained encoder, pairs of texts, machine and precision (bf16 if the GPU supports it). Runs alternate
between the default ``Trainer``, ``Trainer`` with texts grouped by length (``train_sampling_strategy``), ``pipeline``,
and our code; ratios are of the medians shown. The texts are sampled from a list of words, with log-normal lengths like
those of natural language inference (median 20 words for a premise, 10 for a hypothesis).
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.baselines.training.options import Precision
from shiftbench.builders.encoder import DEFAULT_ENCODER
from shiftbench.validation.command_line import require
from shiftbench.validation.timing import Timing, compare_rates

if TYPE_CHECKING:
    from shiftbench.baselines.training.models import Device

N_TRAIN, N_PREDICTED, ROUNDS = 1024, 4096, 3
_LABELS = 3
_PIPELINE_BATCH = 32
_MAX_LENGTH = 256
_WORDS = [
    "the",
    "a",
    "of",
    "and",
    "to",
    "in",
    "that",
    "it",
    "was",
    "on",
    "for",
    "with",
    "as",
    "his",
    "they",
    "at",
    "be",
    "this",
    "from",
    "have",
    "or",
    "by",
    "one",
    "had",
    "not",
    "but",
    "what",
    "all",
    "were",
    "when",
    "we",
    "there",
    "can",
    "an",
    "your",
    "which",
    "their",
    "said",
    "if",
    "do",
    "will",
    "each",
    "about",
    "how",
    "up",
    "out",
    "them",
    "then",
    "she",
    "many",
    "some",
    "so",
    "these",
    "would",
    "other",
    "into",
    "has",
    "more",
    "her",
    "two",
    "like",
    "him",
    "see",
    "time",
    "could",
    "no",
    "make",
    "than",
    "first",
    "been",
    "its",
    "who",
    "now",
    "people",
    "my",
    "made",
    "over",
    "did",
    "down",
    "only",
    "way",
    "find",
    "use",
    "may",
    "water",
    "long",
    "little",
    "very",
    "after",
    "words",
    "called",
    "just",
    "where",
    "most",
    "know",
]


def run_training_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure training, then prediction.

    Args:
        scale: rows as a share of the full number; targets are evaluated only at 1 or more.
    Returns: an iterator of timings, as they are measured.
    Raises: InvalidInput if the extra 'train' is not installed.
    """
    require("peft", "train")
    from shiftbench.baselines.training.models import Device, load_tokenizer

    device, tokenizer = Device.best(Precision.AUTO), load_tokenizer(DEFAULT_ENCODER)
    pairs = texts(max(64, int(N_PREDICTED * scale)), np.random.default_rng(0))
    train = pairs.head(max(32, int(N_TRAIN * scale)))
    numbers = "bf16" if device.bf16 else "fp32"
    sides = {"": lambda: _our_training(tokenizer, train, device)}
    wanted = {}
    for strategy, target in (("random", 1.4), ("group_by_length", 1.0)):
        name = "Trainer's defaults" if strategy == "random" else f"Trainer with train_sampling_strategy={strategy}"
        wanted[f"{name}, {numbers}"] = target
        sides[f"{name}, {numbers}"] = partial(_their_training, tokenizer, train, device, strategy)
    yield from compare_rates("training", "tokens", wanted, scale, sides, ROUNDS)
    yardstick = f"pipeline, {_PIPELINE_BATCH} rows at a time, {numbers}"
    predictors = _our_prediction(tokenizer, device), _their_prediction(tokenizer, device)
    predicting = {name: partial(predict, pairs) for name, predict in zip(("", yardstick), predictors, strict=True)}
    yield from compare_rates("prediction", "rows", {yardstick: 2.0}, scale, predicting, ROUNDS)


def texts(n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Generate n pairs of texts with labels: premise, hypothesis, label."""

    def column(median: float, spread: float) -> list[str]:
        lengths = np.clip(rng.lognormal(np.log(median), spread, n), 1, 200).astype(int)
        return [" ".join(rng.choice(_WORDS, length)) for length in lengths]

    return pl.DataFrame(
        {"premise": column(20, 0.6), "hypothesis": column(10, 0.4), "label": rng.integers(0, _LABELS, n)}
    )


def _model() -> Any:
    from shiftbench.baselines.training.models import load_model

    return load_model("AutoModelForSequenceClassification", DEFAULT_ENCODER, 0, num_labels=_LABELS)


def _features(tokenizer: Any, rows: pl.DataFrame) -> list[dict[str, Any]]:
    from shiftbench.baselines.training.pieces import text_features

    features = text_features(tokenizer, rows, ("premise", "hypothesis"), _MAX_LENGTH)
    return [{**row, "labels": label} for row, label in zip(features, rows["label"], strict=True)]


def _our_training(tokenizer: Any, rows: pl.DataFrame, device: "Device") -> float:
    from shiftbench.baselines.training.batches import Padding
    from shiftbench.baselines.training.options import Hyperparameters
    from shiftbench.baselines.training.trainer import train

    padding = Padding(tokenizer.pad_token_id, multiple=8 if device.name == "cuda" else 1)
    settings = Hyperparameters(epochs=1, batch_size=8, warmup=0)  # the Trainer's default batch
    record = train(_model(), _features(tokenizer, rows), padding, settings, seed=0, device=device).record
    return float(record["tokens_per_second"])


def _their_training(tokenizer: Any, rows: pl.DataFrame, device: "Device", strategy: str) -> float:
    import torch
    from transformers import Trainer, TrainingArguments
    from transformers.trainer_callback import PrinterCallback

    features = _features(tokenizer, rows)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            num_train_epochs=1,
            train_sampling_strategy=strategy,
            bf16=device.bf16,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            dataloader_pin_memory=torch.cuda.is_available(),  # on by default, with a warning if there is no GPU
        )
        trainer = Trainer(_model(), arguments, train_dataset=features, processing_class=tokenizer)
        trainer.remove_callback(PrinterCallback)
        start = time.perf_counter()
        trainer.train()
        return sum(len(row["input_ids"]) for row in features) / (time.perf_counter() - start)


def _our_prediction(tokenizer: Any, device: "Device") -> Callable[[pl.DataFrame], float]:
    from shiftbench.baselines.training.batches import Padding
    from shiftbench.baselines.training.pieces import text_features
    from shiftbench.baselines.training.prediction import logits, predict_rows

    model = _model()
    padding = Padding(tokenizer.pad_token_id, multiple=8 if device.name == "cuda" else 1)

    def predict(rows: pl.DataFrame) -> float:
        start = time.perf_counter()
        features = text_features(tokenizer, rows, ("premise", "hypothesis"), _MAX_LENGTH)
        predict_rows(model, features, padding, device, logits)
        return len(rows) / (time.perf_counter() - start)

    return predict


def _their_prediction(tokenizer: Any, device: "Device") -> Callable[[pl.DataFrame], float]:
    from transformers import pipeline

    classify = pipeline("text-classification", model=_model().eval(), tokenizer=tokenizer, device=device.name)
    cut = {"truncation": True, "max_length": _MAX_LENGTH}

    def predict(rows: pl.DataFrame) -> float:
        start = time.perf_counter()
        pairs = [{"text": text, "text_pair": other} for text, other in rows.select("premise", "hypothesis").iter_rows()]
        with device.computing():
            for first in range(0, len(pairs), _PIPELINE_BATCH):
                classify(pairs[first : first + _PIPELINE_BATCH], batch_size=_PIPELINE_BATCH, **cut)
        return len(rows) / (time.perf_counter() - start)

    return predict
