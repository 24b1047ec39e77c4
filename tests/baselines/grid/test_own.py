"""Code of the user's own in grids: checked apart, hashed into keys, the same in every trial; and from a wheel."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.own import check_files
from shiftbench.baselines.grid.plan import GridPlan, read_plan
from shiftbench.baselines.grid.stored import StoredTrials
from shiftbench.baselines.grid.trial import Trial
from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.cli.help import imported_command
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.baselines.test_own_code import examples
from tests.baselines.tiny import save_bert, words_in
from tests.refusals import refusal
from tests.shiftbench.elsewhere import build_wheel, install, make_environment, run

OWN = "[[models]]\nname = 'longest'\nprogram = 'longest.py'\n"


@pytest.fixture
def place(synthetic: DatasetFolder, tmp_path: Path) -> Path:
    """A folder with the page's files."""
    for name, code in examples().items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    return tmp_path


@pytest.fixture
def plan(synthetic: DatasetFolder, place: Path) -> Any:
    def read(models: str) -> GridPlan:
        text = f"data = '{synthetic.path}'\ntasks = ['nli']\nsources = ['harbour']\n{models}"
        (place / "grid.toml").write_text(text, encoding="utf-8")
        return read_plan(place / "grid.toml", imported_command("train", "shiftbench.cli.train"))

    return read


def test_a_file_is_part_of_the_key_by_its_hash_and_not_by_its_place(plan: Any, place: Path, checked_here: None) -> None:
    (trial,) = plan(OWN).trials
    sha256 = file_sha256(place / "longest.py")
    assert trial.files == (f"longest.py {sha256}",)
    assert json.loads(trial.record)["files"] == [f"longest.py {sha256}"]
    assert str(place) not in trial.record
    (place / "longest.py").write_text(examples()["longest.py"].replace("// 50", "// 40"), encoding="utf-8")
    (changed,) = plan(OWN).trials
    assert changed.key != trial.key
    assert Trial.from_facts(json.loads(trial.record)) == trial


def test_a_trial_without_own_code_keeps_its_key(plan: Any) -> None:
    (trial,) = plan("[[models]]\nname = 'most'\nprogram = 'majority'\n").trials
    assert "files" not in json.loads(trial.record)


def test_methods_and_their_strengths_are_checked_before_anything_runs(
    plan: Any, checked_here: None, wording: SnapshotAssertion
) -> None:
    model = "[[models]]\nname = 'own'\nprogram = 'finetune-classifier'\noptions = {{ method = '{}', set = '{}' }}\n"
    (trial,) = plan(model.format("my_losses.py:Penalty", "Penalty.weight=0.2")).trials
    assert trial.options == ("--method=my_losses.py:Penalty", "--set=Penalty.weight=0.2")
    assert [line.partition(" ")[0] for line in trial.files] == ["my_losses.py"]
    wrong = (
        ("my_losses.py:Penalty", "Penalty.wieght=1"),
        ("my_losses.py:Penality", "clip=1"),
        ("irm", "irm.weight=0"),
        ("../my_losses.py:Penalty", "clip=1"),
    )
    assert {" ".join(each): refusal(InvalidInput, plan, model.format(*each)) for each in wrong} == wording


def test_one_file_breaks_neither_the_grid_nor_another(plan: Any, place: Path) -> None:
    """A file that ends the process, prints, or changes the library is in a process of its own."""
    (place / "ends.py").write_text("import os\nprint('{')\nos._exit(3)\n", encoding="utf-8")
    (place / "changes.py").write_text(
        "import polars\npolars.DataFrame.filter = None\nprint('changed')\n" + examples()["longest.py"], encoding="utf-8"
    )
    models = OWN + OWN.replace("longest", "changes")
    assert len(plan(models).trials) == 2
    assert pl.DataFrame.filter is not None
    assert "changes" not in sys.modules
    with pytest.raises(InvalidInput) as refused:
        plan(models + OWN.replace("longest", "ends"))
    assert "'models.3'" in str(refused.value)
    assert len(refused.value.problems) == 1


def test_a_trial_of_a_file_that_changed_since_is_refused(plan: Any, place: Path, checked_here: None) -> None:
    (trial,) = plan(OWN).trials
    check_files(trial.files, place)
    (place / "longest.py").write_text("def main():\n    pass\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"longest\.py: .* sha256"):
        check_files(trial.files, place)
    (place / "longest.py").unlink()
    with pytest.raises(InvalidInput, match=r"longest\.py: "):
        check_files(trial.files, place)


def grid(place: Path, python: Path | str = sys.executable) -> str:
    words = [python, "-m", "shiftbench", "grid", "grid.toml"]
    ended = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)  # type: ignore[arg-type]
    return f"{ended.returncode} {ended.stderr}"


def test_a_grid_runs_a_program_of_a_file_and_does_not_take_up_trials_of_another_state(plan: Any, place: Path) -> None:
    plan(OWN)
    assert grid(place).startswith("0 ")
    first = pl.read_parquet(place / "results/nli/longest.parquet")
    assert set(read_card(place / "results/nli/longest.card.yaml").run) == {"code longest.py"}
    assert "1 done, 0" in grid(place)
    (place / "longest.py").write_text(examples()["longest.py"].replace("argmax", "argmin"), encoding="utf-8")
    said = grid(place)
    assert "0 done, 1" in said
    assert "1 trial " in said  # the earlier one, kept and not used
    assert not first.equals(pl.read_parquet(place / "results/nli/longest.parquet"))
    assert len(StoredTrials(place / "results/runs").trials()) == 2


@pytest.mark.long
def test_a_new_users_method_from_a_wheel_is_compared_with_plain_training(
    synthetic: DatasetFolder, tmp_path: Path
) -> None:
    """The page's grid of three seeds, with nothing of the package edited; prints the difference and its interval."""
    wheel, place = build_wheel(tmp_path / "wheel"), tmp_path / "place"
    python = make_environment(tmp_path / "environment")
    site = install(python, wheel)
    before = {file: file.read_bytes() for file in (site / "shiftbench").rglob("*.py")}
    place.mkdir()
    for name, code in examples().items():
        (place / name).write_text(code, encoding="utf-8")
    save_bert(place / "model", words_in(synthetic, "nli"))
    models = "".join(
        f"[[models]]\nname = '{name}'\nprogram = 'finetune-classifier'\n"
        f"options = {{ model = 'model', epochs = 3, learning-rate = 3e-3{more} }}\n"
        for name, more in (("plain", ""), ("mine", ", method = 'my_losses.py:Penalty'"))
    )
    head = f"data = '{synthetic.path}'\ntasks = ['nli']\nsources = ['harbour']\nseeds = [0, 1, 2]\n"
    (place / "grid.toml").write_text(head + models + OWN, encoding="utf-8")
    where = run(python, "-c", "import shiftbench; print(shiftbench.__file__)", cwd=place).stdout
    assert where.startswith(str(site))
    assert grid(place, python).startswith("0 ")
    files = ("results/nli/mine.parquet", "results/nli/plain.parquet")
    said = run(python, "-m", "shiftbench", "compare", *files, "--data", synthetic.path, "--json", "c.json", cwd=place)
    print(said.stdout)
    assert {file: file.read_bytes() for file in before} == before
    assert json.loads((place / "c.json").read_text(encoding="utf-8"))
    assert "[" in said.stdout
