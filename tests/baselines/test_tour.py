"""The tour of shiftbench in a notebook: its committed outputs are those of a run, and it stays small."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "baselines/tour.ipynb"


def outputs(path: Path) -> list[dict[str, Any]]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells if cell["cell_type"] == "code" for output in cell["outputs"]]


def results(path: Path) -> list[str]:
    """The values that cells show; what commands print is left to the commands' own tests."""
    return ["".join(each["data"]["text/plain"]) for each in outputs(path) if each["output_type"] == "execute_result"]


def printed(path: Path) -> str:
    return "".join("".join(each["text"]) for each in outputs(path) if each["output_type"] == "stream")


def test_it_is_committed_with_its_outputs_and_is_small() -> None:
    cells = json.loads(TOUR.read_text(encoding="utf-8"))["cells"]
    assert len(cells) <= 25
    counts = [cell["execution_count"] for cell in cells if cell["cell_type"] == "code"]
    assert counts == list(range(1, len(counts) + 1))
    pictures = [each["data"]["image/png"] for each in outputs(TOUR) if "image/png" in each.get("data", {})]
    assert len(pictures) == 2
    assert TOUR.stat().st_size < 300_000
    assert "Traceback" not in printed(TOUR)


@pytest.mark.long
def test_it_runs_and_shows_what_is_committed(tmp_path: Path) -> None:
    copy = Path(shutil.copy(TOUR, tmp_path))
    subprocess.run([sys.executable, "-m", "tests.notebooks", copy], check=True, cwd=ROOT, timeout=600)
    assert results(copy) == results(TOUR), "bring it up to date: python -m tests.notebooks baselines/tour.ipynb"
    for words in (
        "wrote tfidf-lr.parquet",
        "differences between domains are significant",
        "Forecast of north, accuracy",
    ):
        assert words in printed(copy)
