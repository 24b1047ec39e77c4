"""MRQA's JSON lines: which answers a question has, and what is refused where. Every text here is invented."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.readers.mrqa import mrqa
from shiftbench.builders.readers.squad import SCHEMA
from shiftbench.builders.specs.upstream_file import Position, UpstreamFile
from shiftbench.validation.report import InvalidInput

CONTEXT = "[TLE] Two Wells [PAR] The Old  Café has 😀 two wells; two, I say."
HEADER = {"header": {"dataset": "Invented", "split": "train"}}


def detected(text: str, *spans: tuple[int, int]) -> dict[str, Any]:
    return {"text": text, "char_spans": [list(span) for span in spans], "token_spans": [[0, 0]]}


def line(*answers: dict[str, Any], context: str = CONTEXT, question: str = "null", qid: str = "q1") -> dict[str, Any]:
    one = {"qid": qid, "question": question, "answers": ["Two"], "detected_answers": list(answers)}
    return {"id": "", "context": context, "qas": [one], "context_tokens": [["[TLE]", 0]]}


def read(path: Path, *lines: dict[str, Any] | str) -> pl.DataFrame:
    path.write_text("\n".join(x if isinstance(x, str) else json.dumps(x) for x in lines) + "\n", encoding="utf-8")
    with UpstreamFile(path) as file:
        return pl.concat(mrqa(file))


def refusal(path: Path, *lines: dict[str, Any] | str) -> str:
    with pytest.raises(InvalidInput) as refused:
        read(path, *lines)
    return str(refused.value).removeprefix(f"{path.parent}/")


TWO, AGAIN = (CONTEXT.index("two"), CONTEXT.index("two") + 2), (CONTEXT.rindex("two"), CONTEXT.rindex("two") + 2)
CAFE = (CONTEXT.index("The Old"), CONTEXT.index(" has") - 1)


def test_each_question_is_a_row_and_each_place_an_answer_once(tmp_path: Path) -> None:
    both = line(detected("TWO", AGAIN, TWO), detected("two", TWO), detected("old cafe", CAFE))
    both["qas"].append({"qid": "q2", "question": "Who?", "answers": ["I"], "detected_answers": []})
    frame = read(tmp_path / "a.jsonl", HEADER, both, "", line(detected("I", (58, 58))) | {"id": "x"})
    assert frame.schema == SCHEMA
    assert frame.rows() == [
        (
            "",
            CONTEXT,
            "null",
            {"text": ["two", "two", "The Old  Café"], "answer_start": [AGAIN[0], TWO[0], CAFE[0]]},
            "q1",
        ),
        ("", CONTEXT, "Who?", {"text": [], "answer_start": []}, "q2"),
        ("", CONTEXT, "null", {"text": ["I"], "answer_start": [58]}, "q1"),
    ]


def test_white_space_at_the_ends_of_a_span_is_no_part_of_the_answer(tmp_path: Path) -> None:
    frame = read(tmp_path / "a.jsonl", line(detected("two ", (TWO[0] - 1, TWO[1] + 1))))
    assert frame["answers"].to_list() == [{"text": ["two"], "answer_start": [TWO[0]]}]


def test_the_header_may_be_absent_and_the_file_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    row = json.dumps(line(detected("two", TWO)), ensure_ascii=False)
    assert read(tmp_path / "a.jsonl", "\ufeff" + row + "\r").height == 1
    assert read(tmp_path / "a.jsonl", "\ufeff" + json.dumps(HEADER), row).height == 1
    assert (read(tmp_path / "a.jsonl", HEADER).height, read(tmp_path / "a.jsonl", HEADER).schema) == (0, SCHEMA)


def test_it_reads_gzip_in_blocks_and_goes_on_from_one(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    lines = [HEADER, *(line(detected("two", TWO), qid=f"q{n}") for n in range(5))]
    path.write_bytes(gzip.compress("".join(json.dumps(x) + "\n" for x in lines).encode()))
    with UpstreamFile(path, block=100) as file:
        frames = []
        positions = [Position()]
        for frame in mrqa(file):
            frames.append(frame)
            positions.append(file.position)
        assert file.resumable
    assert [*pl.concat(frames)["question_id"]] == ["q0", "q1", "q2", "q3", "q4"]
    with UpstreamFile(path, start=positions[3]) as file:
        assert pl.concat(mrqa(file)).equals(pl.concat(frames[3:]))
    with UpstreamFile(path, start=positions[-1]) as file:
        assert list(mrqa(file)) == []


REFUSED = {
    "two headers": (HEADER, HEADER),
    "no questions": (HEADER, {"context": "a"}),
    "a number as a context": ({"context": 1},),
    "a list": (HEADER, "[1]"),
    "cut off": (HEADER, '{"context": "'),
    "damaged": ("{]",),
    "a long span": (HEADER, line(detected("two", (TWO[0], TWO[1] + 9)))),
    "a short span": (line(detected("two", (TWO[0], TWO[1] + 1)), detected("two", (TWO[0], TWO[1] - 1))),),
    "past the end": (line(detected("say.", (65, 69))),),
    "backwards": (line(detected("a", (5, 4))),),
    "before the start": (line(detected("a", (-1, 4))),),
}


def test_what_is_refused_is_named_by_line(tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert {name: refusal(tmp_path / "a.jsonl", *lines) for name, lines in REFUSED.items()} == wording


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    with UpstreamFile(tmp_path / "a.jsonl") as file, pytest.raises(InvalidInput, match="empty"):
        list(mrqa(file))


def test_two_readers_are_the_same_key() -> None:
    assert repr(mrqa) == "Mrqa()"
