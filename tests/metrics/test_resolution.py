"""Resolved scenarios: by the signs of two intervals, and wrong in at most 5% of shifts (``pytest -m long -s``)."""

import numpy as np
import pytest

from shiftbench.metrics.resolution import resolved_scenario
from tests.metrics.resolving import Drop, resolved_shares

WRONG = [
    Drop("SD 10, TD 0", 0.85, 0.75, 0.75),
    Drop("SD 0, TD 10", 0.75, 0.85, 0.75),
    Drop("SD 0, TD 0", 0.8, 0.8, 0.8),
    Drop("SD 10, TD 0, models alike", 0.85, 0.75, 0.75, alike=0.9),
    Drop("SD 10, TD 0, 100 texts", 0.85, 0.75, 0.75, n=100),
]
TRUE = [
    Drop("SD 6, TD 6", 0.81, 0.81, 0.75),
    Drop("SD 8, TD 5", 0.83, 0.80, 0.75),
    Drop("SD 10, TD -5", 0.85, 0.70, 0.75),
]


def test_signs_of_two_intervals() -> None:
    sd = [[0.01, 0.1], [0.01, 0.1], [-0.1, -0.01], [-0.1, -0.01], [0.0, 0.1], [np.nan, np.nan], [-0.1, 0.1]]
    td = [[0.01, 0.1], [-0.1, -0.01], [0.01, 0.1], [-0.1, -0.01], [0.01, 0.1], [0.01, 0.1], [0.01, 0.1]]
    names = ["Classic", "Observed", "Unobserved", "No Challenge", "Unresolved", "Unresolved", "Unresolved"]
    assert resolved_scenario(sd, td).tolist() == names
    assert str(resolved_scenario(sd[0], td[1])) == "Observed"


def test_malformed_ends_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one shape \(\.\.\., 2\)"):
        resolved_scenario([0.1, 0.2, 0.3], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="above its upper end"):
        resolved_scenario([0.2, 0.1], [0.1, 0.2])


def test_two_intervals_resolve_more_and_err_in_at_most_5_percent() -> None:
    found = resolved_shares(WRONG[0], 400, 1)
    assert found["joint region"][1] < 0.025
    assert found["two intervals"][1] < 0.08
    found = resolved_shares(TRUE[0], 200, 1)
    assert found["two intervals"][0] > found["joint region"][0] + 0.1
    assert found["two intervals"][1] < 0.05


@pytest.mark.long
def test_table_of_resolved_scenarios() -> None:
    print("\n| true drops, in points | resolved: joint region | wrongly | resolved: two intervals | wrongly |")
    print("|---|---:|---:|---:|---:|")
    for setting in (*WRONG, *TRUE):
        found = resolved_shares(setting, 4000, 1)
        print(
            f"| {setting.name} | " + " | ".join(f"{100 * part:.1f}" for pair in found.values() for part in pair) + " |"
        )
        assert found["two intervals"][1] < 0.06
        assert found["two intervals"][0] >= found["joint region"][0]
