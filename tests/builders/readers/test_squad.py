"""SQuAD's nested JSON: what a question becomes, and what is refused where. Every text here is invented."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.readers.squad import SCHEMA, squad
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput
from tests import wording

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


@pytest.mark.parametrize(
    ("content", "row", "found"),
    [
        ('{"data":\n [,]}', 2, "JSON is malformed: invalid character (byte 11)"),
        ('{"data":\n [{"title": "a"\n', 2, "Input data was truncated"),
        ('{"data": []}\n\n}', 3, "JSON is malformed: trailing characters (byte 15)"),
        ("", 1, "Input data was truncated"),
    ],
)
def test_a_file_that_is_not_json_is_refused_by_line(content: str, row: int, found: str, tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.json", content) == (
        f"a.json, row {row}: {wording.FILE_NOT_JSON}; found {found}; {wording.FETCH_FILE_AGAIN_MAY}"
    )


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    content = changed(lambda release: questions(release)[0].update(question="\ud83d ..."))
    assert refusal(tmp_path / "a.json", content).startswith(f"a.json, row 1: {wording.FILE_NOT_JSON}; found ")


FIRST = "question 'q1' of article 'Zürich_on_Sand'"
RELEASE_CURE = "is this the upstream release that the build expects?"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda release: release.update(Data=release.pop("data")),
            "a.json: this is not SQuAD's JSON; found Object missing required field `data`",
        ),
        (
            lambda release: release["data"][1].pop("title"),
            f"a.json: article 2 {wording.DOES_NOT_MATCH_SQUAD}; found Object missing required field `title`",
        ),
        (
            lambda release: release["data"][1]["paragraphs"][1].update(context=None),
            f"a.json: paragraph 2 of article '100%_Hill' {wording.DOES_NOT_MATCH_SQUAD}; found Expected `str`, "
            "got `null` - at `$.context`",
        ),
        (
            lambda release: questions(release)[1].pop("answers"),
            f"a.json, row 2: question 'q2' of article 'Zürich_on_Sand' {wording.DOES_NOT_MATCH_SQUAD}; found "
            "Object missing required field `answers`",
        ),
        (
            lambda release: questions(release)[1].pop("id"),
            f"a.json, row 2: question of article 'Zürich_on_Sand' {wording.DOES_NOT_MATCH_SQUAD}; found Object "
            "missing required field `id`",
        ),
        (
            lambda release: questions(release).insert(0, "a question"),
            f"a.json, row 1: question of article 'Zürich_on_Sand' {wording.DOES_NOT_MATCH_SQUAD}; found Expected "
            "`object`, got `str`",
        ),
        (
            lambda release: questions(release)[0].update(is_impossible="false"),
            f"a.json, row 1: {FIRST} {wording.DOES_NOT_MATCH_SQUAD}; found Expected `bool`, got `str` - at "
            "`$.is_impossible`",
        ),
        (
            lambda release: questions(release)[0]["answers"][0].update(answer_start=-1),
            f"a.json, row 1: {FIRST} {wording.DOES_NOT_MATCH_SQUAD}; found Expected `int` >= 0 - at "
            "`$.answers[0].answer_start`",
        ),
        (
            lambda release: questions(release)[0]["answers"][0].update(answer_start="21"),
            f"a.json, row 1: {FIRST} {wording.DOES_NOT_MATCH_SQUAD}; found Expected `int`, got `str` - at "
            "`$.answers[0].answer_start`",
        ),
        (
            lambda release: questions(release)[0]["answers"][0].update(text=""),
            f"a.json, row 1: {FIRST} {wording.DOES_NOT_MATCH_SQUAD}; found Expected `str` of length >= 1 - at "
            "`$.answers[0].text`",
        ),
    ],
)
def test_another_structure_is_refused_by_article_and_question(
    change: Callable[[dict[str, Any]], object], message: str, tmp_path: Path
) -> None:
    assert refusal(tmp_path / "a.json", changed(change)) == f"{message}; {RELEASE_CURE}"


def test_an_answer_at_another_offset_is_refused_with_the_nearest(tmp_path: Path) -> None:
    # Bytes would be four more: a letter and an emoji stand before. "well" stands at 25 and 40.
    content = changed(lambda release: questions(release)[0].update(answers=[answer("two", 25)]))
    assert refusal(tmp_path / "a.json", content) == (
        f"a.json, row 1: an answer to {FIRST} is not at its answer_start; found 'wel' at 25, expected 'two'; the "
        "nearest occurrence is at 21: do these offsets count bytes, or characters of another release?"
    )
    content = changed(lambda release: questions(release)[0].update(answers=[answer("two", 21), answer("well", 34)]))
    assert "the nearest occurrence is at 40:" in refusal(tmp_path / "a.json", content)


def test_an_answer_past_the_context_is_refused(tmp_path: Path) -> None:
    content = changed(lambda release: questions(release)[0].update(answers=[answer("three", 900)]))
    message = refusal(tmp_path / "a.json", content)
    assert "found '' at 900, expected 'three'; the context does not contain this answer" in message
    assert message.endswith("was its text changed (white space, quotes, accents)?")


def test_an_impossible_question_with_answers_is_refused(tmp_path: Path) -> None:
    content = changed(lambda release: questions(release)[0].update(is_impossible=True))
    assert refusal(tmp_path / "a.json", content) == (
        f"a.json, row 1: {FIRST} is marked as impossible but has answers; found is_impossible true and the answer "
        f"'two'; {wording.FETCH_FILE_AGAIN}"
    )


@pytest.mark.parametrize("key", [{"is_impossible": False}, {}], ids=["false", "absent"])
def test_a_question_without_answers_must_be_marked_as_impossible(key: dict[str, bool], tmp_path: Path) -> None:
    unanswered = {"question": "Which?", "id": "q1", "answers": [], **key}
    content = changed(lambda release: questions(release).__setitem__(0, unanswered))
    assert refusal(tmp_path / "a.json", content) == (
        f"a.json, row 1: {FIRST} has no answers but is not marked as impossible; found answers []; this release may "
        "withhold its answers; use one that contains them"
    )


def test_the_row_is_the_ordinal_in_the_file(tmp_path: Path) -> None:
    content = changed(lambda release: release["data"][1]["paragraphs"][1]["qas"][0].update(answers=[]))
    assert refusal(tmp_path / "a.json", content).startswith("a.json, row 3: question 'q3' of article '100%_Hill' has")
