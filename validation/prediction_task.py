"""A task as prediction files are checked against it: its labels, domains and test ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from shiftbench.validation.vocabulary import TaskKind


@dataclass(frozen=True)
class PredictionTask:
    """A task as prediction files are checked against it: its labels, domains and test ids.

    ``domains`` are those with test rows in the subset, ``sources`` those that a model may be trained on. ``test`` has
    columns ``id`` and ``domain``, of tagging tasks also ``n_tokens``, and holds the test ids of the subset, each once;
    ``outside`` holds the task's other test ids, ``subsets`` by name those of the other subsets that lie within
    this one. ``withheld`` are domains that the folder leaves out because their rows may not be published. ``split`` is
    'validation' where ``domains`` and ``test`` are of validation rows.
    """

    benchmark: str
    name: str
    kind: TaskKind
    labels: tuple[str, ...]
    domains: tuple[str, ...]
    test: pl.DataFrame
    sources: tuple[str, ...]
    subset: str = "all"
    outside: frozenset[str] = frozenset()
    subsets: Mapping[str, pl.Series] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    split: str = "test"
