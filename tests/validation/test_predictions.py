"""Predictions against the test ids and labels of a dataset: nothing missing, nothing extra, nothing twice."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation import prediction_problems
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import CHECKED_PREDICTIONS, check_prediction_file, check_predictions
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED, TaskKind

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


def test_refusals_of_ids(wording: SnapshotAssertion) -> None:
    frame, runs, gone = grid(build_task()), grid(build_task(), seeds=(0, 1)), "dr/nli/slate/test/000000000001"
    left_out = (pl.col("source") == "travel") & (pl.col("seed") == 1) & (pl.col("id") == gone)
    short = grid(build_task(), seeds=tuple(range(4))).filter(~pl.col("id").str.ends_with("2"))
    said = {
        "one missing": refusal(runs.filter(~left_out)),
        "short runs": refusal(short),
        "two repeated": refusal(pl.concat([frame, frame[4:6]])),
        "one repeated, one missing": refusal(changed(frame, 2, id=frame["id"][0])),
        "many unknown": refusal(frame.with_columns(pl.col("id").str.replace("dr/", "ab/"))),
    }
    for bad in (
        "7",
        "dr/nli/fiction/test/00000000000",
        "dr/nli/fiction/dev/000000000000",
        "dr/nli/fiction/test/000000000000\n",
        "dr/nli/fictoin/test/000000000000",
        "dr/nli/fiction/train/000000000000",
        "dr/nli/fiction/test/ffffffffffff",
        "dr/qa/fiction/test/000000000000",
        "boss/nli/fiction/test/000000000000",
    ):
        said[bad] = refusal(pl.concat([frame, frame.head(1).with_columns(id=pl.lit(bad))]))
    assert said == wording


def test_a_file_cut_where_a_spreadsheet_ends_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = grid(build_task()).head(-2)
    monkeypatch.setattr(prediction_problems, "EXCEL_ROWS", len(frame))
    message = refusal(frame)
    assert "spreadsheet" in message
    monkeypatch.setattr(prediction_problems, "EXCEL_ROWS", len(frame) + 1)
    assert "spreadsheet" not in refusal(frame)


def test_the_row_limit_of_spreadsheets() -> None:
    assert prediction_problems.EXCEL_ROWS == 2**20 - 1


def subset_task() -> PredictionTask:
    """Return a subset with two ids of fiction and one of slate; none of travel, though models train on it."""
    whole = build_task()
    test = whole.test[[0, 1, 3]]
    outside = frozenset(whole.test["id"]) - frozenset(test["id"])
    return replace(whole, domains=("fiction", "slate"), test=test, subset="fewshot", outside=outside)


def test_refusals_of_ids_of_a_subset(wording: SnapshotAssertion) -> None:
    few = subset_task()
    extra = pl.concat([grid(few), grid(build_task()).filter(pl.col("id").is_in(few.outside)).head(3)])
    other = changed(grid(build_task()).head(1), 1, id="dr/qa/fiction/test/000000000000")
    assert [
        refusal(pl.concat([extra, changed(grid(few).head(1), 1, id="7")]), few),
        refusal(pl.concat([grid(few), other]), few),
    ] == wording


# Sources


def test_a_model_may_be_trained_on_a_domain_without_rows_in_the_subset() -> None:
    assert set(check_predictions(grid(subset_task()), [subset_task()], "p.csv")["source"]) == set(DOMAINS)
    untrained = replace(build_task(), sources=("fiction", "slate"))
    assert "row 19: " in refusal(grid(build_task()), untrained)


def test_refusals_of_values(wording: SnapshotAssertion) -> None:
    frame = grid(build_task())
    bad = changed(frame, 1, prediction="zebra")
    assert {
        "source": [
            refusal(pl.concat([frame, grid(build_task(), (source,))])).splitlines()[0]
            for source in ("Fiction", "fictoin+slate", "zebra", "fiction+", "slate+fiction", "slate+slate")
        ],
        "no source": refusal(changed(frame, 3, source="")),
        "no id": refusal(changed(frame, 3, id="")),
        "label": [
            refusal(changed(frame, 5, prediction=label))
            for label in ("Entailment", "entailement", "neutral ", "TRUE", "#NAME?", "", "nan", "None", "zebra")
        ],
        "a task with 'none'": refusal(changed(frame, 1, prediction="None"), build_task(labels=("entailment", "none"))),
        "two labels": refusal(changed(frame.with_columns(prediction=pl.lit("Neutral")), 4, prediction="zebra")),
        "seed": refusal(changed(frame, 2, seed=-1)),
        "a column too many": refusal(bad.with_columns(note=pl.lit("x"))),
        "a column missing": refusal(bad.drop("source")),
        "a column of numbers": refusal(bad.with_columns(id=pl.int_range(pl.len()))),
    } == wording


# Labels


def test_many_unknown_labels_and_sources_are_counted_not_all_listed() -> None:
    frame = grid(build_task()).with_columns(prediction=pl.format("x{}", pl.int_range(pl.len()) % 10))
    lines = refusal(frame).splitlines()
    assert len(lines) == prediction_problems.MAX_LISTED + 1
    assert lines[-1].startswith("p.csv, column 'prediction', row 9: 2 ")
    frame = pl.concat([grid(build_task(), (f"zebra{number}",)) for number in range(9)])
    lines = refusal(frame).splitlines()
    assert len(lines) == prediction_problems.MAX_LISTED + 1
    assert lines[-1].startswith("p.csv, column 'source': 1 ")


def test_labels_that_look_like_nothing_are_labels_where_the_task_has_them() -> None:
    odd = build_task(labels=("null", "NA", "None", "TRUE", "1"))
    for label in odd.labels:
        frame = grid(odd).with_columns(prediction=pl.lit(label))
        assert check_predictions(frame, [odd], "p.csv")["prediction"].to_list() == [label] * 27


# Numbers


def test_a_confidence_out_of_range() -> None:
    for bad in (1.5, -0.1, float("inf")):
        frame = changed(grid(build_task()).with_columns(confidence=pl.lit(0.5)), 3, confidence=bad)
        assert refusal(frame).startswith("p.csv, column 'confidence', row 3: ")
        assert f" {bad};" in refusal(frame)


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
    assert [line.split(":")[0] for line in lines] == [
        "p.csv, column 'confidence', row 3",
        "p.csv, column 'prediction', row 3",
        "p.csv, column 'id'",
    ]


def test_a_file_and_its_dataset_are_checked_at_once(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    frame = changed(grid(build_task()).with_columns(confidence=pl.lit("0.5")), 3, confidence="high", prediction="zebra")
    frame.head(-1).write_csv(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [(problem.column, problem.row) for problem in refused.value.problems] == [
        ("confidence", 3),
        ("prediction", 3),
        ("id", None),
    ]
    # Without its seed a row belongs to no run: that ids are missing cannot be told.
    changed(frame.cast({"seed": pl.String}), 5, seed="x", id="7").write_csv(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [problem.column for problem in refused.value.problems] == ["seed", "confidence", "id", "prediction"]
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
    assert "missing" in refusal(frame[order].filter(pl.int_range(pl.len()) != gone))
