"""The rows of analyses: the papers' figures as numbers."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.leaderboard.board.analysed import find_results
from shiftbench.metrics.correlation import LEAST_STATES, spearman
from shiftbench.scoring.papers.analysis.difficulty import find_drops_by_difficulty
from shiftbench.scoring.papers.analysis.divergence import find_divergence
from shiftbench.scoring.papers.analysis.effective import find_effective
from shiftbench.scoring.papers.analysis.entries import Result
from shiftbench.scoring.papers.analysis.grids import find_model_averages, find_rank_stability, find_theorem_one
from shiftbench.scoring.papers.analysis.scaling import find_over
from shiftbench.scoring.papers.analysis.scenarios import find_scenarios
from shiftbench.scoring.papers.analysis.states import find_states
from shiftbench.scoring.scores.shape import Estimate, Interval, Scores

from .conftest import State, entry


def test_drops_by_difficulty_end_in_the_means_over_all_shifts(state: State) -> None:
    result = state()
    rows = find_drops_by_difficulty([result]).rows
    last = rows.filter(pl.col("n_shifts") == 6)
    summary = result.task.summary
    assert last["value"].to_list() == pytest.approx([summary.mean_sd.value, summary.mean_td.value])
    assert last["low"].to_list() == [summary.mean_sd.low, summary.mean_td.low]
    assert rows.filter(pl.col("n_shifts") < 6)["low"].null_count() == rows.height - 2
    hardest = rows.filter(drop="SD").row(0, named=True)
    shift = max(result.shifts, key=lambda shift: shift.idd.value or 0)
    assert (hardest["least_idd"], hardest["value"]) == pytest.approx((shift.idd.value, shift.sd.value))


def test_drops_by_difficulty_take_the_best_of_two_paradigms(
    state: State, zero_shot: Scores, wording: SnapshotAssertion
) -> None:
    def scoring(name: str, st: float, paradigm: str) -> Result:
        return state(name, summary={"mean_st": Estimate(value=st)}, paradigm=paradigm)

    results = [
        scoring("Poor", 0.3, "fine-tuned"),
        scoring("Majority", 0.9, "other"),
        scoring("Good", 0.5, "fine-tuned"),
    ]
    found = find_drops_by_difficulty(results)
    assert found.rows["entry"].unique(maintain_order=True).to_list() == ["Majority", "Good"]
    found = find_drops_by_difficulty([*results, scoring("LLM", 0.1, "few-shot")])
    assert found.rows["entry"].unique(maintain_order=True).to_list() == ["Good", "LLM"]
    nothing = find_drops_by_difficulty([state(scores=zero_shot)])
    assert nothing.rows.is_empty()
    assert found.left_out + nothing.left_out == wording


def test_scenarios_are_shares_of_all_shifts(state: State, good: Scores) -> None:
    results = [state("A"), state("B"), state("C", paradigm="few-shot")]
    rows = find_scenarios(results).rows
    assert rows["paradigm"].unique(maintain_order=True).to_list() == ["fine-tuned", "few-shot", "placebo"]
    tuned, shifts = rows.filter(paradigm="fine-tuned"), good.tasks[0].shifts
    assert tuned["shifts"].to_list() == [12] * 5
    assert tuned["share"].sum() == pytest.approx(1)
    classic = tuned.row(0, named=True)
    assert classic["share"] == sum(shift.scenario == "Classic" for shift in shifts) / 6
    assert classic["resolved"] == sum(shift.scenario == "Classic" and shift.resolved for shift in shifts) / 6
    assert rows.filter(paradigm="placebo")["entries"][0] == 3


def test_figures_over_model_size(state: State, partial: Scores, wording: SnapshotAssertion) -> None:
    total = {"mean_st": Interval(low=0.1, high=0.2)}
    results = [
        state("Large", family="t5", parameters=770, summary={"mean_st": Estimate(value=0.15), "total": total}),
        state("Small", family="t5", parameters=60),
        state("LLM", family="t5", parameters=7, paradigm="few-shot"),
        state("Part", family="t5", parameters=11, scores=partial),
        state("Without"),
    ]
    found = find_over(results, "parameters", prompted=False)
    assert found.rows.select("series", "entry", "at").unique(maintain_order=True).rows() == [
        ("t5", "Small", 60), ("t5", "Large", 770),
    ]  # fmt: skip
    small, large = (found.rows.filter(entry=name) for name in ("Small", "Large"))
    summary = results[1].task.summary
    measured = dict(small.select("measure", "value").iter_rows())
    assert set(measured) == {
        "highest_ss", "mean_ss", "mean_st", "lowest_st", "average_drop", "worst_sd", "worst_td", "average_worst_sd",
        "average_worst_td",
    }  # fmt: skip
    assert all(value == getattr(summary, name).value for name, value in measured.items())
    mean = large.filter(measure="mean_st").row(0, named=True)
    assert (mean["low"], mean["high"], mean["interval"]) == (0.1, 0.2, "total")
    assert results[1].placebo is not None
    dealt = dict(small.select("measure", "placebo").iter_rows())
    assert dealt["average_drop"] == results[1].placebo.task.summary.average_drop.value
    assert dealt["mean_ss"] is None
    assert found.left_out == wording


def test_figures_over_shots_begin_with_no_shot(state: State, zero_shot: Scores) -> None:
    results = [
        state("Four", base_model="llm", paradigm="few-shot", shots=4),
        state("None", base_model="llm", paradigm="zero-shot", scores=zero_shot),
    ]
    rows = find_over(results, "shots").rows
    assert rows.filter(measure="mean_st").select("entry", "at").rows() == [("None", 0), ("Four", 4)]
    assert rows.filter(measure="average_drop")["entry"].to_list() == ["Four"]


def test_nothing_over_steps(state: State, wording: SnapshotAssertion) -> None:
    found = find_over([state("A"), state("B", step=3)], "step")
    assert found.rows.is_empty()
    assert found.left_out == wording


def on(line: list[tuple[float, float]], state: State) -> list[Result]:
    return [
        state(f"{step}", family="t5", step=step,
              summary={"mean_ss": Estimate(value=ss), "mean_st": Estimate(value=st)})
        for step, (ss, st) in enumerate(line)
    ]  # fmt: skip


def test_states_on_a_line_and_on_a_v(state: State) -> None:
    x = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    rows = find_states(on([(value, value / 2) for value in x], state)).rows
    assert rows["boss_type"].unique().to_list() == ["I"]
    assert rows["least_states"].unique().to_list() == [LEAST_STATES["I"]]
    assert rows["axis"][0] == "linear"
    assert rows["r2"][0] == pytest.approx(1)
    assert rows["slope"][0] == pytest.approx(0.5)
    assert rows["expected"].to_list() == pytest.approx([value / 2 for value in x])
    bent = find_states(on([(value, abs(value - 0.4) + 0.1) for value in x], state)).rows
    assert (bent["boss_type"][0], bent["ood"][0]) == ("III", "mean ST")
    assert bent["knee"][0] == pytest.approx(0.4)
    assert (bent["slope"][0], bent["slope_after_knee"][0]) == pytest.approx((-1, 1))


def test_states_on_a_line_of_logits_are_type_one(state: State) -> None:
    x = np.linspace(0.1, 0.9, 9)
    rows = find_states(on([(value, value**2 / (value**2 + (1 - value) ** 2)) for value in x], state)).rows
    assert (rows["boss_type"][0], rows["axis"][0], rows["states"][0]) == ("I", "logit", 9)
    assert rows["slope"][0] == pytest.approx(2)


def test_effective_robustness_is_against_all_other_entries(
    state: State, boss: DatasetFolder, id_scores: Scores, wording: SnapshotAssertion
) -> None:
    line = [(0.5, 0.4), (0.6, 0.5), (0.7, 0.6), (0.8, 0.7), (0.7, 0.68)]
    results = on([(float(ss), float(st)) for ss, st in line], state)
    found = find_effective(results)
    assert found.rows["entry"][0] == "4"
    best = found.rows.row(0, named=True)
    others = np.array(line[:4])
    logits = np.log(others / (1 - others))
    slope, intercept = np.polyfit(logits[:, 0], logits[:, 1], 1)
    expected = 1 / (1 + np.exp(-(slope * np.log(0.7 / 0.3) + intercept)))
    assert (best["slope"], best["intercept"]) == pytest.approx((slope, intercept))
    assert (best["expected"], best["value"]) == pytest.approx((expected, 0.68 - expected))
    assert (best["baselines"], best["low"], best["extended"]) == (4, None, False)
    assert set(found.rows.filter("extended")["entry"]) == {"0", "3"}
    few = find_effective(results[:3])
    assert few.rows.is_empty()
    assert few.left_out == wording
    # With intervals, and on a benchmark with an ID domain, where equal entries leave no line.
    alike = find_results([entry(boss, id_scores, f"B {n}") for n in range(4)], [boss])
    assert find_effective(alike).rows.is_empty()


def test_too_few_states_are_told_and_not_fitted(state: State, wording: SnapshotAssertion) -> None:
    rows = find_states(on([(0.2, 0.1), (0.4, 0.3), (0.5, 0.3)], state)).rows
    assert rows["expected"].to_list() == [None] * 3
    alone = find_states([state("A", family="t5"), state("B", family="bert")])
    assert alone.left_out == wording


def test_out_of_distribution_scores_of_states(boss: DatasetFolder, id_scores: Scores) -> None:
    states = [entry(boss, id_scores, f"Step {step}", family="t5", step=step) for step in (1, 2)]
    rows = find_states(find_results(states, [boss])).rows
    own = id_scores.tasks[0].id_ood
    assert own is not None
    found = {row["ood"]: row for row in rows.iter_rows(named=True)}
    assert list(found) == ["dynasent", "semeval", "sst", "mean OOD"]
    assert {row["id_score"] for row in found.values()} == {own.id.value}
    assert (found["sst"]["value"], found["sst"]["low"]) == (own.ood["sst"].value, own.ood["sst"].low)
    assert found["mean OOD"]["value"] == own.mean_ood.value


def test_divergence_is_the_datasets_own(
    dealt: DatasetFolder, state: State, zero_shot: Scores, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    result = state()
    rows = find_divergence([result, state("Zero", scores=zero_shot)])
    told = read_statistics(dealt.path, "moods").divergence
    sd = rows.rows.filter(drop="SD")
    assert sd.height == 6
    first = sd.row(0, named=True)
    assert first["divergence"] == told[first["source"]][first["target"]]
    values = [told[shift.source][shift.target] for shift in result.shifts]
    expected = spearman([shift.sd.value for shift in result.shifts], values)  # type: ignore[misc]
    np.testing.assert_allclose(np.array(first["spearman"], dtype=float), expected)
    bare = Result(**{**vars(result), "folder": DatasetFolder(tmp_path, result.folder.manifest)})
    assert rows.left_out + find_divergence([bare]).left_out == wording


def test_theorem_one(state: State, partial: Scores, wording: SnapshotAssertion) -> None:
    result = state()
    found = find_theorem_one([result, state("Part", scores=partial)])

    variance = found.rows.row(2, named=True)
    assert variance["left"] == pytest.approx(np.var([shift.sd.value for shift in result.shifts]))
    assert variance["holds"] == (variance["left"] > variance["right"])
    assert [*found.rows["statement"], *found.left_out] == wording


def test_rank_stability(state: State, good: Scores, wording: SnapshotAssertion) -> None:
    task = good.tasks[0]
    worse = [shift.model_copy(update={"st": Estimate(value=(shift.st.value or 0) / 2)}) for shift in task.shifts]
    lower = good.model_copy(update={"tasks": (task.model_copy(update={"shifts": tuple(worse)}), *good.tasks[1:])})
    found = find_rank_stability([state("Poor", scores=lower), state("Good")])
    assert found.rows.filter(left_out="none").select("entry", "rank", "best", "worst").rows() == [
        ("Poor", 2, 2, 2), ("Good", 1, 1, 1),
    ]  # fmt: skip
    assert found.rows["left_out"].unique(maintain_order=True).to_list() == ["none", "amber", "blue", "coral"]
    assert find_rank_stability([state()]).left_out == wording


def test_model_averages(state: State) -> None:
    result = state()
    rows = find_model_averages([result, state("B"), state("C", paradigm="few-shot")]).rows
    mean = rows.filter(paradigm="fine-tuned", figure="mean_st").row(0, named=True)
    assert mean["models"] == 2
    assert mean["value"] == pytest.approx(result.task.summary.mean_st.value)
