"""Class numbers, extra columns and subsets in prediction files: refused, recognised, or named when asked."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.predictions import check_prediction_file, check_predictions
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.validation.test_predictions import LABELS, build_task, changed, grid, refusal

BY_INDEX = PredictionInput(Path("p.csv"), labels_by_index=True)


def test_class_numbers_are_refused_with_the_names_that_they_may_stand_for(wording: SnapshotAssertion) -> None:
    frame = grid(build_task())
    said = {
        label: refusal(changed(changed(frame, 5, prediction=label), 9, prediction=label, source="zebra"))
        for label in ("2", "-1", "7")
    }
    with pytest.raises(InvalidInput) as refused:
        check_predictions(
            changed(frame.with_columns(prediction=pl.lit("0")), 2, prediction="3"), [build_task()], BY_INDEX
        )
    said["by index"] = str(refused.value)
    assert said == wording


def test_labels_by_index_become_names() -> None:
    frame = grid(build_task()).with_columns(prediction=pl.format("{}", pl.int_range(pl.len()) % 3))
    named = check_predictions(frame, [build_task()], BY_INDEX)["prediction"]
    assert named.to_list() == [LABELS[row % 3] for row in range(len(frame))]


def test_tags_by_index_become_names() -> None:
    test = build_task("ner").test.with_columns(n_tokens=2)
    task = replace(build_task("ner"), kind=TaskKind.TAGGING, labels=("O", "B-per"), test=test)
    frame = grid(task).with_columns(prediction=pl.lit("1 0"))
    assert set(check_predictions(frame, [task], BY_INDEX)["prediction"]) == {"B-per O"}
    assert "'B-per'" in refusal(frame, task)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_whole_numbers_in_files_are_labels_by_index_only_where_that_is_asked(tmp_path: Path, suffix: str) -> None:
    frame = grid(build_task()).with_columns(prediction=pl.int_range(pl.len()) % 3)
    path = tmp_path / f"p.{suffix}"
    (frame.write_parquet if suffix == "parquet" else frame.write_ndjson)(path)
    with pytest.raises(InvalidInput, match="27"):
        check_prediction_file(path, [build_task()])
    checked = check_prediction_file(PredictionInput(path, labels_by_index=True), [build_task()])
    assert checked["prediction"].to_list()[:4] == [*LABELS, LABELS[0]]


def test_whole_numbers_are_no_answers(tmp_path: Path) -> None:
    task = replace(build_task(), kind=TaskKind.EXTRACTIVE_QA)
    path = tmp_path / "p.parquet"
    grid(task).with_columns(prediction=pl.lit(7)).write_parquet(path)
    for by_index in (False, True):
        with pytest.raises(InvalidInput, match="27"):
            check_prediction_file(PredictionInput(path, by_index), [task])


def test_extra_columns_and_class_numbers_hide_nothing(tmp_path: Path, wording: SnapshotAssertion) -> None:
    bad = changed(grid(build_task(), seeds=(0, 1)), 2, source="zebra")
    bad = changed(bad, 3, id="dr/nli/fiction/test/ffffffffffff")
    bad = changed(changed(bad, 4, prediction="1"), 5, prediction="Neutral").with_columns(index=pl.lit(1))
    bad = bad.with_columns(score=pl.lit(0.5))
    said = {}
    for suffix, write in {"parquet": bad.write_parquet, "jsonl": bad.write_ndjson, "csv": bad.write_csv}.items():
        write(tmp_path / f"p.{suffix}")
        with pytest.raises(InvalidInput) as refused:
            check_prediction_file(tmp_path / f"p.{suffix}", [build_task()])
        said[suffix] = sorted(problem.what for problem in refused.value.problems)
    assert said["parquet"] == said["jsonl"] == said["csv"] == wording


def test_every_row_of_class_numbers_lets_missing_ids_be_told(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    grid(build_task()).with_columns(prediction=pl.lit(1)).head(-1).write_parquet(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [problem.column for problem in refused.value.problems] == ["id", "prediction"]


def test_a_file_that_covers_a_subset_is_recognised() -> None:
    few = build_task().test.group_by("domain", maintain_order=True).head(1)["id"]
    task = replace(build_task(), subsets={"fewshot": few})
    frame = grid(build_task()).filter(pl.col("id").is_in(few.implode()))
    assert "'fewshot'" in refusal(frame, task)
    assert "'fewshot'" not in refusal(frame.head(-1).vstack(grid(build_task()).tail(1)), task)
