"""Labels by name: which label of a task each output of a model stands for. The position of an output says nothing.

Names are the same where they are written alike, or differ only in case and in what stands between their words (space,
``_``, ``-``, ``.``, ``/``), unless two labels would then be the same. What differs more, a person maps.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from unicodedata import normalize

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.validation.report import InvalidInput, Problem, did_you_mean, quote_names
from shiftbench.validation.vocabulary import UNPARSED

_NUMBERED = re.compile(r"(?:LABEL_)?\d+")
"""Names that say no more than a position."""
_BETWEEN_WORDS = re.compile(r"(?<=[^\W_])[\s_\-./]+(?=[^\W_])")
_NO_LABEL = -1
_SHOWN = 20
OUTSIDE = "O"


@dataclass(frozen=True)
class LabelMatch:
    """Which label of a task each output of a model stands for.

    Attributes:
        labels: the task's labels.
        codes: of each output the place of its label, -1 of an output that counts as no answer.
    """

    labels: tuple[str, ...]
    codes: tuple[int, ...]

    @property
    def absent(self) -> tuple[str, ...]:
        """Return the task's labels that no output stands for."""
        return tuple(label for code, label in enumerate(self.labels) if code not in self.codes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what the user must know: labels that the model never gives."""
        if not self.absent:
            return ()
        absent = quote_names(self.absent, _SHOWN)
        return (f"the model never predicts {absent} and is wrong about every text with that label",)

    def probabilities(self, by_output: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up the probabilities of outputs that stand for the same label.

        Args:
            by_output: shape (n, n_outputs).
        Returns: shape (n, n_labels + 1); the last column holds what stands for no label.
        """
        by_label = np.zeros((len(by_output), len(self.labels) + 1))
        for output, code in enumerate(self.codes):
            by_label[:, code] += by_output[:, output]
        return by_label

    def frame(self, by_output: NDArray[np.float64]) -> pl.DataFrame:
        """Build predictions from the outputs' probabilities, shape (n, n_outputs).

        Returns: ``prediction``, ``confidence`` and, unless outputs stand for no label, ``probabilities``.
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
    """Parse ``--label-map`` options: a model's label and the task's, joined by ``=``.

    Args:
        pairs: such as ``LABEL_0=negative``, or the names of files with a pair a line.
    Returns: the task's label by the model's.
    Raises: InvalidInput naming every pair that is none, or that maps a label a second time.

    >>> parse_label_map(["NEG=negative", "a=b=c"])
    {'NEG': 'negative', 'a=b': 'c'}
    """
    parsed: dict[str, str] = {}
    problems = []
    for pair in _lines(pairs):
        name, equals, label = (part.strip() for part in pair.rpartition("="))
        if not equals or not name or not label:
            problems.append(
                Problem("this is not a label mapping", "--label-map", f"'{pair}'", "write it as MODEL'S=TASK'S")
            )
        elif parsed.get(name, label) != label:
            found = f"'{name}' as '{parsed[name]}' and as '{label}'"
            problems.append(Problem("a label is mapped twice", "--label-map", found, "leave one of them out"))
        parsed[name] = label
    if problems:
        raise InvalidInput(problems)
    return parsed


def _lines(pairs: Sequence[str]) -> Iterator[str]:
    """Read pairs as they were typed, and those in files."""
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
    """Find the label of the task that each output of a model stands for.

    Args:
        names: what the model calls its outputs.
        labels: the task's labels.
        place: names the model in problems.
        label_map: the task's label by the model's name, where names differ; ``__unparsed__`` stands for no label.
        key: the key of the model's configuration that holds the names; None where they stand in no such file.
    Returns: the labels by output. Several outputs may be mapped to one label, and a label may have no output.
    Raises: InvalidInput when an output stands for no label, or two have one name, with all that is wrong.
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
        cure = f"write what each stands for: {map_line(both, labels)}"
        problems.append(
            Problem("outputs of the model have the same name", place, quote_names(both, _SHOWN), cure, key=key)
        )
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
    """Find the tag of the task that each output of a tagger stands for, as ``match_labels`` does.

    A mapped type stands for its tags: ``PER=person`` maps B-PER and I-PER; ``MISC=O`` leaves entities out.
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
    """Find the label that a word names; None where there is none, or more than one.

    >>> resolve_label("Not Entailment", ["not_entailment", "entailment"]), resolve_label("-1", ["1", "0"])
    ('not_entailment', None)
    """
    if word in labels:
        return word
    alike = [label for label in labels if _fold_name(label) == _fold_name(word)]
    return alike[0] if len(alike) == 1 else None


def map_line(names: Sequence[str], labels: Sequence[str]) -> str:
    """Format the options that map names to labels, with the nearest label of each, or ``?`` where none is near.

    >>> map_line(["LABEL_0", "Postive"], ["negative", "positive"])
    "--label-map 'LABEL_0=?' --label-map Postive=positive"
    """
    pairs = [f"{name}={_nearest(name, labels) or '?'}" for name in names[:_SHOWN]]
    return " ".join(f"--label-map {shlex.quote(pair)}" for pair in pairs)


def _resolve_map(
    label_map: Mapping[str, str], names: Sequence[str], labels: Sequence[str], place: str
) -> tuple[dict[str, str], list[Problem]]:
    """Resolve both sides of a map, and list what neither model nor task has."""
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
    """Describe outputs that stand for no label: which, how many, and the nearest label of each."""
    if all(_NUMBERED.fullmatch(name) for name in names):
        what = "the model numbers its labels and does not name them"
        found = f"{quote_names(names, _SHOWN)}; the task's labels are {quote_names(labels, _SHOWN)}"
        cure = f"put the label that each stands for in place of '?': {map_line(names, labels)}"
        return Problem(what, place, found, cure, key=key)
    near = [(name, _nearest(name, labels)) for name in lost]
    unmatched = ", ".join(f"'{name}'" + (f" (nearest: '{label}')" if label else "") for name, label in near[:_SHOWN])
    more = f" and {len(near) - _SHOWN} more" if len(near) > _SHOWN else ""
    found = f"{len(lost)} of {len(names)}: {unmatched}{more}; the task's labels are {quote_names(labels, _SHOWN)}"
    cure = f"map them: {map_line(lost, labels)}, where '{UNPARSED}' stands for no label"
    return Problem("the labels of this model are not the task's", place, found, cure, key=key)


def _nearest(name: str, labels: Sequence[str]) -> str | None:
    by_folded = {_fold_name(label): label for label in labels}
    near = get_close_matches(_fold_name(name), list(by_folded), n=1, cutoff=0.6)
    return by_folded[near[0]] if near else None


def _fold_name(name: str) -> str:
    return _BETWEEN_WORDS.sub(" ", normalize("NFKC", name).strip().casefold())
