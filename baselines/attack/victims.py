"""The models that adversarial texts are made against, as functions: texts in, probabilities of labels out."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.baselines import sbert_lr, tfidf_lr
from shiftbench.baselines.attack.search import Ask, Probabilities
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
) -> Ask:
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
    Returns: what answers texts with the probability of each label, in the task's order.
    Raises: InvalidInput when there is no victim of this name, or its labels are not the task's.
    """
    if name in TRAINED:
        (settings or ModelSettings()).refuse_unread(name)
        if name == "sbert-lr":
            trained = sbert_lr.classifier(train, Encoder(encoder, cache), ("text",), seed)
        else:
            trained = tfidf_lr.classifier(train, ("text",), seed)
        return partial(_ask_trained, classifier=trained, n_labels=len(labels))
    if not Path(name).exists() and not set(name) & set("/:."):  # a misspelt name of a trained victim
        cure = f"{did_you_mean(name, TRAINED)}, or give a model's folder, Hub id or 'module:callable'"
        raise InvalidInput(Problem("there is no victim of this name", "--victim", f"'{name}'", cure))
    model = load_model(
        name, kind=TaskKind.CLASSIFICATION, inputs=("text",), labels=labels, label_map=label_map, settings=settings
    )
    if isinstance(model, Pretrained) and (settings is None or settings.max_length is None):
        model.max_length = min(model.max_length, LONGEST)
    return partial(_ask_loaded, model=model, n_labels=len(labels))


def _ask_trained(texts: Sequence[str], *, classifier: FittedClassifier, n_labels: int) -> Probabilities:
    """Return the answers of a classifier that was trained here; a label that the train rows lack gets probability 0."""
    probabilities = np.zeros((len(texts), n_labels))
    if texts:
        rows = pl.DataFrame({"text": texts}, schema={"text": pl.String})
        probabilities[:, classifier.classes] = classifier.probabilities(rows)
    return probabilities


def _ask_loaded(texts: Sequence[str], *, model: LoadedModel, n_labels: int) -> Probabilities:
    """Return a loaded model's answers, asked of rows of like length together: a text's hardly depends on the others."""
    rows = pl.DataFrame({"text": texts}, schema={"text": pl.String})
    answers = predict_in_parts(model, rows, ("text",), is_shown=len(texts) >= SHOWN)
    if PROBABILITIES not in answers.columns:
        cure = "give a model that has probabilities of all labels"
        raise InvalidInput(
            Problem("this model predicts labels without probabilities", "--victim", f"'{model.name}'", cure)
        )
    return np.array(answers[PROBABILITIES].to_list(), dtype=np.float64).reshape(len(texts), n_labels)
