"""The pytest fixture ``shift_report``; pytest finds it if shiftbench is installed.

    def test_no_site_falls_behind(shift_report):
        report = shift_report("preds.csv", data="my.csv", columns="id=id", max_drop=5)
        assert report.passed, report

shiftbench is not imported until the fixture's function is called.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shiftbench.checking.gate import ShownGate


@pytest.fixture
def shift_report(pytestconfig: pytest.Config) -> "Callable[..., ShownGate]":
    """Return a function that tests predictions against limits by domain, like ``shiftbench gate``.

    It accepts a prediction file, or a table as in ``shiftbench.score``, and settings by name: ``data``, ``max_drop``,
    ``min_score`` (points) and the other options of ``shiftbench gate --help``, with underscores. Defaults are read from
    ``[tool.shiftbench.gate]`` of the ``pyproject.toml`` in pytest's root.
    """

    def report(predictions: Any, **settings: Any) -> "ShownGate":
        from shiftbench.checking.gate import read_gate_settings, run_gate_of_settings

        return run_gate_of_settings(
            predictions, read_gate_settings(pytestconfig.rootpath / "pyproject.toml") | settings
        )

    return report
