"""Fetches that are stopped with Ctrl-C or killed at random moments, and what the next one asks for."""

import multiprocessing
import os
import random
import shutil
import signal
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest

from shiftbench.builders.fetching.fetch import fetch
from shiftbench.builders.fetching.records import read_records
from tests.builders.fetching.invented import as_tar, as_zip, lines, whole_files
from tests.builders.fetching.server import Release, Served
from tests.builders.fetching.victim import fetch_invented, plan_invented

POST, CHECKED = lines(700_000, seed=1), lines(500_000, seed=2)
ZIPPED = {"release_1.0/train.csv": lines(900_000, seed=3), "release_1.0/test.csv": lines(200_000, seed=4)}
TEXTS = {f"release/all/{n}.txt": lines(2_000, seed=n) for n in range(300)}
TARRED = {"release/index.csv": lines(90_000, seed=5), **TEXTS}
SUM = sha256(CHECKED).hexdigest()
EXPECTED = {
    "letters/post.csv": POST,
    "letters/checked.csv": CHECKED,
    "letters/1.0/train.csv": ZIPPED["release_1.0/train.csv"],
    "letters/1.0/test.csv": ZIPPED["release_1.0/test.csv"],
    "posts/index.csv": TARRED["release/index.csv"],
    **{name.replace("release", "posts"): content for name, content in TEXTS.items()},
}
AFTER = 0.15
"""Of all moments, the share that comes after the last byte was sent: files are unpacked, checked and put in place."""
SECONDS = 60


def serve(release: Release) -> int:
    """Serve the release so slowly that it takes about a second; return its bytes."""
    dated = {"Last-Modified": "Mon, 23 Nov 2020 10:00:00 GMT"}
    files = {
        "/ds/post.csv": Served(POST),
        "/ds/checked.csv": Served(CHECKED, validators={}),
        "/data/release_1.0.zip": Served(as_zip(ZIPPED), validators=dated),
        "/~ang/posts.tar.gz": Served(as_tar(TARRED)),
    }
    for served in files.values():
        served.rate = len(served.body)
    release.files = files
    return sum(len(served.body) for served in files.values())


def kill(release: Release, raw: Path, how: signal.Signals, moment: float, total: int) -> int:
    """Start a fetch, and send it a signal when so large a share of all bytes was sent; return its exit code."""
    processes = multiprocessing.get_context("forkserver")  # a process of its own, without 2 seconds of imports
    processes.set_forkserver_preload([fetch_invented.__module__])
    process = processes.Process(target=fetch_invented, args=(raw, release.url, SUM))
    process.start()
    try:
        deadline = time.monotonic() + SECONDS
        while process.is_alive() and time.monotonic() < deadline:
            if release.log and release.sent >= min(moment, 1) * total:
                time.sleep(max(0.0, moment - 1))
                break
            time.sleep(0.001)
        if process.pid is not None and process.is_alive():
            os.kill(process.pid, how)
        process.join(SECONDS)
        assert process.exitcode is not None, "it does not end"
        return process.exitcode
    finally:
        process.kill()
        process.join()


def count_kept(raw: Path, release: Release) -> int:
    """Count the bytes that need not be asked for again: of files in their places, whole archives, and parts."""
    there = set(whole_files(raw))
    sizes = {path: len(served.body) for path, served in release.files.items()}
    placed = {
        "/ds/post.csv": {"letters/post.csv"} <= there,
        "/ds/checked.csv": {"letters/checked.csv"} <= there,
        "/data/release_1.0.zip": {"letters/1.0/train.csv", "letters/1.0/test.csv"} <= there,
        "/~ang/posts.tar.gz": {"posts/index.csv", "posts/all/0.txt"} <= there,
    }
    kept = 0
    for path, size in sizes.items():
        came = [file for file in raw.glob(".fetching/*/*") if path.rpartition("/")[2] in file.name]
        kept += size if placed[path] else sum(file.stat().st_size for file in came if file.suffix != ".notes")
    return kept


def kill_and_go_on(n_kills: int, release: Release, tmp_path: Path, seed: int) -> Counter[str]:
    """Kill fetches at random moments, each followed by one that ends; check both, and count what came of them."""
    chance, figures = random.Random(seed), Counter[str]()
    total = serve(release)
    for number in range(n_kills):
        raw = tmp_path / f"raw{number}"
        how = (signal.SIGKILL, signal.SIGINT)[number % 2]
        release.log.clear()
        code = kill(release, raw, how, chance.uniform(0, 1 + AFTER), total)
        assert code in {0, -how, *([1] if how == signal.SIGINT else [])}, "it fails of nothing else"
        there = whole_files(raw) if raw.is_dir() else {}
        assert there == {place: EXPECTED[place] for place in there}, "a file in its place is whole"
        assert not {p for p in there if p.startswith("posts/all/")} or set(TEXTS) <= {
            place.replace("posts", "release") for place in there
        }, "a folder in its place is whole"
        records = {**read_records(raw, "letters"), **read_records(raw, "posts")}
        assert {"posts/all" if place.startswith("posts/all/") else place for place in there} <= set(records)
        kept = count_kept(raw, release)
        release.log.clear()
        with pytest.MonkeyPatch.context() as patch:
            fetch(plan_invented(raw, release.url, SUM, patch), raw)
            assert plan_invented(raw, release.url, SUM, patch).requests == ()
        deadline = time.monotonic() + 5
        while release.sent < total - kept and time.monotonic() < deadline:
            time.sleep(0.01)  # the server counts what it sent after it sent it
        assert release.sent == total - kept, "the second run asks for the rest alone"
        assert whole_files(raw) == EXPECTED
        assert [path.name for path in (raw / ".fetching").iterdir()] == ["lock"]
        figures += Counter(
            {
                "kills": 1,
                f"by {how.name}": 1,
                "before a byte was kept": kept == 0,
                "in the middle": 0 < kept < total,
                "after the last byte": kept == total and code != 0,
                "of a run that had ended": code == 0,
                "with files in their places": bool(there),
                "bytes kept": kept,
                "bytes asked for again": release.sent,
                "bytes of all releases": total,
            }
        )
        shutil.rmtree(raw)
    return figures


def test_nothing_half_is_taken_for_whole_and_the_rest_alone_is_asked_for(release: Release, tmp_path: Path) -> None:
    figures = kill_and_go_on(6, release, tmp_path, seed=1)
    assert figures["in the middle"] >= 3


@pytest.mark.long
def test_fifty_random_moments(release: Release, tmp_path: Path) -> None:
    figures = kill_and_go_on(50, release, tmp_path, seed=2)
    print("\n" + "\n".join(f"{name}: {count:,}" for name, count in figures.items()))
    assert figures["in the middle"] >= 25
