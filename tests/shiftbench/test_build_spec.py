"""``build own --spec`` as typed: built, recorded, checked and fetched like the benchmarks of the papers."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.builders.fetching.invented import as_zip
from tests.builders.fetching.server import Served, running_release
from tests.command_line import run

SPEC = """
name = "support"
title = "Support tickets"

[sources.tickets]
title = "Tickets, invented"
licence = "CC0 1.0"
open_licence = true
harm = "none"
personal_data = "none"
terms = "You do not look for who wrote them."
downloads = [{ urls = ["URL/tickets.zip"], members = { "tickets/tickets.csv" = "release/tickets.csv" } }]

[tasks.urgency]
title = "Urgency of tickets"
kind = "labels"
labels = ["urgent", "routine"]
columns = { domain = "team" }
train = "tickets/tickets.csv"
domains = ["hardware", "software"]
"""
ROWS = "team,text,label\n" + "".join(
    f"{team},ticket {n} of {team},{('urgent', 'routine')[n % 2]}\n"
    for team in ("hardware", "software")
    for n in range(90)
)


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "bench.toml"
    path.write_text(SPEC.replace("URL", "http://127.0.0.1:9"), encoding="utf-8")
    return path


def place(folder: Path) -> None:
    (folder / "tickets").mkdir(parents=True)
    (folder / "tickets/tickets.csv").write_text(ROWS, encoding="utf-8")


def test_recorded_checked_and_built_again(spec: Path, tmp_path: Path) -> None:
    options = ("build", "own", "--spec", spec)
    missing = run(*options, "--check")
    assert missing.returncode == 1
    assert f"--spec {spec} --fetch" in missing.stderr.replace("\n", "")
    place(tmp_path)
    first = run(*options, "--out", tmp_path / "first", "--encoder", "none", "--record")
    assert first.returncode == 0, first.stderr
    assert str(spec.with_suffix(".lock.json")) in first.stderr.splitlines()[-1]
    done = run(*options, "--out", tmp_path / "second", "--encoder", "none", "--json", "-")
    assert (done.returncode, ".lock.json" in done.stderr) == (0, False)
    assert json.loads(done.stdout)["benchmark"] == "support"
    checked = run(*options, "--check", "--json", "-")
    sums = [line.split()[1:] for line in checked.stderr.splitlines() if line.startswith("support ")]
    assert sums == [["1", "1", "0", "0", "0", "0", "0"]]
    assert checked.returncode == 0
    assert [(file["path"], file["state"]) for file in json.loads(checked.stdout)] == [("tickets/tickets.csv", "whole")]


def test_files_are_fetched_on_accepted_terms(spec: Path, tmp_path: Path) -> None:
    with running_release() as release:
        release.files["/tickets.zip"] = Served(as_zip({"release/tickets.csv": ROWS.encode()}))
        spec.write_text(SPEC.replace("URL", release.url), encoding="utf-8")
        options = ("build", "own", "--spec", spec, "--raw", tmp_path / "RAW", "--fetch")
        (tmp_path / "RAW").mkdir()
        refused = run(*options)
        assert refused.returncode == 1
        assert "--accept-terms tickets" in refused.stderr
        assert release.log == []
        out = tmp_path / "out"
        done = run(*options, "--accept-terms", "tickets", "--out", out, "--encoder", "none")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "RAW/tickets/tickets.csv").read_text(encoding="utf-8") == ROWS
        assert json.loads((out / "shiftbench.json").read_text(encoding="utf-8"))["title"] == "Support tickets"
        assert run(*options).returncode == 0  # what is there is not asked for again
        assert len(release.asked("/tickets.zip")) == 1


def test_options_that_would_not_be_read_are_refused(spec: Path, wording: SnapshotAssertion) -> None:
    said = {}
    for words in (
        ("tickets", "--record", "--out", "out"),
        ("tickets", "--out", "out"),
        ("--spec", "SPEC", "--columns", "label=x", "--out", "out"),
        ("urgency", "--spec", "SPEC", "--record", "--out", "out"),
        ("--spec", "SPEC"),
        ("--spec", "SPEC", "--check", "--record"),
    ):
        done = run("build", "own", *(str(spec) if word == "SPEC" else word for word in words))
        assert done.returncode == 2, words
        said[" ".join(words)] = done.stderr.partition("Invalid value: ")[2].strip()
    assert said == wording
