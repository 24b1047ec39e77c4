"""Home advantage in words, in a terminal's lines and on a page."""

import pytest

from shiftbench.scoring.reports.home_advantage import claim_words, home_advantage_part, home_lines
from shiftbench.scoring.scores.estimate import Estimate, Interval
from shiftbench.scoring.scores.shape import HomeAdvantage, HomeScale


def home_scale(value: float, *, runs: bool) -> HomeScale:
    estimate = Estimate(value=value, low=value - 0.02, high=value + 0.02)
    total = Interval(low=value - 0.03, high=value + 0.03) if runs else None
    return HomeScale(mean=estimate, total=total, by_domain={"harbour": Estimate(value=-value)})


@pytest.mark.parametrize(
    ("claimed", "runs", "words"),
    [
        ("advantage", False, "Home advantage of these trained models: training on a domain helps there"),
        ("advantage", True, "Home advantage of the recipe: training on a domain helps there"),
        ("disadvantage", True, "is worse there than training elsewhere, on all three scales"),
        (None, False, "No home advantage of these trained models is claimed: not all three scales"),
    ],
)
def test_claims_name_what_they_are_about(claimed: str | None, runs: bool, words: str) -> None:
    scale = home_scale(0.05, runs=runs)
    found = HomeAdvantage(raw=scale, log=scale, logit=scale, claimed=claimed)  # type: ignore[arg-type]
    assert words in claim_words(found, at_floor=False)
    assert "none is concluded" in claim_words(found, at_floor=True)
    page = home_advantage_part(found, at_floor=False)
    assert "+" not in page.split("<table")[0]
    for text in ("5.0", "[3.0, 7.0]", "0.050", "[0.030, 0.070]", "harbour", "\N{MINUS SIGN}5.0"):
        assert text in page
    assert ("with training runs [2.0, 8.0]" in page) == runs
    lines = dict(home_lines(found))
    assert lines["home advantage"] == "5.0 [3.0, 7.0]"
    assert lines["home advantage (logits, not points)"] == "0.050 [0.030, 0.070]"
    assert lines["home advantage of harbour"] == "-5.0"
    assert ("home advantage, training runs too" in lines) == runs


def test_nothing_is_listed_without_a_grid() -> None:
    assert list(home_lines(None)) == []
