"""Fine-tune an NLI classifier on one domain and predict all, as ``finetune-classifier`` does, without shiftbench.

A template from ``load_dataset`` to a prediction file that uses only ``datasets``, ``transformers`` and PyTorch. On the
same CPU with the same number of threads, its output is byte-identical to that of ``shiftbench train
finetune-classifier`` with default options, for encoders whose positions start at 0 (BERT, DeBERTa); a test compares
them. Not included: the card, methods, sweeps, bf16, and resuming after an interruption.

    python standalone_nli.py build/dr --source fiction --model microsoft/deberta-v3-small --out preds.jsonl
"""

import argparse
import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset, get_dataset_config_names, load_dataset
from torch.utils.data import DataLoader, Sampler
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
    set_seed,
)

BATCH_SIZE, POOLED_BATCHES, PREDICTED_TOKENS = 16, 64, 4096
TRAIN_LENGTH, TEST_LENGTH = 256, 512


class LengthBatches(Sampler[list[int]]):
    """Length-bucketed batches: shuffled, sorted within pools of 64 batches, reshuffled in each epoch."""

    def __init__(self, lengths: Sequence[int], seed: int) -> None:
        self.lengths, self.seed, self.epoch = np.array(lengths), seed, 0

    def __len__(self) -> int:
        return math.ceil(len(self.lengths) / BATCH_SIZE)

    def __iter__(self) -> Iterator[list[int]]:
        rng = np.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        order, size = rng.permutation(len(self.lengths)), POOLED_BATCHES * BATCH_SIZE
        pools = [order[start : start + size] for start in range(0, len(order), size)]
        order = np.concatenate([pool[np.argsort(-self.lengths[pool], kind="stable")] for pool in pools])
        batches = [order[start : start + BATCH_SIZE].tolist() for start in range(0, len(order), BATCH_SIZE)]
        return iter([batches[place] for place in rng.permutation(len(batches))])


class LengthTrainer(Trainer):
    """The Trainer with length-bucketed batches."""

    train_dataset: Any

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Return the batches, which are reshuffled in each epoch."""
        batches = LengthBatches([len(row["input_ids"]) for row in self.train_dataset], self.args.seed)
        return DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator)


def load_classifier(name: str, labels: Sequence[str]) -> Any:
    """Load a model that scores the labels in order: its own head, permuted by name, or else a new one."""
    config = AutoConfig.from_pretrained(name)
    if not any(each.endswith("ForSequenceClassification") for each in config.architectures or ()):
        return AutoModelForSequenceClassification.from_pretrained(name, num_labels=len(labels), dtype=torch.float32)
    own = [config.id2label[place].casefold() for place in sorted(config.id2label)]
    if sorted(own) != sorted(labels):
        raise SystemExit(f"the model's head is for {', '.join(own)}, not {', '.join(labels)}: give its encoder alone")
    model = AutoModelForSequenceClassification.from_pretrained(name, dtype=torch.float32)
    order = [own.index(label) for label in labels]
    linear = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
    with torch.no_grad():
        for parameter in linear[-1].parameters():
            parameter.copy_(parameter[order].clone())
    model.config.id2label, model.config.label2id = dict(enumerate(labels)), {x: i for i, x in enumerate(labels)}
    model.config.problem_type = None
    return model


def word_pieces(rows: Any, tokenizer: Any, max_length: int) -> list[dict[str, Any]]:
    """Return the features, one dict per row; if a pair is too long, its longer text is truncated."""
    pieces = tokenizer(list(rows["premise"]), list(rows["hypothesis"]), truncation=True, max_length=max_length)
    return [dict(zip(pieces, values, strict=True)) for values in zip(*pieces.values(), strict=True)]


def macro_f1(evaluation: Any) -> dict[str, float]:
    """Return the mean F1 over the labels that occur in gold, the benchmark's metric, for selecting the epoch."""
    predicted, gold = evaluation.predictions.argmax(axis=1), evaluation.label_ids
    right = [np.sum((predicted == label) & (gold == label)) for label in np.unique(gold)]
    claims = [np.sum(predicted == label) + np.sum(gold == label) for label in np.unique(gold)]
    return {"macro_f1": float(np.mean(2 * np.array(right) / np.array(claims)))}


@torch.inference_mode()
def predict(model: Any, features: Sequence[Mapping[str, Any]], collate: Any) -> np.ndarray:
    """Return probabilities, shape (n, n_labels): longest rows first, 4,096 word pieces per batch, duplicates once."""
    model.eval()
    keys = [json.dumps(row) for row in features]
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    order = sorted(first.values(), key=lambda place: (-len(features[place]["input_ids"]), place))
    logits: dict[str, Any] = {}
    while order:
        n = max(1, PREDICTED_TOKENS // len(features[order[0]]["input_ids"]))
        batch, order = order[:n], order[n:]
        batch_logits = model(**collate([features[place] for place in batch]).to(model.device)).logits
        logits.update(zip([keys[place] for place in batch], batch_logits.double().cpu().numpy(), strict=True))
    shifted = np.exp([logits[key] - logits[key].max() for key in keys])
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def train(model: Any, tokenizer: Any, dataset: Any, seed: int, epochs: int) -> Any:
    """Train a model on the rows of one domain, and return the epoch with the best validation score."""
    length = min(TRAIN_LENGTH, model.config.max_position_embeddings)
    rows = {
        split: [
            {**row, "labels": label}
            for row, label in zip(word_pieces(dataset[split], tokenizer, length), dataset[split]["label"], strict=True)
        ]
        for split in ("train", "validation")
    }
    steps = math.ceil(len(rows["train"]) / BATCH_SIZE) * epochs
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder, num_train_epochs=epochs, per_device_train_batch_size=BATCH_SIZE, learning_rate=5e-5,
            weight_decay=0.01, warmup_steps=math.ceil(steps * 0.06), max_grad_norm=1.0, seed=seed,
            eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, load_best_model_at_end=True,
            metric_for_best_model="macro_f1", logging_strategy="no", report_to="none",
        )  # fmt: skip
        trainer = LengthTrainer(
            model, arguments, train_dataset=rows["train"], eval_dataset=rows["validation"],
            data_collator=DataCollatorWithPadding(tokenizer), compute_metrics=macro_f1,
        )  # fmt: skip
        trainer.train()
    return trainer.model


def main() -> None:
    """Train on one domain of a dataset folder, predict the test rows of all, and write the prediction file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="a folder that 'shiftbench build' wrote, or a dataset of the Hub")
    parser.add_argument("--source", required=True, help="the domain to train on")
    parser.add_argument("--model", required=True, help="Hub id or folder of a pretrained encoder")
    parser.add_argument("--out", type=Path, required=True, help="prediction file: .jsonl, or .parquet (needs polars)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    asked = parser.parse_args()

    source = load_dataset(asked.folder, f"nli.{asked.source}")
    labels = source["train"].features["label"].names
    set_seed(asked.seed)
    tokenizer = AutoTokenizer.from_pretrained(asked.model)
    model = train(load_classifier(asked.model, labels), tokenizer, source, asked.seed, asked.epochs)

    length = min(TEST_LENGTH, model.config.max_position_embeddings)
    configs = [name for name in get_dataset_config_names(asked.folder) if name.startswith("nli.")]
    tests = [load_dataset(asked.folder, name)["test"] for name in configs if name != "nli.depth"]
    features = [row for test in tests for row in word_pieces(test, tokenizer, length)]
    probabilities = predict(model, features, DataCollatorWithPadding(tokenizer))
    answers = zip((id_ for test in tests for id_ in test["id"]), probabilities, strict=True)
    rows = [
        {"source": asked.source, "id": id_, "prediction": labels[p.argmax()], "seed": asked.seed,
         "confidence": float(p.max())}
        for id_, p in answers
    ]  # fmt: skip
    if asked.out.suffix == ".parquet":
        Dataset.from_list(rows).to_polars().rechunk().write_parquet(asked.out)
    else:
        lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
        asked.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
