"""``data fetch`` and ``build --fetch`` as typed: what is said before and after, what is left, and exit codes."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.specs import sources
from shiftbench.builders.specs.sources import Download, find_source, read_sources
from tests.builders.fetching.server import Answer, Release, Served, running_release
from tests.command_line import run

TRAIN, TEST = "sst/trees/train.txt", "sst/trees/test.txt"
TREES = {
    place: "".join(f"({label} (2 {noun}) (2 {word}))\n" for label in range(5) for word in ("good", "dull", "long"))
    for place, noun in ((TRAIN, "film"), (TEST, "plot"))
}
TWEETS = tuple(f"semeval2017/twitter-2016{split}-A.txt" for split in ("train", "test"))
SIZE = len(TREES[TRAIN])
STOPPED = """
import json, sys
from shiftbench.builders.specs import sources
from shiftbench.cli.command import main
listed = {each["slug"]: sources.SourceSpec(**each) for each in json.load(open(sys.argv.pop(1)))}
sources.read_sources = lambda: listed
main()
"""
"""The command, with sources from a file."""


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[Release]:
    """Have a server bring SST, and SemEval with terms; all other sources are by hand."""
    with running_release() as running:
        places = {"sst": TREES, "semeval2017": dict.fromkeys(TWEETS, "1\tneutral\tA clerk.\n")}
        running.files = {f"/{place}": Served(text.encode()) for of in places.values() for place, text in of.items()}
        downloads = {slug: tuple(_download(running, place) for place in of) for slug, of in places.items()}
        terms = {"semeval2017": "You pass on no tweet."}
        listed = {
            slug: each.model_copy(update={"downloads": downloads.get(slug, ()), "terms": terms.get(slug)})
            for slug, each in read_sources().items()
        }
        monkeypatch.setattr(sources, "read_sources", lambda: listed)
        yield running


def _download(release: Release, place: str) -> Download:
    return Download(urls=(f"{release.url}/{place}",), size=SIZE if place in TREES else None, place=place)


def test_it_says_what_comes_brings_it_and_asks_once(release: Release, tmp_path: Path) -> None:
    raw = tmp_path / "not yet there"
    done = run("data", "fetch", "boss", "sa.sst", "--raw", raw)
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert str(raw) in lines[0]
    assert ["sst", "2", f"{2 * SIZE}", "B", "none"] in [line.split() for line in lines]
    assert {place: (raw / place).read_text(encoding="utf-8") for place in TREES} == TREES
    assert len(release.log) == 2
    again = run("data", "fetch", "boss", "sa.sst", "--raw", raw)
    assert (again.returncode, again.stderr.count("\n")) == (0, 1)
    assert run("data", "fetch", "boss", "sa.sst", "--raw", raw, "--dry-run").returncode == 0
    assert len(release.log) == 2


def test_terms_are_accepted_by_name(release: Release, tmp_path: Path) -> None:
    done = run("data", "fetch", "boss", "sa", "--raw", tmp_path, "--json", "-")
    assert done.returncode == 1
    assert (tmp_path / TEST).is_file()
    assert not (tmp_path / TWEETS[0]).exists()
    assert done.stderr.count("no tweet") == 1
    assert "--accept-terms semeval2017\n" in done.stderr
    requests = {tuple(each["files"]): each for each in json.loads(done.stdout)["requests"]}
    assert {files[0]: each["is_there"] for files, each in requests.items()} == {
        TRAIN: True, TEST: True, **dict.fromkeys(TWEETS, False)
    }  # fmt: skip
    done = run("data", "fetch", "boss", "sa", "--raw", tmp_path, "--accept-terms", "semeval2017")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / TWEETS[1]).is_file()
    (tmp_path / TWEETS[0]).unlink()
    done = run("data", "fetch", "boss", "sa", "--raw", tmp_path)
    assert done.returncode == 0
    assert ["semeval2017", "1", "unmeasured", "restricted", "accepted"] in [
        line.split() for line in done.stderr.splitlines()
    ]


def test_all_accepts_the_terms_of_every_source(release: Release, tmp_path: Path) -> None:
    assert run("data", "fetch", "boss", "sa", "--raw", tmp_path, "--accept-terms", "all").returncode == 0
    assert (tmp_path / TWEETS[0]).is_file()


def test_a_dry_run_asks_nobody(release: Release, tmp_path: Path, wording: SnapshotAssertion) -> None:
    done = run("data", "fetch", "boss", "sa", "--raw", "raw", "--dry-run", cwd=tmp_path)
    assert done.returncode == 1
    said = [done.stderr]
    accepting = run("data", "fetch", "boss", "sa", "--raw", "raw", "--dry-run", "--accept-terms", "all", cwd=tmp_path)
    assert [*said, accepting.stderr] == wording
    assert (release.log, list(tmp_path.iterdir())) == ([], [])


def test_what_a_person_must_get_comes_last_and_numbered(release: Release, tmp_path: Path) -> None:
    done = run("data", "fetch", "boss", "sa", "--raw", tmp_path, "--accept-terms", "all")
    _, _, last = done.stderr.partition("must be downloaded by hand:\n")
    items = [line for line in last.splitlines() if not line.startswith("   ")]
    assert items == [f"1. {find_source('amazon_5core').title}", f"2. {find_source('dynasent').title}"]
    assert find_source("dynasent").instructions.replace("RAW/", f"{tmp_path}/") in " ".join(last.split())


def test_a_failed_download_is_named_and_others_come(release: Release, tmp_path: Path) -> None:
    del release.files[f"/{TRAIN}"]
    done = run("data", "fetch", "boss", "sa.sst", "--raw", tmp_path, "--json", tmp_path / "out.json")
    assert done.returncode == 1
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert f"{release.url}/{TRAIN}: HTTP 404" in error
    assert (tmp_path / TEST).is_file()
    assert json.loads((tmp_path / "out.json").read_text())["problems"] == [error.removeprefix("error: ")]


def test_what_fails_everywhere_for_one_reason_is_said_once(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = sources.read_sources()["sst"].model_copy(
        update={"downloads": tuple(Download(urls=(f"http://127.0.0.1:9/{place}",), place=place) for place in TREES)}
    )
    monkeypatch.setattr(sources, "read_sources", lambda: {"sst": moved})
    done = run("data", "fetch", "boss", "sa.sst", "--raw", tmp_path)
    assert done.returncode == 1
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert "refused" in error


def test_after_ctrl_c_the_same_command_asks_for_the_rest(release: Release, tmp_path: Path) -> None:
    """Test in a process of its own, whose sources are those of this one."""
    release.files[f"/{TRAIN}"].faults = [Answer(cut=100, stall=30)]
    listed = json.dumps([each.model_dump(mode="json") for each in sources.read_sources().values()])
    (tmp_path / "sources.json").write_text(listed, encoding="utf-8")
    command = [sys.executable, "-c", STOPPED, str(tmp_path / "sources.json"), "data", "fetch", "boss", "sa.sst"]
    command += ["--raw", str(tmp_path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    part = _wait_for(
        lambda: next((each for each in tmp_path.rglob("train.txt.part") if each.stat().st_size >= 100), None)
    )
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1].startswith("stopped; ")
    assert part.exists()
    assert not (tmp_path / TRAIN).exists()
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / TRAIN).read_text(encoding="utf-8") == TREES[TRAIN]
    assert release.asked(f"/{TRAIN}") == [(None, 200), ("bytes=100-", 206)]


def test_build_fetches_first_where_it_is_asked_to(release: Release, tmp_path: Path) -> None:
    raw, out = tmp_path / "raw", tmp_path / "out"
    raw.mkdir()
    of = ("build", "boss", "sa.sst", "--raw", raw, "--partial", "--encoder", "none", "--out", out)
    assert run(*of).returncode == 1
    assert release.log == []
    done = run(*of, "--from-hub")
    assert done.returncode == 0, done.stderr
    assert "'--fetch'" in done.stderr
    assert len(release.log) == 2
    assert (out / "shiftbench.json").is_file()
    assert run("build", "boss", "sa", "--raw", tmp_path, "--accept-terms", "all", "--out", "o").returncode == 2


@pytest.mark.parametrize(
    ("typed", "code", "words"),
    [
        (("nli", "--raw", "raw"), 2, "found 'nli'; use one of 'dr', 'boss', 'df1'"),
        (("dr", "nlo", "--raw", "raw"), 2, "found 'nlo'; did you mean 'nli'?"),
        (("boss", "sa", "--raw", "raw", "--accept-terms", "semeval"), 2, "'semeval'; did you mean 'semeval2017'?"),
        (("boss", "sa.sst", "--raw", "file/raw"), 1, "file"),
    ],
)
def test_mistakes_are_told_in_a_line(
    typed: tuple[str, ...], code: int, words: str, release: Release, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    done = run("data", "fetch", *typed, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert words in error
    assert release.log == []


def _wait_for(find: Callable[[], Path | None]) -> Path:
    """Return what is found within half a minute."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        if (found := find()) is not None:
            return found
        time.sleep(0.02)
    raise TimeoutError
