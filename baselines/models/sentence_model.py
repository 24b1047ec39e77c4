"""SetFit folders: a body of sentence-transformers, and a classification head on its embeddings.

They are read without the package ``setfit``, whose own heads are pickles: ``model_head.pkl``, from scikit-learn or
SetFit's differentiable head, needs the setting ``trust_pickle``. A head saved with skops (``model_head.skops``) is
checked and run like any skops file, before anything else in the folder is read. Neither it nor a linear head in
``model_head.safetensors`` (weight and bias) needs trust. Cross-encoders of sentence-transformers are sequence
classifiers of transformers, and loaded as such.
"""

import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.baselines.models.classes import class_names
from shiftbench.baselines.models.labels import LabelMatch, match_labels
from shiftbench.baselines.models.loaded import LoadedModel
from shiftbench.baselines.models.outputs import predict_labels
from shiftbench.baselines.models.pipelines import load_estimator, reading_pickle
from shiftbench.baselines.models.settings import PICKLES
from shiftbench.builders.checksums import folder_state
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem, first_line
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.settings import LoadRequest

HEADS = ("model_head.skops", "model_head.safetensors", "model_head.pkl")


@dataclass
class SentenceModel(LoadedModel):
    """A sentence encoder with a classifier on its embeddings."""

    body: Any = None
    head: Any = None
    is_normalized: bool = False
    match: LabelMatch = field(default_factory=lambda: LabelMatch((), ()))

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        if rows.is_empty():
            return self.match.frame(np.zeros((0, len(self.match.codes))))
        texts = rows[self.inputs[0]].to_list()
        pieces = self.body.tokenizer(texts, truncation=False, verbose=False)["input_ids"]
        self.counts.add_truncated(sum(len(row) > self.body.max_seq_length for row in pieces))
        vectors = self.body.encode(texts, normalize_embeddings=self.is_normalized, show_progress_bar=False)
        return predict_labels(self.head, vectors, self.match, self.name)


@dataclass
class LinearHead:
    """Weights of a linear layer, shape (n_labels, d), and its bias, shape (n_labels,)."""

    weight: Any
    bias: Any

    def __post_init__(self) -> None:
        self.classes_ = np.arange(len(self.bias))

    def predict_proba(self, vectors: Any) -> Any:
        """Return probabilities, shape (n, n_labels)."""
        from scipy.special import softmax

        return softmax(np.asarray(vectors, dtype=np.float64) @ self.weight.T + self.bias, axis=1)


def find_head(folder: Path) -> Path | None:
    """Find the file of a SetFit folder's head, preferring files that need no trust."""
    return next((folder / name for name in HEADS if (folder / name).is_file()), None)


def load_sentence_model(request: "LoadRequest", folder: Path) -> SentenceModel:
    """Load a SetFit folder; see ``load_model``."""
    request.settings.refuse_unread(request.spec, PICKLES)
    if request.kind is not TaskKind.CLASSIFICATION or len(request.inputs) != 1:
        found = f"a task of kind '{request.kind.value}' with {', '.join(request.inputs)}"
        cure = "give a task with the input column 'text', or a 'module:callable'"
        raise InvalidInput(Problem("a SetFit model labels single texts", request.spec, found, cure))
    path = find_head(folder)
    assert path is not None
    head = _load_head(path, trust_pickle=request.settings.trust_pickle)
    settings = _settings(folder)
    classes = getattr(head, "classes_", None)
    names = [] if classes is None else class_names(classes)
    own = settings.get("labels")
    if isinstance(own, list) and all(name.isdigit() and int(name) < len(own) for name in names):
        names = [str(own[int(name)]) for name in names]
    match = match_labels(names, request.labels, place=request.spec, label_map=request.label_map)
    from sentence_transformers import SentenceTransformer

    try:
        body = SentenceTransformer(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library does not validate the folder's files, so it may raise anything
        cure = "give the folder that save_pretrained wrote"
        raise InvalidInput(
            Problem("the sentence encoder cannot be loaded", request.spec, first_line(error), cure)
        ) from error
    _check_body(body, head, request.spec)
    return SentenceModel(
        name=folder.resolve().name, inputs=request.inputs, notes=match.notes, part_rows=256,
        libraries=("sentence-transformers", "scikit-learn"),
        facts={"base_model": request.spec, "paradigm": "fine-tuned"},
        version=folder_state(folder),
        body=body, head=head, is_normalized=bool(settings.get("normalize_embeddings")), match=match,
    )  # fmt: skip


def _check_body(body: Any, head: Any, spec: str) -> None:
    """Check that an encoder has a valid maximum length, and embeddings of the dimension that a linear head expects."""
    reads = body.max_seq_length
    if reads is not None and (type(reads) is not int or reads < 1):
        what, cure = "the sentence encoder's longest text is no length", "give a number of word pieces there"
        raise InvalidInput(Problem(what, spec, f"{reads!r}"[:100], cure, key="max_seq_length"))
    given = body.get_embedding_dimension()
    if isinstance(head, LinearHead) and head.weight.shape[1] != given:
        found = f"vectors of {given} numbers, and a head for {head.weight.shape[1]}"
        raise InvalidInput(Problem("the head is another encoder's", spec, found, "save the model again"))


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / "config_setfit.json"
    if not file.is_file():
        return {}
    try:
        settings = parse_json(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(Problem("this is no JSON", str(file), first_line(error), "save the model again")) from error
    return settings if isinstance(settings, dict) else {}


def _load_head(path: Path, *, trust_pickle: bool) -> Any:
    if path.suffix == ".safetensors":
        return _linear_head(path)
    if path.suffix == ".pkl" and _DIFFERENTIABLE.encode() in path.read_bytes():
        return _differentiable_head(path, trust_pickle=trust_pickle)
    return load_estimator(path, trust_pickle=trust_pickle)


_DIFFERENTIABLE = "SetFitHead"
"""Name of SetFit's PyTorch head; a pickle contains the class names of its objects."""


class _PickledHead:
    """Receives the attributes of a pickled ``setfit.modeling.SetFitHead``."""


class _HeadUnpickler(pickle.Unpickler):
    """Unpickles a differentiable head without the package ``setfit``."""

    def find_class(self, module: str, name: str) -> Any:
        return (
            _PickledHead if (module, name) == ("setfit.modeling", _DIFFERENTIABLE) else super().find_class(module, name)
        )


def _differentiable_head(path: Path, *, trust_pickle: bool) -> LinearHead:
    """Read a differentiable head: softmax of its linear layer's outputs over its temperature."""
    with reading_pickle(path, trust_pickle=trust_pickle), path.open("rb") as file:
        state = vars(_HeadUnpickler(file).load())
        layer = state["_modules"]["linear"]
        weight = layer.weight.detach().double().numpy()
        bias = np.zeros(len(weight)) if layer.bias is None else layer.bias.detach().double().numpy()
    if state.get("multitarget"):
        what, cure = "the head gives several labels a text", "give a model of single labels"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    scale = state["temperature"] + state["eps"]
    return LinearHead(weight / scale, bias / scale)


def _linear_head(path: Path) -> LinearHead:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    cure = "save a linear head with 'weight' and 'bias', or another head with skops"
    try:
        tensors = load_file(path)
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise InvalidInput(Problem("this is no linear head", str(path), first_line(error), cure)) from error
    by_end = {name.rpartition(".")[2]: tensor for name, tensor in tensors.items()}
    if set(by_end) != {"weight", "bias"}:
        raise InvalidInput(Problem("this is no linear head", str(path), ", ".join(tensors)[:200], cure))
    weight, bias = by_end["weight"], by_end["bias"]
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        found = f"'weight' of shape {weight.shape} and 'bias' of shape {bias.shape}"
        raise InvalidInput(Problem("this is no linear head", str(path), found, cure))
    return LinearHead(weight, bias)
