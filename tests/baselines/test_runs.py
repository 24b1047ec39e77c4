"""Runs that take long: what is finished is kept, and a program that was stopped goes on."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.runs import Results, Run, Trained, WorkFolder, train_and_predict
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.refusals import refusal


class Slow:
    """Trains by noting what it was asked, and is stopped at the n-th run."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.trained: list[tuple[str, int]] = []
        self.stop_at = stop_at

    def fit(self, run: Run) -> Trained:
        assert run.scratch is not None
        run.scratch.mkdir(parents=True, exist_ok=True)
        (run.scratch / "half").write_text("done", encoding="utf-8")
        if len(self.trained) == self.stop_at:
            raise KeyboardInterrupt
        self.trained.append((run.source, run.seed))

        def predict(rows: pl.DataFrame, shift: int = 0) -> tuple[Any, Any]:
            return np.full(len(rows), (run.seed + shift) % 3), np.full(len(rows), 0.5)

        return Trained(predict, {"epoch 1": lambda rows: predict(rows, 1)}, {"rows": len(run.train)})


def results(slow: Slow, folder: DatasetFolder, work: WorkFolder) -> Results:
    return train_and_predict(
        slow.fit, folder, "nli", sources=["harbour", "kitchen"], targets=["orchard"], seeds=[0, 1], work=work
    )


def test_a_source_of_many_domains_has_a_folder(tmp_path: Path) -> None:
    work = WorkFolder(tmp_path / "p.parquet", {})
    sources = ["+".join(f"domain-{number:03}" for number in range(last)) for last in (40, 41)]
    work.write_finished(sources[0], 0, pl.DataFrame({"id": ["a"]}), {})
    assert work.read_finished(sources[0], 0) is not None
    assert work.read_finished(sources[1], 0) is None


ALL = [("harbour", 0), ("harbour", 1), ("kitchen", 0), ("kitchen", 1)]


@pytest.mark.parametrize("stop_at", [0, 1, 3])
def test_a_stopped_program_trains_no_finished_run_again(stop_at: int, synthetic: DatasetFolder, tmp_path: Path) -> None:
    whole = results(Slow(), synthetic, WorkFolder(tmp_path / "whole.parquet", {"epochs": 1}))
    work = WorkFolder(tmp_path / "p.parquet", {"epochs": 1})
    with pytest.raises(KeyboardInterrupt):
        results(Slow(stop_at), synthetic, work)
    slow = Slow()
    found = results(slow, synthetic, work)
    assert slow.trained == ALL[stop_at:]
    assert found.predictions.equals(whole.predictions)
    assert found.states["epoch 1"].equals(whole.states["epoch 1"])
    assert [each | {"prediction_seconds": 0} for each in found.records] == [
        each | {"prediction_seconds": 0} for each in whole.records
    ]
    assert [(each["source"], each["seed"]) for each in found.records] == ALL
    assert not [path for path in work.path.iterdir() if path.is_dir()]
    work.clear()
    assert not work.path.exists()


def test_states_are_frames_of_their_own(synthetic: DatasetFolder, tmp_path: Path) -> None:
    found = results(Slow(), synthetic, WorkFolder(tmp_path / "p.parquet", {}))
    assert found.predictions.columns == ["source", "id", "prediction", "seed", "confidence"]
    assert (
        found.states["epoch 1"].select("source", "id", "seed").equals(found.predictions.select("source", "id", "seed"))
    )
    labels = synthetic.task("nli").labels
    assert set(found.predictions["prediction"]) == {labels[0], labels[1]}
    assert set(found.states["epoch 1"]["prediction"]) == {labels[1], labels[2]}


def test_other_settings_train_anew(synthetic: DatasetFolder, tmp_path: Path) -> None:
    results(Slow(), synthetic, WorkFolder(tmp_path / "p.parquet", {"epochs": 1}))
    slow = Slow()
    results(slow, synthetic, WorkFolder(tmp_path / "p.parquet", {"epochs": 2}))
    assert slow.trained == ALL


def test_a_run_whose_record_is_not_there_is_not_finished(synthetic: DatasetFolder, tmp_path: Path) -> None:
    work = WorkFolder(tmp_path / "p.parquet", {})
    results(Slow(), synthetic, work)
    next(work.path.glob("kitchen-1-*.json")).unlink()
    slow = Slow()
    results(slow, synthetic, work)
    assert slow.trained == [("kitchen", 1)]


def test_a_program_refuses_other_kinds_of_task(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    assert (
        refusal(
            InvalidInput,
            train_and_predict,
            Slow().fit,
            synthetic,
            "nli",
            sources=None,
            targets=None,
            seeds=None,
            kinds=(TaskKind.TAGGING, TaskKind.GENERATION),
        )
        == wording
    )
