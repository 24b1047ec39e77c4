"""An entry against the line through the other entries of its board."""

import polars as pl
import pytest

from shiftbench.leaderboard.board.places import effective_robustness_of
from shiftbench.metrics.correlation import baseline_line, effective_interval

PAIRS = [(0.6, 0.5), (0.7, 0.6), (0.8, 0.72), (0.75, 0.71), (0.9, 0.3)]


def board(own: str, away: str, **columns: list[object]) -> pl.DataFrame:
    """Build the rows of five entries, whose scores have intervals of 2 points to either side."""
    rows: dict[str, list[object]] = {"id": list("abcde"), "complete": [True] * 5, "at_floor": [False] * 4 + [True]}
    rows["trained_on"] = [None] * 5
    rows["basis"] = ["single-source"] * 5
    for name in ("id_score", "mean_ood", "mean_ss", "mean_st"):
        side = 0 if name == own else 1 if name == away else None
        for end, step in (("", 0.0), (".low", -0.02), (".high", 0.02)):
            rows[name + end] = [None if side is None else pair[side] + step for pair in PAIRS]
    return pl.DataFrame(rows | columns, strict=False, infer_schema_length=None)


@pytest.mark.parametrize(("own", "away"), [("id_score", "mean_ood"), ("mean_ss", "mean_st")])
def test_an_entry_is_compared_with_the_others_above_chance(own: str, away: str) -> None:
    found = effective_robustness_of(board(own, away), "d")
    assert found is not None
    line = baseline_line([0.6, 0.7, 0.8], [0.5, 0.6, 0.72])
    value, low, high = effective_interval(line, [0.75, 0.73, 0.77], [0.71, 0.69, 0.73])
    assert (found.effective.value, found.effective.low, found.effective.high) == pytest.approx((value, low, high))
    assert (found.n_others, found.is_extended) == (3, False)
    assert found.expected == pytest.approx(0.71 - value)
    outer = effective_robustness_of(board(own, away), "c")
    assert outer is not None
    assert outer.is_extended


def test_what_has_too_few_others_or_no_score_at_home_is_not_compared() -> None:
    assert effective_robustness_of(board("mean_ss", "mean_st"), "e") is None, "at chance"
    assert effective_robustness_of(board("mean_ss", "mean_st"), "z") is None
    assert effective_robustness_of(board("mean_ss", "mean_st").head(3), "a") is None
    assert effective_robustness_of(board("mean_ss", "mean_st").clear(), "a") is None
    zero_shot = board("id_score", "mean_ood", trained_on=["none", None, None, None, None])
    outside = board("mean_ss", "mean_st", basis=["elsewhere", *["single-source"] * 4])
    assert effective_robustness_of(outside, "a") is None
    assert effective_robustness_of(zero_shot, "a") is None
    assert effective_robustness_of(zero_shot, "b") is None, "its line would need a zero-shot entry"
