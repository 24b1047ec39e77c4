"""Question answering in the JSON lines of the MRQA 2019 shared task: one context per line, with its questions.

Source: Fisch et al. 2019, https://github.com/mrqa/MRQA-Shared-Task-2019. Rows have the schema of readers/squad.py.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from shiftbench.builders.readers.json_document import RELEASE
from shiftbench.builders.readers.squad import SCHEMA
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem

_BOM = b"\xef\xbb\xbf"


class _Detected(msgspec.Struct):
    text: str
    char_spans: list[tuple[int, int]]


class _Question(msgspec.Struct):
    qid: str
    question: str
    detected_answers: list[_Detected]


class _Context(msgspec.Struct):
    context: str
    qas: list[_Question]


class _Header(msgspec.Struct):
    header: dict[str, object]


@dataclass(frozen=True)
class Mrqa:
    """A reader of MRQA files: one row per question, one frame per block; ``SCHEMA`` is SQuAD's, ``title`` is empty.

    The first line may be a header. Answers are the distinct spans of the context detected upstream (``char_spans``,
    inclusive ends), with their text from the context, stripped of white space: the text in ``detected_answers`` is
    normalised (lower case, without accents or punctuation), and ``answers`` often do not occur in the context. Without
    detected spans the lists are empty.

    Raises: InvalidInput with the line (as row) if it is not JSON of this format, a span is outside the context, or the
        text of a span does not match the detected answer.
    """

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the file from its position, in blocks."""
        block = b""
        for first, block in file.blocks():
            yield pl.DataFrame(list(_question_rows(block, first, file.path)), schema=SCHEMA, orient="row")
        if not block and not file.position.offset:
            cure = "fetch the file again; it may be truncated"
            raise InvalidInput(Problem("the file is empty", str(file.path), cure=cure))


mrqa = Mrqa()

_Row = tuple[str, str, str, dict[str, list[str] | list[int]], str]


def _question_rows(block: bytes, first: int, path: Path) -> Iterator[_Row]:
    for number, line in enumerate(block.split(b"\n"), start=first):
        context = _context(line.removeprefix(_BOM) if number == 1 else line, path, number)
        if context is None:
            continue
        for question in context.qas:
            places = dict.fromkeys(
                place
                for detected in question.detected_answers
                for place in _places(detected, context.context, f"question '{question.qid}'", path, number)
            )
            answers: dict[str, list[str] | list[int]] = {
                "text": [text for text, _ in places],
                "answer_start": [start for _, start in places],
            }
            yield "", context.context, question.question, answers, question.qid


def _context(line: bytes, path: Path, number: int) -> _Context | None:
    """Parse a line; None for blank lines and the header."""
    if not line or line.isspace():
        return None
    try:
        return msgspec.json.decode(line, type=_Context)
    except msgspec.ValidationError as error:
        if number == 1 and _is_header(line):
            return None
        found = str(error)
        raise InvalidInput(Problem("this is not MRQA's JSON", str(path), found, RELEASE, row=number)) from error
    except msgspec.DecodeError as error:
        cure = "fetch the file again; it may be truncated"
        raise InvalidInput(Problem("this line is not JSON", str(path), str(error), cure, row=number)) from error


def _is_header(line: bytes) -> bool:
    try:
        msgspec.json.decode(line, type=_Header)
    except msgspec.ValidationError:
        return False
    return True


def _places(detected: _Detected, context: str, place: str, path: Path, number: int) -> Iterator[tuple[str, int]]:
    """Return the text and the start of each span."""
    for start, last in detected.char_spans:
        text = context[start : last + 1] if 0 <= start <= last < len(context) else ""
        if not text:
            what = f"an answer to {place} has a span outside the context"
            found = f"characters {start} to {last} of {len(context)}"
        elif (_normalise(text) or text.strip()) != (_normalise(detected.text) or detected.text.strip()):
            what = f"an answer to {place} does not match its span"
            found = f"{text!r} at {start} to {last}, expected {detected.text!r}"
        else:
            yield text.strip(), start + len(text) - len(text.lstrip())
            continue
        cure = "do these spans count bytes, or exclude their last character? " + RELEASE
        raise InvalidInput(Problem(what, str(path), found, cure, row=number))


def _normalise(text: str) -> str:
    """Normalise a text to lower-case letters and digits without accents, to compare both spellings.

    >>> _normalise("The Café's") == _normalise("cafe s")
    True
    """
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return "".join(re.findall(r"\w", re.sub(r"\b(?:a|an|the)\b", " ", plain)))
