"""Grids of real programs on this machine: the same files as by ``train``, whatever happens on the way."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import filelock
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.grid.trial import (
    LOG,
    PREDICTIONS,
    Trial,
    installed_versions,
    is_whole,
    run_local,
    visible_gpus,
)
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import read_card

ROOT = Path(__file__).parents[3]
SOURCES = ("kettles", "lamps", "tents")


class Grids:
    """Runs ``shiftbench`` in a folder with a grid file of its own."""

    def __init__(self, folder: Path, data: DatasetFolder, sources: Sequence[str] = SOURCES) -> None:
        self.folder = folder
        text = f"data = '{data.path}'\ntasks = ['sa']\nthreads = 1\n[[models]]\nname = 'm'\nprogram = 'majority'\n"
        (folder / "grid.toml").write_text(f"{text}sources = {list(sources)}\n", encoding="utf-8")

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "shiftbench", *map(str, arguments)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: object) -> tuple[int, str]:
        process = self.start(*arguments)
        told = process.communicate(timeout=120)[1]
        return process.returncode, told

    def starts(self) -> dict[Path, int]:
        """Count how often each trial was started, by its folder."""
        # Only trials' own folders are looked into: what a killed trial leaves in them is removed meanwhile.
        logs = self.folder.glob(f"*/runs/*/*/*/{LOG}")
        return {log.parent: sum(line.startswith("$ ") for line in log.read_text().splitlines()) for log in logs}

    def done(self) -> dict[Path, int]:
        """Return when each trial that is done was written."""
        files = self.folder.glob(f"*/runs/*/*/*/{PREDICTIONS}")
        return {file.parent: file.stat().st_mtime_ns for file in files if is_whole(file)}

    def entry(self, name: str = "sa/m") -> tuple[bytes, bytes]:
        """Read the bytes of a prediction file and of its card."""
        results = self.folder / "results"
        return (results / f"{name}.parquet").read_bytes(), (results / f"{name}.card.yaml").read_bytes()

    def await_start(self, n_trials: int) -> None:
        """Wait until so many trials were started."""
        until = time.monotonic() + 60
        while len(self.starts()) < n_trials and time.monotonic() < until:
            time.sleep(0.02)

    def await_silence(self) -> None:
        """Wait until no process works in a trial's folder."""
        for folder in self.starts():
            filelock.FileLock(folder / ".lock", timeout=20).acquire().lock.release()


@pytest.fixture(scope="module")
def whole(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Grids:
    """A grid that nothing disturbed."""
    grids = Grids(tmp_path_factory.mktemp("whole"), synthetic)
    code, told = grids.run("grid", "grid.toml")
    assert code == 0, told
    return grids


def test_a_grid_gives_the_files_of_one_train_and_names_it(whole: Grids, synthetic: DatasetFolder) -> None:
    one = whole.folder / "one.parquet"
    sources = [f"--source={source}" for source in SOURCES]
    code, told = whole.run("train", "majority", "sa", "--data", synthetic.path, "--out", one, *sources)
    assert code == 0, told
    assert whole.entry()[0] == one.read_bytes()
    card = read_card(whole.folder / "results/sa/m.card.yaml")
    named = " ".join(sources)
    assert card.command == f"shiftbench train majority sa --data=DIR --out=predictions.parquet {named} --seed=0"
    assert card == read_card(one.with_suffix(".card.yaml")).model_copy(update={"command": card.command})


def test_killed_three_times_a_grid_gives_the_same_bytes_and_runs_nothing_done_again(
    whole: Grids, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    grids, moments = Grids(tmp_path, synthetic), random.Random(8)
    for n_trials in (1, 2, 3):
        process = grids.start("grid", "grid.toml")
        grids.await_start(n_trials)
        time.sleep(moments.uniform(0, 1.5))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        done = grids.done()
    grids.await_silence()
    starts = grids.starts()
    code, told = grids.run("grid", "grid.toml")
    assert code == 0, told
    assert grids.entry() == whole.entry()
    assert done.items() <= grids.done().items()
    assert all(grids.starts()[folder] == starts[folder] for folder in done)


def test_a_signal_ends_all_processes_and_says_how_to_go_on(synthetic: DatasetFolder, tmp_path: Path) -> None:
    grids = Grids(tmp_path, synthetic)
    process = grids.start("grid", "grid.toml", "--slots", 2)
    grids.await_start(2)
    process.send_signal(signal.SIGTERM)
    told = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "of 3 trials" in told
    assert "Traceback" not in told
    assert len(grids.starts()) == 2
    for folder in grids.starts():
        with filelock.FileLock(folder / ".lock", blocking=False):
            pass


def test_a_programs_refusal_fails_its_trials_alone(synthetic: DatasetFolder, tmp_path: Path) -> None:
    grids = Grids(tmp_path, synthetic, ["kettles"])
    with (tmp_path / "grid.toml").open("a", encoding="utf-8") as file:
        file.write("[[models]]\nname = 'bad'\nprogram = 'majority'\nsources = ['lamps']\noptions.target = 'attic'\n")
    code, told = grids.run("grid", "grid.toml", "--out", "there")
    assert code == 1
    assert (tmp_path / "there/sa/m.parquet").is_file()
    assert not (tmp_path / "there/sa/bad.parquet").exists()
    assert "'attic'" in told


def a_trial(program: str = "majority") -> Trial:
    return Trial("m", program, (), "sa", "x", 0, "0" * 64, installed_versions())


def test_processes_that_the_system_ends_are_told_apart(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    script = tmp_path / "python"
    monkeypatch.setattr(sys, "executable", str(script))
    errors = []
    lost = "echo 'ImportError: libgomp.so: failed to map segment from shared object'; exit 1"
    empty = "echo 'SystemError: unknown error: error return without exception set'; exit 1"
    torn = "echo 'terminate called: std::bad_alloc'; kill -ABRT $$"
    for deed in ("kill -KILL $$", lost, empty, torn, "kill -SEGV $$", "exit 0"):
        script.write_text(f"#!/bin/sh\n{deed}\n")
        script.chmod(0o700)
        errors += [ended.error for ended in run_local([a_trial()], synthetic.path, tmp_path, slots=1, threads=1)]
    assert all(error.startswith("out of memory") for error in errors[:4])
    assert [errors[0], *errors[4:]] == wording


def test_each_slot_has_its_threads_and_its_gpu(
    synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho $OMP_NUM_THREADS on $CUDA_VISIBLE_DEVICES\nsleep 0.3\nexit 1\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, 6")
    trials = [Trial("m", "majority", (), "sa", "x", seed, "0" * 64, ()) for seed in range(4)]
    ended = list(run_local(trials, synthetic.path, tmp_path, slots=2, threads=3))
    assert sorted(str(each.error) for each in ended) == ["3 on 4", "3 on 4", "3 on 6", "3 on 6"]


@pytest.mark.parametrize(("chosen", "gpus"), [("", []), ("-1", []), ("0,2", ["0", "2"]), ("GPU-a", ["GPU-a"])])
def test_gpus_are_those_that_the_variable_leaves(chosen: str, gpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert visible_gpus() == gpus


@pytest.mark.parametrize(("listing", "gpus"), [("echo 'GPU 0: H'\necho 'GPU 1: H'", ["0", "1"]), ("exit 9", [])])
def test_gpus_are_counted_without_torch(
    listing: str, gpus: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus() == []
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{listing}\n")
    (tmp_path / "nvidia-smi").chmod(0o700)
    assert visible_gpus() == gpus


def test_parts_of_a_grid_are_put_together_by_copying_their_runs(tmp_path: Path, synthetic: DatasetFolder) -> None:
    grids = Grids(tmp_path, synthetic)
    assert grids.run("grid", "grid.toml")[0] == 0
    together = grids.entry()
    shutil.rmtree(tmp_path / "results")
    for part in (1, 2):
        code, told = grids.run("grid", "grid.toml", "--part", f"{part}/2", "--out", f"part-{part}")
        assert code == 0, told
    runs = [{path.name for path in (tmp_path / f"part-{part}/runs/sa/m").iterdir()} for part in (1, 2)]
    assert [len(each) for each in runs] == [2, 1]
    assert runs[0].isdisjoint(runs[1])
    for part in (1, 2):
        shutil.copytree(tmp_path / f"part-{part}/runs", tmp_path / "results/runs", dirs_exist_ok=True)
    assert grids.run("grid", "grid.toml", "--collect")[0] == 0
    assert grids.entry() == together
    code, told = grids.run("grid", "grid.toml", "--part", "3/2")
    assert code == 2
    assert "'3/2'" in told
