"""The models that adversarial texts are made against, with one interface: texts in, probabilities of labels out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines import sbert_lr, tfidf_lr
from shiftbench.baselines.models import LoadedModel, load_model, predict_in_parts
from shiftbench.baselines.models.pretrained import Pretrained
from shiftbench.baselines.models.settings import ModelSettings
from shiftbench.baselines.runs import FittedClassifier
from shiftbench.builders.encoder import Encoder
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import TaskKind

TRAINED = ("tfidf-lr", "sbert-lr")
"""Victims that are trained here, on the train split of the domain that is attacked."""

LONGEST = 512
"""Word pieces that a victim reads of a text; limited, because an attack asks thousands of times."""
SHOWN = 2_000
"""A question of this many texts or more shows a progress bar."""


class Victim(Protocol):
    """A classifier of texts."""

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each label of the task, in the task's order, shape (n_texts, n_labels)."""
        ...


def load_victim(
    name: str,
    train: pl.DataFrame,
    labels: tuple[str, ...],
    *,
    seed: int,
    cache: Path,
    encoder: str | None,
    label_map: Mapping[str, str] | None = None,
    settings: ModelSettings | None = None,
) -> Victim:
    """Train or load a victim.

    Args:
        name: one of ``TRAINED``, or what ``shiftbench.baselines.models.load_model`` takes: a folder,
            ``module:callable``, ...
        train: rows with ``text``, ``label`` (codes) and ``domain``; only used by victims that are trained.
        labels: the task's labels.
        seed: of the training.
        cache: folder for what is encoded: the thousands of texts asked about are not worth keeping.
        encoder: Hub id or path of the sentence encoder of 'sbert-lr'; default the house's.
        label_map: the task's label by the model's, where names differ.
        settings: of a model that is loaded; by default it reads ``LONGEST`` word pieces of a text.
    Raises: InvalidInput when there is no victim of this name, or its labels are not the task's.
    """
    if name in TRAINED:
        (settings or ModelSettings()).refuse_unread(name)
        if name == "sbert-lr":
            trained = sbert_lr.classifier(train, Encoder(encoder, cache), ("text",), seed)
        else:
            trained = tfidf_lr.classifier(train, ("text",), seed)
        return TrainedVictim(trained, len(labels))
    if not Path(name).exists() and not set(name) & set("/:."):  # a misspelt name of a trained victim
        cure = f"{did_you_mean(name, TRAINED)}, or give a model's folder, Hub id or 'module:callable'"
        raise InvalidInput(Problem("there is no victim of this name", "--victim", f"'{name}'", cure))
    model = load_model(
        name, kind=TaskKind.CLASSIFICATION, inputs=("text",), labels=labels, label_map=label_map, settings=settings
    )
    if isinstance(model, Pretrained) and (settings is None or settings.max_length is None):
        model.max_length = min(model.max_length, LONGEST)
    return ModelVictim(model, len(labels))


class TrainedVictim:
    """A classifier that was trained here; a label that the train rows lack gets probability 0."""

    def __init__(self, classifier: FittedClassifier, n_labels: int) -> None:
        self._classifier, self._n_labels = classifier, n_labels

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_texts, n_labels)."""
        probabilities = np.zeros((len(texts), self._n_labels))
        if texts:
            rows = pl.DataFrame({"text": texts}, schema={"text": pl.String})
            probabilities[:, self._classifier.classes] = self._classifier.probabilities(rows)
        return probabilities


class ModelVictim:
    """A model of any kind that ``shiftbench.baselines.models`` loads and that gives probabilities.

    Rows of like length are asked about together, so that a text's probabilities hardly depend on the others.
    """

    def __init__(self, model: LoadedModel, n_labels: int) -> None:
        self._model, self._n_labels = model, n_labels

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n_texts, n_labels)."""
        rows = pl.DataFrame({"text": texts}, schema={"text": pl.String})
        probabilities = predict_in_parts(self._model, rows, ("text",), is_shown=len(texts) >= SHOWN)
        if PROBABILITIES not in probabilities.columns:
            cure = "give a model that has probabilities of all labels"
            raise InvalidInput(
                Problem("this model predicts labels without probabilities", "--victim", f"'{self._model.name}'", cure)
            )
        return np.array(probabilities[PROBABILITIES].to_list(), dtype=np.float64).reshape(len(texts), self._n_labels)
