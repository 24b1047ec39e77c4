"""Feedback: one number a target and file, the same for the same file, twelve figures a year on one label."""

import threading
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release import LOOKS_PER_YEAR, TargetFeedback, feedback, looks, releases
from shiftbench.leaderboard.release.halves import halves
from shiftbench.leaderboard.release.history import History, ReceivedScore
from shiftbench.leaderboard.release.ladder import MIN_STEP
from shiftbench.leaderboard.release.releases import records_of
from shiftbench.leaderboard.store import Store
from shiftbench.leaderboard.store.log import Draft
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import UNPARSED
from tests.leaderboard.release.gold import (
    DOMAINS,
    TASK,
    build_gold,
    gold_codes,
    in_feedback,
    send,
    with_errors,
)
from tests.refusals import refusal

TARGET = DOMAINS[0]


class Asker:
    """An account that submits files for one target, each with other labels."""

    def __init__(self, folder: DatasetFolder, root: Path, account: str = "ada") -> None:
        self.folder, self.root, self.account, self.n_sent = folder, root, account, 0
        self.store = Store(root / "store")

    def ask(self, share: float, seed: int = 0, **changes: object) -> tuple[TargetFeedback, ...]:
        """Submit a file in which a share of labels is drawn at random."""
        self.n_sent += 1
        codes = with_errors(self.folder, share, seed)[TARGET]
        path = self.root / f"{self.account}{self.n_sent}.parquet"
        entry = send(self.store, self.folder, {TARGET: codes}, path, self.account, f"m{self.n_sent}", **changes)
        return feedback(self.store, entry, self.folder)


@pytest.fixture
def asker(gold: DatasetFolder, tmp_path: Path) -> Asker:
    return Asker(gold, tmp_path)


def test_the_number_is_the_score_on_the_feedback_half(asker: Asker) -> None:
    (told,) = asker.ask(0.3)
    half = in_feedback(asker.folder, TARGET)
    codes, said = gold_codes(asker.folder, TARGET)[half], with_errors(asker.folder, 0.3)[TARGET][half]
    f1 = [
        2 * np.sum((codes == label) & (said == label)) / (np.sum(codes == label) + np.sum(said == label))
        for label in range(3)
    ]
    assert told == TargetFeedback(TASK, TARGET, told.best, is_new=True, looks_left=LOOKS_PER_YEAR - 1)
    assert told.best == pytest.approx(np.mean(f1), abs=MIN_STEP / 2)
    assert told.best == round(told.best or 0, 2)


def test_only_a_step_up_is_told(asker: Asker) -> None:
    (first,), (worse,), (alike,), (better,) = asker.ask(0.5), asker.ask(0.8, 1), asker.ask(0.5, 2), asker.ask(0.1, 3)
    assert (worse.best, worse.is_new) == (alike.best, alike.is_new) == (first.best, False)
    assert better.is_new
    assert (better.best or 0) > (first.best or 0) + MIN_STEP


def test_the_same_file_gets_the_same_answer_and_costs_no_look(asker: Asker, gold: DatasetFolder) -> None:
    first = asker.ask(0.5)
    asker.ask(0.1, 1)
    rows = len(records_of(asker.store, "look"))
    assert asker.ask(0.5) == first  # with another card, and so as another entry
    assert asker.ask(0.5) == first
    assert len(asker.store.ids()) == 4
    assert len(records_of(asker.store, "look")) == rows == 2
    # Another account has a Ladder and a count of its own.
    other = Asker(gold, asker.root, "bob")
    (told,) = other.ask(0.8, 1)
    assert told.looks_left == LOOKS_PER_YEAR - 1


def test_twelve_looks_a_year(asker: Asker, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    for number in range(LOOKS_PER_YEAR):
        (told,) = asker.ask(0.9, number)
        assert (told.looks_left, told.why_not) == (LOOKS_PER_YEAR - 1 - number, "")
    (told,) = asker.ask(0.0, 99)
    assert (told.is_new, told.looks_left) == (False, 0)
    why_not = told.why_not
    later = date(2031, 3, 1)
    monkeypatch.setattr(looks, "today", lambda: later)
    (told,) = asker.ask(0.0, 99)  # the file that received no number
    assert (told.looks_left, told.is_new) == (LOOKS_PER_YEAR - 1, True)
    # Setting the clock back gives no further figure.
    monkeypatch.setattr(looks, "today", releases.today)
    (told,) = asker.ask(0.1, 101)
    assert told.why_not == why_not == wording


def test_looks_follow_a_label_to_another_version_of_the_data(gold: DatasetFolder, tmp_path: Path) -> None:
    """Check the same texts in a build with one more domain: other ids, other content hash, the same labels."""
    wider = build_gold(tmp_path / "wider", 1_150, classes=3)
    assert wider.content_hash != gold.content_hash
    asker = Asker(gold, tmp_path)
    for number in range(LOOKS_PER_YEAR - 1):
        asker.ask(0.9, number)
    asker.folder = wider
    (told,) = asker.ask(0.9, 50)
    assert (told.looks_left, told.why_not) == (0, "")
    (told,) = asker.ask(0.9, 51)
    assert (told.is_new, told.looks_left) == (False, 0)


def test_what_a_file_must_be_better_than_follows_a_label_too(gold: DatasetFolder, tmp_path: Path) -> None:
    """Check that a second version of the data begins no new Ladder: the best number so far counts there too."""
    wider = build_gold(tmp_path / "wider", 1_150, classes=3)
    asker = Asker(gold, tmp_path)
    (first,) = asker.ask(0.5)
    asker.folder = wider
    (same,) = asker.ask(0.5)
    assert (same.best, same.is_new, same.looks_left) == (first.best, False, LOOKS_PER_YEAR - 2)
    (better,) = asker.ask(0.1, 2)
    assert better.is_new
    asker.folder = gold
    (back,) = asker.ask(0.3, 3)  # better than what was told of this version, worse than what was told of the other
    assert (back.best, back.is_new) == (better.best, False)


def test_texts_of_which_few_are_shared_have_ladders_of_their_own() -> None:
    """Test domains with few labels in common: figures are counted together, numbers are not compared."""
    keys = np.arange(1_000, dtype=np.uint64)
    place = ("data", "all", TASK, TARGET)
    history = History([ReceivedScore(place, "entry", 0.9, date(2026, 1, 1), keys)])
    for first, shared in ((999, False), (951, False), (950, True), (0, True)):
        other = np.arange(first, first + 1_000, dtype=np.uint64)
        assert history.label_access_count(other, date(2025, 1, 1)) == 1
        assert (history.best(other, (*place[:3], "other")) is not None) == shared
    assert history.best(np.arange(40, dtype=np.uint64), place) is not None  # a part of them: the smaller one counts
    assert history.label_access_count(keys, date(2026, 1, 1)) == 0  # a year later


def test_few_looks_where_labels_cannot_be_guessed(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    """Check one figure for every thousand labels, here one; the first number has no hurdle, and is in steps."""
    monkeypatch.setattr(looks, "can_be_guessed", lambda _: False)
    (told,) = asker.ask(0.7)
    assert (told.is_new, told.looks_left) == (True, 0)
    (again,) = asker.ask(0.1, 1)
    assert (again.best, again.is_new) == (told.best, False)
    assert again.why_not == wording


def test_looks_left_tell_no_half(asker: Asker, gold: DatasetFolder) -> None:
    """Check that figures count at all labels of a target, so that a shared label counts in either half."""
    asker.ask(0.5)
    (content,) = asker.store.records("gold-").values()
    counted = np.frombuffer(content, dtype=np.uint64)
    rows = halves(gold).filter(domain=TARGET)
    assert counted.tolist() == sorted(rows["gold"].unique().to_list())
    assert {*rows.filter(pl.col("gold").is_in(counted.tolist()))["feedback"]} == {True, False}


def test_many_unusable_outputs_or_few_texts_are_told_nothing(
    asker: Asker, small: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    folder = asker.folder
    rows = folder.split(TASK, TARGET, "test").sort("id")
    labels = [UNPARSED if number < 0.02 * len(rows) else "label0" for number in range(len(rows))]
    frame = rows.select("id", source=pl.lit(DOMAINS[1]), prediction=pl.Series(labels))
    frame.write_parquet(tmp_path / "few.parquet")
    card = Card(name="few", paradigm="other", data=folder.content_hash)
    entry, _ = asker.store.submit(tmp_path / "few.parquet", card, [folder], "ada")
    (told,) = feedback(asker.store, entry, folder)
    (few,) = Asker(small, tmp_path, "poor").ask(0.0)
    assert [(each.best, each.looks_left) for each in (told, few)] == [(None, 12)] * 2
    assert [told.why_not, few.why_not] == wording


def test_two_servers_count_together(asker: Asker) -> None:
    """Run two servers on one store with sixteen files at once: twelve figures, no number released twice."""
    folder, entries = asker.folder, []
    for number in range(LOOKS_PER_YEAR + 4):
        codes = with_errors(folder, 0.9, number)[TARGET]
        path = asker.root / f"{number}.parquet"
        entries.append(send(asker.store, folder, {TARGET: codes}, path, "ada", f"m{number}"))
    told: list[TargetFeedback] = []

    def serve(store: Store, mine: int) -> None:
        for entry in entries[mine::2]:
            told.extend(feedback(store, entry, folder))

    threads = [threading.Thread(target=serve, args=(Store(asker.store.root), mine)) for mine in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    answered = [each.looks_left for each in told if not each.why_not]
    assert sorted(answered) == list(range(LOOKS_PER_YEAR))
    assert len(told) == LOOKS_PER_YEAR + 4
    assert len(records_of(asker.store, "look", "ada")) == LOOKS_PER_YEAR


def test_a_withdrawn_file_stays_what_the_next_must_be_better_than(asker: Asker) -> None:
    (first,) = asker.ask(0.2)
    asker.store.withdraw(asker.store.ids()[0], "ada")
    (again,) = asker.ask(0.5, 1)
    assert (again.best, again.is_new) == (first.best, False)


def test_a_damaged_record_tells_nothing(asker: Asker) -> None:
    asker.ask(0.5)
    (path,) = (asker.store.root / "records").glob("look-*")
    path.write_bytes(b"{")
    asker.store = Store(asker.store.root)
    with pytest.raises(InvalidInput, match="record"):
        asker.ask(0.1, 1)


def test_records_are_never_written_over(asker: Asker, wording: SnapshotAssertion) -> None:
    asker.ask(0.5)
    (name,) = (path.name for path in (asker.store.root / "records").glob("look-*"))
    assert [
        refusal(InvalidInput, asker.store.add_records, lambda: {name: releases.record_bytes({})}, Draft("answered")),
        refusal(InvalidInput, asker.store.add_records, lambda: {"../entries/x.json": b""}, Draft("answered")),
    ] == wording
