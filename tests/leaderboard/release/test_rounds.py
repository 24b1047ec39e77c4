"""Rounds: which entries they rank, what they release, and that it never changes."""

import re
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

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
from tests.leaderboard.release.gold import (
    DOMAINS,
    TASK,
    build_gold,
    file_of,
    send,
    with_errors,
    with_permuted_half,
)
from tests.refusals import refusal

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


def figures_in(value: object) -> list[float]:
    """List the numbers with decimals in JSON data."""
    if isinstance(value, dict):
        return [each for part in value.values() for each in figures_in(part)]
    if isinstance(value, list | tuple):
        return [each for part in value for each in figures_in(part)]
    return [value] if isinstance(value, float) else []


def test_a_round_releases_which_entries_it_tells_apart_and_no_figure(store: Store, ranked: DatasetFolder) -> None:
    closed = close_round(store, [ranked], FIRST)
    (board,) = closed.boards
    places = {each.account: (each.place, each.last_place, each.with_leader) for each in board.entries}
    assert places == {"ada": (1, 2, True), "bob": (1, 2, True), "eve": (3, 3, False)}
    # Three targets of some 575 texts a half: one answer.
    assert 1_500 < (board.n_labels or 0) < 1_900
    assert board.n_answers == 1
    assert figures_in(closed.model_dump(mode="json")) == []
    printed = "\n".join(str(getattr(line, "rows", line)) for line in round_lines(closed))
    assert "'1 to 2'" in printed
    assert not re.search(r"\d\.\d", printed)


def test_a_crowd_of_guesses_is_one_tie_group(store: Store, ranked: DatasetFolder) -> None:
    """Check that fifteen files without knowledge are told apart from good ones and from none of each other."""
    for number in range(15):
        entry = send_as(store, ranked, f"sybil{number}", 1.0, 100 + number)
        nominate(store, entry.id, f"sybil{number}", [ranked])
    (board,) = close_round(store, [ranked], FIRST).boards
    crowd = {(each.place, each.last_place) for each in board.entries if each.account.startswith("sybil")}
    assert len(crowd) == 1
    assert board.n_answers == 1


def test_answers_are_limited_by_label_and_year(store: Store, ranked: DatasetFolder, tmp_path: Path) -> None:
    """Check that four rounds spend the answers of a year, on another version with the same labels, too."""
    fewer = build_gold(tmp_path / "fewer", 1_150, domains=DOMAINS[:2])
    for account in ("ada", "eve"):
        predicted = with_errors(fewer, SHARES[account])
        entry = send(store, fewer, predicted, tmp_path / "sent.parquet", f"{account}2", account)
        nominate(store, entry.id, f"{account}2", [ranked, fewer])
    days = [FIRST, SECOND, THIRD, date(2026, 10, 1), date(2027, 1, 20), date(2027, 7, 3)]
    answers = []
    for day in days:
        closed = close_round(store, [ranked, fewer], day)
        answers.append([board.n_answers for board in closed.boards])
    # Both boards have one answer a round, and share the four of a year; the third year's first round has them again.
    assert answers == [[1, 1], [1, 1], [0, 0], [0, 0], [0, 0], [1, 1]]


def test_accounts_that_are_too_young_wait(store: Store, ranked: DatasetFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the age of an account here: from its first entry, a withdrawn one too, to the round."""
    sent = {"ada": "2026-01-01", "bob": "2026-01-05", "eve": "2026-01-04"}
    monkeypatch.setattr(Store, "first_days", lambda _: sent)
    closed = close_round(store, [ranked], FIRST, account_days=30)
    assert sorted(each.account for each in closed.boards[0].entries) == ["ada", "eve"]
    (out,) = closed.left_out
    assert out.account == "bob"
    assert "30 days" in out.why
    monkeypatch.undo()
    early = store.first_days()
    store.withdraw(store.ids()[0], next(each.submitter for each in store.entries() if each.id == store.ids()[0]))
    assert Store(store.root).first_days() == early
    with pytest.raises(InvalidInput, match="100000 days") as refused:
        close_round(store, [ranked], date(2027, 2, 1), account_days=100_000)
    # Nothing is damaged, so nothing is to be submitted again.
    assert (
        refused.value.problems[0].cure
        == "wait until the accounts are old enough, or set rounds.account_days in board.toml"
    )


def test_what_is_nominated_after_a_round_waits_for_the_next(store: Store, ranked: DatasetFolder) -> None:
    closed = close_round(store, [ranked], FIRST)
    late = send_as(store, ranked, "zoe", 0.0, 77)
    nominate(store, late.id, "zoe", [ranked])
    assert closed_rounds(store) == [closed]
    assert "zoe" not in {each.account for each in closed.boards[0].entries}
    (board,) = close_round(store, [ranked], SECOND).boards
    assert {each.account: each.place for each in board.entries}["zoe"] == 1


def test_an_entry_without_every_shift_is_not_ranked(
    store: Store, ranked: DatasetFolder, wording: SnapshotAssertion
) -> None:
    path = store.root.parent / "part.parquet"
    entry = send(store, ranked, {DOMAINS[0]: with_errors(ranked, 0.2)[DOMAINS[0]]}, path, "zoe")
    nominate(store, entry.id, "zoe", [ranked])
    closed = close_round(store, [ranked], FIRST)
    (part,) = [each for each in closed.boards[0].entries if each.account == "zoe"]
    assert (part.place, part.last_place, part.with_leader) == (None, None, None)
    assert [each.why for each in closed.left_out] == wording


def test_one_round_a_quarter(store: Store, ranked: DatasetFolder) -> None:
    assert close_round(store, [ranked], FIRST).name == "2026-Q1"
    before = records(store)
    with pytest.raises(InvalidInput, match="quarter"):
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

    assert closed_rounds(store) == [first, second]
    assert {(each.since, each.metric_version) for each in second.boards[0].entries} == {("2026-Q2", "99")}
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
    with pytest.raises(InvalidInput, match="nominated"):
        close_round(store, [other], FIRST)
    (board,) = close_round(store, [ranked], FIRST).boards
    assert (board.data, board.settings) == ranked.version
    assert board.settings is not None


def test_nominations_that_are_refused(
    store: Store, ranked: DatasetFolder, synthetic: DatasetFolder, wording: SnapshotAssertion
) -> None:
    entry = send_as(store, ranked, "ada", 0.3, 30)
    assert [
        refusal(InvalidInput, nominate, store, entry.id, "bob", [ranked]),
        refusal(InvalidInput, nominate, store, entry.id, "ada", [ranked], "own/ticket"),
        refusal(InvalidInput, nominate, store, "0" * 16, "ada", [ranked]),
        refusal(InvalidInput, close_round, store, [synthetic], FIRST),
        refusal(InvalidInput, close_round, Store(store.root.parent / "empty"), [ranked], FIRST),
    ] == wording


def test_the_board_shows_the_last_round_alone(store: Store, ranked: DatasetFolder) -> None:
    index = Index([ranked], store)
    (board,) = index.boards()
    rows = board_rows(index, board)
    assert [(row["rank"], row["mean_st"]["value"], row["round"]) for row in rows] == [(None, None, None)] * 3
    close_round(store, [ranked], FIRST)
    assert last_release(closed_rounds(store), board.key)
    rows = board_rows(index, board)
    assert [(row["rank"], row["rank_interval"]) for row in rows] == [(1, [1, 2]), (1, [1, 2]), (3, [3, 3])]
    assert [row["round"] for row in rows] == ["2026-Q1"] * 3
    assert figures_in(rows) == []  # no score, drop, share or interval
    # What is not nominated any more leaves the board's ranks with the next round.
    close_round(store, [ranked], SECOND)
    for account, seed in (("ada", 40), ("bob", 41)):
        nominate(store, send_as(store, ranked, account, 0.4, seed).id, account, [ranked])
    close_round(store, [ranked], THIRD)
    index.refresh()
    rows = {row["name"]: row for row in board_rows(index, board)}
    assert rows["ada0"]["rank"] is None
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
    with pytest.raises(InvalidInput, match="rounds"):
        index.scores(entry.id)
    with pytest.raises(InvalidInput, match="rounds"):
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
    with pytest.raises(InvalidInput, match="order"):
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
    assert "damaged" in out.why
    assert str(store.root) not in out.why
    (*_, last) = round_lines(closed)
    assert names["bob"] in str(last)


def test_where_all_are_damaged_no_round_is_closed(store: Store, ranked: DatasetFolder) -> None:
    for path in (store.root / "entries").glob("*/predictions.parquet"):
        path.write_bytes(b"")
    with pytest.raises(InvalidInput, match="ranked"):
        close_round(Store(store.root), [ranked], FIRST)
    assert not store.records("round-")
