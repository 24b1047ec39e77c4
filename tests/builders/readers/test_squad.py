"""SQuAD's nested JSON: what a question becomes, and what is refused where. Every text here is invented."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.squad import SCHEMA, squad
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput

CONTEXT = "Zürich-on-Sand has 😀 two wells. The old well is dry."


def answer(text: str, start: int) -> dict[str, Any]:
    return {"text": text, "answer_start": start}


# Version 2.0 with its extra keys; paragraphs put qas before context, as its files do.
RELEASE: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {
            "title": "Z%C3%BCrich_on_Sand",
            "paragraphs": [
                {
                    "qas": [
                        {
                            "question": "How many wells?",
                            "id": "q1",
                            "answers": [answer("two", 21), answer("two wells", 21)],
                            "is_impossible": False,
                        },
                        {
                            "plausible_answers": [answer("dry", 48)],
                            "question": "null",
                            "id": "q2",
                            "answers": [],
                            "is_impossible": True,
                        },
                    ],
                    "context": CONTEXT,
                }
            ],
        },
        # Without is_impossible, as in version 1.1, and with a key of SQuADShifts.
        {
            "title": "100%_Hill",
            "split": "test",
            "paragraphs": [
                {"context": "", "qas": []},
                {"context": " Up.\n", "qas": [{"question": "n/a", "id": "q3", "answers": [answer("Up.\n", 1)]}]},
            ],
        },
    ],
}


def read(path: Path) -> pl.DataFrame:
    with UpstreamFile(path) as file:
        (frame,) = squad(file)
    return frame


def refusal(path: Path, content: str) -> str:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInput) as refused:
        read(path)
    return str(refused.value).removeprefix(f"{path.parent}/")


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """Return the release as JSON after a change."""
    release = copy.deepcopy(RELEASE)
    change(release)
    return json.dumps(release)


def questions(release: dict[str, Any]) -> list[dict[str, Any]]:
    return release["data"][0]["paragraphs"][0]["qas"]


def test_each_question_is_a_row_with_the_texts_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(RELEASE))
    frame = read(tmp_path / "a.json")
    assert frame.schema == SCHEMA
    assert frame.rows() == [
        ("Zürich_on_Sand", CONTEXT, "How many wells?", {"text": ["two", "two wells"], "answer_start": [21, 21]}, "q1"),
        ("Zürich_on_Sand", CONTEXT, "null", {"text": [], "answer_start": []}, "q2"),
        ("100%_Hill", " Up.\n", "n/a", {"text": ["Up.\n"], "answer_start": [1]}, "q3"),
    ]


def test_it_reads_indented_json_behind_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("\ufeff" + json.dumps(RELEASE, indent=1, ensure_ascii=False), encoding="utf-8")
    assert read(tmp_path / "a.json").height == 3


def test_a_release_without_questions_has_no_rows_but_its_columns(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"data": []}')
    assert (read(tmp_path / "a.json").schema, read(tmp_path / "a.json").height) == (SCHEMA, 0)


def test_two_readers_are_the_same_key() -> None:
    assert repr(squad) == "Squad()"


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "data": lambda release: release.update(Data=release.pop("data")),
    "title": lambda release: release["data"][1].pop("title"),
    "context": lambda release: release["data"][1]["paragraphs"][1].update(context=None),
    "answers": lambda release: questions(release)[1].pop("answers"),
    "id": lambda release: questions(release)[1].pop("id"),
    "no object": lambda release: questions(release).insert(0, "a question"),
    "is_impossible": lambda release: questions(release)[0].update(is_impossible="false"),
    "a negative start": lambda release: questions(release)[0]["answers"][0].update(answer_start=-1),
    "a start in quotes": lambda release: questions(release)[0]["answers"][0].update(answer_start="21"),
    "an empty answer": lambda release: questions(release)[0]["answers"][0].update(text=""),
    # Bytes would be four more: a letter and an emoji stand before. "well" stands at 25 and 40.
    "another offset": lambda release: questions(release)[0].update(answers=[answer("two", 25)]),
    "an offset before": lambda release: questions(release)[0].update(answers=[answer("two", 21), answer("well", 34)]),
    "past the context": lambda release: questions(release)[0].update(answers=[answer("three", 900)]),
    "impossible with answers": lambda release: questions(release)[0].update(is_impossible=True),
    "possible without": lambda release: questions(release)[0].update(answers=[], is_impossible=False),
    "unmarked without": lambda release: questions(release).__setitem__(
        0, {"question": "Which?", "id": "q1", "answers": []}
    ),
    "half a surrogate": lambda release: questions(release)[0].update(question="\ud83d ..."),
}
NOT_JSON = ('{"data":\n [,]}', '{"data":\n [{"title": "a"\n', '{"data": []}\n\n}', "")


def test_what_is_refused_is_named_by_article_and_question(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {name: refusal(tmp_path / "a.json", changed(change)) for name, change in CHANGES.items()}
    assert said | {content: refusal(tmp_path / "a.json", content) for content in NOT_JSON} == wording


def test_the_row_is_the_ordinal_in_the_file(tmp_path: Path) -> None:
    content = changed(lambda release: release["data"][1]["paragraphs"][1]["qas"][0].update(answers=[]))
    assert refusal(tmp_path / "a.json", content).startswith("a.json, row 3: ")
