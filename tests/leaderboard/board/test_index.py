"""Entries as columns: what is listed, ranked, hidden, kept on disk, and read again."""

import shutil
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index, find_board
from shiftbench.leaderboard.board import index as index_module
from shiftbench.leaderboard.board.ranks import ranked_replicates
from shiftbench.leaderboard.pages.board_page import rows_fragment
from shiftbench.leaderboard.pages.board_query import BoardQuery
from shiftbench.leaderboard.store import Store
from shiftbench.metrics.precision import student
from shiftbench.scoring.scores.score import score_predictions
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.cards import Card
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.board.conftest import board_of, ready_frame
from tests.leaderboard.conftest import SCRIPT, Filled, predict
from tests.leaderboard.id_folder import id_predictions
from tests.leaderboard.invented import invent

# Boards


def test_each_task_is_a_board_and_placebos_and_candidates_are_none(filled: Filled, id_folder: DatasetFolder) -> None:
    index = Index([filled.folder, id_folder], filled.store)
    names = [board.name for board in index.boards()]
    assert names == ["synthetic/nli", "synthetic/sa", "boss/sa", "boss/ner", "boss/nli"]
    with pytest.raises(InvalidInput, match="'synthetic/nli'"):
        find_board("syntetic/nli", index.boards())
    with pytest.raises(InvalidInput, match="dataset"):
        find_board("dr/nli", [])
    manifest = filled.folder.manifest
    tasks = {**manifest.tasks, "nli.placebo": manifest.tasks["nli"]}
    dealt = replace(filled.folder, manifest=manifest.model_copy(update={"tasks": tasks}))
    assert [board.name for board in Index([dealt], filled.store).boards()] == names[:2]


def test_two_versions_of_a_benchmark_are_told_apart_and_one_version_twice_is_one(filled: Filled) -> None:
    other = filled.folder.manifest.model_copy(update={"content_hash": "0" * 64})
    index = Index([filled.folder, replace(filled.folder, manifest=other)], filled.store)
    assert f"synthetic/nli@{filled.folder.content_hash[:8]}" in [board.name for board in index.boards()]
    assert [board.name for board in Index([filled.folder] * 2, filled.store).boards()] == [
        "synthetic/nli",
        "synthetic/sa",
    ]


def test_a_subset_has_a_board_of_its_own(filled: Filled, tmp_path: Path) -> None:
    chosen = filled.folder.subset("nli", "fewshot")["id"]
    frame = pl.read_parquet(filled.files["good"]).filter(pl.col("id").is_in(chosen.implode()))
    few = frame.filter(pl.col("source").is_in(chosen.str.split("/").list.get(2).implode()))
    few.write_parquet(tmp_path / "f.parquet")
    store = Store(tmp_path / "store")
    store.submit(tmp_path / "f.parquet", filled.card("good").model_copy(update={"subset": "fewshot"}), [filled.folder])
    index = Index([filled.folder], store)
    assert "synthetic/nli:fewshot" in [board.name for board in index.boards()]
    assert index.frame(board_of(index, "synthetic/nli:fewshot")).height == 1
    assert index.frame(board_of(index)).height == 0
    assert not index.has_entries(board_of(index))


# Rows


def test_equal_scores_share_a_rank_and_partial_entries_have_none(filled: Filled, store: Store) -> None:
    frame = ready_frame(Index([filled.folder], store))
    names = ["Good model" if name == SCRIPT else name for name in frame["name"]]
    assert [name.split()[0] for name in names] == ["Good", "Good", "Zero-shot", "Poor", "Partial"]
    assert frame["rank"].to_list() == [1, 1, 3, 4, None]
    # The partial entry has the highest score, and is still listed last.
    assert frame["mean_st"][4] > frame["mean_st"][0]
    assert frame["rank_low"].to_list() == [1, 1, 3, 4, None]
    assert frame["rank_high"].to_list() == [2, 2, 3, 4, None]


def test_rows_hold_the_figures_of_the_scores_with_their_intervals(filled: Filled, store: Store) -> None:
    index = Index([filled.folder], store)
    row = index.frame(board_of(index)).row(by_predicate=pl.col("name") == "Poor model", named=True)
    summary = index.scores(row["id"]).tasks[0].summary
    for name in ("mean_ss", "mean_st", "average_drop", "worst_sd", "worst_td"):
        estimate = getattr(summary, name)
        assert (row[name], row[f"{name}.low"], row[f"{name}.high"]) == (estimate.value, estimate.low, estimate.high)
    assert row["depth_f1_50"] == summary.depth_f1["50"].value
    assert row["share.Classic"] == summary.scenario_shares["Classic"]
    assert (row["paradigm"], row["submitter"], row["n_shifts"]) == ("fine-tuned", "local", 12)
    assert row["mean_st.placebo"] is None


def test_what_is_missing_is_named(filled: Filled, store: Store) -> None:
    index = Index([filled.folder], store)
    rows = {row["name"]: row for row in index.frame(board_of(index)).iter_rows(named=True)}
    third, fourth = list(filled.folder.task("nli").domains)[2:]
    lines = [f"{name}: no predictions of a model trained on this domain" for name in (third, fourth)]
    assert rows["Partial model"]["missing"] == lines
    assert rows["Partial model"]["average_drop"] is None
    assert (rows["Zero-shot model"]["mean_ss"], rows["Zero-shot model"]["worst_td"]) == (None, None)
    assert rows["Good model"]["missing"] == []


def test_boards_of_one_training_domain_rank_zero_shot_models_too(id_folder: DatasetFolder, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    made = {"Good": ("amazon", 0.1), "Zero": ("none", 0.15), "Joined": ("amazon+dynasent", 0.02)}
    for name, (source, errors) in made.items():
        id_predictions(id_folder, "sa", source, errors=errors).write_parquet(tmp_path / "p.parquet")
        store.submit(
            tmp_path / "p.parquet", Card(name=name, paradigm="other", data=id_folder.content_hash), [id_folder]
        )
    frame = ready_frame(Index([id_folder], store), "boss/sa")
    assert frame["name"].to_list() == ["Good", "Zero", "Joined"]
    assert frame["rank"].to_list() == [1, 2, None]
    assert frame["rank_high"].null_count() == 1
    assert frame["mean_st"].to_list() == frame["mean_ood"].to_list()
    assert frame["ood.sst"].null_count() == 0
    assert frame["drop"][1] is None
    assert "OOD" in frame["missing"][2][0]


def test_a_figure_stands_beside_its_placebo_value(filled: Filled) -> None:
    index = Index([filled.folder], filled.store)
    scores = index.scores(filled.entries["good"].id)
    poor = index.scores(filled.entries["poor"].id).tasks[0].model_copy(update={"task": "nli.placebo"})
    both = scores.model_copy(update={"tasks": (*scores.tasks, poor)})
    (row,) = index_module.entry_rows(filled.entries["good"], both, "")
    assert row["task"] == "nli"
    assert row["average_drop.placebo"] == poor.summary.average_drop.value
    assert row["mean_st"] == scores.tasks[0].summary.mean_st.value != row["mean_st.placebo"]
    partial = poor.model_copy(update={"summary": poor.summary.model_copy(update={"complete": False})})
    (row,) = index_module.entry_rows(
        filled.entries["good"], scores.model_copy(update={"tasks": (*scores.tasks, partial)}), ""
    )
    assert row.get("mean_st.placebo") is None


def test_entries_of_one_name_are_told_apart(filled: Filled, store: Store) -> None:
    ids = invent(store, [filled.entries["good"].id], 4, names=2)
    index = Index([filled.folder], store)
    frame = index.frame(board_of(index)).filter(pl.col("id").is_in(ids))
    assert frame["same_name"].to_list() == [identity[:6] for identity in frame["id"]]
    others = index.frame(board_of(index)).filter(~pl.col("id").is_in(ids))
    assert others["same_name"].null_count() == others.height


def test_what_waits_to_be_scored_is_not_scored_by_who_asks_for_it(filled: Filled, store: Store) -> None:
    identity = filled.entries["good"].id
    place = store.root / "scores" / METRIC_VERSION / f"{identity}.json"
    place.unlink()
    index = Index([filled.folder], store, background=True)
    assert index.waiting() == [identity]
    with pytest.raises(InvalidInput, match="computed"):
        index.scores(identity)
    assert not place.exists()
    index.score(identity)
    assert index.scores(identity).tasks
    assert index.waiting() == []


def test_rows_kept_while_labels_were_public_are_not_shown_when_they_are_withheld(filled: Filled, store: Store) -> None:
    gold = filled.folder.manifest.model_copy(update={"label_key": "0" * 64})
    public = Index([filled.folder], store)
    identity = filled.entries["good"].id
    assert public.settle()
    closed = Index([replace(filled.folder, manifest=gold)], store)
    row = closed.frame(board_of(closed)).filter(pl.col("id") == identity)
    assert (row["mean_st"][0], row["rank"][0], row["complete"][0]) == (None, None, False)
    with pytest.raises(InvalidInput, match="rounds"):
        closed.scores(identity)
    # The same in the other order.
    assert closed.settle()
    again = Index([filled.folder], store)
    assert again.frame(board_of(again)).filter(pl.col("id") == identity)["mean_st"][0] is not None


# Ranks


def test_replicates_are_those_of_the_ranked_figure(filled: Filled, id_folder: DatasetFolder) -> None:
    domains = list(filled.folder.task("nli").domains)
    grid = pl.concat(
        predict(filled.folder, domains, errors).with_columns(seed=pl.lit(seed, pl.Int64))
        for seed, errors in ((1, 0.1), (2, 0.3))
    )
    # A run that lacks a target counts nowhere.
    stray = predict(filled.folder, domains[:1], 0.5).with_columns(seed=pl.lit(3, pl.Int64))
    stray = stray.filter(~pl.col("id").str.contains(f"/{domains[1]}/"))
    cases = [(filled.folder, "nli", pl.concat([grid, stray]))]
    cases += [(id_folder, "sa", id_predictions(id_folder, "sa", source)) for source in ("amazon", "none")]
    for folder, name, frame in cases:
        facts = [folder.prediction_task(task) for task in folder.manifest.tasks]
        scored = score_predictions(check_predictions(frame, facts, "p"), folder)
        task = scored.scores.tasks[0]
        row = {"task": name, "basis": task.summary.basis, "trained_on": task.id_ood.source if task.id_ood else None}
        drawn = ranked_replicates(scored.table, row, folder.task(name))
        assert drawn is not None
        assert drawn.values.shape == (401,)
        assert drawn.values[0] == pytest.approx(task.summary.mean_st.value, abs=1e-6)
        half = float(student(drawn.df)) * np.sqrt(((drawn.values[1:] - drawn.values[0]) ** 2).mean())
        assert half == pytest.approx((task.summary.mean_st.high - task.summary.mean_st.low) / 2, rel=0.15)
        assert scored.table["df"].is_null().equals(scored.table["replicates"].is_null())
        assert (drawn.training, drawn.n_runs < 5) == (0.0, True)


def test_nobodys_scores_change_when_somebody_submits(filled: Filled, store: Store) -> None:
    index = Index([filled.folder], store)
    before = ready_frame(index)
    invent(store, [filled.entries["good"].id], 5)
    index.refresh()
    after = ready_frame(index)
    assert after.height == before.height + 5
    ranks = ("rank", "rank_low", "rank_high", "with_leader", "corrected")
    same = after.filter(pl.col("id").is_in(before["id"].implode())).sort("id")
    assert same.drop(ranks).equals(before.drop(ranks).sort("id"))
    assert after["rank"].drop_nulls().to_list() == sorted(after["rank"].drop_nulls())
    assert (after["rank_high"].drop_nulls() >= after["rank"].drop_nulls()).all()


# The store changes


def test_a_new_entry_is_read_alone_and_a_withdrawn_one_goes(
    filled: Filled, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index([filled.folder], store)
    read: list[str] = []
    scores = store.scores
    monkeypatch.setattr(store, "scores", lambda entry, folder: read.append(entry.id) or scores(entry, folder))
    index.refresh()
    assert read == []
    (new,) = invent(store, [filled.entries["good"].id], 1)
    index.refresh()
    assert read == [new]
    assert new in index.frame(board_of(index))["id"]
    assert index.scores(new).tasks
    shutil.rmtree(store.root / "entries" / new)
    index.refresh()
    assert new not in index.frame(board_of(index))["id"]
    for look in (index.entry, index.scores):
        with pytest.raises(InvalidInput, match="entry"):
            look(new)


def test_entries_that_cannot_be_scored_keep_their_place(filled: Filled, store: Store, tmp_path: Path) -> None:
    broken, foreign = (filled.entries[name].id for name in ("poor", "partial"))
    (store.root / "entries" / broken / "card.json").write_text("{")
    card = store.root / "entries" / foreign / "card.json"
    card.write_text(card.read_text().replace(filled.folder.content_hash, "0" * 64))
    index = Index([filled.folder], store)
    assert {item.id: item.name for item in index.unscored()} == {broken: broken, foreign: "Partial model"}
    assert "damaged" in index.reasons(broken)[0]
    assert "version" in index.reasons(foreign)[0]
    assert str(tmp_path) not in str(index.unscored())
    assert index.frame(board_of(index)).height == 3
    assert index.entry(foreign).card.name == "Partial model"
    # A missing file may be restored.
    card.write_text(card.read_text().replace("0" * 64, filled.folder.content_hash))
    index.refresh()
    assert index.reasons(foreign) == ()
    assert index.frame(board_of(index)).height == 4


def test_a_fault_of_ours_in_one_entry_leaves_the_others_on_the_board(
    filled: Filled, store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    bad, scores = filled.entries["poor"].id, store.scores

    def fail(entry: Any, folder: Any) -> Any:
        return scores(entry, folder) if entry.id != bad else {}[str(store.root)]

    monkeypatch.setattr(store, "scores", fail)
    index = Index([filled.folder], store)
    assert index.frame(board_of(index)).height == 4
    assert len(index.reasons(bad)) == 1
    assert "KeyError" in caplog.text


def test_who_asks_for_scores_of_a_waiting_entry_does_not_score_it(filled: Filled, store: Store) -> None:
    identity = filled.entries["good"].id
    shutil.rmtree(store.root / "scores")
    index = Index([filled.folder], store, background=True)
    with pytest.raises(InvalidInput, match="computed"):
        index.scores(identity)
    assert not list((store.root / "scores").rglob(f"{identity}*"))
    index.score(identity)
    assert index.scores(identity).tasks


def test_an_unknown_entry_is_said_to_be_unknown(filled: Filled) -> None:
    with pytest.raises(InvalidInput, match="entry"):
        Index([filled.folder], filled.store).entry("../../etc/passwd")


def test_threads_may_look_while_entries_come_and_go(filled: Filled, store: Store) -> None:
    index = Index([filled.folder], store)
    stop, wrong = threading.Event(), []

    def look() -> None:
        while not stop.is_set():
            try:
                frame = index.frame(board_of(index))
                if frame["id"].n_unique() != frame.height or frame.height < 5:
                    wrong.append(frame.height)
                index.scores(filled.entries["good"].id)
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for seed in range(4):
        ids = invent(store, [filled.entries["good"].id], 3, seed=seed)
        index.refresh()
        shutil.rmtree(store.root / "entries" / ids[0])
        index.refresh()
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert index.frame(board_of(index)).height == 5 + 4 * 2


def test_many_entries_are_read_while_the_first_are_shown(
    filled: Filled, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    invent(store, [filled.entries["good"].id], 6)
    monkeypatch.setattr(index_module, "READ_AT_ONCE", 4)
    released = threading.Event()
    read: list[str] = []
    scores = store.scores

    def wait(entry: Any, folder: Any) -> Any:
        if len(read) >= 4:
            assert released.wait(20)
        read.append(entry.id)
        return scores(entry, folder)

    monkeypatch.setattr(store, "scores", wait)
    index = Index([filled.folder], store)
    assert index.frame(board_of(index)).height == 4
    assert index.unread == 7
    assert "7 entries " in rows_fragment(index, BoardQuery.parse([], index))
    released.set()
    assert ready_frame(index).height == 11
    assert index.unread == 0
    assert len(read) == len(set(read)) == 11
    assert "7 entries " not in rows_fragment(index, BoardQuery.parse([], index))


def test_entries_that_are_withdrawn_unread_are_not_waited_for(
    filled: Filled, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "READ_AT_ONCE", 3)
    monkeypatch.setattr(threading.Thread, "start", lambda thread: None)
    index = Index([filled.folder], store)
    assert index.unread == 2
    for identity in store.ids()[3:]:
        shutil.rmtree(store.root / "entries" / identity)
    index.refresh()
    assert index.unread == 0


def test_an_entry_without_replicates_may_be_better_than_any(filled: Filled, store: Store) -> None:
    lost = filled.entries["good"].id
    (store.root / "scores" / METRIC_VERSION / f"{lost}.parquet").unlink()
    (store.root / "entries" / lost / "predictions.parquet").write_bytes(b"")
    frame = ready_frame(Index([filled.folder], store)).filter("complete")
    by_name = {row["name"]: (row["rank"], row["rank_low"], row["rank_high"]) for row in frame.iter_rows(named=True)}
    assert by_name.pop("Zero-shot model")[0] == 3
    assert by_name == {"Good model": (1, None, None), SCRIPT: (1, 1, 2), "Poor model": (4, 3, 4)}
