"""Labels by name: maps each output of a model to a label of the task, never by position.

Names match if they are equal up to case and the separators between words (space, ``_``, ``-``, ``.``, ``/``), unless
two labels would become equal. Other differences need a label map.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.models.classes import class_names
from shiftbench.baselines.models.loaded import refuse_row
from shiftbench.validation.probabilities import SUM_TOLERANCE
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, quote_names
from shiftbench.validation.vocabulary import UNPARSED

_NUMBERED = re.compile(r"(?:LABEL_)?\d+")
"""Names that only state a position."""
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_])[\s_\-./]+(?=[^\W_])")
_NO_LABEL = -1
_SHOWN = 20
OUTSIDE = "O"


@dataclass(frozen=True)
class LabelMatch:
    """The task's label (by index; -1: counts as no answer) for each output of a model."""

    labels: tuple[str, ...]
    codes: tuple[int, ...]

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the task's labels without an output."""
        return tuple(label for code, label in enumerate(self.labels) if code not in self.codes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes to the user: labels that the model never predicts."""
        if not self.absent:
            return ()
        absent = quote_names(self.absent, _SHOWN)
        return (f"the model never predicts {absent}, so every text with that label is misclassified",)

    def probabilities(self, by_output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum the probabilities of outputs that map to the same label.

        Args:
            by_output: shape (n, n_outputs).
        Returns: shape (n, n_labels + 1); the last column is the probability of outputs without a label.
        """
        by_label = np.zeros((len(by_output), len(self.labels) + 1))
        for output, code in enumerate(self.codes):
            by_label[:, code] += by_output[:, output]
        return by_label

    def frame(self, by_output: NDArray[np.float64]) -> pl.DataFrame:
        """Build predictions from the outputs' probabilities, shape (n, n_outputs).

        Returns: ``prediction``, ``confidence`` and, unless some outputs map to no label, ``probabilities``.
        """
        by_label = self.probabilities(by_output)
        best = by_label.argmax(axis=1) if len(by_label) else np.zeros(0, dtype=np.int64)
        names = np.array([*self.labels, UNPARSED], dtype=object)
        frame = pl.DataFrame(
            {
                "prediction": pl.Series(names[best].tolist(), dtype=pl.String),
                "confidence": pl.Series(np.clip(by_label[np.arange(len(best)), best], 0, 1), dtype=pl.Float64),
            }
        )
        if _NO_LABEL in self.codes:
            return frame
        return frame.with_columns(probabilities=pl.Series(by_label[:, :-1].tolist(), dtype=pl.List(pl.Float64)))


def parse_label_map(pairs: Sequence[str]) -> dict[str, str]:
    """Parse ``--label-map`` options: the model's label and the task's label, joined by ``=``.

    Args:
        pairs: pairs such as ``LABEL_0=negative``, or names of files with one pair per line.
    Returns: the task's label by the model's.
    Raises: InvalidInput listing every malformed pair, and labels that are mapped twice.

    >>> parse_label_map(["NEG=negative", "a=b=c"])
    {'NEG': 'negative', 'a=b': 'c'}
    """
    parsed: dict[str, str] = {}
    problems = []
    for pair in _lines(pairs):
        name, equals, label = (part.strip() for part in pair.rpartition("="))
        if not equals or not name or not label:
            problems.append(Problem("invalid label mapping", "--label-map", f"'{pair}'", "write it as MODEL'S=DATA'S"))
        elif parsed.get(name, label) != label:
            found = f"'{name}' as '{parsed[name]}' and as '{label}'"
            problems.append(Problem("a label is mapped twice", "--label-map", found, "omit one of them"))
        parsed[name] = label
    if problems:
        raise InvalidInput(problems)
    return parsed


def _lines(pairs: Sequence[str]) -> Iterator[str]:
    """Yield the pairs given on the command line, and those in files."""
    for pair in pairs:
        is_file = "=" not in pair and Path(pair).is_file()
        yield from filter(str.strip, Path(pair).read_text(encoding="utf-8").splitlines()) if is_file else [pair]


def match_labels(
    names: Sequence[str],
    labels: Sequence[str],
    *,
    place: str,
    label_map: Mapping[str, str] | None = None,
    key: str | None = None,
) -> LabelMatch:
    """Map each output of a model to a label of the task.

    Args:
        names: the model's names of its outputs.
        labels: the task's labels.
        place: name of the model in error messages.
        label_map: the task's label by the model's name, if names differ; ``__unparsed__`` means no label.
        key: the key of the names in the model's configuration file; None if they are from elsewhere.
    Returns: the label of each output. Several outputs may map to one label, and a label may have no output.
    Raises: InvalidInput listing all outputs without a label, and outputs with the same name.
    """
    mapped, problems = _resolve_map(label_map or {}, names, labels, place)
    label_of = {name: mapped.get(name) or resolve_label(name, labels) for name in names}
    lost = [name for name in names if label_of[name] is None and not problems]
    if lost:
        problems.append(_describe_unmatched(lost, names, labels, place, key))
    own = [label_of[name] for name in names if name not in mapped and label_of[name] is not None]
    twice = [label for label in dict.fromkeys(own) if own.count(label) > 1]
    if twice:
        both = [name for name in names if label_of[name] in twice]
        cure = f"map each output to a label: {map_line(both, labels)}"
        problems.append(Problem("several outputs have the same name", place, quote_names(both, _SHOWN), cure, key=key))
    if problems:
        raise InvalidInput(problems)
    codes = {label: code for code, label in enumerate(labels)} | {UNPARSED: _NO_LABEL}
    return LabelMatch(tuple(labels), tuple(codes[str(label_of[name])] for name in names))


def match_tags(
    names: Sequence[str],
    tags: Sequence[str],
    *,
    place: str,
    label_map: Mapping[str, str] | None = None,
    key: str | None = None,
) -> LabelMatch:
    """Map each output of a tagger to a tag of the task, as ``match_labels`` does for labels.

    Mapping an entity type maps its tags: ``PER=person`` maps B-PER and I-PER; ``MISC=O`` drops these entities.
    """
    given = dict(label_map or {})
    for name in names:
        mark, dash, kind = name.partition("-")
        if dash and name not in given and kind in given:
            given[name] = OUTSIDE if given[kind] == OUTSIDE else f"{mark}-{given[kind]}"
    kinds = {name.partition("-")[2] for name in names} - set(names)
    return match_labels(
        names, tags, place=place, label_map={name: tag for name, tag in given.items() if name not in kinds}, key=key
    )


def resolve_label(word: str, labels: Sequence[str]) -> str | None:
    """Find the label that matches a name up to case and separators; None if no label, or more than one, matches.

    >>> resolve_label("Not Entailment", ["not_entailment", "entailment"]), resolve_label("-1", ["1", "0"])
    ('not_entailment', None)
    """
    if word in labels:
        return word
    alike = [label for label in labels if _fold_name(label) == _fold_name(word)]
    return alike[0] if len(alike) == 1 else None


def map_label(name: str, label_map: Mapping[str, str], labels: Sequence[str]) -> str | None:
    """Return the task's label for a model's label name, using the map if it contains the name; None if no label
    matches.

    >>> map_label("POS", {"pos": "Good"}, ["good", "bad"]), map_label("so so", {}, ["good", "bad"])
    ('good', None)
    """
    known = resolve_label(name, list(label_map))
    given = name if known is None else label_map[known]
    return given if given == UNPARSED else resolve_label(given, labels)


def map_line(names: Sequence[str], labels: Sequence[str]) -> str:
    """Format ``--label-map`` options for names, with the closest label of each, or ``?`` if none is close.

    >>> map_line(["LABEL_0", "Postive"], ["negative", "positive"])
    "--label-map 'LABEL_0=?' --label-map Postive=positive"
    """
    pairs = [f"{name}={_nearest(name, labels) or '?'}" for name in names[:_SHOWN]]
    return " ".join(f"--label-map {shlex.quote(pair)}" for pair in pairs)


def _resolve_map(
    label_map: Mapping[str, str], names: Sequence[str], labels: Sequence[str], place: str
) -> tuple[dict[str, str], list[Problem]]:
    """Resolve both sides of a map, and list names that the model or the task does not have."""
    mapped: dict[str, str] = {}
    problems = []
    for name, label in label_map.items():
        output, target = resolve_label(name, names), label if label == UNPARSED else resolve_label(label, labels)
        if output is None:
            cure = did_you_mean(name, names)
            problems.append(Problem("the model has no such label", "--label-map", f"'{name}' ({place})", cure))
        if target is None:
            cure = did_you_mean(label, labels)
            problems.append(Problem("the task has no such label", "--label-map", f"'{label}'", cure))
        if output is not None and target is not None:
            mapped[output] = target
    return mapped, problems


def _describe_unmatched(
    lost: Sequence[str], names: Sequence[str], labels: Sequence[str], place: str, key: str | None
) -> Problem:
    """Describe outputs that match no label: which, how many, and the closest label of each."""
    if all(_NUMBERED.fullmatch(name) for name in names):
        what = "the model's labels are numbers without names"
        found = f"{quote_names(names, _SHOWN)}; the task's labels are {quote_names(labels, _SHOWN)}"
        cure = f"replace each '?' with the task's label: {map_line(names, labels)}"
        return Problem(what, place, found, cure, key=key)
    near = [(name, _nearest(name, labels)) for name in lost]
    unmatched = ", ".join(f"'{name}'" + (f" (nearest: '{label}')" if label else "") for name, label in near[:_SHOWN])
    more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    found = f"{len(lost)} of {len(names)}: {unmatched}{more}; the task's labels are {quote_names(labels, _SHOWN)}"
    cure = f"map them: {map_line(lost, labels)}; '{UNPARSED}' means no label"
    return Problem("the model's labels differ from the task's", place, found, cure, key=key)


def _nearest(name: str, labels: Sequence[str]) -> str | None:
    by_folded = {_fold_name(label): label for label in labels}
    near = get_close_matches(_fold_name(name), list(by_folded), n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None


def _fold_name(name: str) -> str:
    return _BETWEEN_WORDS.sub(" ", normalize("NFKC", name).strip().casefold())


def frame_of_probabilities(values_by_row: Any, match: LabelMatch, name: str) -> pl.DataFrame:
    """Build predictions from probabilities, shape (n, n_outputs).

    Raises: RowFailure at the first row that is not finite, or not a probability distribution.
    """
    values = np.asarray(values_by_row, dtype=np.float64)
    sums = values.sum(axis=1)
    faults = (
        (~np.isfinite(values).all(axis=1), "the model's output is not a number", "check the model's computation"),
        (
            ((values < -SUM_TOLERANCE) | (values > 1 + SUM_TOLERANCE)).any(axis=1) | (np.abs(sums - 1) > SUM_TOLERANCE),
            "the model's output is not a probability distribution",
            "return probabilities of all labels after the softmax: in [0, 1], with sum 1",
        ),
    )
    safe = np.where(np.isfinite(values), np.clip(values, 0, 1), 0.0)
    predictions = match.frame(safe / np.where(safe.sum(axis=1) > 0, safe.sum(axis=1), 1)[:, None])
    for bad, what, cure in faults:
        if bad.any():
            row = int(bad.argmax())
            found = f"{np.round(values[row], 4).tolist()[:12]}, {int(bad.sum()):,} such rows of {len(values):,}"
            raise refuse_row(name, what, row, found, cure, predictions[:row])
    return predictions


def predict_labels(estimator: Any, rows: Any, match: LabelMatch, name: str) -> pl.DataFrame:
    """Build the predictions of a scikit-learn classifier, with probabilities if it supports them; n may be 0."""
    if not len(rows):
        return match.frame(np.zeros((0, len(match.codes))))
    if hasattr(estimator, "predict_proba"):
        return frame_of_probabilities(estimator.predict_proba(rows), match, name)
    names = class_names(estimator.classes_)
    return frame_of_labels(class_names(estimator.predict(rows)), names, match, name)


def frame_of_labels(labels_by_row: Sequence[str], names: Sequence[str], match: LabelMatch, name: str) -> pl.DataFrame:
    """Build predictions from the label that a model returned for each row.

    Args:
        labels_by_row: n labels, each one of ``names`` or ``__unparsed__``.
        names: the model's labels, in the order of ``match.codes``.
    Raises: RowFailure at the first row with another label.
    """
    labels = [*match.labels, UNPARSED]
    of_name = {own: labels[code] for own, code in zip(names, match.codes, strict=True)} | {UNPARSED: UNPARSED}
    predictions = pl.DataFrame({"prediction": pl.Series([of_name.get(own) for own in labels_by_row], dtype=pl.String)})
    lost = predictions["prediction"].is_null()
    if lost.any():
        row = int(lost.arg_true()[0])
        found, cure = f"'{labels_by_row[row]}', {int(lost.sum()):,} such rows", f"return one of {', '.join(names)}"
        raise refuse_row(name, "the model returned an unknown label", row, found, cure, predictions[:row])
    return predictions


def array_by_name(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> NDArray[np.float64]:
    """Build an array from probabilities by name, shape (n, n_names); 0 for names missing from a row."""
    return np.array([[float(row.get(name, 0.0)) for name in names] for row in rows]).reshape(len(rows), len(names))
