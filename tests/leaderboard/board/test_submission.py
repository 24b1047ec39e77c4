"""Submitting by the page: every problem at once, no path of the server in a message, known submitters only."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.client import answer_lines
from shiftbench.leaderboard.board import Index, submission
from shiftbench.leaderboard.board.submission import (
    MAX_PROBLEMS,
    SubmissionAnswer,
    check,
    nominate_entry,
    submit,
    withdraw,
)
from shiftbench.leaderboard.pages.submit_page import answer_html
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput, Problem
from tests.leaderboard.conftest import Filled, Visible, predict


@pytest.fixture
def card_text(filled: Filled) -> str:
    return json.dumps(filled.card("good").as_dict())


def test_check_previews_and_keeps_nothing(index: Index, filled: Filled, card_text: str, tmp_path: Path) -> None:
    empty = Index([filled.folder], Store(tmp_path / "store"))
    answer = check(empty, str(filled.files["good"]), card_text)
    assert (answer["ok"], answer["entry"], answer["new"], answer["problems"]) == (True, None, False, [])
    task = answer["summary"]["tasks"][0]
    assert task["mean_st"]["value"] == index.scores(filled.entries["good"].id).tasks[0].summary.mean_st.value
    assert len(answer["summary"]["missing"]) == 1
    assert not (tmp_path / "store").exists()
    assert f"{100 * task['mean_st']['value']:.1f}" in answer_html(answer)


def test_what_takes_minutes_is_not_previewed(
    index: Index, filled: Filled, card_text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that expensive scoring is not previewed: anybody could have kept the server busy for minutes."""
    monkeypatch.setattr(submission, "is_slow_to_score", lambda frame, folder: len(frame) > 0)
    answer = check(index, str(filled.files["good"]), card_text)
    assert (answer["ok"], answer["summary"]) == (True, {})
    assert "minutes" in answer_html(answer)


def test_submit_keeps_it_once(filled: Filled, card_text: str, tmp_path: Path, wording: SnapshotAssertion) -> None:
    index = Index([filled.folder], Store(tmp_path / "store"))
    first = submit(index, str(filled.files["good"]), card_text, sender=lambda: "local", daily_quota=None)
    again = submit(index, str(filled.files["good"]), card_text, sender=lambda: "local", daily_quota=None)
    assert (first["ok"], first["new"], again["new"]) == (True, True, False)
    assert first["entry"] == again["entry"]
    assert index.store.ids() == [first["entry"]]
    assert [Visible(answer_html(each)).lines.splitlines()[0] for each in (first, again)] == wording


def test_who_is_not_ranked_is_told_what_is_missing(
    filled: Filled, card_text: str, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    index = Index([filled.folder], Store(tmp_path / "store"))
    whole = pl.read_parquet(filled.files["good"])
    sources = whole["source"].unique().sort()
    part = tmp_path / "part.parquet"
    whole.filter(pl.col("source") == sources[0]).write_parquet(part)
    answer = submit(index, str(part), card_text, sender=lambda: "local", daily_quota=None)
    assert list(answer_lines(answer, "http://127.0.0.1:1/", over_http=True)) == wording


def test_an_unknown_sender_is_refused_before_anything_is_read(index: Index) -> None:
    def nobody() -> str:
        raise InvalidInput(Problem("unknown", "submit"))

    answer = submit(index, "/no/such/file", "", sender=nobody, daily_quota=None)
    assert not answer["ok"]
    assert answer["problems"] == ["submit: unknown"]


def test_who_sent_an_entry_withdraws_it(filled: Filled, card_text: str, tmp_path: Path) -> None:
    index = Index([filled.folder], Store(tmp_path / "store"))
    sent = submit(index, str(filled.files["good"]), card_text, sender=lambda: "ada", daily_quota=None)
    entry = str(sent["entry"])
    board = next(board for board in index.boards() if board.task == "nli")
    theirs = withdraw(index, entry, sender=lambda: "bob")
    assert "submitter" in theirs["problems"][0]
    assert index.frame(board).height == 1
    assert withdraw(index, f" {entry} ", sender=lambda: "ada")["ok"]
    assert index.frame(board).height == 0
    for wrong in ("nonsense", "../../etc", "", entry.upper()):
        answer = withdraw(index, wrong, sender=lambda: "ada")
        assert (answer["ok"], len(answer["problems"])) == (False, 1)
        assert str(tmp_path) not in answer["problems"][0]


def test_no_more_than_the_days_quota(filled: Filled, tmp_path: Path) -> None:
    index = Index([filled.folder], Store(tmp_path / "store"))

    def send(name: str) -> SubmissionAnswer:
        card = filled.card("good").model_copy(update={"name": name})
        path = str(filled.files["good"])
        return submit(index, path, json.dumps(card.as_dict()), sender=lambda: "ada", daily_quota=2)

    assert [send(name)["ok"] for name in ("one", "two", "three", "one")] == [True, True, False, True]
    assert "quota" in send("three")["problems"][0]


def test_scores_on_withheld_labels_are_not_previewed(
    tmp_path: Path, word_encoder: Any, wording: SnapshotAssertion
) -> None:
    build_synthetic(tmp_path / "out", encoder=word_encoder, withhold_labels=True)
    gold = DatasetFolder.open(tmp_path / "out" / "gold")
    index = Index([gold], Store(tmp_path / "store"))
    path = tmp_path / "predictions.parquet"
    predict(gold, gold.task("nli").domains, 0.2).write_parquet(path)
    card = json.dumps({"name": "x", "paradigm": "other", "data": gold.content_hash})
    answer = check(index, str(path), card)
    assert (answer["ok"], answer["summary"]) == (True, {})
    sent = submit(index, str(path), card, sender=lambda: "ada", daily_quota=3)
    assert {each["best"] for each in sent["summary"]["feedback"]} == {None}
    theirs = nominate_entry(index, str(sent["entry"]), "", sender=lambda: "bob")
    mine = nominate_entry(index, f" {sent['entry']} ", "nli", sender=lambda: "ada")
    assert [answer["note"], Visible(answer_html(sent)).lines, theirs["problems"], mine["note"]] == wording


def test_every_problem_at_once(index: Index, filled: Filled, tmp_path: Path, wording: SnapshotAssertion) -> None:
    upload = tmp_path / "upload" / "my predictions.parquet"
    upload.parent.mkdir()
    frame = pl.read_parquet(filled.files["good"])
    frame.rename({"prediction": "predicton"}).write_parquet(upload)
    # A wrong card and a wrong file: both are reported.
    answer = check(index, str(upload), "name: x\nparadigm: magic\ncolour: red\n")
    assert str(tmp_path) not in str(answer["problems"])
    shown = Visible(answer_html(answer))
    assert shown.tags.count("li") == len(answer["problems"]) >= 4
    assert shown.lines == wording


def test_a_wrong_card_hides_no_fault_of_the_file(index: Index, filled: Filled, tmp_path: Path) -> None:
    frame = pl.read_parquet(filled.files["good"])
    pl.concat([frame, frame.head(3)]).write_csv(tmp_path / "twice.csv")
    told = "\n".join(check(index, str(tmp_path / "twice.csv"), "name: x\nparadigm: magic\n")["problems"])
    assert "key 'paradigm'" in told
    assert "repeated" in told


def test_nothing_given_and_a_card_for_other_data(index: Index, filled: Filled, wording: SnapshotAssertion) -> None:
    card = filled.card("good").model_copy(update={"data": "0" * 64})
    other = check(index, str(filled.files["good"]), json.dumps(card.as_dict()))["problems"]
    assert filled.folder.content_hash[:12] in other[0]
    assert [check(index, None, "  ")["problems"], other] == wording


def test_no_path_of_the_server_in_a_message(index: Index, filled: Filled, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    broken = {
        "label": pl.read_parquet(filled.files["good"]).with_columns(prediction=pl.lit("Entailmnt")),
        "ids": pl.read_parquet(filled.files["good"]).with_columns(id="x" + pl.col("id")),
        "short": pl.read_parquet(filled.files["good"]).head(7),
        "empty": pl.read_parquet(filled.files["good"]).head(0),
    }
    cards = [filled.card("good"), filled.card("good").model_copy(update={"subset": "nowhere"})]
    for frame in broken.values():
        frame.write_csv(bad)
        for card in cards:
            answer = check(index, str(bad), json.dumps(card.as_dict()))
            assert answer["problems"]
            for path in (tmp_path, filled.folder.path, filled.store.root):
                assert str(path) not in "\n".join(answer["problems"])
    bad.write_bytes(b"\x00\xff\xfe not a table")
    told = check(index, str(bad), json.dumps(filled.card("good").as_dict()))["problems"]
    assert told
    assert str(tmp_path) not in "\n".join(told)


def test_too_large(index: Index, filled: Filled, card_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_UPLOAD_BYTES", 1024)
    told = check(index, str(filled.files["good"]), card_text)["problems"]
    assert len(told) == 1
    assert "large" in told[0]
    told = check(index, str(filled.files["good"]), "name: " + "x" * 70_000)["problems"]
    assert ["large" in line for line in told] == [True, True]


def test_a_long_list_of_problems_is_cut_and_counted(index: Index, card_text: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.touch()
    card = "\n".join(f"key{number}: 1" for number in range(MAX_PROBLEMS + 20))
    told = check(index, str(bad), card)["problems"]
    assert len(told) == MAX_PROBLEMS + 1
    assert re.fullmatch(r"and \d+ more problems", told[-1])
    # name, paradigm and data are missing, 120 keys unknown, and the file is empty.
    assert int(told[-1].split()[1]) == MAX_PROBLEMS + 20 + 3 + 1 - MAX_PROBLEMS
