"""Comparing entries for a page: means with their interval first, and a page that asks again while it goes on."""

import contextlib
import gc
import re
import threading
import tracemalloc
from collections.abc import Sequence

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.leaderboard.app import comparing
from shiftbench.leaderboard.app.comparing import Comparisons, add_by_name, compared, compared_in_pairs, no_comparison
from shiftbench.leaderboard.app.faults import FaultLog
from shiftbench.leaderboard.app.jobs import Jobs
from shiftbench.leaderboard.app.line import Line, LineFullError
from shiftbench.leaderboard.board import Index
from shiftbench.scoring.reports.numbers import points
from shiftbench.validation.report import InvalidInput, Problem
from tests.leaderboard.conftest import GOOD, POOR, Filled


@pytest.fixture(scope="module")
def index(filled: Filled) -> Index:
    index = Index([filled.folder], filled.store)
    assert index.settle()
    return index


def test_the_means_of_both_stand_beside_their_difference_and_its_interval(index: Index, filled: Filled) -> None:
    ids = [filled.entries[name].id for name in ("good", "poor")]
    found = compared(index, ids, "nli")
    interval = next(mean for mean in found.pairs[0].means if mean.ranked).difference
    assert interval.low < interval.value < interval.high
    text = str(finished(index, ids, "nli"))
    means = [scores.tasks[0].summary.mean_st for scores in found.scores]
    shown = [*(points(each.value) for each in means), *(f"[{points(each.low)}, {points(each.high)}]" for each in means)]
    for value in (*shown, f"[{points(interval.low)}, {points(interval.high)}]"):
        assert value in text[: text.index("<details")]


def test_texts_on_which_they_disagree_are_those_that_one_alone_gets_right(index: Index, filled: Filled) -> None:
    ids = [filled.entries[name].id for name in ("good", "poor")]
    found = compared(index, ids, "nli")
    differ = found.disagreements
    assert differ is not None
    most = max(found.pairs[0].shifts, key=lambda shift: abs(shift.differences[0].value or 0))
    assert (differ.source, differ.target, differ.n) == (most.source, most.target, most.n)
    said = [
        pl.read_parquet(filled.files[name]).filter(source=differ.source).select("id", "prediction")
        for name in ("good", "poor")
    ]
    gold = filled.folder.split("nli", differ.target, "test").select("id", "label")
    both = gold.join(said[0], on="id").join(said[1], on="id", suffix="_other")
    labels = filled.folder.task("nli").labels
    right = [
        [labels[row["label"]] == row[key] for row in both.to_dicts()] for key in ("prediction", "prediction_other")
    ]
    assert differ.n_first == sum(a and not b for a, b in zip(*right, strict=True))
    assert differ.n_second == sum(b and not a for a, b in zip(*right, strict=True))
    assert differ.n_first > 0
    assert {each.first_is_right for each in differ.examples} == {True} | ({False} if differ.n_second else set())
    assert all(each.gold != each.predicted for each in differ.examples)


def test_a_search_names_one_entry_or_lists_several(index: Index, filled: Filled) -> None:
    good, poor = (filled.entries[name].id for name in ("good", "poor"))
    assert add_by_name(index, [good], "nli", "poor") == poor
    assert add_by_name(index, [good], "nli", "model") is None
    assert add_by_name(index, [good], "nli", GOOD) is None
    page = waiting_in(Line()).page(index, [good], "nli", None, "model")
    for name in ("poor", "partial", "zero-shot"):
        assert f"/compare?id={good}&amp;id={filled.entries[name].id}&amp;task=nli" in page.body
    assert "'nobody'" in waiting_in(Line()).page(index, [good], "nli", None, "nobody").body


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
    comparisons = waiting_in(Line())
    for _ in range(2):
        job = comparisons.ask(index, ids, "nli", "somebody")
        page = comparisons.page(index, ids, "nli", job)
        assert (page.goes_on, "2 entries, for 0 " in page.body) == (True, True)
    let_go.set()
    assert job is not None
    assert job.done.wait(60)
    page = comparisons.page(index, ids, "nli", comparisons.ask(index, ids, "nli", "somebody"))
    assert (page.goes_on, GOOD in page.body, len(made)) == (False, True, 1)


def test_more_than_four_entries_are_compared_in_pairs(index: Index, filled: Filled) -> None:
    ids = [entry.id for entry in filled.entries.values()]
    steps: list[tuple[int, int]] = []
    found = compared_in_pairs(index, ids, "nli", lambda *step: steps.append(step))
    assert steps[-1] == (10, 10)
    scores = [mean.value for mean in found.means if mean.value is not None]
    assert scores == sorted(scores, reverse=True)
    page = finished(index, ids, "nli")
    assert re.search(r"\bof (10|6) pairs", page)
    assert page.count(f'title="{POOR} minus ') >= 3


def test_a_long_comparison_in_pairs_says_how_far_it_is(
    index: Index, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported, let_go = threading.Event(), threading.Event()

    def slow(index: Index, ids: Sequence[str], task: str | None, progress: comparing.Progress) -> comparing.Pairwise:
        progress(3, 10)
        reported.set()
        assert let_go.wait(30)
        raise InvalidInput(Problem("enough", "test"))

    monkeypatch.setattr(comparing, "compared_in_pairs", slow)
    comparisons, ids = waiting_in(Line()), [entry.id for entry in filled.entries.values()]
    job = comparisons.ask(index, ids, None, "somebody")
    assert reported.wait(30)
    page = comparisons.page(index, ids, None, job)
    let_go.set()
    assert page.goes_on
    assert "3 of 10 pairs: 5 entries, for 0 " in page.body
    assert '<progress value="3" max="10"' in page.body


def test_a_comparison_in_pairs_lets_others_run_between_two_pairs(
    index: Index, filled: Filled, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [entry.id for entry in filled.entries.values()]
    line = Line(at_once=1)
    comparisons, short_is_done = waiting_in(line), list[bool]()
    in_pairs = compared_in_pairs

    def watched(index: Index, ids: Sequence[str], task: str | None, progress: comparing.Progress) -> comparing.Pairwise:
        other = comparisons.ask(index, ids[:2], "nli", "another")
        assert other is not None

        def report(n_done: int, n_pairs: int) -> None:
            progress(n_done, n_pairs)
            short_is_done.append(other.done.is_set())

        return in_pairs(index, ids, task, report)

    monkeypatch.setattr(comparing, "compared_in_pairs", watched)
    held = line.enter("first", lambda _: None)
    job = comparisons.ask(index, ids, "nli", "somebody")
    assert job is not None
    assert "Position 1 " in comparisons.page(index, ids, "nli", job).body
    line.leave(held)
    assert job.done.wait(60)
    assert job.problems == []
    assert short_is_done[0]  # before the second pair began


def test_at_most_twelve_known_entries_get_a_job(index: Index, filled: Filled, wording: SnapshotAssertion) -> None:
    comparisons = waiting_in(Line())
    known = [entry.id for entry in filled.entries.values()]
    messages = []
    for ids in (["0" * 16, "1" * 16], [*known[:2], "nope"], [f"{number:016x}" for number in range(13)], ["nope"]):
        with pytest.raises(InvalidInput) as error:
            comparisons.ask(index, ids, None, "somebody")
        page = no_comparison(index, error.value)
        assert (page.status, page.goes_on) == (404, False)
        messages.append(str(error.value))
    assert messages == wording
    assert comparisons.ask(index, known[:1], None, "somebody") is None
    assert comparisons._jobs._jobs == {}


def test_two_thousand_requests_leave_memory_as_it_was(index: Index, filled: Filled) -> None:
    """Before: 200 requests with 5,200 invented ids each held 87 MiB."""
    line = Line(at_once=1)
    held = line.enter("first", lambda _: None)  # so that no job ends meanwhile
    comparisons, known = waiting_in(line), [entry.id for entry in filled.entries.values()]
    invented = [f"{number:016x}" for number in range(5_200)]

    def ask(number: int) -> None:
        ids = [known[number % 5], known[(number // 5) % 5], *known[: number % 4]]
        for named in (invented, [*known, invented[number]], ids):
            with contextlib.suppress(LineFullError, InvalidInput):
                comparisons.ask(index, named, f"task {number}", f"client {number}")

    for number in range(200):
        ask(number)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(200, 900):
        ask(number)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    n_jobs = len(comparisons._jobs._jobs)
    line.leave(held)
    assert grown < 2**18
    assert n_jobs <= 100


def test_what_cannot_be_compared_is_said_by_the_job(index: Index, filled: Filled) -> None:
    good = filled.entries["good"].id
    assert "itself" in finished(index, [good, good], None)


def waiting_in(line: Line) -> Comparisons:
    return Comparisons(Jobs(line, FaultLog()))


def finished(index: Index, ids: Sequence[str], task: str | None) -> str:
    """Make a comparison as a page does, and return the page."""
    comparisons = waiting_in(Line())
    job = comparisons.ask(index, ids, task, "somebody")
    assert job is not None
    assert job.done.wait(60)
    page = comparisons.page(index, ids, task, job)
    assert not page.goes_on
    return str(page.body)
