"""Every program that runs a model leaves whole prediction files; ``make test-gpu`` does the same on a GPU, in bf16."""

from pathlib import Path

import pytest

from shiftbench.baselines.training.options import Precision
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from tests.baselines.every_program import PROGRAMS, run_program


def test_no_program_is_left_out() -> None:
    train = imported_command("train", "shiftbench.cli.train")
    programs = set(train.list_commands(None))
    assert {name.split(" ")[0].rstrip(":") for name in PROGRAMS} == programs - {"majority", "tfidf-lr"}


@pytest.mark.long
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_runs(
    name: str, synthetic: DatasetFolder, kinds: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {"synthetic": synthetic, "kinds": kinds}
    assert len(run_program(name, folders, tmp_path, Precision.AUTO, monkeypatch)) > 0
