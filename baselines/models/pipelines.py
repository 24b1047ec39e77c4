"""Scikit-learn pipelines from a file: saved with skops, or pickled by somebody who is trusted.

A pickle can run any code when it is loaded, so it is loaded from this machine alone and only where ``--trust-pickle``
says so. A skops file is no code: it names types, and is refused where it names any but classes of scikit-learn, numpy
and scipy.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from baselines.models.labels import LabelMatch, match_labels
from baselines.models.loaded import NamedModel, describe_error
from baselines.models.outputs import frame_of_labels, frame_of_probabilities
from builders.checksums import file_state
from validation.command_line import require
from validation.report import InvalidInput, Problem
from validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from baselines.models.loading import LoadRequest

_TRUSTED_PACKAGES = ("sklearn", "numpy", "scipy")


@dataclass
class Pipeline(NamedModel):
    """A fitted classifier with ``predict``, and with ``predict_proba`` where it has probabilities.

    One input column is given as a list of texts, several as a pandas frame.
    """

    estimator: Any = None
    match: LabelMatch = field(default_factory=lambda: LabelMatch((), ()))

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        if rows.is_empty():
            return self.match.frame(np.zeros((0, len(self.match.codes))))
        texts = rows[self.inputs[0]].to_list() if len(self.inputs) == 1 else rows.select(self.inputs).to_pandas()
        if hasattr(self.estimator, "predict_proba"):
            return frame_of_probabilities(self.estimator.predict_proba(texts), self.match, self.name)
        names = class_names(self.estimator.classes_)
        return frame_of_labels(class_names(self.estimator.predict(texts)), names, self.match, self.name)


def load_pipeline_file(request: "LoadRequest", path: Path) -> Pipeline:
    """Load a pipeline from a skops file or a trusted pickle; see ``load_model``."""
    if request.kind is not TaskKind.CLASSIFICATION:
        cure = "give a 'module:callable' that calls it"
        found = f"a task of kind '{request.kind.value}'"
        raise InvalidInput(Problem("a pipeline predicts labels only", request.spec, found, cure))
    estimator = load_estimator(path, trust_pickle=request.trust_pickle)
    classes = getattr(estimator, "classes_", None)
    if not hasattr(estimator, "predict") or classes is None or np.ndim(classes) != 1:
        found, cure = type(estimator).__name__, "save a fitted pipeline that ends in a classifier of single labels"
        raise InvalidInput(Problem("this is no fitted classifier", request.spec, found, cure))
    match = match_labels(class_names(classes), request.labels, place=request.spec, label_map=request.label_map)
    return Pipeline(
        name=path.stem, inputs=request.inputs, notes=match.notes, estimator=estimator, match=match, part_rows=8192,
        version=file_state(path), libraries=("scikit-learn",),
    )  # fmt: skip


def load_estimator(path: Path, *, trust_pickle: bool) -> Any:
    """Load what a file holds, after checking that it may be loaded.

    Args:
        path: a ``.skops`` file, or a pickle as ``pickle`` or ``joblib`` write it.
        trust_pickle: whether pickles are trusted.
    Returns: the object in it.
    Raises: InvalidInput when there is no such file, it cannot be read, or it holds what is not trusted.
    """
    if not path.is_file():
        raise InvalidInput(Problem("there is no such file", str(path), cure="give the path of a file on this machine"))
    if path.suffix == ".skops":
        return _load_skops(path)
    import joblib

    with reading_pickle(path, trust_pickle=trust_pickle):
        return joblib.load(path)


@contextmanager
def reading_pickle(path: Path, *, trust_pickle: bool) -> Iterator[None]:
    """Check that a pickle is trusted before this block reads it, and report any error of the block.

    Args:
        path: the pickle, for the report.
        trust_pickle: whether pickles are trusted.
    Raises: InvalidInput when it is not trusted, or the block fails: what runs its own code may raise anything.
    """
    if not trust_pickle:
        what = "a pickle can run any code on this machine when it is loaded"
        cure = "save the model with skops.io.dump, or give --trust-pickle if you know who made the file"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    try:
        yield
    except Exception as error:
        cure = "load it with the versions of the libraries that it was saved with"
        found = describe_error(error)
        raise InvalidInput(Problem("the pickle cannot be loaded", str(path), found, cure)) from error


def class_names(classes: Sequence[Any] | NDArray[Any]) -> list[str]:
    """Format the classes of an estimator as names; whole numbers without a point.

    >>> class_names(np.array([0.0, 1.0])), class_names(np.array(["no", "yes"]))
    (['0', '1'], ['no', 'yes'])
    """
    values = np.asarray(classes).tolist()
    return [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in values]


def _load_skops(path: Path) -> Any:
    require("skops", "models")
    from skops import io

    try:
        untrusted = list(io.get_untrusted_types(file=path))
        foreign = [name for name in untrusted if not _is_library_class(name)]
        if foreign:
            cure = "save a pipeline of scikit-learn's own parts, or give a 'module:callable' that loads it"
            what = "the file names types that are not of scikit-learn, numpy or scipy"
            raise InvalidInput(Problem(what, str(path), ", ".join(sorted(foreign)), cure))
        return io.load(path, trusted=untrusted)
    except InvalidInput:
        raise
    except Exception as error:  # a damaged file may raise anything
        found, cure = describe_error(error), "save it again with skops.io.dump"
        raise InvalidInput(Problem("the skops file cannot be loaded", str(path), found, cure)) from error


def _is_library_class(name: str) -> bool:
    """Check whether a dotted name is a class of a trusted library; a function could be made to run anything."""
    module, _, last = name.rpartition(".")
    if module.partition(".")[0] not in _TRUSTED_PACKAGES:
        return False
    try:
        return inspect.isclass(getattr(import_module(module), last, None))
    except ImportError:
        return False
