"""The fixture ``shift_report`` for tests of a project's own; pytest finds it where shiftbench is installed.

    def test_no_site_falls_behind(shift_report):
        report = shift_report("preds.csv", data="my.csv", columns="id=id", max_drop=5)
        assert report.passed, report

Nothing of ours is imported until the fixture's function is called.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from shiftbench.checking.gate import ShownGate


@pytest.fixture
def shift_report(pytestconfig: pytest.Config) -> "Callable[..., ShownGate]":
    """Return a function that tests predictions against limits by domain, as ``shiftbench gate`` does.

    It takes a prediction file, or a table as ``shiftbench.score`` takes it, and settings by name: ``data``,
    ``max_drop``, ``min_score`` (points) and what else ``shiftbench gate --help`` lists, with underscores. What is not
    given is the project's own, from ``[tool.shiftbench.gate]`` of the ``pyproject.toml`` in pytest's root.
    """

    def report(predictions: Any, **settings: Any) -> "ShownGate":
        from shiftbench.checking.gate import read_gate_settings, run_gate_of_settings

        return run_gate_of_settings(
            predictions, read_gate_settings(pytestconfig.rootpath / "pyproject.toml") | settings
        )

    return report
