"""What a grid will take, counted and timed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.estimate import (
    Rates,
    TrialWork,
    _candidate_hyperparameters,
    _trial_work,
    estimate,
    estimate_lines,
    rows_of,
)
from shiftbench.baselines.grid.trial import Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_bert, words_in


@pytest.fixture(scope="module")
def programs() -> Any:
    return imported_command("train", "shiftbench.cli.train")


def trial(folder: DatasetFolder, program: str = "finetune-classifier", *options: str, **more: Any) -> Trial:
    return replace(Trial("m", program, options, "nli", "harbour", 0, folder.content_hash, ()), **more)


def test_seconds_are_those_of_steps_and_of_rows_that_are_read() -> None:
    rates = Rates(start=10, step=2, predicted=0.5, growth=3)
    assert (
        rates.seconds(TrialWork(rows=100, epochs=2, steps=14, held_out=8, predicted=40)) == 10 + 14 * 3 * 2 + 56 * 0.5
    )


def test_steps_are_those_of_all_candidates_of_a_sweep(synthetic: DatasetFolder, programs: Any) -> None:
    swept = trial(synthetic, "finetune-classifier", "--sweep=dr", "--epochs=1", "--shots=8")
    work = _trial_work(swept, rows_of(swept, synthetic), _candidate_hyperparameters(swept, programs))
    assert work.steps == 3 * (6 + 3 + 2 + 1)  # 24 rows in batches of 4, 8, 16 and 64, with three learning rates each


def test_what_is_done_takes_no_time(synthetic: DatasetFolder, programs: Any) -> None:
    trials = [trial(synthetic, "finetune-classifier", seed=seed) for seed in (0, 1)]
    (found,) = estimate(trials, [], synthetic.path, programs, threads=1)
    assert (found.trials, found.left, found.steps, found.seconds) == (2, 0, 0, 0)


def test_this_machine_is_timed(synthetic: DatasetFolder, programs: Any, tmp_path: Path) -> None:
    model = save_bert(tmp_path / "tiny", words_in(synthetic, "nli"))
    tuned = trial(
        synthetic, "finetune-classifier", f"--model={model}", "--epochs=2", "--method=eda", "--synonyms=embeddings"
    )
    most = trial(synthetic, "majority", model="most")
    (first, second) = estimate([tuned, most], [tuned, most], synthetic.path, programs, threads=1)
    rows = synthetic.task("nli").domains["harbour"].splits["train"].rows
    assert first.steps == pytest.approx(2 * 2 * rows / 16, abs=4)  # augmentation doubles the rows
    assert first.seconds is not None
    assert second.seconds is not None
    assert first.seconds > second.seconds > 0
    assert second.steps is None


def test_a_model_that_cannot_be_trained_is_told(synthetic: DatasetFolder, programs: Any, tmp_path: Path) -> None:
    broken = trial(synthetic, "finetune-classifier", f"--model={tmp_path}")
    with pytest.raises(InvalidInput, match="during timing"):
        estimate([broken], [broken], synthetic.path, programs, threads=1)


def test_prompts_are_not_timed(synthetic: DatasetFolder, programs: Any, wording: SnapshotAssertion) -> None:
    asked = trial(synthetic, "prompt-llm", "--model=m", source="none")
    found = estimate([asked], [asked], synthetic.path, programs, threads=1)
    assert found[0].seconds is None
    table, *lines = estimate_lines(found, at_once=2)
    assert [*table.columns[5].cells, *lines[:2]] == wording  # type: ignore[union-attr]
