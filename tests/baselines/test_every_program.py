"""Every program that runs a model leaves whole prediction files; ``make test-gpu`` does the same on a GPU, in bf16."""

from pathlib import Path

import pytest
from typer.main import get_command

from baselines.training.options import Precision
from builders.folder.reader import DatasetFolder
from shiftbench.command import app
from tests.baselines.every_program import ASKED, TRAINED, Place
from validation.prediction_files import read_predictions


def test_no_program_is_left_out() -> None:
    train = get_command(app).commands["train"]  # type: ignore[attr-defined]
    programs = set(train.list_commands(None))
    assert {name.split(" ")[0].rstrip(":") for name in (*TRAINED, *ASKED)} == programs - {"majority", "tfidf-lr"}


@pytest.mark.long
@pytest.mark.parametrize("name", [*TRAINED, *ASKED])
def test_every_program_runs(
    name: str, synthetic: DatasetFolder, kinds: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("baselines.robust.bias.TREES", 5)
    place = Place(synthetic, kinds, tmp_path / "model", tmp_path / "p.parquet", Precision.AUTO)
    {**TRAINED, **ASKED}[name](place)
    assert len(read_predictions(place.out)) > 0
