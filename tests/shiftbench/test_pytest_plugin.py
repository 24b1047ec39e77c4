"""The fixture ``shift_report``: found by its entry point, free until it is used."""

import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl

ROOT = Path(__file__).parents[2]


def test_the_fixture_holds_predictions_against_limits(tmp_path: Path) -> None:
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    installed = tmp_path / "installed" / "shift-0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: shift\nVersion: 0\n", encoding="utf-8")
    lines = "\n".join(f"{name} = {place}" for name, place in entry_points.items())
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{lines}\n", encoding="utf-8")
    rows = [(f"{site}{n}", site, ("good", "bad")[n % 2], f"{site} {n}") for site in ("a", "b") for n in range(60)]
    frame = pl.DataFrame(rows, schema=["id", "domain", "label", "text"], orient="row")
    wrong = (pl.col("domain") == "b") & (pl.int_range(pl.len()) % 3 == 0)
    frame.write_csv(tmp_path / "mine.csv")
    predicted = pl.when(wrong).then(pl.lit("good")).otherwise("label")
    frame.select("id", source=pl.lit("a"), prediction=predicted).write_csv(tmp_path / "preds.csv")
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\n[tool.shiftbench.gate]\ndata = "mine.csv"\nid-column = "id"\nmax-drop = 2\n'
    )
    (tmp_path / "test_mine.py").write_text(
        "import sys\n"
        "import polars as pl\n"
        "def test_free():\n"
        "    assert not {'shiftbench.gate', 'leaderboard', 'builders.cache', 'torch'} & set(sys.modules)\n"
        "def test_fails(shift_report):\n"
        "    report = shift_report('preds.csv')\n"
        "    assert report.passed, report\n"
        "def test_passes(shift_report):\n"
        "    assert shift_report(pl.read_csv('preds.csv'), max_drop=60, strict=True).passed\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    path = f"{installed.parent}:{ROOT}"
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False, timeout=120
    )
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "preds.csv: the gate fails: 1 limit broken (b)" in done.stdout
