"""``module:callable``: a user-defined function that maps a list of inputs to a list of outputs of the same length.

An input is a text; a pair of texts (a tuple) if the task has two input columns; a list of words for tagging; a dict
with ``question`` and ``context`` for question answering; otherwise a dict of the columns. For classification, an output
is a label, a dict of probabilities by label, ``{"label": ..., "score": ...}`` or a list of these as returned by
pipelines of transformers, or a row of an array of probabilities. The array's columns are named by ``classes_`` or
``labels`` of the callable (or of the object that it is a method of), or by ``--label-map 0=...``. For other kinds, an
output is a list of tags, an answer or a text; ``__unparsed__`` means no answer.

The working directory is also searched for the module.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.baselines.models.classes import class_names
from shiftbench.baselines.models.labels import (
    array_by_name,
    frame_of_probabilities,
    map_label,
    match_labels,
    match_tags,
    resolve_label,
)
from shiftbench.baselines.models.loaded import LoadedModel, RowFailure, describe_error, refuse_row
from shiftbench.builders.checksums import file_state
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

if TYPE_CHECKING:
    from shiftbench.baselines.models.settings import LoadRequest

CALL_ROWS = 256
"""Maximum rows per call."""


@dataclass
class CallableModel(LoadedModel):
    """A user-defined function, called with ``CALL_ROWS`` inputs at a time."""

    function: Callable[[list[Any]], Any] = list
    kind: TaskKind = TaskKind.CLASSIFICATION
    labels: tuple[str, ...] = ()
    label_map: Mapping[str, str] = field(default_factory=dict)

    def _predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        inputs, frames = call_inputs(rows, self.inputs), [self._empty()]
        for start in range(0, len(inputs), CALL_ROWS):
            part = inputs[start : start + CALL_ROWS]
            try:
                frames.append(self._build_predictions(self._call(part), part))
            except RowFailure as failure:
                done = pl.concat([*frames, failure.done], how="diagonal")
                raise RowFailure(failure.problems[0], start + failure.row, done) from failure.__cause__
        # If only some parts have probabilities, the other rows get nulls.
        return pl.concat(frames[1:], how="diagonal") if len(frames) > 1 else frames[0]

    def _call(self, part: list[Any]) -> list[Any]:
        """Call the function on a part; if it raises, find the first row that causes it."""
        try:
            return self._check_outputs(self.function(part), len(part))
        except RowFailure:
            raise
        except Exception as error:  # user code may raise anything
            answered, row, is_alone = self._until_it_raises(part)
            done = self._build_predictions(answered, part[:row])
            shown = _short_repr(part[row])
            where = shown if is_alone else f"several inputs up to {shown} together, but for none of them alone"
            found = f"{describe_error(error)}, for {where}"
            cure = "fix the callable, which is called with a list, and run the same command again"
            raise refuse_row(self.name, "the callable raised an exception", row, found, cure, done) from error

    def _until_it_raises(self, part: list[Any]) -> tuple[list[Any], int, bool]:
        """Find by bisection the first input that raises: outputs before it, its index, whether it raises alone."""
        answered: list[Any] = []
        first, end = 0, len(part)
        while end - first > 1:
            middle = (first + end) // 2
            output = self._outputs_or_none(part[first:middle])
            first, end = (first, middle) if output is None else (middle, end)
            answered += output or []
        return answered, first, self._outputs_or_none(part[first : first + 1]) is None

    def _outputs_or_none(self, part: list[Any]) -> list[Any] | None:
        """Call the function; None if it raises. The caller reports the error."""
        try:
            return self._check_outputs(self.function(part), len(part))
        except Exception:
            return None

    def _check_outputs(self, outputs: Any, n: int) -> list[Any]:
        """Check that there is one output per input, and return the outputs as a list."""
        if isinstance(outputs, pl.Series):
            outputs = outputs.to_list()
        elif hasattr(outputs, "detach"):  # a torch tensor
            outputs = outputs.detach().cpu().numpy()
        if isinstance(outputs, np.ndarray):
            outputs = list(outputs)
        if not isinstance(outputs, list | tuple) or len(outputs) != n:
            found = f"{len(outputs):,} outputs" if hasattr(outputs, "__len__") else type(outputs).__name__
            cure = f"return a list or array of length {n:,}, one output per input"
            raise refuse_row(self.name, "the callable must return one output per input", 0, found, cure, self._empty())
        return list(outputs)

    def _build_predictions(self, outputs: Sequence[Any], part: Sequence[Any]) -> pl.DataFrame:
        """Build predictions from outputs of any supported format."""
        if not len(outputs):
            return self._empty()
        if self.kind is TaskKind.TAGGING:
            return self._tags(outputs, part)
        return self._classes(outputs) if self.kind is TaskKind.CLASSIFICATION else self._texts(outputs)

    def _classes(self, outputs: Sequence[Any]) -> pl.DataFrame:
        if all(_is_scored(row) for row in outputs):
            return self._labels([row["label"] for row in outputs]).with_columns(
                confidence=pl.Series([float(row["score"]) for row in outputs])
            )
        if all(isinstance(row, list | tuple) and all(_is_scored(one) for one in row) for row in outputs):
            outputs = [{one["label"]: one["score"] for one in row} for row in outputs]
        if all(isinstance(row, Mapping) for row in outputs):
            names = [str(name) for name in dict.fromkeys(name for row in outputs for name in row)]
            return self._probabilities(array_by_name(outputs, names), names)
        if all(np.ndim(row) == 1 for row in outputs):
            return self._probabilities(np.asarray(outputs, dtype=np.float64), self._column_names(len(outputs[0])))
        return self._labels(outputs)

    def _column_names(self, n: int) -> list[str]:
        for owner in (self.function, getattr(self.function, "__self__", None)):
            for attribute in ("classes_", "labels"):
                names = getattr(owner, attribute, None)
                if names is not None and len(names) == n:
                    return class_names(names)
        return [str(place) for place in range(n)]

    def _probabilities(self, values: Any, names: Sequence[str]) -> pl.DataFrame:
        relevant = {name: label for name, label in self.label_map.items() if resolve_label(name, names)}
        match = match_labels(names, self.labels, place=self.name, label_map=relevant)
        return frame_of_probabilities(values, match, self.name)

    def _labels(self, outputs: Sequence[Any]) -> pl.DataFrame:
        # A label may be a number of numpy or Python.
        names = [None if name is None else class_names([name])[0] for name in outputs]
        distinct = dict.fromkeys(name for name in names if name is not None)
        of_name = {name: map_label(name, self.label_map, self.labels) for name in distinct}
        labels = [None if name is None else of_name[name] for name in names]
        frame = pl.DataFrame({"prediction": pl.Series(labels, dtype=pl.String)})
        lost = frame["prediction"].is_null()
        if not lost.any():
            return frame
        row = int(lost.arg_true()[0])
        if names[row] is None:
            cure = f"return '{UNPARSED}' if the model has no answer"
            raise refuse_row(self.name, "the callable did not return a label", row, "None", cure, frame[:row])
        try:
            match_labels([name for name, label in of_name.items() if label is None], self.labels, place=self.name)
        except InvalidInput as error:
            raise RowFailure(error.problems[0], row, frame[:row]) from error
        raise AssertionError("a label that has no match was matched")

    def _tags(self, outputs: Sequence[Any], part: Sequence[Any]) -> pl.DataFrame:
        tags = [[str(tag) for tag in row] if isinstance(row, list | tuple | np.ndarray) else None for row in outputs]
        for row, (own, words) in enumerate(zip(tags, part, strict=True)):
            if own is None or (len(own) != len(words) and own != [UNPARSED]):
                found = type(outputs[row]).__name__ if own is None else f"{len(own):,} tags for {len(words):,} words"
                what, cure = "the callable did not return one tag per word", "return a list of tags, one per word"
                done = self._tags(outputs[:row], part[:row]) if row else self._empty()
                raise refuse_row(self.name, what, row, found, cure, done)
        names = list(dict.fromkeys(tag for row in tags for tag in row or () if tag != UNPARSED))
        relevant = {
            name: tag for name, tag in self.label_map.items() if name in names or any(n[2:] == name for n in names)
        }
        match = match_tags(names, self.labels, place=self.name, label_map=relevant)
        of_name = {name: self.labels[code] for name, code in zip(names, match.codes, strict=True)} | {
            UNPARSED: UNPARSED
        }
        return pl.DataFrame(
            {"prediction": pl.Series([[of_name[tag] for tag in row or ()] for row in tags], dtype=pl.List(pl.String))}
        )

    def _texts(self, outputs: Sequence[Any]) -> pl.DataFrame:
        texts = [row.get("answer", row.get("generated_text")) if isinstance(row, Mapping) else row for row in outputs]
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                done = pl.DataFrame({"prediction": pl.Series(texts[:row], dtype=pl.String)})
                what, cure = "the callable did not return a text", f"return '{UNPARSED}' if there is no answer"
                raise refuse_row(self.name, what, row, _short_repr(text), cure, done)
        return pl.DataFrame({"prediction": pl.Series(texts, dtype=pl.String)})

    def _empty(self) -> pl.DataFrame:
        return pl.DataFrame(schema={"prediction": pl.List(pl.String) if self.kind is TaskKind.TAGGING else pl.String})


def load_callable(request: "LoadRequest") -> CallableModel:
    """Import the callable that a spec names; see ``load_model``."""
    request.settings.refuse_unread(request.spec)
    module_name, _, path = request.spec.partition(":")
    if module_name.endswith(".py"):
        cure = f"write it as {module_name.removesuffix('.py')}:{path}"
        raise InvalidInput(Problem("this is a file name, not a module name", request.spec, f"'{module_name}'", cure))
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # like 'python -m': the user's module may be there
    try:
        target: Any = import_module(module_name)
    except Exception as error:  # a user's module may raise anything
        there = describe_error(error)
        cure = "fix the module, or run this command where Python can import it"
        raise InvalidInput(Problem("the module cannot be imported", request.spec, there, cure)) from error
    for name in path.split("."):
        if not hasattr(target, name):
            public = [each for each in vars(target) if not each.startswith("_")] if hasattr(target, "__dict__") else []
            cure = did_you_mean(name, public) if public else "check the name"
            raise InvalidInput(Problem("the module has no such callable", request.spec, f"'{name}'", cure))
        target = getattr(target, name)
    if not callable(target) or isinstance(target, type):
        found, cure = type(target).__name__, "choose a function or a bound method that accepts a list of texts"
        raise InvalidInput(Problem("this is not a function or bound method", request.spec, found, cure))
    file = getattr(sys.modules[module_name], "__file__", None)  # changed code may predict something else
    return callable_of(target, request, file_state(Path(file)) if file else None)


def callable_of(function: Callable[[list[Any]], Any], request: "LoadRequest", version: Any = None) -> CallableModel:
    """Wrap a function that maps a list of inputs as a model; the labels of a label map must be those of the task."""
    for name, label in request.label_map.items():
        if request.kind is TaskKind.CLASSIFICATION:
            match_labels([name], request.labels, place=request.spec, label_map={name: label})
    return CallableModel(
        name=request.spec, inputs=request.inputs, part_rows=CALL_ROWS, function=function, kind=request.kind,
        labels=request.labels, label_map=request.label_map, version=version,
    )  # fmt: skip


def call_inputs(rows: pl.DataFrame, inputs: Sequence[str]) -> list[Any]:
    """Build the callable's input for each row.

    >>> call_inputs(pl.DataFrame({"a": ["x"], "b": ["y"]}), ["a", "b"])
    [('x', 'y')]
    """
    if len(inputs) == 1:
        return rows[inputs[0]].to_list()
    if "question" in inputs:
        return list(rows.select("question", "context").iter_rows(named=True))
    chosen = rows.select(inputs)
    return list(chosen.iter_rows()) if len(inputs) == 2 else list(chosen.iter_rows(named=True))


def _is_scored(row: Any) -> bool:
    return isinstance(row, Mapping) and set(row) == {"label", "score"}


def _short_repr(value: Any) -> str:
    import reprlib

    return reprlib.repr(value)[:200]
