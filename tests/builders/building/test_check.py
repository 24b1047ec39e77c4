"""Checking upstream files: every state that a file may be in, what was verified of it, and what differs."""

import gzip
import hashlib
from pathlib import Path

import pytest

from shiftbench.builders.building import check as check_module
from shiftbench.builders.building.build import BENCHMARKS, choose_tasks
from shiftbench.builders.building.check import CheckedFile, check_files
from shiftbench.builders.specs.spec import FileFacts, TotalFacts, Upstream, upstream

TREES = "(2 (2 a) (2 film))\n(4 (2 good) (2 film))\n"
SA = choose_tasks("boss", "sa")
DAS = ("cell_phone", "baby", "yelp2014", "imdb")
TRAIN, TEST = "sst/trees/train.txt", "sst/trees/test.txt"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    (tmp_path / "sst/trees").mkdir(parents=True)
    for name in (TRAIN, TEST):
        (tmp_path / name).write_text(TREES, encoding="utf-8")
    return tmp_path


def checked(raw: Path, monkeypatch: pytest.MonkeyPatch, **records: FileFacts) -> dict[str, CheckedFile]:
    facts = {name: records[key] for name, key in ((TRAIN, "train"), (TEST, "test")) if key in records}
    monkeypatch.setattr(check_module, "upstream", lambda: Upstream(files=facts, rows={}))
    return {file.path: file for file in check_files(SA, [raw])}


def test_states_of_files(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256 = hashlib.sha256(TREES.encode()).hexdigest()
    files = checked(raw, monkeypatch, train=FileFacts(rows=2, sha256=sha256))
    assert files[TRAIN] == (TRAIN, "whole", 2, sha256, "checksum", "", len(TREES))
    assert files[TEST] == (TEST, "unverified", None, None, "", "", len(TREES))
    assert files["semeval2017/twitter-2016test-A.txt"].state == "closed"
    dynasent = "dynasent/dynasent-v1.1/dynasent-v1.1-round01-yelp-test.jsonl"
    assert files[dynasent] == (dynasent, "missing", None, None, "", "", None)


@pytest.mark.parametrize(
    ("facts", "state", "verified", "found"),
    [
        (FileFacts(rows=2), "whole", "rows", ""),
        (FileFacts(rows=3), "there", "", "2 rows, 1 too few"),
        (FileFacts(rows=1, sha256="0" * 64), "there", "", "2 rows, 1 too many"),
        (FileFacts(rows=2, sha256="0" * 64), "there", "rows", "the checksum differs: another revision?"),
        (FileFacts(sha256="0" * 64), "there", "", "the checksum differs: another revision?"),
    ],
)
def test_a_file_beside_its_records(
    raw: Path, monkeypatch: pytest.MonkeyPatch, facts: FileFacts, state: str, verified: str, found: str
) -> None:
    file = checked(raw, monkeypatch, train=facts)[TRAIN]
    assert (file.state, file.verified, file.found) == (state, verified, found)


def test_a_malformed_file_is_named_and_the_others_are_checked(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (raw / TRAIN).write_text("<!DOCTYPE html>\n", encoding="utf-8")
    files = checked(raw, monkeypatch, train=FileFacts(rows=2), test=FileFacts(rows=2))
    assert files[TRAIN].state == "there"
    assert files[TRAIN].found.startswith(f"{raw / TRAIN}, row 1: ")
    assert files[TEST].state == "whole"


def test_files_whose_total_is_recorded(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = Upstream(files={}, totals=(TotalFacts(files=(TRAIN, TEST), rows=4),), rows={})
    monkeypatch.setattr(check_module, "upstream", lambda: records)
    files = {file.path: file for file in check_files(SA, [raw])}
    assert files[TRAIN] == (TRAIN, "whole", 4, None, "total", "", len(TREES))
    records.totals = (TotalFacts(files=(TRAIN, TEST), rows=5),)
    files = {file.path: file for file in check_files(SA, [raw])}
    assert (files[TEST].state, files[TEST].found) == ("there", "4 rows in 2 files")
    (raw / TEST).unlink()
    files = {file.path: file for file in check_files(SA, [raw])}
    assert files[TRAIN].state == "there"
    assert "test.txt" in files[TRAIN].found
    assert (files[TEST].state, files[TEST].recorded_rows) == ("closed", 5)


def test_a_checksum_is_that_of_the_form_that_lies_there(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(TREES.encode(), mtime=0)
    (raw / TRAIN).unlink()
    (raw / f"{TRAIN}.gz").write_bytes(packed)
    facts = {TRAIN: FileFacts(rows=2, sha256="0" * 64)}
    monkeypatch.setattr(check_module, "upstream", lambda: Upstream(files=facts, rows={}))
    (found,) = [file for file in check_files(SA, [raw]) if file.path == TRAIN]
    assert (found.state, found.recorded_sha256, found.verified) == ("whole", None, "rows")
    facts[f"{TRAIN}.gz"] = FileFacts(sha256=hashlib.sha256(packed).hexdigest())
    (found,) = [file for file in check_files(SA, [raw]) if file.path == TRAIN]
    assert (found.state, found.verified) == ("whole", "checksum")
    (raw / f"{TRAIN}.gz").unlink()
    (found,) = [file for file in check_files(SA, [raw]) if file.path == TRAIN]
    assert (found.state, found.recorded_sha256) == ("closed", "0" * 64)
    (raw / TRAIN).write_text(TREES, encoding="utf-8")
    facts[TRAIN] = FileFacts(rows=2)
    (found,) = [file for file in check_files(SA, [raw]) if file.path == TRAIN]
    assert (found.state, found.recorded_sha256, found.verified) == ("whole", None, "rows")


def test_all_benchmarks_are_checked(tmp_path: Path) -> None:
    """Test that each whole file has a row, and so has what a reader reads beside it."""
    files = check_files(choose_tasks(None, None), [tmp_path])
    wanted = {
        str(Path(file.path).with_name(name))
        for _, specs in BENCHMARKS.values()
        for spec in specs
        for domain in spec.domains
        for split in domain.files.values()
        for file in split
        if not file.partial
        for name in (Path(file.path).name, *file.beside)
    }
    assert {file.path for file in files} == wanted
    assert {file.state for file in files} == {"missing", "closed"}


def test_few_files_have_nothing_recorded(tmp_path: Path) -> None:
    """Test that only these files lack a record, because no two sources agree on a count; no other may lose its own."""
    unknown = {
        file.path
        for file in check_files(choose_tasks(None, None), [tmp_path])
        if file.recorded_rows is None and file.recorded_sha256 is None
    }
    categories = ("Gift_Cards", "Office_Products", "Patio_Lawn_and_Garden", "Prime_Pantry", "Sports_and_Outdoors")
    assert unknown == {f"amazon_5core/{name}_5.json" for name in categories} | {
        f"das/large/{name}/{part}.txt"
        for name in ("cell_phone", "baby", "yelp2014", "imdb")
        for part in ("text", "label")
    }
    assert all(len(facts.sha256) == 64 for facts in upstream().files.values() if facts.sha256)
