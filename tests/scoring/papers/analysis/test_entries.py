"""Entries to analyse, from files and stores, each once; series of states."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import analysed
from shiftbench.leaderboard.board.analysed import find_results, read_entries
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.papers.analysis.entries import Result, series_of, state_value, with_bounds
from shiftbench.scoring.scores.shape import Estimate, Interval, Scores
from shiftbench.validation.cards import read_card
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.shapes import labels_with_errors
from tests.refusals import refusal

from .conftest import DOMAINS, State, entry, write_entry


@pytest.fixture
def file(dealt: DatasetFolder, tmp_path: Path) -> Path:
    return write_entry(dealt, tmp_path / "a.parquet", labels_with_errors(dealt, "moods", DOMAINS, 0.2), "A")


def test_the_same_entry_counts_once(dealt: DatasetFolder, file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(file.read_bytes())
    (tmp_path / "copy.card.yaml").write_bytes((tmp_path / "a.card.yaml").read_bytes())
    found, left_out = read_entries([file, copy], None, [dealt])
    assert [each.card.name for each in found] == ["A"]
    assert left_out == []
    assert len(found[0].scores.tasks[0].shifts) == 6


def test_what_a_store_has_scored_is_not_scored_again(
    dealt: DatasetFolder, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    sent, _ = store.submit(file, read_card(file.with_suffix(".card.yaml")), [dealt])

    def scores_again(*_: Any, **__: Any) -> None:
        raise AssertionError("scored twice")

    monkeypatch.setattr(analysed, "score_predictions", scores_again)
    found, _ = read_entries([file], store, [dealt])
    assert [(each.id, each.scores) for each in found] == [(sent.id, store.scores(sent, dealt))]


def test_entries_for_other_data_are_left_out_and_counted(
    dealt: DatasetFolder, boss: DatasetFolder, file: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    store = Store(tmp_path / "store")
    store.submit(file, read_card(file.with_suffix(".card.yaml")), [dealt])
    assert refusal(InvalidInput, read_entries, [], store, [boss]) == wording


def test_every_problem_of_every_file_is_told_before_any_is_scored(
    dealt: DatasetFolder, file: Path, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    short = write_entry(
        dealt, tmp_path / "short.parquet", labels_with_errors(dealt, "moods", DOMAINS, 0.2).head(7), "B"
    )
    (tmp_path / "alone.parquet").write_bytes(file.read_bytes())
    files = [file, short, tmp_path / "none.parquet", tmp_path / "alone.parquet"]
    assert refusal(InvalidInput, read_entries, files, None, [dealt]) == wording


def test_results_have_names_of_their_own_and_their_placebo(dealt: DatasetFolder, good: Scores, partial: Scores) -> None:
    same = [entry(dealt, good, "Same", step=1), entry(dealt, partial, "Same"), entry(dealt, partial, "Other")]
    found = find_results(same, [dealt])
    assert [result.board for result in found] == ["dealt/moods"] * 3
    names = [result.entry for result in found]
    assert len(set(names)) == 3
    assert names[0].startswith("Same (")
    assert names[2] == "Other"
    assert found[0].placebo is not None
    assert found[0].placebo.task.task == "moods.placebo"
    assert found[1].placebo is None
    assert [result.complete for result in found] == [True, False, False]


def test_a_placebo_may_stand_in_another_file_of_the_same_model(dealt: DatasetFolder, good: Scores) -> None:
    own, placebo = (good.model_copy(update={"tasks": (task,)}) for task in good.tasks)
    apart = [
        entry(dealt, own, "Model", step=3, command="train moods"),
        entry(dealt, placebo, "Model", step=3, command="train moods.placebo"),
        entry(dealt, own, "Model", step=4),
    ]
    first, other = find_results(apart, [dealt])
    assert first.placebo is not None
    assert first.placebo.task == placebo.tasks[0]
    assert other.placebo is None


def test_score_matrix(state: State, good: Scores, partial: Scores) -> None:
    matrix = state().score_matrix()
    task = good.tasks[0]
    assert matrix[0, 0] == task.in_domain[0].score.value
    assert matrix[0, 1] == task.shifts[0].st.value
    assert not np.isnan(matrix).any()
    assert np.isnan(state(scores=partial).score_matrix()).sum(axis=1).tolist() == [0, 0, 3]


def test_a_zero_shot_entry_is_complete_with_every_domain(state: State, zero_shot: Scores) -> None:
    result = state(scores=zero_shot, paradigm="zero-shot")
    assert result.complete
    assert result.shifts == []


def test_bounds_over_training_runs_come_first() -> None:
    estimate = Estimate(value=0.5, low=0.4, high=0.6)
    assert with_bounds(estimate)["interval"] == "test sampling"
    assert with_bounds(estimate, Interval(low=0.3, high=0.7)) == {
        "value": 0.5, "low": 0.3, "high": 0.7, "interval": "total",
    }  # fmt: skip
    assert with_bounds(Estimate(value=0.5))["interval"] is None


def names(series: dict[str, list[Result]]) -> dict[str, list[str]]:
    return {name: [result.entry for result in states] for name, states in series.items()}


def test_states_agree_in_all_but_what_varies(state: State) -> None:
    results = [
        state("Large", family="t5", base_model="t5-large", parameters=770),
        state("Small", family="t5", base_model="t5-small", parameters=60),
        state("Half-way", family="t5", base_model="t5-small", parameters=60, step=5),
        state("Chosen by oracle", family="t5", base_model="t5-base", parameters=220, model_selection="oracle"),
    ]
    assert names(series_of(results, ["parameters"])) == {
        "t5, selection: none": ["Small", "Large"],
        "t5, step 5, selection: none": ["Half-way"],
        "t5, selection: oracle": ["Chosen by oracle"],
    }
    assert list(series_of(results[:2], ["parameters"])) == ["t5"]
    assert list(series_of(results[:2], ["step"])) == ["t5-large", "t5-small"]


def test_methods_that_stand_at_the_same_place_are_kept_apart(state: State) -> None:
    results = [
        state(f"{method} {n}", base_model="bert", training_size=n) for method in ("Plain", "EDA") for n in (16, 64)
    ]
    assert len(series_of(results, ["training_size"])) == 4
    results = [state(method, base_model="bert", training_size=n) for method in ("Plain", "EDA") for n in (64, 16)]
    found = series_of(results, ["training_size"])
    assert list(found) == ["bert, Plain", "bert, EDA"]
    assert [result.card.training_size for result in found["bert, EDA"]] == [16, 64]


def test_adapters_grow_with_the_model(state: State) -> None:
    results = [
        state("A", family="t5", parameters=60, tunable_parameters=1),
        state("B", family="t5", parameters=220, tunable_parameters=3),
        state("C", family="t5", parameters=60, tunable_parameters=60),
        state("D", family="t5", parameters=220),
    ]
    assert names(series_of(results, ["parameters"])) == {"t5, part tuned": ["A", "B"], "t5, all tuned": ["C", "D"]}


def test_where_a_state_stands(state: State, zero_shot: Scores) -> None:
    assert state_value(state(training_size=16), "training_size") == 16
    assert state_value(state(), "training_size") == 40
    assert state_value(state(paradigm="few-shot"), "training_size") is None
    assert state_value(state(scores=zero_shot, paradigm="zero-shot"), "shots") == 0
    assert state_value(state(), "shots") is None
    results = [state(paradigm="few-shot", shots=4), state(scores=zero_shot, paradigm="zero-shot")]
    (only,) = series_of(results, ["shots"]).values()
    assert [result.card.paradigm for result in only] == ["zero-shot", "few-shot"]


def test_models_whose_figures_are_written_alike_stay_two(state: State) -> None:
    results = [
        state(base_model="t5", parameters=22_700_000, step=1),
        state(base_model="t5", parameters=22_700_001, step=1),
    ]
    assert list(series_of(results, ["step"])) == ["t5, 22.7M parameters", "t5, 22.7M parameters #2"]
