"""An artifact is verified by its read-me alone, in a folder where there is nothing else."""

import json
import re
import shlex
import time
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.report import InvalidInput
from tests.command_line import run, run_process
from tests.refusals import refusal
from tests.scoring.comparing.test_files import predictions


@pytest.fixture(scope="module")
def made(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two prediction files of one name, a card, and the claim about them."""
    place = tmp_path_factory.mktemp("claim")
    domains = list(synthetic.task("nli").domains)
    for name, error, seed in (("ours", 0.05, 0), ("theirs", 0.6, 1)):
        (place / name).mkdir()
        predictions(synthetic, error, domains, seed).write_csv(place / name / "preds.csv")
    card = {"name": "Ours", "paradigm": "other", "data": synthetic.content_hash}
    (place / "ours/preds.card.yaml").write_text(yaml.safe_dump(card), encoding="utf-8")
    files = [place / name / "preds.csv" for name in ("ours", "theirs")]
    claim = place / "claim.json"
    assert run("compare", *files, "--data", synthetic.path, "--names", "Ours,Theirs", "--json", claim).returncode == 0
    return place


def unpack(archive: Path, place: Path) -> tuple[str, list[str]]:
    """Unpack an archive; returns its read-me and the command in it, without what installs."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(place)
    text = (place / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^shiftbench (.*)$", text, flags=re.M)
    return text, shlex.split(line)


def test_it_is_verified_by_its_read_me_alone(made: Path, synthetic: DatasetFolder, tmp_path: Path) -> None:
    out = tmp_path / "artifact.zip"
    done = run("study", "artifact", made / "claim.json", "--data", synthetic.path, "--files", made, "--out", out)
    assert done.returncode == 0, done.stderr
    text, command = unpack(out, tmp_path / "else")
    assert len(text.splitlines()) <= 60
    assert re.search(r"^- These trained models, nli: 'Ours' scores higher than 'Theirs' \(mean ST, ", text, flags=re.M)
    began = time.monotonic()
    verified = run_process(*command, cwd=tmp_path / "else")
    assert time.monotonic() - began < 300
    assert verified.returncode == 0, verified.stderr
    held = {path.relative_to(tmp_path / "else").as_posix() for path in (tmp_path / "else").rglob("*") if path.is_file()}
    named = {"predictions/1-preds.csv", "predictions/1-preds.card.yaml", "predictions/2-preds.csv", "claim.json"}
    assert held >= named | {"data/croissant.json", "data/shiftbench.json", "README.md"}
    assert all(f"`{name}`" in text for name in named)
    claim = json.loads((tmp_path / "else/claim.json").read_text())
    assert claim["data"] == "data"
    assert str(made) not in (tmp_path / "else/claim.json").read_text()


def test_the_same_claim_makes_the_same_bytes(made: Path, synthetic: DatasetFolder, tmp_path: Path) -> None:
    for name in ("a.zip", "b.zip"):
        options = ("--data", synthetic.path, "--files", made, "--out", tmp_path / name)
        assert run("study", "artifact", made / "claim.json", *options).returncode == 0
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_rows_that_may_not_be_passed_on_stay_out(
    made: Path, synthetic: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftbench.checking.artifact._may_pass_on", lambda _: False)
    options = ("--data", synthetic.path, "--files", made, "--out", tmp_path / "artifact.zip")
    assert run("study", "artifact", made / "claim.json", *options).returncode == 0
    _, command = unpack(tmp_path / "artifact.zip", tmp_path / "else")
    assert not list((tmp_path / "else").rglob("*.parquet"))
    assert {path.name for path in (tmp_path / "else/data").iterdir()} == {
        "README.md",
        "croissant.json",
        "shiftbench.json",
    }
    command[command.index("BUILT")] = str(synthetic.path)
    assert run(*command, cwd=tmp_path / "else").returncode == 0


def test_a_file_of_ones_own_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(f"{site}{n}", site, n % 2, f"{site} visit {n}") for site in ("Books", "Toys") for n in range(60)]
    mine = pl.DataFrame(rows, schema=["key", "site", "label", "text"], orient="row")
    mine.write_csv("mine.csv")
    for name, wrong in (("a.csv", 10), ("b.csv", 3)):
        answers = mine["label"] ^ (pl.int_range(120, eager=True) % wrong == 0).cast(pl.Int64)
        pl.DataFrame({"id": mine["key"], "source": "Books", "prediction": answers}).write_csv(name)
    columns = ("--columns", "domain=site,id=key")
    assert run("compare", "a.csv", "b.csv", "--data", "mine.csv", *columns, "--json", "claim.json").returncode == 0
    assert run("study", "artifact", "claim.json", "--out", "artifact.zip").returncode == 0
    _, command = unpack(tmp_path / "artifact.zip", tmp_path / "else")
    assert (tmp_path / "else/data/mine.csv").read_bytes() == (tmp_path / "mine.csv").read_bytes()
    assert run(*command, cwd=tmp_path / "else").returncode == 0


def test_a_claim_that_does_not_hold_is_not_written(
    made: Path, synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    claim: dict[str, Any] = json.loads((made / "claim.json").read_text())
    claim["hypothesis"] = ["Ours is better."]
    (tmp_path / "claim.json").write_text(json.dumps(claim))
    options = ("--data", synthetic.path, "--files", made, "--out", tmp_path / "artifact.zip")
    done = run("study", "artifact", tmp_path / "claim.json", *options)
    assert done.returncode == 1
    said = {"the claim does not hold": done.stderr}
    assert not (tmp_path / "artifact.zip").exists()
    from shiftbench.checking.artifact import write_artifact

    files = (tmp_path / "claim.json", tmp_path / "artifact.zip")
    said["data elsewhere"] = refusal(InvalidInput, write_artifact, *files)
    assert said == wording
