"""The comparison of figures: the last digits may differ, and nothing else."""

from typing import Any

import polars as pl
import pytest

from shiftbench.scoring.scores.shape import Estimate
from tests.close_figures import FITTED, assert_close

NAN = float("nan")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (1e6 + 1e-4, 1e6),
        ({"a": [0.1 + 0.2, None, "x", NAN]}, {"a": [0.3, None, "x", NAN]}),
        (Estimate(value=0.1 + 0.2, low=0.1, high=0.5), Estimate(value=0.3, low=0.1, high=0.5)),
        (pl.DataFrame({"id": ["a"], "p": [0.1 + 0.2]}), pl.DataFrame({"id": ["a"], "p": [0.3]})),
    ],
)
def test_last_digits_may_differ(found: Any, expected: Any) -> None:
    assert_close(found, expected)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (0.3 + 2e-9, 0.3),
        (0.3, NAN),
        (0.3, None),
        (3, 4),
        ("a", "b"),
        ([1.0], [1.0, 1.0]),
        ({"a": 1.0}, {"b": 1.0}),
        ({"a": {"b": [0.3, 0.3 + 1e-6]}}, {"a": {"b": [0.3, 0.3]}}),
        (Estimate(value=0.3, low=0.1, high=0.5), Estimate(value=0.3, low=0.1, high=0.6)),
        (pl.DataFrame({"id": ["a"], "p": [0.3]}), pl.DataFrame({"id": ["b"], "p": [0.3]})),
        (pl.DataFrame({"id": ["a"], "p": [0.3 + 1e-8]}), pl.DataFrame({"id": ["a"], "p": [0.3]})),
    ],
)
def test_everything_else_must_agree(found: Any, expected: Any) -> None:
    with pytest.raises(AssertionError):
        assert_close(found, expected)


def test_the_tolerance_is_asked_for() -> None:
    assert_close([0.5 + 1e-5], [0.5], FITTED)
    with pytest.raises(AssertionError, match=r"\[0\]"):
        assert_close([0.5 + 1e-3], [0.5], FITTED)
