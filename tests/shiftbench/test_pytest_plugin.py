"""The fixture ``shift_report``: what it takes and shows, and that it is free until it is used."""

import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

pytest_plugins = "pytester"
ROOT = Path(__file__).parents[2]
TESTS = """
import polars as pl

def test_fails(shift_report):
    report = shift_report("preds.csv")
    assert report.passed, report

def test_passes(shift_report):
    assert shift_report(pl.read_csv("preds.csv"), max_drop=60, strict=True, text_column="text").passed
"""


def test_the_fixture_holds_predictions_against_limits(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # where it is installed it would be there twice
    rows = [(f"{site}{n}", site, ("good", "bad")[n % 2], f"{site} {n}") for site in ("a", "b") for n in range(60)]
    frame = pl.DataFrame(rows, schema=["id", "domain", "label", "text"], orient="row")
    wrong = (pl.col("domain") == "b") & (pl.int_range(pl.len()) % 3 == 0)
    frame.write_csv(pytester.path / "mine.csv")
    predicted = pl.when(wrong).then(pl.lit("good")).otherwise("label")
    frame.select("id", source=pl.lit("a"), prediction=predicted).write_csv(pytester.path / "preds.csv")
    settings = '[tool.shiftbench.gate]\ndata = "mine.csv"\nid-column = "id"\nmax-drop = 2\n'
    (pytester.path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{settings}", encoding="utf-8")
    pytester.makepyfile(TESTS)
    plugin = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["entry-points"]["pytest11"]
    result = pytester.runpytest_subprocess("-p", plugin["shiftbench"], "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1, passed=1)
    assert "preds.csv: the gate fails" in result.stdout.str()


def test_the_plugin_imports_nothing_of_ours() -> None:
    code = "import sys, pytest, shiftbench.pytest_plugin\n"
    code += "print(sorted(name for name in sys.modules if name.startswith('shiftbench.')))\n"
    code += "print({'polars', 'numpy', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['shiftbench.pytest_plugin']", "set()"]
