"""Description of a task for the validation of prediction files."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from shiftbench.validation.vocabulary import TaskKind


@dataclass(frozen=True)
class PredictionTask:
    """A task's labels, domains and test ids, against which prediction files are validated.

    Attributes:
        benchmark: name of the benchmark.
        name: name of the task.
        kind: kind of the task.
        labels: names of the labels or tags.
        domains: domains with test rows in the subset.
        test: test ids of the subset, each once: columns ``id``, ``domain`` and, for tagging tasks, ``n_tokens``.
        sources: domains that a model may be trained on.
        subset: name of the subset.
        outside: the task's test ids outside the subset.
        subsets: ids of other subsets contained in this one, by name.
        withheld: domains omitted from the folder because their rows may not be published.
        split: 'test', or 'validation' if ``domains`` and ``test`` are those of validation rows.
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
