"""Names used throughout: task kinds, splits, example ids, special values of columns."""

import re
from dataclasses import dataclass
from enum import StrEnum


class TaskKind(StrEnum):
    """Kind of a task, which determines schema, metric and baselines."""

    CLASSIFICATION = "classification"
    TAGGING = "tagging"
    EXTRACTIVE_QA = "extractive_qa"
    GENERATION = "generation"


GOLD = {
    TaskKind.CLASSIFICATION: "label",
    TaskKind.TAGGING: "tags",
    TaskKind.EXTRACTIVE_QA: "answers",
    TaskKind.GENERATION: "target_text",
}
"""Name of the gold column by task kind."""

TOKENS = "tokens"
"""The input column of tagging tasks, the only one that is a list."""

SPLITS = ("train", "validation", "test")

UNPARSED = "__unparsed__"
"""Prediction for an unusable model output: counts as wrong; its frequency is reported."""

NO_SOURCE = "none"
"""``source`` of a model without a training domain (zero-shot)."""

PREDICTION_SUFFIXES = (".parquet", ".csv", ".jsonl")
"""Suffixes by which an argument is recognised as a prediction file instead of a model."""
ELSEWHERE = "elsewhere"
"""``source`` of a model trained outside this dataset: it has scores under shift (ST) but no drops."""

OUTSIDE_SOURCES = (NO_SOURCE, ELSEWHERE)
"""Values of ``source`` that are not domains of the dataset; drops are undefined for such models."""

SOURCE_JOINER = "+"
"""Joins the domains of a model trained on several domains, in alphabetical order."""

PLACEBO = ".placebo"
"""Suffix of the name of a placebo task, whose domains are assigned at random."""

WORD = r"\w+(?:['’]\w+)*"
"""Regular expression of a word: ``don't`` is one word, ``well-kept`` two."""

_NAME = r"[a-z0-9][a-z0-9_-]*"
_ID = re.compile(rf"({_NAME})/({_NAME}(?:{re.escape(PLACEBO)})?)/({_NAME})/({'|'.join(SPLITS)})/([0-9a-f]{{12}})")
_NAME_ALONE = re.compile(_NAME)
ID_FORM = "<benchmark>/<task>/<domain>/<split>/<12 hex digits>"


@dataclass(frozen=True)
class ExampleId:
    """A parsed example id, such as ``dr/nli/fiction/test/0a1b2c3d4e5f``.

    >>> ExampleId.parse("dr/nli/fiction/test/0a1b2c3d4e5f").domain
    'fiction'
    """

    benchmark: str
    task: str
    domain: str
    split: str
    digest: str

    @classmethod
    def parse(cls, text: str) -> "ExampleId":
        """Parse an id; ValueError if it is malformed."""
        match = _ID.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an example id; ids look like {ID_FORM}")
        return cls(*match.groups())

    def __str__(self) -> str:
        """Return the id as text."""
        return f"{self.benchmark}/{self.task}/{self.domain}/{self.split}/{self.digest}"


def is_name(text: str) -> bool:
    """Return whether a text is a valid name of a benchmark, task or domain: lower case, digits, ``-`` and ``_``.

    >>> is_name("fiction"), is_name("Sci Fi")
    (True, False)
    """
    return _NAME_ALONE.fullmatch(text) is not None


def source_parts(source: str) -> tuple[str, ...]:
    """List the training domains of a ``source``.

    Args:
        source: a domain, several joined by ``+``, ``none`` or ``elsewhere``.
    Returns: the domains in the given order; empty for models not trained on a domain of the dataset.

    >>> source_parts("fiction+slate"), source_parts("none"), source_parts("elsewhere")
    (('fiction', 'slate'), (), ())
    """
    return () if source in OUTSIDE_SOURCES else tuple(source.split(SOURCE_JOINER))
