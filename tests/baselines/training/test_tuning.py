"""Sweeps choose by validation and go on where they were; train rows are cut alike for one seed."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from syrupy.assertion import SnapshotAssertion
from torch import nn

from shiftbench.baselines.runs import Predict, Run, Trained
from shiftbench.baselines.training.options import Hyperparameters, TrainingOptions
from shiftbench.baselines.training.trainer import Trajectory
from shiftbench.baselines.training.tuning import cut_rows, train_candidates
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

ROWS = pl.DataFrame({"id": [str(n) for n in range(100)], "label": [n % 3 for n in range(100)]})
CANDIDATES = [Hyperparameters(learning_rate=rate) for rate in (0.1, 0.4, 0.3, 0.4)]


class Lab:
    """Trains one number: to the learning rate, which is its score, too."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.rates: list[float] = []
        self.fail_at = fail_at

    def train(self, settings: Hyperparameters, folder: Path | None) -> Trajectory:
        model = nn.Linear(1, 1)
        if len(self.rates) == self.fail_at:
            raise KeyboardInterrupt
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)
        self.rates.append(settings.learning_rate)
        with torch.no_grad():
            model.weight.fill_(settings.learning_rate)
        return Trajectory(model, settings.learning_rate, {}, {"rate": settings.learning_rate})

    def sweep(self, run: Run) -> Trained:
        def predictor(model: Any) -> Predict:
            return lambda rows: ([round(model.weight.item(), 3)] * len(rows), None)

        return train_candidates(run, CANDIDATES, lambda: nn.Linear(1, 1), self.train, predictor)


def run(scratch: Path, validation: pl.DataFrame | None = ROWS) -> Run:
    return Run("a", 0, ROWS, validation, scratch)


def test_the_first_of_the_best_candidates_predicts(tmp_path: Path) -> None:
    found = Lab().sweep(run(tmp_path))
    assert found.predict(ROWS.head(1))[0] == [0.4]
    assert found.record["rate"] == 0.4
    assert [each["score"] for each in found.record["sweep"]] == [0.1, 0.4, 0.3, 0.4]
    assert found.record["tuning_trials"] == 4
    assert [path.name for path in tmp_path.glob("*.pt")] == ["candidate-1.pt"]
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


@pytest.mark.parametrize("fail_at", [0, 1, 2, 3])
def test_a_stopped_sweep_trains_no_candidate_again(fail_at: int, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Lab(fail_at).sweep(run(tmp_path))
    lab = Lab()
    found = lab.sweep(run(tmp_path))
    assert lab.rates == [0.1, 0.4, 0.3, 0.4][fail_at:]
    assert found.predict(ROWS.head(1))[0] == [0.4]


def test_a_sweep_needs_validation_rows(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert refusal(InvalidInput, Lab().sweep, run(tmp_path, None)) == wording


def test_smaller_draws_are_part_of_larger_ones() -> None:
    small, large = (set(cut_rows(ROWS, TrainingOptions(train_size=n), 3)["id"]) for n in (10, 40))
    assert (len(small), len(large)) == (10, 40)
    assert small < large
    assert small != set(cut_rows(ROWS, TrainingOptions(train_size=10), 4)["id"])
    assert cut_rows(ROWS, TrainingOptions(), 3) is ROWS


def test_shots_are_of_each_label(wording: SnapshotAssertion) -> None:
    found = cut_rows(ROWS, TrainingOptions(shots=4), 3)
    assert found["label"].value_counts(sort=True)["count"].to_list() == [4, 4, 4]
    assert found["id"].cast(int).is_sorted()
    assert refusal(InvalidInput, cut_rows, ROWS.drop("label"), TrainingOptions(shots=4), 3) == wording
