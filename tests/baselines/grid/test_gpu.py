"""Estimates for a GPU that is not here follow layers, width and architecture."""

import json
from pathlib import Path
from typing import Any

import pytest

from shiftbench.baselines.grid.estimate import (
    Architecture,
    TrialRows,
    estimate_on_gpu,
    find_architecture,
    row_seconds,
    step_seconds,
)
from shiftbench.baselines.grid.trial import Trial
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from tests.command_line import run


def seconds(model: str, gpu: str = "H100", rows: int = 32, length: int = 256) -> float:
    found = find_architecture(model)
    assert found is not None
    return step_seconds(found, rows, length, gpu)


def test_larger_models_take_longer() -> None:
    """DistilBERT and DeBERTa-large once took the same."""
    order = [
        "distilbert/distilbert-base-uncased", "FacebookAI/roberta-base", "microsoft/deberta-v3-base",
        "FacebookAI/roberta-large", "microsoft/deberta-v3-large",
    ]  # fmt: skip
    times = [seconds(model) for model in order]
    assert times == sorted(times)
    assert len(set(times)) == len(times)
    assert times[-1] > 4 * times[0]


def test_operations_are_those_of_the_parameters() -> None:
    """BERT-base: 85 million parameters in its layers, 2 operations each a token, and attention's square."""
    base = Architecture("encoder", 12, 768, 3072)
    assert base.operations(1, 1) == pytest.approx(2 * 85e6, rel=0.01)
    long, short = base.operations(1, 1024) / 1024, base.operations(1, 128) / 128
    assert long - short == pytest.approx(12 * 4 * 768 * (1024 - 128))


def test_a_small_batch_is_bound_by_kernels_and_a_large_one_by_operations() -> None:
    small, base = "microsoft/deberta-v3-small", "distilbert/distilbert-base-uncased"
    assert seconds(base, rows=1, length=16) == seconds(base, rows=2, length=16)
    assert seconds(base, rows=512) == pytest.approx(2 * seconds(base, rows=256))
    assert seconds(small, rows=1, length=16) > seconds(base, rows=1, length=16)
    assert seconds(base, "T4", rows=256) > 10 * seconds(base, "H100", rows=256)


def test_predicting_a_row_costs_less_than_training_on_it() -> None:
    model = find_architecture("FacebookAI/roberta-large")
    assert model is not None
    assert 32 * row_seconds(model, 32, 256, "A100") == pytest.approx(step_seconds(model, 32, 256, "A100") / 3)


def test_a_folder_tells_its_own_shape(tmp_path: Path) -> None:
    facts = {"model_type": "bert", "num_hidden_layers": 3, "hidden_size": 64, "intermediate_size": 256}
    (tmp_path / "config.json").write_text(json.dumps(facts), encoding="utf-8")
    assert find_architecture(str(tmp_path)) == Architecture("encoder", 3, 64, 256)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    assert find_architecture(str(tmp_path)) is None
    assert find_architecture("no/such-model") is None


def test_a_sweep_counts_the_batches_of_each_candidate() -> None:
    """Three learning rates with batches of 4, 8, 16 and 64 rows; the test rows are predicted once."""
    programs: Any = imported_command("train", "shiftbench.cli.train")
    name = "FacebookAI/roberta-large"
    trial = Trial("m", "finetune-classifier", (f"--model={name}", "--sweep=dr", "--epochs=1"), "sa", "d0", 0, "", ())
    rows = TrialRows(train=6400, validation=640, test=1280, labels=2)
    (found,) = estimate_on_gpu([trial], [trial], lambda _: rows, programs, "A100")
    shape = find_architecture(name)
    assert shape is not None
    steps = {batch: step_seconds(shape, batch, 256, "A100") for batch in (4, 8, 16, 64)}
    read = {batch: row_seconds(shape, batch, 256, "A100") for batch in steps}
    expected = sum(3 * (6400 / batch * steps[batch] + 640 * read[batch]) for batch in steps)
    first = min(abs(found.seconds - expected - 30 - 1280 * each) for each in read.values() if found.seconds)
    assert first < 1e-6 * expected
    assert found.steps == 3 * (1600 + 800 + 400 + 100)


def test_a_grid_is_estimated_without_running_anything(synthetic: DatasetFolder, tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    options = 'program = "finetune-classifier"\nsources = ["harbour"]\noptions = { epochs = 1, model = '
    grid.write_text(
        f"data = '{synthetic.path}'\ntasks = ['nli']\n"
        f'[[models]]\nname = "small"\n{options}"distilbert/distilbert-base-uncased" }}\n'
        f'[[models]]\nname = "large"\n{options}"microsoft/deberta-v3-large" }}\n'
        f'[[models]]\nname = "own"\n{options}"no/such-model" }}\n',
        encoding="utf-8",
    )
    shown = run("grid", grid, "--dry-run", "--gpu", "H100").stdout
    assert "not calibrated" in shown
    assert "time unknown" in shown
    assert not list(tmp_path.glob("results*"))
    assert run("grid", grid, "--gpu", "H100").returncode == 2
