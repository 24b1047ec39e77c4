"""Comparing entries for a page: means with their interval first, and a page that asks again while it goes on."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest

from leaderboard.app import comparing
from leaderboard.app.comparing import Comparisons, compared, compared_in_pairs
from leaderboard.board import Index
from leaderboard.board.ranks import Replicates, difference_interval
from leaderboard.views.numbers import drop_points, points
from tests.leaderboard.conftest import Filled
from validation.report import InvalidInput, Problem


@pytest.fixture(scope="module")
def index(filled: Filled) -> Index:
    index = Index([filled.folder], filled.store)
    assert index.settle()
    return index


def test_the_means_of_both_stand_beside_their_difference_and_its_interval(index: Index, filled: Filled) -> None:
    ids = [filled.entries[name].id for name in ("good", "poor")]
    found = compared(index, ids, "nli")
    (interval,) = found.intervals
    assert interval is not None
    ranked = next(mean for mean in found.pairs[0].means if mean.ranked)
    assert ranked.difference.value == pytest.approx(interval.value, abs=1e-6)
    assert interval.low < interval.value < interval.high
    text = str(Comparisons(60).page(index, ids, "nli")[0])
    means = [scores.tasks[0].summary.mean_st.value for scores in found.scores]
    for value in (*map(points, means), f"[{drop_points(interval.low)}, {drop_points(interval.high)}]"):
        assert value in text[: text.index("<details")]


def test_an_interval_of_a_difference_is_as_wide_as_what_does_not_cancel() -> None:
    rng = np.random.default_rng(0)
    shared, own = rng.normal(0, 0.05, 4000), rng.normal(0, 0.01, 4000)
    a = Replicates(np.concatenate([[0.8], 0.8 + shared + own]).astype(np.float32), 0.0, 0.0, 1)
    b = Replicates(np.concatenate([[0.7], 0.7 + shared]).astype(np.float32), 0.0, 0.0, 1)
    value, low, high = difference_interval(a, b)
    assert value == pytest.approx(0.1)
    assert (high - low) / 2 == pytest.approx(1.96 * 0.01, rel=0.05)
    runs = Replicates(b.values, 0.03**2, 0.03**4 / 4, 5)
    assert difference_interval(a, runs)[2] - value > 1.96 * np.hypot(0.01, 0.03)


def test_a_long_comparison_goes_on_in_the_background(
    index: Index, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go, made = threading.Event(), []

    def slow(index: Index, ids: Sequence[str], task: str | None) -> comparing.Compared:
        made.append(ids)
        assert let_go.wait(30)
        return compared(index, ids, task)

    monkeypatch.setattr(comparing, "compared", slow)
    ids = [filled.entries[name].id for name in ("good", "poor")]
    comparisons = Comparisons(0.05)
    for _ in range(2):
        page, goes_on = comparisons.page(index, ids, "nli")
        assert (goes_on, "2 entries, for 0 seconds so far" in page) == (True, True)
    let_go.set()
    comparisons = _patient(comparisons)
    page, goes_on = comparisons.page(index, ids, "nli")
    assert (goes_on, "Good model" in page, len(made)) == (False, True, 1)


def test_more_than_four_entries_are_compared_in_pairs(index: Index, filled: Filled) -> None:
    ids = [entry.id for entry in filled.entries.values()]
    steps: list[tuple[int, int]] = []
    found = compared_in_pairs(index, ids, "nli", lambda *step: steps.append(step))
    assert steps[-1] == (10, 10)
    scores = [mean for mean in found.means if mean is not None]
    assert scores == sorted(scores, reverse=True)
    page, goes_on = Comparisons(60).page(index, ids, "nli")
    assert not goes_on
    assert "of 10 pairs" in page or "of 6 pairs" in page
    assert page.count('aria-label="Poor model minus ') >= 3


def test_a_long_comparison_in_pairs_says_how_far_it_is(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    def slow(index: Index, ids: Sequence[str], task: str | None, progress: comparing.Progress) -> comparing.Pairwise:
        progress(3, 10)
        assert let_go.wait(30)
        raise InvalidInput(Problem("enough", "test"))

    monkeypatch.setattr(comparing, "compared_in_pairs", slow)
    page, goes_on = Comparisons(0.2).page(index, [str(n) * 16 for n in range(5)], None)
    let_go.set()
    assert goes_on
    assert "3 of 10 pairs: 5 entries, for 0 seconds so far" in page
    assert '<progress value="3" max="10"' in page


def test_a_full_line_of_long_comparisons_does_not_refuse_short_ones(index: Index, filled: Filled) -> None:
    ids = [entry.id for entry in filled.entries.values()]
    line = comparing._in_long_line
    taken = [line.acquire(blocking=False) for _ in range(3)]
    try:
        assert all(taken)
        with pytest.raises(InvalidInput, match="many others are comparing now"):
            compared_in_pairs(index, ids, "nli", lambda *_: None)
        assert compared(index, ids[:2], "nli").pairs
    finally:
        for _ in taken:
            line.release()


def test_what_cannot_be_compared_is_said_though_it_took_long(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons = _patient(Comparisons())
    page, goes_on = comparisons.page(index, ["0" * 16, "1" * 16], None)
    assert (goes_on, "cannot be compared" in page) == (False, True)


def _patient(comparisons: Comparisons) -> Comparisons:
    comparisons._seconds = 30
    return comparisons
