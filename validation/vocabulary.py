"""The words that every room shares: task kinds, splits, example ids, markers."""

import re
from dataclasses import dataclass
from enum import StrEnum


class TaskKind(StrEnum):
    """What is predicted; it decides schema, metric and baseline."""

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
"""The column of an example that is to be predicted, by task kind."""

TOKENS = "tokens"
"""The one input column that is a list: what tags are given to."""

SPLITS = ("train", "validation", "test")

UNPARSED = "__unparsed__"
"""Prediction that stands for an unusable model output: counts as wrong, its share is shown."""

NO_SOURCE = "none"
"""The ``source`` of a model that saw no training domain (zero-shot)."""

PREDICTION_SUFFIXES = (".parquet", ".csv", ".jsonl")
"""Endings of a file that is taken for predictions where a model may stand."""
ELSEWHERE = "elsewhere"
"""The ``source`` of a model that was trained outside this dataset: it has scores under shift (ST), and no drops."""

OUTSIDE_SOURCES = (NO_SOURCE, ELSEWHERE)
"""The sources that name no domain of the dataset: such models have no home in it, so they have no drops."""

SOURCE_JOINER = "+"
"""Joins the domains of a model trained on several of them, in alphabetical order."""

PLACEBO = ".placebo"
"""Ends the name of a placebo task, whose domains are dealt at random."""

WORD = r"\w+(?:['’]\w+)*"
"""A word of a text, as a regular expression: ``don't`` is one word, ``well-kept`` two."""

_NAME = r"[a-z0-9][a-z0-9_-]*"
_ID = re.compile(rf"({_NAME})/({_NAME}(?:{re.escape(PLACEBO)})?)/({_NAME})/({'|'.join(SPLITS)})/([0-9a-f]{{12}})")
_NAME_ALONE = re.compile(_NAME)
ID_FORM = "<benchmark>/<task>/<domain>/<split>/<12 hex digits>"


@dataclass(frozen=True)
class ExampleId:
    """An example id taken apart, as in ``dr/nli/fiction/test/0a1b2c3d4e5f``.

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
        """Parse an id into its parts; ValueError where it has another form."""
        match = _ID.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an example id; ids look like {ID_FORM}")
        return cls(*match.groups())

    def __str__(self) -> str:
        """Return the id as text."""
        return f"{self.benchmark}/{self.task}/{self.domain}/{self.split}/{self.digest}"


def is_name(text: str) -> bool:
    """Return whether a text may be the name of a benchmark, task or domain: lower case, digits, ``-`` and ``_``.

    Args:
        text: any text.
    Returns: whether it may.

    >>> is_name("fiction"), is_name("Sci Fi")
    (True, False)
    """
    return _NAME_ALONE.fullmatch(text) is not None


def source_parts(source: str) -> tuple[str, ...]:
    """List the training domains of a ``source``.

    Args:
        source: a domain, several joined by ``+``, ``none`` or ``elsewhere``.
    Returns: the domains in the order named; empty for models that were trained on no domain of the dataset.

    >>> source_parts("fiction+slate"), source_parts("none"), source_parts("elsewhere")
    (('fiction', 'slate'), (), ())
    """
    return () if source in OUTSIDE_SOURCES else tuple(source.split(SOURCE_JOINER))
