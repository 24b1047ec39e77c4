"""The command ``shiftbench study protocol``: tables, JSON, picture, errors and exit codes."""

import json
import struct
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.papers.protocol.choice import DatasetChoice
from shiftbench.scoring.papers.protocol.report import choice_picture
from shiftbench.scoring.papers.protocol.run import choose_measured, choose_reported
from shiftbench.validation.report import InvalidInput
from tests import command_line


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return command_line.run("protocol", *arguments)


def test_the_papers_tables(tmp_path: Path) -> None:
    result = run("nli", "--reported", "--picture", tmp_path / "nli.png", "--json", tmp_path / "nli.json")
    assert result.returncode == 0, result.stderr

    # No table is broken into lines at 120 columns.
    assert result.stdout.count("\u2500\u2500\u2500") > 0
    assert "\n ANLI         162,865    3,200 " in result.stdout
    assert "(adversarial)" in result.stdout
    cb = next(line for line in result.stdout.splitlines() if line.startswith(" CB ") and "WANLI" in line)
    assert cb.split()[-2:] == ["0.08", "50.0%"]
    wanli = next(line for line in result.stdout.splitlines() if line.startswith(" WANLI ") and "next: CB" in line)
    assert wanli.split()[-2:] == ["0.08", "50.0%"]
    assert result.stdout.count("[-5.63, 5.47]") == 2
    assert (tmp_path / "nli.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "nli.json").read_text(encoding="utf-8"))["ood"] == ["ANLI", "ContractNLI", "WANLI"]


def test_json_alone_on_standard_output() -> None:
    result = run("ner", "--reported", "--n-ood", 2, "--json", "-")
    found = DatasetChoice.model_validate_json(result.stdout)
    assert (found.task, found.id, found.ood) == ("ner", "Few-NERD", ("E-NER", "WNUT"))


def test_a_folder(suite: DatasetFolder, predictions: Path, wording: SnapshotAssertion) -> None:
    result = run("nli", "--data", suite.path, "--predictions", predictions, "--id", "wide")
    assert result.returncode == 0, result.stderr
    assert result.stdout == wording
    bare = run("nli", "--data", suite.path)
    assert bare.returncode == 0, bare.stderr
    assert " -> ?" in bare.stdout


@pytest.mark.parametrize(
    "options", [(), ("--reported", "--data", "x"), ("--reported", "--encoder", "x"), ("--reported", "--n-ood", "0")]
)
def test_wrong_usage(options: tuple[str, ...]) -> None:
    result = run("nli", *options)
    assert result.returncode == 2
    assert (options or ["--data"])[-2:][0] in result.stderr


def test_refused_input(tmp_path: Path, wording: SnapshotAssertion) -> None:
    results = run("nlj", "--reported"), run("nli", "--data", tmp_path)
    assert [result.returncode for result in results] == [1, 1]
    assert [result.stderr for result in results] == wording


def test_pictures(suite: DatasetFolder, predictions: Path) -> None:
    def width(picture: bytes) -> int:
        assert picture.startswith(b"\x89PNG")
        return int(struct.unpack(">I", picture[16:20])[0])

    both = choice_picture(choose_reported("td", 3))
    assert width(both) == 1200
    assert both == choice_picture(choose_reported("td", 3))
    assert width(choice_picture(choose_measured(suite, "nli", 2, predictions=predictions))) == 600
    with pytest.raises(InvalidInput, match="SHIFTBENCH_ENCODER"):
        choice_picture(choose_measured(suite, "nli", 2))
