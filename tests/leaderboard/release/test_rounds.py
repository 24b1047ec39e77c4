"""Rounds: who is in them, what they release, and that it stays as it is for ever."""

import shutil
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.folder.reader import DatasetFolder
from leaderboard.board import Index
from leaderboard.release import close_round, feedback, last_release, nominate, nominated
from leaderboard.release.rounds import rounds
from leaderboard.store import Entry, Store
from leaderboard.store.rescore import rescore
from leaderboard.views.board_data import board_rows
from tests.leaderboard.release.gold import (
    DOMAINS,
    TASK,
    build_gold,
    gold_codes,
    in_feedback,
    send,
    with_errors,
    with_permuted_half,
)
from validation.report import InvalidInput

FIRST, SECOND, THIRD = date(2026, 2, 3), date(2026, 4, 1), date(2026, 7, 1)
SHARES = {"ada": 0.1, "bob": 0.12, "eve": 0.6}
"""Share of labels that each account's entry has dealt at random: two lie close together."""


@pytest.fixture
def store(small: DatasetFolder, tmp_path: Path) -> Store:
    """One entry each of three accounts, all nominated."""
    found = Store(tmp_path / "store")
    for seed, (account, share) in enumerate(SHARES.items()):
        entry = send_as(found, small, account, share, seed)
        nominate(found, entry.id, account, [small])
    return found


def send_as(store: Store, folder: DatasetFolder, account: str, share: float, seed: int = 0) -> Entry:
    name = f"{account}{seed}"
    return send(store, folder, with_errors(folder, share, seed), store.root.parent / f"{name}.parquet", account, name)


def records(store: Store) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (store.root / "records").iterdir()}


def test_figures_are_scores_on_the_ranking_half(store: Store, small: DatasetFolder) -> None:
    (board,) = close_round(store, [small], FIRST).boards
    figures = {each.account: each for each in board.entries}
    for seed, (account, share) in enumerate(SHARES.items()):
        for target in DOMAINS:
            half = ~in_feedback(small, target)
            codes, said = gold_codes(small, target)[half], with_errors(small, share, seed)[target][half]
            f1 = [2 * np.sum((codes == c) & (said == c)) / (np.sum(codes == c) + np.sum(said == c)) for c in (0, 1)]
            assert figures[account].targets[target] == pytest.approx(np.mean(f1), abs=0.0005)
        assert figures[account].mean == pytest.approx(np.mean(list(figures[account].targets.values())), abs=0.001)
    assert figures["ada"].place == figures["bob"].place == 1
    assert figures["eve"].place == 3
    assert set(figures["ada"].ties) & set(figures["bob"].ties)
    assert not set(figures["ada"].ties) & set(figures["eve"].ties)


def test_one_round_a_quarter(store: Store, small: DatasetFolder) -> None:
    assert close_round(store, [small], FIRST).name == "2026-Q1"
    before = records(store)
    with pytest.raises(InvalidInput, match="the round of this quarter is closed"):
        close_round(Store(store.root), [small], date(2026, 3, 31))
    assert records(store) == before
    assert close_round(store, [small], SECOND).name == "2026-Q2"
    assert [each.name for each in rounds(store)] == ["2026-Q1", "2026-Q2"]


def test_what_was_released_never_changes(
    store: Store, small: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by rescoring, other gold, another metric, later rounds, or a new entry of somebody else."""
    first = close_round(store, [small], FIRST)
    before = records(store)
    other = with_permuted_half(small, tmp_path / "other", feedback=False)
    done = rescore(store, [other], every=True)
    assert (len(done.kept), done.scored, done.failed) == (3, (), {})
    assert {name: content for name, content in records(store).items() if name in before} == before
    monkeypatch.setattr("leaderboard.release.rounds.METRIC_VERSION", "99")
    late = send_as(store, small, "zoe", 0.3, 9)
    nominate(store, late.id, "zoe", [small])
    second = close_round(store, [other], SECOND)

    def figures(board: tuple) -> dict[str, object]:
        return {each.account: (each.targets, each.mean, each.since, each.metric_version) for each in board[0].entries}

    old, new = figures(first.boards), figures(second.boards)
    assert {name: new[name] for name in old} == old
    assert new["zoe"][2:] == ("2026-Q2", "99")
    assert {name: content for name, content in records(store).items() if name in before} == before


def test_the_last_nomination_of_an_account_counts(store: Store, small: DatasetFolder) -> None:
    better = send_as(store, small, "eve", 0.05, 20)
    assert nominate(store, better.id, "eve", [small], TASK) == [f"own/{TASK}"]
    n_records = len(records(store))
    nominate(store, better.id, "eve", [small], f"own/{TASK}")  # again: nothing new
    assert len(records(store)) == n_records
    assert nominated(store)["eve", f"own/{TASK}"] == better.id
    (board,) = close_round(store, [small], FIRST).boards
    assert sorted(each.account for each in board.entries) == ["ada", "bob", "eve"]
    assert {each.entry for each in board.entries if each.account == "eve"} == {better.id}
    store.withdraw(better.id, "eve")
    assert ("eve", f"own/{TASK}") not in nominated(store)
    (board,) = close_round(store, [small], SECOND).boards
    assert sorted(each.account for each in board.entries) == ["ada", "bob"]


def test_nominations_that_are_refused(store: Store, small: DatasetFolder, synthetic: DatasetFolder) -> None:
    entry = send_as(store, small, "ada", 0.3, 30)
    with pytest.raises(InvalidInput, match="only who sent an entry may nominate it"):
        nominate(store, entry.id, "bob", [small])
    with pytest.raises(InvalidInput, match="did you mean 'own/tickets'"):
        nominate(store, entry.id, "ada", [small], "own/ticket")
    with pytest.raises(InvalidInput, match="no such entry"):
        nominate(store, "0" * 16, "ada", [small])
    with pytest.raises(InvalidInput, match="no labels are withheld here"):
        close_round(store, [synthetic], FIRST)
    with pytest.raises(InvalidInput, match="no entry is nominated for these data"):
        close_round(Store(store.root.parent / "empty"), [small], FIRST)


def test_an_entry_without_every_shift_has_figures_and_no_place(store: Store, small: DatasetFolder) -> None:
    path = store.root.parent / "part.parquet"
    predicted = with_errors(small, 0.2)
    entry = send(store, small, {DOMAINS[0]: predicted[DOMAINS[0]]}, path, "zoe")
    nominate(store, entry.id, "zoe", [small])
    (board,) = close_round(store, [small], FIRST).boards
    (part,) = [each for each in board.entries if each.account == "zoe"]
    assert (set(part.targets), part.mean, part.place, part.ties) == ({DOMAINS[0]}, None, None, ())


def test_the_board_shows_the_last_round_alone(store: Store, small: DatasetFolder) -> None:
    index = Index([small], store)
    (board,) = index.boards()
    rows = board_rows(index, board)
    assert [(row["rank"], row["mean_st"]["value"], row["round"]) for row in rows] == [(None, None, None)] * 3
    close_round(store, [small], FIRST)
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
    close_round(store, [small], SECOND)
    for account, seed in (("ada", 40), ("bob", 41)):
        nominate(store, send_as(store, small, account, 0.4, seed).id, account, [small])
    close_round(store, [small], THIRD)
    index.refresh()
    rows = {row["name"]: row for row in board_rows(index, board)}
    assert rows["ada0"]["mean_st"]["value"] is None
    assert rows["ada40"]["round"] == "2026-Q3"


def test_a_second_version_of_the_data_has_a_board_and_one_nomination_of_its_own(
    store: Store, small: DatasetFolder, tmp_path: Path
) -> None:
    fewer = build_gold(tmp_path / "fewer", 150, domains=DOMAINS[:2])
    entry = send_as(store, fewer, "ada", 0.2, 50)
    nominate(store, entry.id, "ada", [small, fewer])
    closed = close_round(store, [small, fewer], FIRST)
    assert {board.data: sorted(each.account for each in board.entries) for board in closed.boards} == {
        small.content_hash: ["bob", "eve"],
        fewer.content_hash: ["ada"],
    }


def test_nothing_that_hangs_on_withheld_labels_is_kept_beside_entries(store: Store, small: DatasetFolder) -> None:
    index = Index([small], store)
    entry = index.entry(store.ids()[0])
    assert feedback(store, entry, small)
    with pytest.raises(InvalidInput, match="scored in rounds alone"):
        index.scores(entry.id)
    with pytest.raises(InvalidInput, match="scored in rounds alone"):
        store.table(entry, small)
    kept = [path for path in (store.root / "scores").rglob("*") if path.is_file()] if index.settle() else []
    for path in kept:
        figures = pl.read_parquet(path).select(pl.selectors.float())
        assert all(column.null_count() == len(column) for column in figures), path
    shutil.rmtree(store.root / "scores", ignore_errors=True)
    assert store.kept_scores(entry, small) is None
