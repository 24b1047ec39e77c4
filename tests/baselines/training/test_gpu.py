"""What only an NVIDIA GPU shows: bf16, its speed, and a small grid of trainings on real weights (``make test-gpu``)."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from baselines import finetune_classifier
from baselines.training.batches import Padding
from baselines.training.bench import run_training_bench
from baselines.training.models import Device, load_model
from baselines.training.options import Precision, Settings
from baselines.training.trainer import Objective, Trajectory, plain_loss, train
from builders.encoder import DEFAULT_ENCODER
from builders.folder.reader import DatasetFolder
from leaderboard.scoring.score import score_file
from validation.command_line import console
from validation.timing import print_timing

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU here: nothing was checked on one"),
]


def trained(path: Path, rows: list[dict[str, Any]], precision: Precision, objective: Objective | None) -> Trajectory:
    model = load_model("AutoModelForSequenceClassification", str(path), 0, num_labels=2)
    settings = Settings(epochs=3, batch_size=8, learning_rate=5e-3)
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


def test_training_and_prediction_keep_their_lead(capsys: pytest.CaptureFixture[str]) -> None:
    timings = list(run_training_bench(4.0))
    with capsys.disabled():
        print(f"\n{torch.cuda.get_device_name()}")
        for timing in timings:
            print_timing(timing, console())
    assert all(timing.ratio > 1 for timing in timings)


def test_a_grid_of_real_weights_is_trained(
    synthetic: DatasetFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "p.parquet"
    finetune_classifier.main("nli", synthetic.path, out, model=DEFAULT_ENCODER, epochs=5, seed=[0, 1])
    (scores,) = score_file(out, synthetic).tasks
    mean = float(np.mean([shift.ss.value for shift in scores.shifts]))
    with capsys.disabled():
        print(f"\nsynthetic nli, {len(pl.read_parquet(out)):,} predictions: mean in-domain score {mean:.3f}")
    assert mean > 0.5
