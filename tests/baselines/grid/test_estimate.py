"""What a grid will take, counted and timed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from shiftbench.baselines.grid.display import print_estimates
from shiftbench.baselines.grid.estimate import Rates, TrialWork, estimate
from shiftbench.baselines.grid.trial import Trial
from shiftbench.baselines.training.gpus import is_listed, peak_flops, prediction_flops, training_flops
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput
from tests.baselines.tiny import save_bert, words_in


@pytest.fixture(scope="module")
def programs() -> Any:
    return get_command(app).commands["train"]  # type: ignore[attr-defined]


def trial(folder: DatasetFolder, program: str = "finetune-classifier", *options: str, **more: Any) -> Trial:
    return replace(Trial("m", program, options, "nli", "harbour", 0, folder.content_hash, ()), **more)


def test_seconds_are_those_of_steps_and_of_rows_that_are_read() -> None:
    rates = Rates(start=10, step=2, predicted=0.5, growth=3)
    assert (
        rates.seconds(TrialWork(rows=100, epochs=2, steps=14, held_out=8, predicted=40)) == 10 + 14 * 3 * 2 + 56 * 0.5
    )


def test_a_gpu_is_counted_for_by_operations_and_steps(synthetic: DatasetFolder, programs: Any) -> None:
    trials = [trial(synthetic, "finetune-classifier", "--epochs=2", "--batch-size=8", seed=seed) for seed in (0, 1)]
    rows = synthetic.task("nli").domains["harbour"].splits["train"].rows
    steps = -(-rows // 8) * 2

    def found(parameters: float, left: list[Trial]) -> Any:
        (only,) = estimate(
            *(trials, left, synthetic.path, programs), threads=1, gpu="A100", parameters={"m": parameters}
        )
        return only

    small = found(1e6, trials)
    assert (small.trials, small.left, small.steps) == (2, 2, 2 * steps)
    assert small.seconds == pytest.approx(2 * (20 + steps * 0.03), rel=0.01)
    large = found(1e12, trials[1:])
    assert (large.left, large.steps) == (1, steps)
    assert large.seconds > 5 * small.seconds
    assert found(1e6, []).seconds == 0
    sweep = trial(synthetic, "finetune-classifier", "--sweep=dr", "--epochs=1", "--shots=8")
    (swept,) = estimate([sweep], [sweep], synthetic.path, programs, threads=1, gpu="T4", parameters={"m": 1e6})
    assert swept.steps == 3 * (6 + 3 + 2 + 1)  # 24 rows in batches of 4, 8, 16 and 64, with three learning rates each
    with pytest.raises(InvalidInput, match="the number of parameters of 'm' is not known"):
        estimate(trials, trials, synthetic.path, programs, threads=1, gpu="A100")


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
    with pytest.raises(InvalidInput, match="failed while it was timed"):
        estimate([broken], [broken], synthetic.path, programs, threads=1)


def test_prompts_are_not_timed(synthetic: DatasetFolder, programs: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asked = trial(synthetic, "prompt-llm", "--model=m", source="none")
    found = estimate([asked], [asked], synthetic.path, programs, threads=1)
    assert found[0].seconds is None
    print_estimates(found, at_once=2, price=3.0, gpu=None)
    printed = capsys.readouterr().out
    assert "not known" in printed
    assert "$0.00 at $3.00 an hour" in printed


def test_gpus_are_found_by_their_full_names() -> None:
    assert peak_flops("NVIDIA H100 80GB HBM3") == peak_flops("h100") == 989e12
    assert peak_flops("Tesla T4") == 65e12
    assert not is_listed("A1000")
    assert training_flops(10, 7) == 3 * prediction_flops(10, 7) == 420
