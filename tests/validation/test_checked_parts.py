"""A prediction file checked part by part: keys first, texts capped, and the same problems as if it were read whole."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.validation import csv_text
from shiftbench.validation.limits import MEAN_TEXT_BYTES, SPARE_TEXT_BYTES
from shiftbench.validation.predictions import check_prediction_file, check_predictions, most_runs
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.validation.test_predictions import build_task, changed, grid, refusal


def test_of_parquet_what_is_wrong_with_ids_and_with_texts_comes_at_once(
    tmp_path: Path, wording: SnapshotAssertion
) -> None:
    path = tmp_path / "p.parquet"
    frame = changed(grid(build_task()), 1, prediction="x" * 30_000)
    said = {}
    for name, bad in {
        "an unknown source": changed(frame, 4, source="zebra"),
        "no id": changed(frame, 4, id="7"),
        "a row missing": frame.head(-1),
        "an id repeated": pl.concat([frame, frame.tail(1)]),
        "a long text": frame,
    }.items():
        bad.write_parquet(path)
        with pytest.raises(InvalidInput) as refused:
            check_prediction_file(path, [build_task()])
        said[name] = str(refused.value)
    assert said == wording


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_texts_are_capped_by_the_kind_of_their_task(tmp_path: Path, suffix: str) -> None:
    answered = replace(build_task(n=40), kind=TaskKind.EXTRACTIVE_QA, labels=())
    frame = grid(build_task(n=40), seeds=tuple(range(10))).with_columns(prediction=pl.lit("x" * 1_000))
    most = SPARE_TEXT_BYTES + len(frame) * MEAN_TEXT_BYTES[TaskKind.EXTRACTIVE_QA]
    assert len(frame) * 1_000 > most
    path = tmp_path / f"p{suffix}"
    write = {".parquet": frame.write_parquet, ".csv": frame.write_csv}[suffix]
    write(path)
    with pytest.raises(InvalidInput, match=f"{most:,}"):
        check_prediction_file(path, [answered])
    assert len(check_prediction_file(path, [replace(answered, kind=TaskKind.GENERATION)])) == len(frame)


def test_more_runs_than_any_experiment_has() -> None:
    most = most_runs(build_task())
    assert (
        len(check_predictions(grid(build_task(), ("slate",), tuple(range(most))), [build_task()], "p.csv")) == 9 * most
    )
    message = refusal(grid(build_task(), ("slate",), tuple(range(most + 1))))
    assert f" {most + 1} runs" in message


def test_reading_stops_after_the_first_part_with_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    path = tmp_path / "p.csv"
    frame = grid(build_task(), seeds=tuple(range(4)))
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", frame.head(20).write_csv().__len__())
    changed(frame, 5, prediction="zebra").write_csv(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    label, rest = refused.value.problems
    assert (label.column, label.row) == ("prediction", 5)
    assert str(rest) == wording
    # Repeats and missing ids are found across parts.
    pl.concat([frame.head(-1), frame.head(1)]).write_csv(path)
    with pytest.raises(InvalidInput) as refused:
        check_prediction_file(path, [build_task()])
    assert [problem.row for problem in refused.value.problems] == [len(frame), None]
    frame.write_csv(path)
    assert check_prediction_file(path, [build_task()]).equals(check_predictions(frame, [build_task()], "p.csv"))
