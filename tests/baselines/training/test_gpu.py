"""What only an NVIDIA GPU shows (``make test-gpu``): bf16, every program in it, real weights as on the CPU, speed.

Printed are tokens a second beside the yardsticks. Without a GPU every test here is skipped; what needs none is tested
in ``test_every_program.py`` and ``test_bench.py``.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from benchmarks.train import run_training_bench
from shiftbench.baselines import finetune_classifier
from shiftbench.baselines.training.batches import Padding
from shiftbench.baselines.training.models import Device, load_model
from shiftbench.baselines.training.options import Hyperparameters, Precision
from shiftbench.baselines.training.trainer import Objective, Trajectory, plain_loss, train
from shiftbench.builders.encoder import DEFAULT_ENCODER
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.command_line import console
from shiftbench.validation.timing import print_timing
from tests.baselines.every_program import PROGRAMS, run_program

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here: nothing was checked on one"),
]


def trained(path: Path, rows: list[dict[str, Any]], precision: Precision, objective: Objective | None) -> Trajectory:
    model = load_model("AutoModelForSequenceClassification", str(path), 0, num_labels=2)
    settings = Hyperparameters(epochs=3, batch_size=8, learning_rate=5e-3)
    device = Device.best(precision)
    return train(model, rows, Padding(0, 8), settings, seed=0, device=device, objective=objective)


@pytest.mark.parametrize("precision", [Precision.AUTO, Precision.FP32])
def test_weights_stay_in_single_precision_whatever_it_computes_in(
    precision: Precision, tiny_bert: Path, rows: list[dict[str, Any]]
) -> None:
    computed: set[torch.dtype] = set()

    def loss(model: Any, batch: Any) -> torch.Tensor:
        with torch.no_grad():
            computed.add(model(**batch).logits.dtype)
        return plain_loss(model, batch)

    found = trained(tiny_bert, rows, precision, Objective(loss))
    assert {parameter.dtype for parameter in found.model.parameters()} == {torch.float32}
    assert {parameter.device.type for parameter in found.model.parameters()} == {"cuda"}
    assert all(bool(torch.isfinite(parameter).all()) for parameter in found.model.parameters())
    assert Device.best(precision).bf16 is (precision is Precision.AUTO)
    assert computed


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_runs_on_it(
    name: str, synthetic: DatasetFolder, kinds: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.max_memory_allocated()
    frame = run_program(name, {"synthetic": synthetic, "kinds": kinds}, tmp_path, Precision.BF16, monkeypatch)
    assert torch.cuda.max_memory_allocated() > before
    if "confidence" in frame.columns:
        assert frame["confidence"].is_finite().all()


def test_training_and_prediction_keep_their_lead(capsys: pytest.CaptureFixture[str]) -> None:
    timings = list(run_training_bench(4.0))
    with capsys.disabled():
        print()
        for timing in timings:
            print_timing(timing, console())
    assert all(timing.ratio > 1 for timing in timings)


def test_real_weights_are_trained_as_on_the_cpu(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """MiniLM on NLI: bf16 here and single precision on the CPU end at like scores, with most predictions the same."""
    means, frames = [], []
    for device in (Device.best(Precision.BF16), Device("cpu", bf16=False)):
        monkeypatch.setattr(Device, "best", lambda _, device=device: device)
        out = tmp_path / f"{device.name}.parquet"
        finetune_classifier.main("nli", synthetic.path, out, model=DEFAULT_ENCODER, epochs=5, seed=[0, 1])
        (scores,) = score_file(out, synthetic).tasks
        means.append(float(np.mean([shift.ss.value for shift in scores.shifts])))
        frames.append(pl.read_parquet(out))
    same = float((frames[0]["prediction"] == frames[1]["prediction"]).mean())  # type: ignore[arg-type]
    with capsys.disabled():
        print(f"\nsynthetic nli, {len(frames[0]):,} predictions, {same:.1%} of them the same as on the CPU:")
        print(f"mean in-domain score {means[0]:.3f}, on the CPU {means[1]:.3f}")
    assert min(means) > 0.5
    assert abs(means[0] - means[1]) < 0.1
    assert same > 0.8
