"""Submitting by the page: every problem at once, no path of the server in a message, known senders only."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from leaderboard.store import Store
from leaderboard.views import pages, submission
from leaderboard.views.listing import Catalogue
from leaderboard.views.submission import MAX_PROBLEMS, check, local_submitter, submit

from .conftest import Filled, Visible


@pytest.fixture
def card_text(filled: Filled) -> str:
    return json.dumps(filled.card("good").as_dict())


def test_check_previews_and_keeps_nothing(catalogue: Catalogue, filled: Filled, card_text: str, tmp_path: Path) -> None:
    empty = Catalogue([filled.folder], Store(tmp_path / "store"))
    answer = check(empty, str(filled.files["good"]), card_text)
    assert (answer["ok"], answer["entry"], answer["new"], answer["problems"]) == (True, None, False, [])
    task = answer["summary"]["tasks"][0]
    assert task["mean_st"]["value"] == catalogue.entry(filled.entries["good"].id).scores.tasks[0].summary.mean_st.value
    assert answer["summary"]["missing"] == ["sa: no predictions for this task"]
    assert not (tmp_path / "store").exists()
    assert f"{100 * task['mean_st']['value']:.1f}" in pages.answer_html(answer)


def test_submit_keeps_it_once(filled: Filled, card_text: str, tmp_path: Path) -> None:
    catalogue = Catalogue([filled.folder], Store(tmp_path / "store"))
    first = submit(catalogue, str(filled.files["good"]), card_text, submitter="local")
    again = submit(catalogue, str(filled.files["good"]), card_text, submitter="local")
    assert (first["ok"], first["new"], again["new"]) == (True, True, False)
    assert first["entry"] == again["entry"]
    assert [item.id for item in catalogue.entries()] == [first["entry"]]
    assert "Accepted as" in pages.answer_html(first)
    assert "sent before" in pages.answer_html(again)


def test_an_unknown_sender_is_refused_before_anything_is_read(catalogue: Catalogue) -> None:
    answer = submit(catalogue, "/no/such/file", "", submitter=None)
    assert not answer["ok"]
    assert "from its own machine only" in answer["problems"][0]


def test_every_problem_at_once(catalogue: Catalogue, filled: Filled, tmp_path: Path) -> None:
    upload = tmp_path / "upload" / "my predictions.parquet"
    upload.parent.mkdir()
    frame = pl.read_parquet(filled.files["good"])
    frame.rename({"prediction": "predicton"}).write_parquet(upload)
    # A wrong card and a wrong file: both are told.
    answer = check(catalogue, str(upload), "name: x\nparadigm: magic\ncolour: red\n")
    told = "\n".join(answer["problems"])
    for words in ("key 'data': required key", "key 'paradigm'", "'colour'", "did you mean 'prediction'?"):
        assert words in told
    assert str(tmp_path) not in told
    assert "my predictions.parquet" in told
    shown = Visible(pages.answer_html(answer))
    assert shown.tags.count("li") == len(answer["problems"]) >= 4
    assert f"{len(answer['problems'])} problems. Nothing was stored." in shown.text


def test_nothing_given(catalogue: Catalogue) -> None:
    told = check(catalogue, None, "  ")["problems"]
    assert len(told) == 2
    assert "there is no prediction file" in told[0]
    assert "there is no card" in told[1]


def test_a_card_for_other_data(catalogue: Catalogue, filled: Filled) -> None:
    card = filled.card("good").model_copy(update={"data": "0" * 64})
    told = check(catalogue, str(filled.files["good"]), json.dumps(card.as_dict()))["problems"]
    assert len(told) == 1
    assert "another version of the data" in told[0]
    assert filled.folder.content_hash[:12] in told[0]


def test_no_path_of_the_server_in_a_message(catalogue: Catalogue, filled: Filled, tmp_path: Path) -> None:
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
            answer = check(catalogue, str(bad), json.dumps(card.as_dict()))
            assert answer["problems"]
            for path in (tmp_path, filled.folder.path, filled.store.root):
                assert str(path) not in "\n".join(answer["problems"])
    bad.write_bytes(b"\x00\xff\xfe not a table")
    told = check(catalogue, str(bad), json.dumps(filled.card("good").as_dict()))["problems"]
    assert told
    assert str(tmp_path) not in "\n".join(told)


def test_too_large(catalogue: Catalogue, filled: Filled, card_text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submission, "MAX_UPLOAD_BYTES", 1024)
    told = check(catalogue, str(filled.files["good"]), card_text)["problems"]
    assert len(told) == 1
    assert "the file is too large" in told[0]
    told = check(catalogue, str(filled.files["good"]), "name: " + "x" * 70_000)["problems"]
    assert ["too large" in line for line in told] == [True, True]


def test_a_long_list_of_problems_is_cut_and_counted(catalogue: Catalogue, card_text: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.touch()
    card = "\n".join(f"key{number}: 1" for number in range(MAX_PROBLEMS + 20))
    told = check(catalogue, str(bad), card)["problems"]
    assert len(told) == MAX_PROBLEMS + 1
    assert re.fullmatch(r"and \d+ more problems", told[-1])
    # name, paradigm and data are missing, 120 keys unknown, and the file is empty.
    assert int(told[-1].split()[1]) == MAX_PROBLEMS + 20 + 3 + 1 - MAX_PROBLEMS


@pytest.mark.parametrize(
    ("host", "headers", "known"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:7860"}, True),
        ("::1", {"host": "[::1]:7860"}, True),
        ("::ffff:127.0.0.1", {}, True),
        ("127.0.0.1", {"host": "localhost:7860", "origin": "http://localhost:7860"}, True),
        ("192.0.2.7", {"host": "127.0.0.1:7860"}, False),
        ("127.0.0.1", {"x-forwarded-for": "192.0.2.7"}, False),
        ("127.0.0.1", {"forwarded": "for=192.0.2.7"}, False),
        ("127.0.0.1", {"x-real-ip": "127.0.0.1"}, False),
        ("127.0.0.1", {"host": "evil.example"}, False),
        ("127.0.0.1", {"host": "127.0.0.1:7860", "origin": "https://evil.example"}, False),
        ("127.0.0.1", {"origin": "null"}, False),
        ("testclient", {}, False),
        (None, {}, False),
    ],
)
def test_only_the_machine_itself_submits(host: str | None, headers: dict[str, str], known: bool) -> None:
    assert (local_submitter(host, headers) == "local") is known
