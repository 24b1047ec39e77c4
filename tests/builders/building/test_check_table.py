"""The table of upstream files: what brings each, how large it is, on what terms, and the sums."""

import hashlib
import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building import availability
from shiftbench.builders.building.availability import (
    available_files,
    fetch_command,
    format_sizes,
    licence_word,
    terms_options,
)
from shiftbench.builders.building.build import BENCHMARKS
from shiftbench.builders.fetching.records import write_terms
from shiftbench.builders.specs import sources
from shiftbench.builders.specs.sources import Download, find_source, read_sources
from shiftbench.builders.specs.spec import FileFacts, Upstream
from tests.command_line import run

TREES = "(2 (2 a) (2 film))\n(4 (2 good) (2 film))\n"
TRAIN, TEST = "sst/trees/train.txt", "sst/trees/test.txt"
TWEETS = tuple(f"semeval2017/twitter-2016{split}-A.txt" for split in ("train", "test"))
DYNASENT = "dynasent/dynasent-v1.1/dynasent-v1.1-round01-yelp-test.jsonl"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "raw/sst/trees").mkdir(parents=True)
    (tmp_path / "raw" / TRAIN).write_text(TREES, encoding="utf-8")
    return tmp_path / "raw"


@pytest.fixture(autouse=True)
def invented(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace what brings files: SST's by a command, SemEval's with terms in one archive, all others by hand."""
    trees = tuple(Download(urls=(f"https://example.org/{place}",), size=900, place=place) for place in (TRAIN, TEST))
    tweets = Download(urls=("https://example.org/tweets.zip",), size=5_000, members=dict.fromkeys(TWEETS, "a.txt"))
    changes = {
        "sst": {"downloads": trees, "terms": None, "spdx": "CC0-1.0"},
        "semeval2017": {"downloads": (tweets,), "terms": "Only for research."},
    }
    none = {"downloads": (), "terms": None}
    listed = {slug: each.model_copy(update=changes.get(slug, none)) for slug, each in read_sources().items()}
    monkeypatch.setattr(sources, "read_sources", lambda: listed)
    facts = {TRAIN: FileFacts(rows=2, sha256=hashlib.sha256(TREES.encode()).hexdigest())}
    monkeypatch.setattr(availability, "upstream", lambda: Upstream(files=facts, rows={}))


def test_what_brings_each_file(raw: Path) -> None:
    files = {file.checked.path: file for file in available_files("boss", "sa", [raw])}
    statuses = {place: files[place].status for place in (TRAIN, TEST, *TWEETS, DYNASENT)}
    assert statuses == {
        TRAIN: "present, agrees",
        TEST: "missing: automatic",
        **dict.fromkeys(TWEETS, "missing: terms"),
        DYNASENT: "missing: by hand",
    }
    assert files[TRAIN].way == files[TEST].way == "automatic"
    assert (files[TRAIN].size, files[TEST].size, files[TWEETS[0]].size) == (len(TREES), 900, None)
    assert files[TEST].brings.split()[1:] == ["data", "fetch", "boss", "sa", "--raw", str(raw)]
    assert files[TWEETS[0]].brings == f"{files[TEST].brings} --accept-terms semeval2017"
    assert files[DYNASENT].brings == find_source("dynasent").url


def test_terms_accepted_before_are_not_asked_for_again(raw: Path) -> None:
    (raw / "semeval2017").mkdir()
    write_terms(raw, find_source("semeval2017"), raw)
    (file,) = [each for each in available_files("boss", "sa", [raw]) if each.checked.path == TWEETS[0]]
    assert "--accept-terms" not in file.brings


def test_a_file_that_two_benchmarks_read_is_of_both(raw: Path) -> None:
    files = {file.checked.path: file for file in available_files(None, None, [raw])}
    assert files["multinli_1.0/multinli_1.0_train.jsonl"].benchmarks == ("dr", "boss", "df1")
    assert {name for file in files.values() for name in file.benchmarks} == set(BENCHMARKS)
    squad = files["squad_v1/train-v1.1.json"]
    assert (squad.source.slug, squad.benchmarks) == ("squad_v1", ("boss",)), "in dr it stands for a part of SQuAD 2.0"


def test_the_command_prints_a_line_a_file_and_sums(raw: Path, wording: SnapshotAssertion) -> None:
    done = run("build", "boss", "sa", "--check", "--raw", raw, "--json", "-")
    assert done.returncode == 1
    assert done.stderr == wording
    assert max(map(len, done.stderr.replace(str(raw), "RAW").splitlines())) <= 100
    rows = {row["path"]: row for row in json.loads(done.stdout)}
    assert len(rows) == 37
    missing = rows[TWEETS[0]]
    assert (rows[TRAIN]["state"], missing["state"], missing["licence"]) == ("whole", "closed", "restricted")
    assert (missing["way"], missing["benchmarks"], missing["size"]) == ("terms", ["boss"], None)


def test_what_differs_is_below_its_file(raw: Path, wording: SnapshotAssertion) -> None:
    (raw / TRAIN).write_text(TREES.splitlines()[0] + "\n", encoding="utf-8")
    done = run("build", "boss", "sa", "--check", "--raw", raw)
    assert done.returncode == 1
    at = 1 + done.stderr.splitlines().index(_line_of(done.stderr, "train.txt"))
    assert done.stderr.splitlines()[at : at + 2] == wording


def test_it_ends_with_0_where_every_file_is_there_and_right(
    raw: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (raw / TEST).write_text(TREES, encoding="utf-8")
    done = run("build", "boss", "sa.sst", "--check", "--raw", raw)
    assert done.returncode == 0, done.stderr
    assert ["boss", "2", "1", "0", "1", "0", "0", "0"] in [line.split() for line in done.stderr.splitlines()]
    assert "fetch" not in done.stderr
    (raw / TEST).unlink()
    assert run("build", "boss", "sa.sst", "--check", "--raw", raw).returncode == 1
    assert run("build", "boss", "sa.sst", "--check", "--raw", tmp_path / "nowhere").returncode == 1


def test_options_that_check_leaves_unread_are_refused(raw: Path) -> None:
    done = run("build", "boss", "--check", "--raw", raw, "--partial", "--fetch", "--out", raw / "o")
    assert done.returncode == 2
    assert "--out, --partial, --fetch" in done.stderr
    done = run("build", "boss", "saa", "--check", "--raw", raw)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "'saa'" in done.stderr


@pytest.mark.parametrize(
    ("licence", "is_open", "spdx", "word"),
    [
        ("CC BY 4.0", True, "CC-BY-4.0", "CC-BY-4.0"),
        ("CC BY 4.0", True, None, "open"),
        ("none stated", False, None, "none"),
        ("for research; no redistribution", False, None, "research"),
        ("stated in conflicting ways", False, None, "unclear"),
        ("on request; no redistribution", False, None, "restricted"),
    ],
)
def test_a_licence_in_one_word(licence: str, is_open: bool, spdx: str | None, word: str) -> None:
    source = find_source("sst").model_copy(update={"licence": licence, "open_licence": is_open, "spdx": spdx})
    assert licence_word(source) == word


def test_no_licence_needs_two_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    words = {licence_word(source) for source in read_sources().values()}
    assert [word for word in words if " " in word] == []


def test_sizes_and_commands() -> None:
    assert format_sizes([1_000_000, None, None]).startswith("1.0 MB and 2 ")
    assert (format_sizes([]), format_sizes([None])) == ("", "unmeasured")
    assert fetch_command(None, [Path("my files")]) == "shiftbench data fetch --raw 'my files'"
    assert terms_options(["imdb", "yelp"]) == ["--accept-terms", "imdb", "--accept-terms", "yelp"]
    assert terms_options(["amazon", "imdb", "olid", "yelp"]) == ["--accept-terms", "all"]


def _line_of(text: str, name: str) -> str:
    return next(line for line in text.splitlines() if line.split()[:1] == [name])
