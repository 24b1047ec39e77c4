"""MSCL as a program, on a tiny encoder."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.baselines import mscl
from shiftbench.baselines.robust import contrastive
from shiftbench.baselines.robust.contrastive import mscl_loss
from shiftbench.baselines.training import trainer
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.validation.cards import read_card
from tests.baselines.tiny import save_bert, words_in

ASKED: dict[str, Any] = {"source": ["lamps"], "target": ["lamps", "tents"]}


@pytest.fixture(scope="module")
def encoder(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_bert(tmp_path_factory.mktemp("model"), words_in(synthetic, "sa")))


def test_it_learns_and_leaves_a_file_and_a_card(encoder: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "p.parquet"
    mscl.main("sa", synthetic.path, out, **ASKED, model=encoder, epochs=20, learning_rate=3e-3)
    (scores,) = score_file(out, synthetic).tasks
    assert scores.shifts[0].ss.value > 0.6
    card = read_card(tmp_path / "p.card.yaml")
    assert card.tuning_trials == 1
    assert (card.name, card.base_model, card.family, card.paradigm) == ("MSCL", encoder, "bert", "fine-tuned")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.card.yaml", "p.parquet", "p.training.json"]
    (record,) = json.loads((tmp_path / "p.training.json").read_text(encoding="utf-8"))
    assert (record["source"], record["seed"], record["steps"]) == ("lamps", 0, 20 * 5)
    assert record["train_rows"] == record["examples"] == len(synthetic.split("sa", "lamps", "train"))


def test_the_papers_settings_are_those_trained_with(
    encoder: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(trainer, "train", lambda *given, **options: seen.append((given, options)) or _stop())
    with pytest.raises(InterruptedError):
        mscl.main("nli", synthetic.path, tmp_path / "p.parquet", source=["harbour"], model=encoder)
    (_, rows, _, settings), options = seen[0]
    assert (settings.epochs, settings.batch_size, settings.learning_rate) == (5, 16, 1e-5)
    assert (settings.weight_decay, settings.clip, settings.max_length) == (0, 10, 180)
    steps = -(-len(rows) // 16) * 5
    assert settings.warmup == min(1.0, 200 / steps)
    assert max(len(row["input_ids"]) for row in rows) <= 64  # what the tiny encoder has positions for
    assert options["seed"] == 0
    assert options["validate"] is None  # the last epoch is kept


def _stop() -> None:
    raise InterruptedError


def test_a_stopped_training_goes_on_with_its_memory(
    encoder: str, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(name: str) -> pl.DataFrame:
        out = tmp_path / name / "p.parquet"
        mscl.main("sa", synthetic.path, out, **ASKED, model=encoder, epochs=3, learning_rate=3e-3)
        return pl.read_parquet(out)

    whole = run("whole")
    monkeypatch.setattr(trainer, "_CHECKPOINT_SECONDS", 0)
    steps = []

    def stopping(*given: Any) -> Any:
        steps.append(given)
        if len(steps) == 11:
            raise KeyboardInterrupt
        return mscl_loss(*given)

    monkeypatch.setattr(contrastive, "mscl_loss", stopping)
    with pytest.raises(KeyboardInterrupt):
        run("stopped")
    assert run("stopped").equals(whole)
    assert len(steps) == 15 + 1  # of five batches in three epochs, the interrupted one alone came twice
