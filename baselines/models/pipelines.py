"""Scikit-learn pipelines from a file: saved with skops, or a trusted pickle.

A pickle can run any code when it is loaded, so only local ones are loaded, and only with the setting ``trust_pickle``.
A skops file lists types and parameter values: all types are checked against an allowlist before anything is imported
(``skops_check``), and the model runs in a separate process (``isolated``).
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.baselines.models.classes import class_names, classes_of
from shiftbench.baselines.models.labels import LabelMatch, match_labels, predict_labels
from shiftbench.baselines.models.loaded import LoadedModel, describe_error
from shiftbench.baselines.models.settings import PICKLES
from shiftbench.builders.checksums import file_state
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.settings import LoadRequest


@dataclass
class Pipeline(LoadedModel):
    """A fitted classifier with ``predict``, and optionally ``predict_proba``.

    A single input column is passed as a list of texts, several columns as a pandas frame.
    """

    estimator: Any = None
    match: LabelMatch = field(default_factory=lambda: LabelMatch((), ()))

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        texts = rows[self.inputs[0]].to_list() if len(self.inputs) == 1 else rows.select(self.inputs).to_pandas()
        return predict_labels(self.estimator, texts, self.match, self.name)


def load_pipeline_file(request: "LoadRequest", path: Path) -> Pipeline:
    """Load a pipeline from a skops file, in a process of its own, or from a trusted pickle; see ``load_model``."""
    request.settings.refuse_unread(request.spec, PICKLES)
    if not path.is_file():
        raise InvalidInput(Problem("there is no such file", str(path), cure="pass the path of a local file"))
    if path.suffix == ".skops":
        from shiftbench.baselines.models.isolated import IsolatedClassifier

        return pipeline_of(IsolatedClassifier(path), request, path.stem, file_state(path))
    if not request.settings.trust_pickle:
        what = "loading a pickle can run arbitrary code on this machine"
        cure = "save the model with skops.io.dump, or pass --model-arg trust_pickle=yes if you trust the file's author"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    import joblib

    try:
        estimator = joblib.load(path)
    except Exception as error:  # code in a pickle may raise anything
        cure, found = "install the library versions that it was saved with", describe_error(error)
        raise InvalidInput(Problem("the pickle cannot be loaded", str(path), found, cure)) from error
    return pipeline_of(estimator, request, path.stem, file_state(path))


def pipeline_of(estimator: Any, request: "LoadRequest", name: str, version: Any = None) -> Pipeline:
    """Wrap a fitted classifier as a model; raise InvalidInput if it is not one, or its labels do not match."""
    if request.kind is not TaskKind.CLASSIFICATION:
        cure = "pass a function that calls it; on the command line, as 'module:callable'"
        found = f"a task of kind '{request.kind.value}'"
        raise InvalidInput(Problem("a pipeline can only predict labels", request.spec, found, cure))
    classes = classes_of(estimator)
    if classes is None:
        found = getattr(estimator, "type_name", type(estimator).__name__)
        cure = "save a fitted pipeline that ends in a single-label classifier"
        raise InvalidInput(Problem("this is not a fitted classifier", request.spec, found, cure))
    match = match_labels(class_names(classes), request.labels, place=request.spec, label_map=request.label_map)
    return Pipeline(
        name=name, inputs=request.inputs, notes=(*match.notes, *getattr(estimator, "notes", ())),
        estimator=estimator, match=match, part_rows=8192, version=version, libraries=("scikit-learn",),
    )  # fmt: skip
