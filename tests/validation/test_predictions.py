"""Predictions against the test ids and labels of a dataset: nothing missing, nothing extra, nothing twice."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.validation import prediction_problems
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import CHECKED_PREDICTIONS, check_prediction_file, check_predictions
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED, TaskKind
from tests import wording

LABELS = ("entailment", "neutral", "contradiction")
DOMAINS = ("fiction", "slate", "travel")


def build_task(
    name: str = "nli", labels: tuple[str, ...] = LABELS, n: int = 3, benchmark: str = "dr"
) -> PredictionTask:
    rows = [(f"{benchmark}/{name}/{domain}/test/{number:012x}", domain) for domain in DOMAINS for number in range(n)]
    test = pl.DataFrame(rows, schema=["id", "domain"], orient="row")
    return PredictionTask(benchmark, name, TaskKind.CLASSIFICATION, labels, DOMAINS, test, sources=DOMAINS)


def grid(task: PredictionTask, sources: tuple[str, ...] = DOMAINS, seeds: tuple[int, ...] = (0,)) -> pl.DataFrame:
    ids = task.test["id"].to_list()
    rows = [(source, id_, task.labels[0], seed) for source in sources for seed in seeds for id_ in ids]
    schema = {"source": pl.String, "id": pl.String, "prediction": pl.String, "seed": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def changed(frame: pl.DataFrame, row: int, **values: object) -> pl.DataFrame:
    """Change values of the data row that messages call by this number."""
    here = pl.int_range(pl.len()) == row - 1
    return frame.with_columns(
        pl.when(here).then(pl.lit(value)).otherwise(pl.col(name)).cast(frame.schema[name]).alias(name)
        for name, value in values.items()
    )


def refusal(frame: pl.DataFrame, *tasks: PredictionTask) -> str:
    with pytest.raises(InvalidInput) as refused:
        check_predictions(frame, tasks or [build_task()], "p.csv")
    return str(refused.value)


def test_a_full_grid_gains_task_and_target_and_loses_nothing() -> None:
    frame = grid(build_task(), seeds=(0, 1))
    checked = check_predictions(frame, [build_task()], "p.csv")
    names = [name for name in CHECKED_PREDICTIONS if name not in ("confidence", "probabilities")]
    assert checked.schema == pl.Schema({name: CHECKED_PREDICTIONS[name] for name in names})
    more = frame.with_columns(confidence=pl.lit(0.5), probabilities=pl.lit([0.5, 0.25, 0.25]))
    sure = check_predictions(more, [build_task()], "p.csv")
    assert sure.schema == CHECKED_PREDICTIONS
    assert checked.select(frame.columns).equals(frame)
    assert checked["target"].to_list() == [id_.split("/")[2] for id_ in frame["id"]]
    assert set(checked["task"]) == {"nli"}


@pytest.mark.parametrize("source", ["none", "fiction+slate", "fiction+slate+travel"])
def test_zero_shot_and_joined_sources_are_sources(source: str) -> None:
    assert len(check_predictions(grid(build_task(), (source,)), [build_task()], "p.csv")) == 9


def test_two_tasks_in_one_file_are_told_apart_by_their_ids() -> None:
    other = build_task("sa", ("negative", "positive"))
    checked = check_predictions(pl.concat([grid(build_task()), grid(other)]), [build_task(), other], "p.csv")
    assert checked.group_by("task").len().sort("task").rows() == [("nli", 27), ("sa", 27)]


def test_a_grid_may_be_partial_but_not_a_test_set() -> None:
    partial = grid(build_task(), ("slate",)).filter(pl.col("id").str.contains("/travel/"))
    assert len(check_predictions(partial, [build_task()], "p.csv")) == 3


def test_an_unusable_output_is_a_prediction() -> None:
    frame = changed(grid(build_task()), 2, prediction=UNPARSED)
    assert check_predictions(frame, [build_task()], "p.csv")["prediction"][1] == UNPARSED


# Ids


def test_missing_ids_name_run_target_and_first_id() -> None:
    frame = grid(build_task(), seeds=(0, 1))
    gone = "dr/nli/slate/test/000000000001"
    message = refusal(frame.filter(~((pl.col("source") == "travel") & (pl.col("seed") == 1) & (pl.col("id") == gone))))
    assert message == (
        "p.csv, column 'id': test ids are missing; found 2 of 3 test ids of 'slate' for source 'travel', seed 1; "
        f"first missing '{gone}'; predict every test id; write '__unparsed__' {wording.IF_MODEL_GAVE_NO}"
    )


def test_many_short_runs_are_counted_not_all_listed() -> None:
    frame = grid(build_task(), seeds=tuple(range(4))).filter(~pl.col("id").str.ends_with("2"))
    lines = refusal(frame).splitlines()
    assert len(lines) == 9
    assert lines[-1] == "p.csv, column 'id': test ids are missing in 28 more runs"


def test_a_file_cut_where_a_spreadsheet_ends_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = grid(build_task()).head(-2)
    monkeypatch.setattr(prediction_problems, "EXCEL_ROWS", len(frame))
    message = refusal(frame)
    assert "1 of 3 test ids of 'travel' for source 'travel', seed 0" in message
    assert (
        "the file ends at the row limit of spreadsheet programs: write it again, and do not open it in one" in message
    )
    monkeypatch.setattr(prediction_problems, "EXCEL_ROWS", len(frame) + 1)
    assert "spreadsheet" not in refusal(frame)


def test_the_row_limit_of_spreadsheets() -> None:
    assert prediction_problems.EXCEL_ROWS == 2**20 - 1


def test_a_repeated_id_names_row_run_and_cure() -> None:
    frame = grid(build_task())
    again = pl.concat([frame, frame[4:6]])
    assert refusal(again) == (
        f"p.csv, column 'id', row 28: {wording.ID_REPEATED}; found 'dr/nli/slate/test/000000000001' again for source "
        "'fiction', seed 0 (and 1 more repeat); give each id once per source and seed; for several runs, add a column "
        "'seed'"
    )


def test_a_repeat_does_not_hide_a_missing_id() -> None:
    frame = grid(build_task())
    message = refusal(changed(frame, 2, id=frame["id"][0]))
    assert f"row 2: {wording.ID_REPEATED}" in message
    assert "2 of 3 test ids of 'fiction' for source 'fiction', seed 0" in message


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (
            "7",
            f"{wording.ID_MALFORMED}; found '7'; '7' is not an example id; ids look like <benchmark>/<task>/<domain>",
        ),
        ("dr/nli/fiction/test/00000000000", wording.ID_MALFORMED),
        ("dr/nli/fiction/dev/000000000000", wording.ID_MALFORMED),
        ("dr/nli/fiction/test/000000000000\n", wording.ID_MALFORMED),
        ("dr/nli/fictoin/test/000000000000", "unknown id; found 'dr/nli/fictoin/test/000000000000'; did you me"),
        ("dr/nli/fiction/train/000000000000", "this is a train id; predict the test split, as in 'dr/nli/"),
        ("dr/nli/fiction/test/ffffffffffff", "no test row has this id; were the predictions made for anot"),
        ("dr/qa/fiction/test/000000000000", f"this dataset contains dr/nli; {wording.GIVE_MATCHING_DATA}"),
        ("boss/nli/fiction/test/000000000000", f"this dataset contains dr/nli; {wording.GIVE_MATCHING_DATA}"),
    ],
)
def test_an_unknown_id_says_what_is_wrong_with_it(bad: str, words: str) -> None:
    frame = pl.concat([grid(build_task()), grid(build_task()).head(1).with_columns(id=pl.lit(bad))])
    message = refusal(frame)
    assert len(message.splitlines()) == 1
    assert message.startswith("p.csv, column 'id', row 28: ")
    assert words in message


def test_unknown_ids_are_counted() -> None:
    frame = grid(build_task()).with_columns(pl.col("id").str.replace("dr/", "ab/"))
    assert "found 'ab/nli/fiction/test/000000000000' (and 26 more unknown ids)" in refusal(frame)


def subset_task() -> PredictionTask:
    """Return a subset with two ids of fiction and one of slate; none of travel, though models train on it."""
    whole = build_task()
    test = whole.test[[0, 1, 3]]
    outside = frozenset(whole.test["id"]) - frozenset(test["id"])
    return replace(whole, domains=("fiction", "slate"), test=test, subset="fewshot", outside=outside)


def test_a_test_id_outside_the_subset_is_called_that() -> None:
    few = subset_task()
    extra = pl.concat([grid(few), grid(build_task()).filter(pl.col("id").is_in(few.outside)).head(3)])
    assert refusal(pl.concat([extra, changed(grid(few).head(1), 1, id="7")]), few).splitlines() == [
        "p.csv, column 'id', row 10: a test id is outside the subset 'fewshot'; found "
        "'dr/nli/fiction/test/000000000002' (and 2 more such ids); "
        "predict the ids of 'fewshot' only, or name the subset that the predictions are for",
        f"p.csv, column 'id', row 13: {wording.ID_MALFORMED}; found '7'; '7' is not an example id; "
        "ids look like <benchmark>/<task>/<domain>/<split>/<12 hex digits>",
    ]


def test_an_id_of_another_task_may_be_of_a_task_without_the_subset() -> None:
    frame = pl.concat(
        [grid(subset_task()), changed(grid(build_task()).head(1), 1, id="dr/qa/fiction/test/000000000000")]
    )
    assert f"the subset 'fewshot' of this dataset contains dr/nli; {wording.GIVE_MATCHING_DATA}" in refusal(
        frame, subset_task()
    )


# Sources


def test_a_model_may_be_trained_on_a_domain_without_rows_in_the_subset() -> None:
    assert set(check_predictions(grid(subset_task()), [subset_task()], "p.csv")["source"]) == set(DOMAINS)
    untrained = replace(build_task(), sources=("fiction", "slate"))
    assert "row 19: unknown source; found 'travel'; use one of 'fiction', 'slate'" in refusal(
        grid(build_task()), untrained
    )


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("Fiction", "unknown source; found 'Fiction'; did you mean 'fiction'?"),
        ("fictoin+slate", "unknown source; found 'fictoin+slate'; did you mean 'fiction'?"),
        ("zebra", "unknown source; found 'zebra'; use one of 'fiction', 'slate', 'travel', 'none'"),
        ("fiction+", "unknown source; found 'fiction+'; use one of "),
        ("slate+fiction", "joined sources must be alphabetical, each once; found 'slate+fiction'; write 'fiction+sl"),
        ("slate+slate", "joined sources must be alphabetical, each once; found 'slate+slate'; write 'slate'"),
    ],
)
def test_a_source_that_is_none(source: str, words: str) -> None:
    frame = pl.concat([grid(build_task()), grid(build_task(), (source,))])
    assert refusal(frame).startswith(f"p.csv, column 'source', row 28: {words}")


def test_an_empty_source_or_id_is_named() -> None:
    assert "column 'source', row 3: an empty text; found ''" in refusal(changed(grid(build_task()), 3, source=""))
    assert "column 'id', row 3: an empty text; found ''" in refusal(changed(grid(build_task()), 3, id=""))


# Labels


@pytest.mark.parametrize(
    ("label", "cure"),
    [
        ("Entailment", "did you mean 'entailment'?"),
        ("entailement", "did you mean 'entailment'?"),
        ("neutral ", "did you mean 'neutral'?"),
        ("TRUE", "a spreadsheet program seems to have changed it: write the file again, and do not open it in one"),
        ("#NAME?", "a spreadsheet program seems to have changed it: write the file again, and do not open it in one"),
        ("", f"write '__unparsed__' {wording.IF_MODEL_GAVE_NO}"),
        ("nan", f"write '__unparsed__' {wording.IF_MODEL_GAVE_NO}"),
        ("None", f"write '__unparsed__' {wording.IF_MODEL_GAVE_NO}"),
        ("zebra", "use one of 'entailment', 'neutral', 'contradiction'"),
    ],
)
def test_an_unknown_label_gets_its_cure(label: str, cure: str) -> None:
    message = refusal(changed(grid(build_task()), 5, prediction=label))
    assert message.startswith(f"p.csv, column 'prediction', row 5: unknown label; found {label!r}; {cure}")
    assert len(message.splitlines()) == 1


def test_unknown_labels_are_counted_by_label() -> None:
    frame = changed(grid(build_task()).with_columns(prediction=pl.lit("Neutral")), 4, prediction="zebra")
    first, second = refusal(frame).splitlines()
    assert "row 1: unknown label; found 'Neutral' in 26 rows; did you mean 'neutral'?" in first
    assert "row 4: unknown label; found 'zebra'; use one of" in second


def test_many_unknown_labels_and_sources_are_counted_not_all_listed() -> None:
    frame = grid(build_task()).with_columns(prediction=pl.format("x{}", pl.int_range(pl.len()) % 10))
    lines = refusal(frame).splitlines()
    assert len(lines) == prediction_problems.MAX_LISTED + 1
    assert lines[-1] == "p.csv, column 'prediction', row 9: 2 more unknown labels"
    frame = pl.concat([grid(build_task(), (f"zebra{number}",)) for number in range(9)])
    lines = refusal(frame).splitlines()
    assert len(lines) == prediction_problems.MAX_LISTED + 1
    assert lines[-1] == "p.csv, column 'source': 1 more source unknown or out of order"


def test_labels_that_look_like_nothing_are_labels_where_the_task_has_them() -> None:
    odd = build_task(labels=("null", "NA", "None", "TRUE", "1"))
    for label in odd.labels:
        frame = grid(odd).with_columns(prediction=pl.lit(label))
        assert check_predictions(frame, [odd], "p.csv")["prediction"].to_list() == [label] * 27


def test_a_label_none_is_suggested_where_the_task_has_it() -> None:
    message = refusal(changed(grid(build_task()), 1, prediction="None"), build_task(labels=("entailment", "none")))
    assert message.endswith("did you mean 'none'?")


# Numbers


def test_a_negative_seed_and_a_confidence_out_of_range() -> None:
    message = refusal(changed(grid(build_task()), 2, seed=-1))
    assert message.startswith("p.csv, column 'seed', row 2: a value is too small; found -1; number the runs from 0")
    for bad in (1.5, -0.1, float("inf")):
        frame = changed(grid(build_task()).with_columns(confidence=pl.lit(0.5)), 3, confidence=bad)
        assert refusal(frame).startswith(f"p.csv, column 'confidence', row 3: {wording.VALUE_OUT_RANGE}; found {bad}")
        assert refusal(frame).endswith("; give fractions from 0 to 1: 95% is 0.95")


def test_confidences_of_0_and_1_are_in_range() -> None:
    frame = changed(grid(build_task()).with_columns(confidence=pl.lit(1.0)), 3, confidence=0.0)
    assert len(check_predictions(frame, [build_task()], "p.csv")) == 27


def test_all_kinds_of_problem_come_at_once() -> None:
    frame = changed(changed(grid(build_task()), 1, prediction="zebra"), 4, source="zebra")
    message = refusal(pl.concat([frame, frame[8:9]]).filter(pl.int_range(pl.len()) != 20))
    for words in ("an id is repeated", "unknown source", "unknown label", "test ids are missing"):
        assert words in message


def test_a_bad_confidence_hides_no_bad_label_nor_a_missing_id() -> None:
    frame = changed(grid(build_task()).with_columns(confidence=pl.lit(0.5)), 3, confidence=95.0, prediction="zebra")
    lines = refusal(frame.head(-1)).splitlines()
    assert [line.split(";")[0].split(": ")[1] for line in lines] == [
        f"{wording.VALUE_OUT_RANGE}",
        "unknown label",
        "test ids are missing",
    ]


def test_columns_that_are_no_prediction_file_s_are_told_alone() -> None:
    frame = changed(grid(build_task()), 1, prediction="zebra")
    assert "unknown column" in refusal(frame.with_columns(note=pl.lit("x")))
    assert wording.A_COLUMN_IS_MISSING in refusal(frame.drop("source"))
    assert refusal(frame.with_columns(id=pl.int_range(pl.len()))) == (
        "p.csv, column 'id': the column has the wrong type; found Int64; give the id of the test example"
    )


def test_a_file_and_its_dataset_are_checked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    frame = changed(grid(build_task()).with_columns(confidence=pl.lit("0.5")), 3, confidence="high", prediction="zebra")
    frame.head(-1).write_csv(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [str(problem).split(";")[0].removeprefix(str(path)) for problem in refused.value.problems] == [
        f", column 'confidence', row 3: {wording.CONFIDENCE_NOT_NUMBER}",
        ", column 'prediction', row 3: unknown label",
        ", column 'id': test ids are missing",
    ]
    # Without its seed a row belongs to no run: that ids are missing cannot be told.
    changed(frame.cast({"seed": pl.String}), 5, seed="x", id="7").write_csv(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [problem.what for problem in refused.value.problems] == [
        f"{wording.SEED_NOT_INTEGER}",
        f"{wording.CONFIDENCE_NOT_NUMBER}",
        f"{wording.ID_MALFORMED}",
        "unknown label",
    ]
    grid(build_task()).write_csv(path)
    assert check_prediction_file(path, [build_task()]).equals(
        check_predictions(grid(build_task()), [build_task()], "p.csv")
    )


@settings(max_examples=30, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 26))
def test_row_order_does_not_matter_and_any_dropped_row_is_noticed(shuffler, gone: int) -> None:  # type: ignore[no-untyped-def]
    frame = grid(build_task())
    order = list(range(len(frame)))
    shuffler.shuffle(order)
    assert len(check_predictions(frame[order], [build_task()], "p.csv")) == 27
    assert "test ids are missing" in refusal(frame[order].filter(pl.int_range(pl.len()) != gone))
