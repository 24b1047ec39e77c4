"""Rounds: which entries they rank, what they release, and that it never changes."""

import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.baselines.program import make_card
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_data import board_rows
from shiftbench.leaderboard.release import close_round, feedback, last_release, nominate, nominated_entries
from shiftbench.leaderboard.release.releases import closed_rounds
from shiftbench.leaderboard.release.rounds import round_lines
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.leaderboard.store.rescore import rescore
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED
from tests.leaderboard.release.gold import (
    DOMAINS,
    TASK,
    build_gold,
    file_of,
    gold_codes,
    in_feedback,
    send,
    send_file,
    with_errors,
    with_permuted_half,
)

FIRST, SECOND, THIRD = date(2026, 2, 3), date(2026, 4, 1), date(2026, 7, 1)
SHARES = {"ada": 0.1, "bob": 0.105, "eve": 0.6}
"""Share of labels that each account's entry has dealt at random: two lie close together."""


@pytest.fixture(scope="module")
def _nominated(ranked: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nominated")
    found = Store(root / "store")
    for seed, (account, share) in enumerate(SHARES.items()):
        entry = send_as(found, ranked, account, share, seed)
        nominate(found, entry.id, account, [ranked])
    return root


@pytest.fixture
def store(_nominated: Path, tmp_path: Path) -> Store:
    """One entry each of three accounts, all nominated: a copy of the store and of the files that were sent."""
    shutil.copytree(_nominated, tmp_path, dirs_exist_ok=True)
    return Store(tmp_path / "store")


def send_as(store: Store, folder: DatasetFolder, account: str, share: float, seed: int = 0) -> Entry:
    name = f"{account}{seed}"
    return send(store, folder, with_errors(folder, share, seed), store.root.parent / f"{name}.parquet", account, name)


def records(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store.root / "records").iterdir()}


def test_figures_are_scores_on_the_ranking_half(store: Store, ranked: DatasetFolder) -> None:
    (board,) = close_round(store, [ranked], FIRST).boards
    figures = {each.account: each for each in board.entries}
    for seed, (account, share) in enumerate(SHARES.items()):
        for target in DOMAINS:
            half = ~in_feedback(ranked, target)
            codes, said = gold_codes(ranked, target)[half], with_errors(ranked, share, seed)[target][half]
            f1 = [2 * np.sum((codes == c) & (said == c)) / (np.sum(codes == c) + np.sum(said == c)) for c in (0, 1)]
            # In steps of two standard errors, in whole points: of 575 texts two points at 95%, and four at 70%.
            assert figures[account].targets[target] == pytest.approx(np.mean(f1), abs=0.01 if share < 0.5 else 0.02)
        assert figures[account].mean == pytest.approx(np.mean(list(figures[account].targets.values())), abs=0.001)
    assert figures["ada"].place == figures["bob"].place == 1
    assert figures["eve"].place == 3
    assert [figures[name].with_leader for name in ("ada", "bob", "eve")] == [True, True, False]


def test_one_round_a_quarter(store: Store, ranked: DatasetFolder) -> None:
    assert close_round(store, [ranked], FIRST).name == "2026-Q1"
    before = records(store)
    with pytest.raises(InvalidInput, match="the round of this quarter is closed"):
        close_round(Store(store.root), [ranked], date(2026, 3, 31))
    assert records(store) == before
    assert close_round(store, [ranked], SECOND).name == "2026-Q2"
    assert [each.name for each in closed_rounds(store)] == ["2026-Q1", "2026-Q2"]


def test_what_was_released_never_changes(
    store: Store, ranked: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check released figures after rescoring, other gold, another metric, later rounds, and others' new entries."""
    first = close_round(store, [ranked], FIRST)
    before = records(store)
    other = with_permuted_half(ranked, tmp_path / "other", feedback=False)
    done = rescore(store, [other], every=True)
    assert (len(done.kept), done.scored, done.failed) == (3, (), {})
    assert {name: content for name, content in records(store).items() if name in before} == before
    monkeypatch.setattr("shiftbench.leaderboard.release.ranking.METRIC_VERSION", "99")
    late = send_as(store, ranked, "zoe", 0.3, 9)
    nominate(store, late.id, "zoe", [ranked])
    second = close_round(store, [other], SECOND)

    def figures(board: tuple) -> dict[str, object]:
        return {each.account: (each.targets, each.mean, each.since, each.metric_version) for each in board[0].entries}

    old, new = figures(first.boards), figures(second.boards)
    assert {name: new[name] for name in old} == old
    assert new["zoe"][2:] == ("2026-Q2", "99")
    assert {name: content for name, content in records(store).items() if name in before} == before


def test_the_last_nomination_of_an_account_counts(store: Store, ranked: DatasetFolder) -> None:
    better = send_as(store, ranked, "eve", 0.05, 20)
    assert nominate(store, better.id, "eve", [ranked], TASK) == [f"own/{TASK}"]
    n_records = len(records(store))
    nominate(store, better.id, "eve", [ranked], f"own/{TASK}")  # again: nothing new
    assert len(records(store)) == n_records
    assert nominated_entries(store)["eve", f"own/{TASK}"] == better.id
    (board,) = close_round(store, [ranked], FIRST).boards
    assert sorted(each.account for each in board.entries) == ["ada", "bob", "eve"]
    assert {each.entry for each in board.entries if each.account == "eve"} == {better.id}
    store.withdraw(better.id, "eve")
    assert ("eve", f"own/{TASK}") not in nominated_entries(store)
    (board,) = close_round(store, [ranked], SECOND).boards
    assert sorted(each.account for each in board.entries) == ["ada", "bob"]


def test_a_round_ranks_entries_of_its_settings_alone(ranked: DatasetFolder, tmp_path: Path) -> None:
    store, file = Store(tmp_path / "store"), file_of(ranked, with_errors(ranked, 0.1), tmp_path / "p.parquet")
    card = make_card(ranked, name="m", paradigm="other")
    entry, _ = store.submit(file, card, [ranked], "ada")
    nominate(store, entry.id, "ada", [ranked])
    other = replace(ranked, manifest=ranked.manifest.model_copy(update={"settings_hash": "f" * 64}))
    with pytest.raises(InvalidInput, match="no entry is nominated for these data"):
        close_round(store, [other], FIRST)
    (board,) = close_round(store, [ranked], FIRST).boards
    assert (board.data, board.settings) == ranked.version
    assert board.settings is not None


def test_nominations_that_are_refused(store: Store, ranked: DatasetFolder, synthetic: DatasetFolder) -> None:
    entry = send_as(store, ranked, "ada", 0.3, 30)
    with pytest.raises(InvalidInput, match="only the submitter of an entry may nominate it"):
        nominate(store, entry.id, "bob", [ranked])
    with pytest.raises(InvalidInput, match="did you mean 'own/tickets'"):
        nominate(store, entry.id, "ada", [ranked], "own/ticket")
    with pytest.raises(InvalidInput, match="no such entry"):
        nominate(store, "0" * 16, "ada", [ranked])
    with pytest.raises(InvalidInput, match="no labels are withheld here"):
        close_round(store, [synthetic], FIRST)
    with pytest.raises(InvalidInput, match="no entry is nominated for these data"):
        close_round(Store(store.root.parent / "empty"), [ranked], FIRST)


def test_an_entry_without_every_shift_has_figures_and_no_place(store: Store, ranked: DatasetFolder) -> None:
    path = store.root.parent / "part.parquet"
    predicted = with_errors(ranked, 0.2)
    entry = send(store, ranked, {DOMAINS[0]: predicted[DOMAINS[0]]}, path, "zoe")
    nominate(store, entry.id, "zoe", [ranked])
    (board,) = close_round(store, [ranked], FIRST).boards
    (part,) = [each for each in board.entries if each.account == "zoe"]
    assert (set(part.targets), part.mean, part.place, part.with_leader) == ({DOMAINS[0]}, None, None, None)


def test_the_board_shows_the_last_round_alone(store: Store, ranked: DatasetFolder) -> None:
    index = Index([ranked], store)
    (board,) = index.boards()
    rows = board_rows(index, board)
    assert [(row["rank"], row["mean_st"]["value"], row["round"]) for row in rows] == [(None, None, None)] * 3
    close_round(store, [ranked], FIRST)
    assert last_release(store, board.key)
    rows = board_rows(index, board)
    assert [row["rank"] for row in rows] == [1, 1, 3]
    assert [row["round"] for row in rows] == ["2026-Q1"] * 3
    assert all(row["ood"][target]["value"] is not None for row in rows for target in DOMAINS)
    # Nothing else has a value: no drops, no shares, no intervals of scores or ranks.
    for row in rows:
        figures = [row[name] for name in ("mean_ss", "average_drop", "worst_sd", "worst_td", "mean_sd", "mean_td")]
        assert {each["value"] for each in figures} == {None}
        assert (row["rank_interval"], row["unparsed"], row["resolved_share"]) == (None, None, None)
        assert {*row["scenario_shares"].values()} == {None}
        assert {(each["low"], each["high"]) for each in (row["mean_st"], *row["ood"].values())} == {(None, None)}
    # What is not nominated any more leaves the figures of the board with the next round.
    close_round(store, [ranked], SECOND)
    for account, seed in (("ada", 40), ("bob", 41)):
        nominate(store, send_as(store, ranked, account, 0.4, seed).id, account, [ranked])
    close_round(store, [ranked], THIRD)
    index.refresh()
    rows = {row["name"]: row for row in board_rows(index, board)}
    assert rows["ada0"]["mean_st"]["value"] is None
    assert rows["ada40"]["round"] == "2026-Q3"


def test_a_second_version_of_the_data_has_a_board_and_one_nomination_of_its_own(
    store: Store, ranked: DatasetFolder, tmp_path: Path
) -> None:
    fewer = build_gold(tmp_path / "fewer", 1_150, domains=DOMAINS[:2])
    entry = send_as(store, fewer, "ada", 0.2, 50)
    nominate(store, entry.id, "ada", [ranked, fewer])
    closed = close_round(store, [ranked, fewer], FIRST)
    assert {board.data: sorted(each.account for each in board.entries) for board in closed.boards} == {
        ranked.content_hash: ["bob", "eve"],
        fewer.content_hash: ["ada"],
    }


def test_nothing_that_hangs_on_withheld_labels_is_kept_beside_entries(store: Store, ranked: DatasetFolder) -> None:
    index = Index([ranked], store)
    entry = index.entry(store.ids()[0])
    assert feedback(store, entry, ranked)
    with pytest.raises(InvalidInput, match="scored in rounds alone"):
        index.scores(entry.id)
    with pytest.raises(InvalidInput, match="scored in rounds alone"):
        store.table(entry, ranked)
    kept = [path for path in (store.root / "scores").rglob("*") if path.is_file()] if index.settle() else []
    for path in kept:
        figures = pl.read_parquet(path).select(pl.selectors.float())
        assert all(column.null_count() == len(column) for column in figures), path
    shutil.rmtree(store.root / "scores", ignore_errors=True)
    assert store.stored_scores(entry, ranked) is None


def test_rounds_close_in_order(store: Store, ranked: DatasetFolder) -> None:
    close_round(store, [ranked], SECOND)
    before = records(store)
    with pytest.raises(InvalidInput, match="a later round is closed, and rounds close in order"):
        close_round(store, [ranked], FIRST)
    assert records(store) == before


@pytest.mark.parametrize("damage", ["rows of another", "no parquet", "no file", "card"])
def test_a_damaged_entry_is_left_out_and_stops_nobody(store: Store, ranked: DatasetFolder, damage: str) -> None:
    names = {entry.submitter: entry.id for entry in store.entries()}
    folder = store.root / "entries" / names["bob"]
    if damage == "rows of another":
        shutil.copy(store.root / "entries" / names["ada"] / "predictions.parquet", folder / "predictions.parquet")
    elif damage == "no parquet":
        (folder / "predictions.parquet").write_bytes(b"PAR1 no more")
    elif damage == "no file":
        (folder / "predictions.parquet").unlink()
    else:
        (folder / "card.json").write_text("{")
    closed = close_round(Store(store.root), [ranked], FIRST)
    assert sorted(each.account for each in closed.boards[0].entries) == ["ada", "eve"]
    (out,) = closed.left_out
    assert (out.entry, out.account, out.task, out.target) == (names["bob"], "bob", f"own/{TASK}", "")
    assert out.why.startswith("its files are damaged: ")
    assert str(store.root) not in out.why
    (*_, last) = round_lines(closed)
    assert str(last).startswith(f"left out: {names['bob']} of bob on own/{TASK}: its files are damaged")


def test_few_figures_where_labels_cannot_be_guessed(
    store: Store, ranked: DatasetFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check one figure a year for every thousand labels: an entry that is apart from the last waits a year."""
    monkeypatch.setattr("shiftbench.leaderboard.release.ranking.can_be_guessed", lambda _: False)
    close_round(store, [ranked], FIRST)
    other = send_as(store, ranked, "ada", 0.7, 80)
    nominate(store, other.id, "ada", [ranked])
    closed = close_round(store, [ranked], SECOND)
    (entry,) = [each for each in closed.boards[0].entries if each.account == "ada"]
    assert (entry.targets, entry.mean, entry.place) == ({}, None, None)
    assert {each.why for each in closed.left_out} == {
        "its account has received all figures that rounds release on these labels in a year"
    }


def test_where_all_are_damaged_no_round_is_closed(store: Store, ranked: DatasetFolder) -> None:
    for path in (store.root / "entries").glob("*/predictions.parquet"):
        path.write_bytes(b"")
    with pytest.raises(InvalidInput, match="no nominated entry can be ranked"):
        close_round(Store(store.root), [ranked], FIRST)
    assert not store.records("round-")


def test_targets_with_unusable_outputs_have_no_figure(store: Store, ranked: DatasetFolder) -> None:
    path = store.root.parent / "unparsed.parquet"
    file_of(ranked, with_errors(ranked, 0.2), path)
    rows = pl.read_parquet(path)
    few = rows["id"].is_in(ranked.split(TASK, DOMAINS[0], "test")["id"].to_list()) & (
        pl.Series(range(len(rows))) % 50 == 0
    )
    rows.with_columns(prediction=pl.when(few).then(pl.lit(UNPARSED)).otherwise("prediction")).write_parquet(path)
    entry = send_file(store, ranked, path, "zoe")
    nominate(store, entry.id, "zoe", [ranked])
    closed = close_round(store, [ranked], FIRST)
    (part,) = [each for each in closed.boards[0].entries if each.account == "zoe"]
    assert (sorted(part.targets), part.mean, part.place) == (sorted(DOMAINS[1:]), None, None)
    (out,) = closed.left_out
    assert (out.entry, out.target, out.why) == (entry.id, DOMAINS[0], "more than 1% of its outputs are unusable")


def test_a_new_entry_repeats_the_figures_that_it_cannot_be_told_apart_from(
    store: Store, ranked: DatasetFolder, tmp_path: Path
) -> None:
    """Check repeated figures also after a version of the data with other ids; the first entry stays the reference."""
    (first,) = close_round(store, [ranked], FIRST).boards
    old = {each.account: each for each in first.entries}
    predicted = with_errors(ranked, SHARES["ada"], 0)  # what ada has sent
    for number, (folder, day) in enumerate(
        [(ranked, SECOND), (build_gold(tmp_path / "fewer", 1_150, domains=DOMAINS[:2]), THIRD)]
    ):
        alike = {target: codes.copy() for target, codes in predicted.items() if target in folder.task(TASK).domains}
        for codes in alike.values():
            codes[number:40:10] = 1 - codes[number:40:10]
        entry = send(store, folder, alike, tmp_path / f"{number}.parquet", "ada", f"alike{number}")
        nominate(store, entry.id, "ada", [folder])
        closed = close_round(store, [ranked, folder] if folder is not ranked else [ranked], day)
        (new,) = [each for board in closed.boards for each in board.entries if each.entry == entry.id]
        assert new.targets == {target: old["ada"].targets[target] for target in new.targets}
        assert new.repeated == tuple(sorted(alike))
        assert new.place == 1
    worse = send_as(store, ranked, "ada", 0.5, 70)
    nominate(store, worse.id, "ada", [ranked])
    (board,) = close_round(store, [ranked], date(2026, 10, 1)).boards
    (last,) = [each for each in board.entries if each.entry == worse.id]
    assert last.repeated == ()
    assert all(last.targets[target] < old["ada"].targets[target] for target in DOMAINS)
