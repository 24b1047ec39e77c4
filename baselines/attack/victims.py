"""The models that adversarial texts are made against: one way to ask each what it gives every label."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray
from tqdm import tqdm

from baselines import sbert_lr, tfidf_lr
from baselines.runs import Classifier
from builders.encoder import DEFAULT_ENCODER, Encoder
from validation.command_line import require
from validation.report import InvalidInput, Problem, did_you_mean

TRAINED = ("tfidf-lr", "sbert-lr")
"""Victims that are trained here, on the train split of the domain that is attacked."""

BATCH = 32
LENGTH_STEP = 32
LONGEST = 512
SHOWN = 2_000
"""Texts from which on a question to a large model has a progress bar of its own."""


class Victim(Protocol):
    """A classifier of texts."""

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Give the probability of each label of the task, in the task's order, shape (n_texts, n_labels)."""
        ...


def load_victim(
    name: str, train: pl.DataFrame, labels: tuple[str, ...], *, seed: int, cache: Path, encoder: str | None
) -> Victim:
    """Train or load a victim.

    Args:
        name: one of ``TRAINED``, or the folder of a Hugging Face model for sequence classification.
        train: rows with ``text``, ``label`` (codes) and ``domain``; only used by victims that are trained.
        labels: the task's labels.
        seed: of the training.
        cache: folder for what is encoded: the thousands of texts asked about are not worth keeping.
        encoder: Hub id or path of the sentence encoder of 'sbert-lr'; default the house's.
    Raises: InvalidInput when there is no such victim, or its labels are not the task's.
    """
    if name in TRAINED:
        if name == "sbert-lr":
            trained = sbert_lr.classifier(train, Encoder(encoder or DEFAULT_ENCODER, cache), ("text",), seed)
        else:
            trained = tfidf_lr.classifier(train, ("text",), seed)
        return TrainedVictim(trained, len(labels))
    if not Path(name).is_dir():
        cure = f"{did_you_mean(name, TRAINED)}, or give the folder of a Hugging Face model"
        raise InvalidInput(Problem("there is no such victim", "--victim", f"'{name}'", cure))
    return FolderVictim(Path(name), labels)


class TrainedVictim:
    """A classifier that was trained here; a label that the train rows lack gets probability 0."""

    def __init__(self, classifier: Classifier, n_labels: int) -> None:
        self._classifier, self._n_labels = classifier, n_labels

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Give the probability of each label."""
        found = np.zeros((len(texts), self._n_labels))
        if texts:
            rows = pl.DataFrame({"text": texts}, schema={"text": pl.String})
            found[:, self._classifier.classes] = self._classifier.probabilities(rows)
        return found


class FolderVictim:
    """A Hugging Face model from a local folder, in safetensors, on a GPU where there is one.

    Every forward pass has a fixed number of rows and a length padded to a multiple of ``LENGTH_STEP``, so that a
    text's probabilities hardly depend on the texts asked about with it. Texts are cut at 512 tokens.
    """

    def __init__(self, folder: Path, labels: tuple[str, ...]) -> None:
        require("peft", "train")
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model = AutoModelForSequenceClassification.from_pretrained(
                folder, local_files_only=True, use_safetensors=True
            )
            self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        except (OSError, ValueError) as error:
            cure = "give a folder with config.json, model.safetensors and a tokenizer"
            raise InvalidInput(
                Problem("no model for sequence classification can be loaded", str(folder), str(error)[:200], cure)
            ) from error
        # A tokenizer that knows no longest length gives a very large number; some models have no such number at all.
        places = getattr(model.config, "max_position_embeddings", LONGEST)
        self._longest = min(self._tokenizer.model_max_length, places, LONGEST)
        self._order = _order(model.config.id2label, labels, str(folder))
        self._model: Any = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Give the probability of each label."""
        found = np.zeros((len(texts), len(self._order)))
        if not texts:
            return found
        token_ids = self._tokenizer(list(texts), truncation=True, max_length=self._longest)["input_ids"]
        order = sorted(range(len(texts)), key=lambda row: (len(token_ids[row]), texts[row]))
        shown = None if len(texts) >= SHOWN else True  # None: shown where there is a terminal
        for start in tqdm(range(0, len(order), BATCH), desc="asking", unit="batch", disable=shown, leave=False):
            batch = order[start : start + BATCH]
            found[batch] = self._forward([token_ids[row] for row in batch])
        return found

    def _forward(self, rows: list[list[int]]) -> NDArray[np.float64]:
        import torch

        steps = -(-max(1, *(len(row) for row in rows)) // LENGTH_STEP)
        width = min(steps * LENGTH_STEP, self._longest)
        input_ids = torch.full((BATCH, width), self._tokenizer.pad_token_id or 0)  # (BATCH, width)
        mask = torch.zeros((BATCH, width), dtype=torch.long)
        # Rows that are lacking repeat the last: some models refuse rows of padding alone.
        for number, row in enumerate(rows + rows[-1:] * (BATCH - len(rows))):
            input_ids[number, : len(row)] = torch.tensor(row, dtype=torch.long)
            mask[number, : max(len(row), 1)] = 1
        with torch.inference_mode():
            device = self._model.device
            logits = self._model(input_ids=input_ids.to(device), attention_mask=mask.to(device)).logits
        return np.asarray(logits[: len(rows)].double().softmax(dim=-1).cpu().numpy())[:, self._order]


def _order(names: dict[int, str], labels: tuple[str, ...], folder: str) -> list[int]:
    """Say which output of a model stands for each label of the task; names may differ in case."""
    places = {name.casefold(): int(place) for place, name in names.items()}
    if sorted(places) != sorted(label.casefold() for label in labels) or len(names) != len(labels):
        what, found = "the labels of this model are not the task's", ", ".join(names.values())
        raise InvalidInput(
            Problem(what, folder, found, f"set 'id2label' in its config.json to: {', '.join(labels)}", key="id2label")
        )
    return [places[label.casefold()] for label in labels]
