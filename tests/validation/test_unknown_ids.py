"""What is said of ids that a dataset does not have."""

import polars as pl

from shiftbench.validation.prediction_problems import unknown_ids
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.runs import KnownIds
from shiftbench.validation.vocabulary import TaskKind


def test_a_file_for_other_data_names_the_split_that_it_is_checked_against() -> None:
    for split in ("test", "validation"):
        known = pl.DataFrame({"id": [f"dr/nli/a/{split}/{'0' * 12}"], "domain": ["a"]})
        task = PredictionTask("dr", "nli", TaskKind.CLASSIFICATION, ("x",), ("a",), known, ("a",), split=split)
        strangers = pl.DataFrame({"id": [f"dr/nli/a/{split}/{'1' * 12}"], "row": [1]})
        (problem,) = unknown_ids(strangers, KnownIds({"nli": known}), [task], "p", "this folder has content 0")
        assert f" {split} " in problem.what
