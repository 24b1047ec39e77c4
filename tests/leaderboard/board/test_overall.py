"""The overall board: one line for each model and submitter, its newest entries, ranks, and dependencies."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

from shiftbench.leaderboard.board import Benchmark, Board
from shiftbench.leaderboard.board.overall import (
    NO_RANKS,
    OverallRanks,
    benchmarks_of,
    find_benchmark,
    line_key,
    mean_over_tasks,
    overall_frame,
)
from shiftbench.leaderboard.board.ranks import Replicates
from shiftbench.leaderboard.board.rows import CARD_LINKS
from shiftbench.validation.report import InvalidInput

TASKS = ("sa", "nli", "ab")
_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("id", "submitter", "model", "name", "date", "submitted_at", "paradigm", "base_model", "family",
                     "task", *CARD_LINKS), pl.String),
    "parameters": pl.Int64, "cost_usd": pl.Float64, "complete": pl.Boolean, "rank": pl.Int64,
    "with_leader": pl.Boolean, "average_drop.placebo": pl.Float64,
    **{f"{figure}{part}": pl.Float64
       for figure in ("mean_st", "mean_ss", "average_drop") for part in ("", ".low", ".high")},
}  # fmt: skip


def board(task: str, data: str = "d0", subset: str = "all", version: str = "") -> Board:
    name = f"dr/{task}" + ("" if subset == "all" else f":{subset}") + version
    return Board(name, cast("Any", SimpleNamespace(content_hash=data)), task, subset)


BENCHMARK = Benchmark("dr", cast("Any", None), tuple(board(task) for task in TASKS))


def entry(model: str, task: str, score: float, day: int = 1, *, submitter: str = "ana", **facts: Any) -> dict[str, Any]:
    date = f"2026-01-{day:02}"
    return {
        "id": f"{submitter}-{model}-{task}-{day}", "submitter": submitter, "model": model, "date": date,
        "submitted_at": f"{date}T12:00:00+00:00", "paradigm": "fine-tuned", "task": task, "complete": True,
        "mean_st": score, "mean_st.low": score - 0.03, "mean_st.high": score + 0.04, **facts,
    }  # fmt: skip


def overall(*entries: dict[str, Any], ranks: pl.DataFrame = NO_RANKS) -> pl.DataFrame:
    rows = pl.DataFrame(list(entries), schema=_COLUMNS, orient="row")
    frames = {task: rows.filter(pl.col("task") == task) for task in TASKS}
    return overall_frame(BENCHMARK, frames, ranks)


def whole(model: str, *scores: float, **facts: Any) -> list[dict[str, Any]]:
    return [entry(model, task, score, **facts) for task, score in zip(TASKS, scores, strict=True)]


def test_benchmarks_have_the_boards_of_their_named_tasks() -> None:
    boards = [board("sa"), board("qa"), board("qa_imbalanced"), board("nli", subset="fewshot")]
    found = benchmarks_of([*boards, *(board("sa", data, version=f"@{data}") for data in ("d1", "d2"))])
    assert [(each.name, each.tasks) for each in found] == [
        ("dr", ("sa", "qa")), ("dr@d1", ("sa",)), ("dr@d2", ("sa",))
    ]  # fmt: skip
    assert find_benchmark("dr@d2", found) is found[2]
    with pytest.raises(InvalidInput, match="benchmark"):
        find_benchmark("boss", found)


def test_a_line_is_a_model_of_a_submitter_with_its_newest_whole_entries() -> None:
    found = overall(
        *whole("A", 0.8, 0.7, 0.6),
        entry("A", "sa", 0.9, 3),
        entry("A", "nli", 0.99, 4, complete=False),
        *whole("A", 0.5, 0.5, 0.5, submitter="bo"),
    )
    assert found.select("submitter", "model", "rank", "n_tasks").rows() == [("ana", "A", 1, 3), ("bo", "A", 2, 3)]
    row = found.row(0, named=True)
    assert (row["sa:id"], row["sa:mean_st"], row["nli:mean_st"]) == ("ana-A-sa-3", 0.9, 0.7)
    assert (row["nli:partial"], row["sa:partial"]) == (True, None)
    assert row["mean_st"] == pytest.approx((0.9 + 0.7 + 0.6) / 3)
    assert row["date"] == "2026-01-04"


def test_the_mean_has_the_interval_of_independent_tasks() -> None:
    row = overall(*whole("A", 0.8, 0.7, 0.6)).row(0, named=True)
    assert row["mean_st.low"] == pytest.approx(0.7 - 0.03 / np.sqrt(3))
    assert row["mean_st.high"] == pytest.approx(0.7 + 0.04 / np.sqrt(3))
    assert row["average_drop"] is None
    drops = [{"average_drop": drop, "average_drop.placebo": 0.01} for drop in (0.1, 0.2, 0.3)]
    entries = [each | drop for each, drop in zip(whole("A", 0.8, 0.7, 0.6), drops, strict=True)]
    row = overall(*entries).row(0, named=True)
    assert (row["average_drop"], row["average_drop.placebo"]) == pytest.approx((0.2, 0.01))
    # A task without an interval leaves the mean without one; a task without a placebo leaves it without that.
    row = overall(*entries[:2], entries[2] | {"mean_st.low": None, "average_drop.placebo": None}).row(0, named=True)
    assert (row["mean_st"], row["mean_st.low"], row["average_drop.placebo"]) == (pytest.approx(0.7), None, None)


def test_models_that_lack_a_task_stand_below_by_coverage_and_move_nobody() -> None:
    ranked = [*whole("A", 0.6, 0.6, 0.6), *whole("B", 0.9, 0.2, 0.2)]
    partial = [entry("C", "sa", 0.99), entry("D", "sa", 0.1), entry("D", "nli", 0.1)]
    found = overall(*ranked, *partial)
    assert found.select("model", "rank", "n_tasks").rows() == [("A", 1, 3), ("B", 2, 3), ("D", None, 2), ("C", None, 1)]
    # Whatever others send for a task of theirs, the ranked ones keep their places.
    more = overall(*ranked, *partial, entry("E", "ab", 0.999), entry("C", "nli", 0.999))
    assert more.filter("complete").select("model", "rank").equals(found.filter("complete").select("model", "rank"))


def replicates(scores: dict[str, list[float]], spread: float = 0.01) -> dict[str, list[Replicates | None]]:
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.05, size=(3, 401))
    shared[:, 0] = 0

    def drawn(score: float, task: int) -> Replicates:
        own = rng.normal(0, spread, size=401)
        own[0] = 0
        return Replicates((score + shared[task] + own).astype(np.float32), 1000.0, 0.0, 0.0, 1)

    return {line: [drawn(score, task) for task, score in enumerate(each)] for line, each in scores.items()}


SCORES = {"a": [0.9, 0.8, 0.9], "b": [0.7, 0.801, 0.7], "c": [0.5, 0.5, 0.5]}


def test_mean_rank_and_win_rate_have_intervals() -> None:
    ranks = OverallRanks(TASKS)
    ranks.add(dict.fromkeys(SCORES, TASKS), replicates(SCORES))
    found = {row["id"]: row for row in ranks.intervals().iter_rows(named=True)}
    assert [found[line]["rank_low"] for line in "abc"] == [found[line]["rank_high"] for line in "abc"] == [1, 2, 3]
    assert [found[line]["with_leader"] for line in "abc"] == [True, False, False]
    # On the second task 'a' and 'b' cannot be told apart, whichever scores higher.
    assert [round(found[line]["mean_rank"], 3) for line in "abc"] == [1.333, 1.667, 3]
    assert (found["a"]["mean_rank.low"], found["a"]["mean_rank.high"]) == (pytest.approx(1), pytest.approx(4 / 3))
    assert (found["b"]["mean_rank.low"], found["b"]["mean_rank.high"]) == (pytest.approx(5 / 3), pytest.approx(2))
    for row in found.values():
        assert row["win_rate"] == pytest.approx((3 - row["mean_rank"]) / 2)
        assert row["win_rate.low"] <= row["win_rate"] <= row["win_rate.high"]
    # Lines that come later give what all at once give.
    later = OverallRanks(TASKS)
    drawn = replicates(SCORES)
    for line in SCORES:
        later.add({line: TASKS}, {line: drawn[line]})
    assert later.intervals().equals(ranks.intervals())


def test_a_line_without_replicates_has_no_rank_interval_and_widens_the_others() -> None:
    ranks = OverallRanks(TASKS)
    ranks.add(dict.fromkeys("abcd", TASKS), replicates(SCORES) | {"d": [None, None, None]})
    found = {row["id"]: row for row in ranks.intervals().iter_rows(named=True)}
    assert found["d"]["rank_low"] is found["d"]["mean_rank"] is found["d"]["win_rate"] is None
    assert found["c"]["mean_rank.high"] == 4
    nothing = OverallRanks(TASKS)
    nothing.add({"d": TASKS}, {"d": [None, None, None]})
    assert nothing.intervals()["mean_rank"].to_list() == [None]


def test_the_mean_over_tasks_varies_less_than_a_task() -> None:
    drawn = [each for each in replicates({"a": [0.9, 0.6, 0.3]})["a"] if each is not None]
    trained = [Replicates(each.values, 30.0, 0.09, 0.0081, 5) for each in drawn]
    found = mean_over_tasks(trained)
    assert found.values[0] == pytest.approx(0.6)
    assert found.values[1:].std() < 0.75 * drawn[0].values[1:].std()
    assert (found.training, found.per_df, found.n_runs) == (pytest.approx(0.03), pytest.approx(0.0003), 5)


def test_lines_are_told_apart_by_submitter_and_model() -> None:
    frame = pl.DataFrame({"submitter": ["a", "a b"], "model": ["b c", "c"]})
    assert frame.select(line_key())["submitter"].n_unique() == 2
