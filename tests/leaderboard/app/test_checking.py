"""Crafted files at the server's check: none takes more than 512 MiB or 10 s, and the next file is checked as before."""

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app import checking
from shiftbench.leaderboard.app.checking import MEMORY_MIB, OWN_MIB, SECONDS, Checker, _Worker
from shiftbench.scoring.scores.score import checked_predictions, score_predictions
from shiftbench.validation.report import InvalidInput
from tests.close_figures import assert_close
from tests.leaderboard.conftest import Filled
from tests.validation.crafted import Target, Write, crafted

EVERY = 16
"""Of the crafted files every so manieth is tried each time; all of them by ``make test-long``."""


class Taken(NamedTuple):
    """What a check took: MiB held at most by its process, seconds of processor time; and what it said."""

    mib: int
    seconds: float
    said: str


class MeasuredChecker(Checker):
    """A checker of one file at a time, whose process is looked at while it works."""

    def __init__(self) -> None:
        super().__init__(at_once=1)
        self.start()

    def taken(self, path: Path, folder: DatasetFolder) -> Taken:
        process, found, done = Path(f"/proc/{self._idle[0]._process.pid}"), [], threading.Event()
        (process / "clear_refs").write_text("5")  # begins the peak anew
        start = _seconds(process)

        def look() -> None:
            while not done.wait(0.005):
                try:
                    peak = (process / "status").read_text().split("VmHWM:")[1].split()[0]
                    found.append((int(peak) // 1024, _seconds(process) - start))
                except (OSError, IndexError):
                    return

        watch = threading.Thread(target=look)
        watch.start()
        try:
            said = f"accepted, {len(self.predictions(path, folder)):,} rows"
        except InvalidInput as refused:
            said = str(refused).replace(str(path), "file")
        done.set()
        watch.join()
        return Taken(max((mib for mib, _ in found), default=0), max((s for _, s in found), default=0.0), said)


def _seconds(process: Path) -> float:
    times = (process / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, times)) / 100


@pytest.fixture(scope="module")
def checker(filled: Filled) -> Iterator[MeasuredChecker]:
    checker = MeasuredChecker()
    checker.predictions(filled.files["good"], filled.folder)  # it is ready then
    yield checker
    checker.close()


def target_of(folder: DatasetFolder) -> Target:
    return Target(folder.test("nli")["id"].sort().to_list(), *(names[0] for names in _names(folder)))


def _names(folder: DatasetFolder) -> tuple[list[str], list[str]]:
    return list(folder.task("nli").domains), list(folder.task("nli").labels)


def try_all(
    files: Mapping[str, Write], folder: DatasetFolder, checker: MeasuredChecker, place: Path
) -> dict[str, Taken]:
    found = {}
    for name, write in files.items():
        write(place / "file")
        found[name] = checker.taken(place / "file", folder)
    return found


def check_bounds(found: Mapping[str, Taken]) -> None:
    for name, taken in found.items():
        assert taken.mib < MEMORY_MIB, f"{name}: {taken}"
        assert taken.seconds < SECONDS, f"{name}: {taken}"
        assert "error of" not in taken.said, f"{name}: {taken}"


def test_some_crafted_files(filled: Filled, checker: MeasuredChecker, tmp_path: Path) -> None:
    files = dict(islice(crafted(target_of(filled.folder)).items(), 0, None, EVERY))
    check_bounds(try_all(files, filled.folder, checker, tmp_path))
    # After all of them a sound file is what it was.
    file = filled.files["good"]
    assert checker.predictions(file, filled.folder).equals(checked_predictions(file, filled.folder))


@pytest.mark.long
def test_two_hundred_crafted_files(checker: MeasuredChecker, word_encoder: Any, tmp_path: Path) -> None:
    """The dataset has 10,000 test ids, so that files of half a million rows are not refused for their number."""
    build_synthetic(tmp_path / "data", encoder=word_encoder, n_train=90, n_test=1_250)
    folder = DatasetFolder.open(tmp_path / "data")
    found = try_all(crafted(target_of(folder)), folder, checker, tmp_path)
    for name, taken in sorted(found.items(), key=lambda each: -each[1].mib):
        print(f"{taken.mib:4} MiB {taken.seconds:6.2f} s  {name}: {taken.said.splitlines()[0][:90]}")
    words = Counter(taken.said.split(":")[1 if ":" in taken.said else 0].split(";")[0] for taken in found.values())
    for what, n in words.most_common():
        print(f"{n:4} {what}")
    most = max(taken.mib for taken in found.values()), max(taken.seconds for taken in found.values())
    print(f"{len(found)} crafted files: at most {most[0]} MiB and {most[1]:.1f} s")
    assert len(found) >= 200
    check_bounds(found)


def test_a_file_that_takes_too_much_memory_ends_its_process_alone(
    filled: Filled, checker: MeasuredChecker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = target_of(filled.folder)
    crafted(target)[f"{target.rows(1):,} predictions of 30,000,000 letters"](tmp_path / "file")
    monkeypatch.setattr(checking, "MEMORY_MIB", OWN_MIB + 1)
    with pytest.raises(InvalidInput, match=r"memory; .* 1 MiB"):
        checker.predictions(tmp_path / "file", filled.folder)
    monkeypatch.undo()
    with pytest.raises(InvalidInput, match="long"):
        checker.predictions(tmp_path / "file", filled.folder)


def test_a_file_that_takes_too_long_ends_its_process_alone(
    filled: Filled, checker: MeasuredChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = filled.files["good"], filled.folder
    monkeypatch.setattr(checking, "WAIT_FACTOR", 1e-4)
    with pytest.raises(InvalidInput, match=r"good\.parquet: .* 10 sec"):
        checker.predictions(file, folder)
    monkeypatch.undo()
    assert len(checker.predictions(file, folder)) == len(pl.read_parquet(file))


def test_a_preview_is_scored_by_another_process(
    filled: Filled, checker: MeasuredChecker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: 445 kB of parquet, 20 seeds of four sources on 12,000 texts, took 600 MiB and 9 s of the server."""
    folder = filled.folder
    frame = checker.predictions(filled.files["good"], folder)
    with monkeypatch.context() as patch:
        patch.setattr("shiftbench.scoring.scores.score.score_predictions", None)  # the server itself scores nothing
        scores = checker.scores(frame, folder)
    assert_close(scores, score_predictions(frame, folder).scores)
    monkeypatch.setattr(checking, "PREVIEW_MIB", 1)
    with pytest.raises(InvalidInput, match=r"memory.* submitted"):
        checker.scores(frame.sample(100_000, with_replacement=True, seed=1), folder)
    monkeypatch.undo()
    assert checker.scores(frame, folder) == scores


def test_problems_are_those_that_this_process_would_find(
    filled: Filled, checker: MeasuredChecker, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.csv"
    pl.read_parquet(filled.files["good"]).head(20).with_columns(prediction=pl.lit("maybe")).write_csv(bad)
    found = []
    for check in (checker.predictions, checked_predictions):
        with pytest.raises(InvalidInput) as refused:
            check(bad, filled.folder)
        found.append(refused.value.problems)
    assert found[0] == found[1]
    assert len(found[0]) > 1
    assert checker.benchmark(filled.files["good"]) == "synthetic"


def test_files_sent_at_once_are_checked_at_once(filled: Filled) -> None:
    checker = Checker(at_once=2)
    try:
        with ThreadPoolExecutor(6) as pool:
            names = list(filled.files)
            frames = list(pool.map(lambda name: checker.predictions(filled.files[name], filled.folder), names))
            assert [len(frame) for frame in frames] == [len(pl.read_parquet(filled.files[name])) for name in names]
            assert len(checker._idle) == 2
        processes = [worker._process for worker in checker._idle]
    finally:
        checker.close()
    assert all(process.poll() is not None for process in processes)


def test_a_sound_file_is_checked_at_once(filled: Filled, checker: MeasuredChecker) -> None:
    """A process that stands ready adds little to what a check takes; its start is not waited for."""
    seconds = []
    for _ in range(5):
        begun = time.monotonic()
        checker.predictions(filled.files["good"], filled.folder)
        seconds.append(time.monotonic() - begun)
    assert min(seconds) < 1


def test_ctrl_c_does_not_reach_a_process_that_checks() -> None:
    """Before: one that was just starting ended with a traceback on the terminal where the server was stopped."""
    worker = _Worker()
    try:
        assert os.getpgid(worker._process.pid) != os.getpgid(0)
    finally:
        worker.close()
