"""Checking upstream files: every state that a file may be in, what was verified of it, and what differs."""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shiftbench.builders.building import check as check_module
from shiftbench.builders.building.build import BENCHMARKS
from shiftbench.builders.building.check import STATES, CheckedFile, check_files
from shiftbench.builders.specs.spec import FileFacts, TotalFacts, Upstream, upstream
from shiftbench.cli.command import app
from shiftbench.validation.report import InvalidInput

TREES = "(2 (2 a) (2 film))\n(4 (2 good) (2 film))\n"
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
    return {file.path: file for file in check_files("boss", "sa", [raw])}


def test_states_of_files(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sha256 = hashlib.sha256(TREES.encode()).hexdigest()
    files = checked(raw, monkeypatch, train=FileFacts(rows=2, sha256=sha256))
    assert files[TRAIN] == (TRAIN, "whole", 2, sha256, "checksum", "")
    assert files[TEST] == (TEST, "unverified", None, None, "", "")
    assert files["semeval2017/twitter-2016test-A.txt"].state == "closed"
    dynasent = "dynasent/dynasent-v1.1/dynasent-v1.1-round01-yelp-test.jsonl"
    assert files[dynasent] == (dynasent, "missing", None, None, "", "")


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
    files = {file.path: file for file in check_files("boss", "sa", [raw])}
    assert files[TRAIN] == (TRAIN, "whole", 4, None, "total", "")
    records.totals = (TotalFacts(files=(TRAIN, TEST), rows=5),)
    files = {file.path: file for file in check_files("boss", "sa", [raw])}
    assert (files[TEST].state, files[TEST].found) == ("there", "4 rows in 2 files")
    (raw / TEST).unlink()
    files = {file.path: file for file in check_files("boss", "sa", [raw])}
    assert (files[TRAIN].state, files[TRAIN].found) == ("there", "2 rows; its total needs test.txt")
    assert (files[TEST].state, files[TEST].recorded_rows) == ("closed", 5)


def test_a_checksum_is_that_of_the_form_that_lies_there(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(TREES.encode(), mtime=0)
    (raw / TRAIN).unlink()
    (raw / f"{TRAIN}.gz").write_bytes(packed)
    facts = {TRAIN: FileFacts(rows=2, sha256="0" * 64)}
    monkeypatch.setattr(check_module, "upstream", lambda: Upstream(files=facts, rows={}))
    (found,) = [file for file in check_files("boss", "sa", [raw]) if file.path == TRAIN]
    assert (found.state, found.recorded_sha256, found.verified) == ("whole", None, "rows")
    facts[f"{TRAIN}.gz"] = FileFacts(sha256=hashlib.sha256(packed).hexdigest())
    (found,) = [file for file in check_files("boss", "sa", [raw]) if file.path == TRAIN]
    assert (found.state, found.verified) == ("whole", "checksum")
    (raw / f"{TRAIN}.gz").unlink()
    (found,) = [file for file in check_files("boss", "sa", [raw]) if file.path == TRAIN]
    assert (found.state, found.recorded_sha256) == ("closed", "0" * 64)
    (raw / TRAIN).write_text(TREES, encoding="utf-8")
    facts[TRAIN] = FileFacts(rows=2)
    (found,) = [file for file in check_files("boss", "sa", [raw]) if file.path == TRAIN]
    assert (found.state, found.recorded_sha256, found.verified) == ("whole", None, "rows")


def test_options_that_check_leaves_unread_are_refused(raw: Path) -> None:
    run = CliRunner().invoke(app, ["build", "boss", "--check", "--raw", str(raw), "--partial", "--out", str(raw / "o")])
    assert run.exit_code == 2
    assert "--out, --partial" in run.output


def test_the_command_prints_every_file_and_fails_where_one_is_not_as_recorded(raw: Path) -> None:
    """Test with invented trees, which are fewer than SST's 8,544."""
    run = CliRunner().invoke(app, ["build", "boss", "sa", "--check", "--raw", str(raw), "--json", str(raw / "a.json")])
    assert run.exit_code == 1
    assert "2 rows, 8,542 too few" in " ".join(run.output.split())
    assert "there: 2 (there, but not as recorded)" in run.output
    rows = json.loads((raw / "a.json").read_text(encoding="utf-8"))
    assert {row["state"] for row in rows} <= set(STATES)
    assert {row["path"]: row["recorded_rows"] for row in rows}[TRAIN] == 8_544
    assert len(rows) == 29 + 4 + 2 + 2


def test_all_benchmarks_are_checked_and_no_other_name(tmp_path: Path) -> None:
    files = check_files(None, None, [tmp_path])
    wanted = {
        file.path
        for _, specs in BENCHMARKS.values()
        for spec in specs
        for domain in spec.domains
        for split in domain.files.values()
        for file in split
        if not file.partial
    }
    assert {file.path for file in files} == wanted
    assert {file.state for file in files} == {"missing", "closed"}
    with pytest.raises(InvalidInput, match="there is no such task of boss"):
        check_files("boss", "saa", [tmp_path])


def test_few_files_have_nothing_recorded(tmp_path: Path) -> None:
    """Test that only these files lack a record, because no two sources agree on a count; no other may lose its own."""
    unknown = {
        file.path
        for file in check_files(None, None, [tmp_path])
        if file.recorded_rows is None and file.recorded_sha256 is None
    }
    categories = ("Gift_Cards", "Office_Products", "Patio_Lawn_and_Garden", "Prime_Pantry", "Sports_and_Outdoors")
    assert unknown == {f"amazon_5core/{name}_5.json" for name in categories} | {
        f"das/large/{name}/text.txt" for name in ("cell_phone", "baby", "yelp2014", "imdb")
    }
    assert all(len(facts.sha256) == 64 for facts in upstream().files.values() if facts.sha256)
