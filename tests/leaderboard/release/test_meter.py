"""The meter: it counts the answers of all accounts, depends on no label, and says when labels are too few."""

from datetime import date
from pathlib import Path

import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.pages.board_page import board_page
from shiftbench.leaderboard.pages.board_query import BoardQuery
from shiftbench.leaderboard.release import close_round, feedback, nominate, read_meter
from shiftbench.leaderboard.release.meter import Meter, gain_by_feedback
from shiftbench.leaderboard.release.ranking import highest_gain
from shiftbench.leaderboard.store import Store
from tests.leaderboard.release.gold import DOMAINS, TASK, build_gold, send, with_errors, with_permuted_half


def test_it_rises_with_every_account_and_round(ranked: DatasetFolder, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    counted = []
    for number, share in enumerate((0.1, 0.5, 0.9)):
        account = f"account{number}"
        entry = send(store, ranked, with_errors(ranked, share, number), tmp_path / "sent.parquet", account, account)
        feedback(store, entry, ranked)
        feedback(store, entry, ranked)  # the same file: the same answer
        nominate(store, entry.id, account, [ranked])
        meter = read_meter(store, ranked, TASK, "all")
        assert meter is not None
        counted.append((meter.feedback_answers, meter.feedback_gain, meter.round_answers))
    assert [each[0] for each in counted] == [1, 2, 3]
    assert counted == sorted(counted)
    assert {each[2] for each in counted} == {0}
    # No figure depends on a label.
    for half in (True, False):
        other = with_permuted_half(ranked, tmp_path / str(half), feedback=half)
        assert read_meter(store, other, TASK, "all") == meter
    close_round(store, [ranked], date(2026, 2, 3))
    after = read_meter(store, ranked, TASK, "all")
    assert after is not None
    assert (after.round_answers, after.round_gain) == (1, pytest.approx(highest_gain(1, after.n_labels), rel=1e-3))
    assert not after.may_collude
    index = Index([ranked], store)
    page = board_page(index, BoardQuery(board=f"own/{TASK}"))
    assert "3 scores " in page
    assert "collusion" not in page


def test_answers_on_shared_labels_count_under_other_ids(ranked: DatasetFolder, tmp_path: Path) -> None:
    fewer, store = build_gold(tmp_path / "fewer", 1_150, domains=DOMAINS[:2]), Store(tmp_path / "store")
    entry = send(store, fewer, with_errors(fewer, 0.1), tmp_path / "sent.parquet", "ada")
    feedback(store, entry, fewer)
    meter = read_meter(store, ranked, TASK, "all")
    assert meter is not None
    assert meter.feedback_answers == 1


def test_a_board_of_few_labels_says_so(
    ranked: DatasetFolder, small: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = Index([ranked], Store(tmp_path / "store"))
    assert read_meter(index.store, small, TASK, "all") is None
    words = "collusion of accounts cannot be excluded"
    for n_labels in (999, 1_000):
        monkeypatch.setattr(index, "meter", lambda _, n=n_labels: Meter(1_200, 0.31, n, 1, 0.03))
        assert (words in board_page(index, BoardQuery(board=f"own/{TASK}"))) == (n_labels < 1_000)


def test_what_pooled_feedback_gains_at_most() -> None:
    gains = [gain_by_feedback(12 * accounts, 500, 2) for accounts in (1, 4, 20, 100)]
    assert gains == sorted(gains)
    assert gain_by_feedback(10**9, 500, 3) == pytest.approx(2 / 3)
    assert gain_by_feedback(12, 500, 2, is_guessable=False) > gains[0]
