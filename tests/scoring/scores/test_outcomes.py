"""Labels absent from gold that are merged into a coarser one."""

import numpy as np
import polars as pl

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.scoring.scores.outcomes import outcomes
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

LABELS = ("entailment", "neutral", "contradiction", "not_entailment")
PREDICTED = ["entailment", "neutral", "contradiction", "not_entailment", UNPARSED]


def accuracy(gold: list[str], full_gold: list[str] | None = None) -> tuple[list[float], float]:
    """Score one prediction of each label and an unusable one."""
    info = TaskInfo(
        title="",
        kind=TaskKind.CLASSIFICATION,
        inputs=("premise", "hypothesis"),
        labels=LABELS,
        metric="accuracy",
        domains={},
        subsets={},
        label_folds={"neutral": "not_entailment", "contradiction": "not_entailment"},
    )
    frames = [
        pl.DataFrame({"label": [LABELS.index(label) for label in labels]}) for labels in (gold, full_gold or gold)
    ]
    found = outcomes(info, *frames, pl.Series(PREDICTED), None)
    assert found.unparsed[0].tolist() == [False, False, False, False, True]
    return found.example_scores[0].tolist(), float(found.score("accuracy", found.totals(0, np.ones((1, len(gold)))))[0])


def test_finer_labels_count_as_the_coarser_one() -> None:
    coarse = ["entailment", "not_entailment", "not_entailment", "not_entailment", "not_entailment"]
    assert accuracy(coarse) == ([1, 1, 1, 1, 0], 0.8)


def test_where_gold_has_the_finer_labels_they_count_as_themselves() -> None:
    fine = ["entailment", "neutral", "contradiction", "neutral", "entailment"]
    assert accuracy(fine) == ([1, 1, 1, 0, 0], 0.6)
    mixed = ["entailment", "not_entailment", "not_entailment", "not_entailment", "neutral"]
    assert accuracy(mixed) == ([1, 0, 1, 1, 0], 0.6)


def test_all_test_rows_decide_not_those_of_a_subset() -> None:
    subset = ["entailment", "not_entailment", "not_entailment", "not_entailment", "entailment"]
    assert accuracy(subset, [*subset, "neutral"]) == ([1, 0, 1, 1, 0], 0.6)
