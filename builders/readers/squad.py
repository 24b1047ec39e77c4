"""Question answering in SQuAD's nested JSON: articles, paragraphs, questions, answers; versions 1.1 and 2.0.

Source: Rajpurkar et al. 2016 (1.1) and 2018 (2.0), https://rajpurkar.github.io/SQuAD-explorer/. Other data sets share
the format (SQuADShifts, AdversarialQA); additional keys are ignored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeVar
from urllib.parse import unquote

import msgspec
import polars as pl

from shiftbench.builders.readers.json_document import RELEASE, json_document
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.schemas import ANSWERS

SCHEMA = pl.Schema(
    {
        "title": pl.String(),
        "context": pl.String(),
        "question": pl.String(),
        "answers": ANSWERS,
        "question_id": pl.String(),
    }
)
"""One row per question, in file order, no nulls; ``answers`` has empty lists for unanswerable questions."""


class SquadAnswer(msgspec.Struct):
    """A span of the context; ``answer_start`` is a character offset."""

    text: Annotated[str, msgspec.Meta(min_length=1)]
    answer_start: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]


class SquadQuestion(msgspec.Struct):
    """A question; version 1.1 has no ``is_impossible``. ``plausible_answers`` are not answers and are ignored."""

    id: str
    question: str
    answers: list[SquadAnswer]
    is_impossible: bool = False


# Each level is validated separately, with its parts still raw, so that errors can name the article and question.
class _Paragraph(msgspec.Struct):
    context: str
    qas: list[msgspec.Raw]


class _Article(msgspec.Struct):
    title: str
    paragraphs: list[msgspec.Raw]


class _Release(msgspec.Struct):
    data: list[msgspec.Raw]


_Level = TypeVar("_Level", _Article, _Paragraph, SquadQuestion)


@dataclass(frozen=True)
class Squad:
    """A reader of SQuAD files: one row per question, in one frame; see ``SCHEMA``.

    ``title`` is percent-decoded, with underscores. ``answers`` has empty lists for unanswerable questions.

    Raises: InvalidInput if the file is not JSON (row: the line), or a key is missing or has the wrong type, an answer
        differs from the context at its offset, or answers and ``is_impossible`` disagree (row: the question, 1-based).
    """

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the whole file."""
        release = json_document(file, _Release, "SQuAD's JSON")
        yield pl.DataFrame(list(_question_rows(release, file.path)), schema=SCHEMA, orient="row")


squad = Squad()


_Row = tuple[str, str, str, dict[str, list[str] | list[int]], str]


def _question_rows(release: _Release, path: Path) -> Iterator[_Row]:
    number = 0
    for article_number, raw_article in enumerate(release.data, start=1):
        article = _level(raw_article, _Article, path, f"article {article_number}")
        title = unquote(article.title)
        for paragraph_number, raw_paragraph in enumerate(article.paragraphs, start=1):
            place = f"paragraph {paragraph_number} of article '{title}'"
            paragraph = _level(raw_paragraph, _Paragraph, path, place)
            for raw in paragraph.qas:
                number += 1
                question = _level(raw, SquadQuestion, path, f"question{_id_of(raw)} of article '{title}'", number)
                _check(question, paragraph.context, path, title, number)
                answers: dict[str, list[str] | list[int]] = {
                    "text": [answer.text for answer in question.answers],
                    "answer_start": [answer.answer_start for answer in question.answers],
                }
                yield title, paragraph.context, question.question, answers, question.id


def _level(raw: msgspec.Raw, level: type[_Level], path: Path, place: str, row: int | None = None) -> _Level:
    try:
        return msgspec.json.decode(raw, type=level)
    except msgspec.ValidationError as error:
        what = f"{place} does not match the SQuAD JSON format"
        raise InvalidInput(Problem(what, str(path), str(error), RELEASE, row=row)) from error


def _id_of(raw: msgspec.Raw) -> str:
    """Return the id of a question that may be malformed, for use in messages."""
    question = msgspec.json.decode(raw)
    return f" {question['id']!r}" if isinstance(question, dict) and "id" in question else ""


def _check(question: SquadQuestion, context: str, path: Path, title: str, number: int) -> None:
    place = f"question '{question.id}' of article '{title}'"
    if question.is_impossible and question.answers:
        found = f"is_impossible true and the answer {question.answers[0].text!r}"
        what = f"{place} is marked as impossible but has answers"
        raise InvalidInput(Problem(what, str(path), found, "fetch the file again", row=number))
    if not question.is_impossible and not question.answers:
        cure = "this release may withhold its answers; use one that contains them"
        what = f"{place} has no answers but is not marked as impossible"
        raise InvalidInput(Problem(what, str(path), "answers []", cure, row=number))
    for answer in question.answers:
        stands = context[answer.answer_start : answer.answer_start + len(answer.text)]
        if stands != answer.text:
            what = f"an answer to {place} is not at its answer_start"
            found = f"{stands!r} at {answer.answer_start}, expected {answer.text!r}"
            raise InvalidInput(Problem(what, str(path), found, _nearest(answer, context), row=number))


def _nearest(answer: SquadAnswer, context: str) -> str:
    """Find the answer's nearest occurrence, which hints at the unit of the offsets."""
    starts = [match.start() for match in re.finditer(f"(?={re.escape(answer.text)})", context)]
    if not starts:
        return "the context does not contain this answer: was its text changed (white space, quotes, accents)?"
    nearest = min(starts, key=lambda start: abs(start - answer.answer_start))
    return f"the nearest occurrence is at {nearest}: do these offsets count bytes, or characters of another release?"
