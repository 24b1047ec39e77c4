"""Class numbers, extra columns and subsets in prediction files: refused, recognised, or named when asked."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.predictions import check_prediction_file, check_predictions
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests import wording
from tests.validation.test_predictions import LABELS, build_task, changed, grid, refusal

BY_INDEX = PredictionInput(Path("p.csv"), labels_by_index=True)


@pytest.mark.parametrize("label", ["2", "-1", "7"])
def test_class_numbers_are_refused_with_the_names_that_they_may_stand_for(label: str) -> None:
    message = refusal(changed(changed(grid(build_task()), 5, prediction=label), 9, prediction=label, source="zebra"))
    table = "0 is 'entailment', 1 is 'neutral', 2 is 'contradiction'"
    assert (
        f"p.csv, column 'prediction', row 5: {wording.PREDICTIONS_CLASS_NUMBERS_NOT}; found {label!r} "
        f"(2 such values); write label names, not class numbers: {table}; if these are label indices, "
        "add --labels-by-index" in message
    )
    assert "unknown source; found 'zebra'" in message


def test_labels_by_index_become_names_and_numbers_of_no_label_are_refused() -> None:
    frame = grid(build_task()).with_columns(prediction=pl.format("{}", pl.int_range(pl.len()) % 3))
    named = check_predictions(frame, [build_task()], BY_INDEX)["prediction"]
    assert named.to_list() == [LABELS[row % 3] for row in range(len(frame))]
    with pytest.raises(InvalidInput, match=r"row 2: no label has this number; found '3' .* labels of 'nli' are 0 is"):
        check_predictions(changed(frame, 2, prediction="3"), [build_task()], BY_INDEX)


def test_tags_by_index_become_names() -> None:
    test = build_task("ner").test.with_columns(n_tokens=2)
    task = replace(build_task("ner"), kind=TaskKind.TAGGING, labels=("O", "B-per"), test=test)
    frame = grid(task).with_columns(prediction=pl.lit("1 0"))
    assert set(check_predictions(frame, [task], BY_INDEX)["prediction"]) == {"B-per O"}
    assert "0 is 'O', 1 is 'B-per'" in refusal(frame, task)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_whole_numbers_in_files_are_labels_by_index_only_where_that_is_asked(tmp_path: Path, suffix: str) -> None:
    frame = grid(build_task()).with_columns(prediction=pl.int_range(pl.len()) % 3)
    path = tmp_path / f"p.{suffix}"
    (frame.write_parquet if suffix == "parquet" else frame.write_ndjson)(path)
    with pytest.raises(InvalidInput, match=r"found '0', '1', '2' \(27 such values\)"):
        check_prediction_file(path, [build_task()])
    checked = check_prediction_file(PredictionInput(path, labels_by_index=True), [build_task()])
    assert checked["prediction"].to_list()[:4] == [*LABELS, LABELS[0]]


def test_whole_numbers_are_no_answers(tmp_path: Path) -> None:
    task = replace(build_task(), kind=TaskKind.EXTRACTIVE_QA)
    path = tmp_path / "p.parquet"
    grid(task).with_columns(prediction=pl.lit(7)).write_parquet(path)
    for by_index in (False, True):
        with pytest.raises(InvalidInput, match=rf"row 1: {wording.VALUE_NOT_TEXT}; found 7 \(27 such rows\)"):
            check_prediction_file(PredictionInput(path, by_index), [task])


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_extra_columns_and_class_numbers_hide_nothing(tmp_path: Path, suffix: str) -> None:
    bad = changed(grid(build_task(), seeds=(0, 1)), 2, source="zebra")
    bad = changed(bad, 3, id="dr/nli/fiction/test/ffffffffffff")
    bad = changed(changed(bad, 4, prediction="1"), 5, prediction="Neutral").with_columns(index=pl.lit(1))
    path = tmp_path / f"p.{suffix}"
    bad = bad.with_columns(score=pl.lit(0.5))
    {"parquet": bad.write_parquet, "jsonl": bad.write_ndjson, "csv": bad.write_csv}[suffix](path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    told = [problem.what for problem in refused.value.problems]
    once = {"unknown source", "unknown id", "unknown label"}
    assert {what: told.count(what) for what in once} == dict.fromkeys(once, 1)
    assert told.count(wording.PREDICTIONS_CLASS_NUMBERS_NOT) == 1
    assert told.count("unknown column") == 2
    assert told.count("test ids are missing") > 0


def test_every_row_of_class_numbers_lets_missing_ids_be_told(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    grid(build_task()).with_columns(prediction=pl.lit(1)).head(-1).write_parquet(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [problem.what for problem in refused.value.problems] == [
        "test ids are missing",
        wording.PREDICTIONS_CLASS_NUMBERS_NOT,
    ]


def test_a_file_that_covers_a_subset_is_recognised() -> None:
    few = build_task().test.group_by("domain", maintain_order=True).head(1)["id"]
    task = replace(build_task(), subsets={"fewshot": few})
    frame = grid(build_task()).filter(pl.col("id").is_in(few.implode()))
    assert refusal(frame, task) == (
        f"p.csv, column 'id': the predictions for 'nli' cover the subset 'fewshot', {wording.NOT_ALL_TEST_IDS}; write "
        "'subset: fewshot' in the card, or predict the other test ids, too"
    )
    assert "cover the subset" not in refusal(frame.head(-1).vstack(grid(build_task()).tail(1)), task)
