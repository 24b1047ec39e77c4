"""Aspect terms and their polarity in the XML format of SemEval-2014 task 4, also used by MAMS; one tag per word.

Source: Jiang et al. 2019 (MAMS), https://github.com/siat-nlp/MAMS-for-ABSA, folder ``MAMS-ATSA/raw``.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder, tostring
from xml.parsers import expat

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

SCHEMA = pl.Schema(
    {"tokens": pl.List(pl.String), "tags": pl.List(pl.String), "text": pl.String(), "refused": pl.String()}
)
"""One row per sentence, in file order; either ``tags`` or ``refused``, the reason for missing tags, is null."""

TOKEN = re.compile(r"\w+|[^\w\s]")
"""A run of letters and digits, or one other character. Applied independently of the terms.

If words could contain apostrophes, terms such as "[waiter]'s" would not align (48 instead of 7 of 3,000 real sentences
refused); keeping hyphens, numbers or "n't" together saves no sentence.
"""

_TAGS = {"positive": "T-POS", "negative": "T-NEG", "neutral": "T-NEU"}
_CONFLICT = "conflict"
_RELEASE = "is this the upstream release that the build expects?"


@dataclass(frozen=True)
class Term:
    """An aspect term: characters ``start`` to ``end`` of the text."""

    start: int
    end: int
    polarity: str


@dataclass(frozen=True)
class AspectTerms:
    """A reader of aspect terms: one row per sentence, in one frame; see ``SCHEMA``.

    Tags are O, T-POS, T-NEG and T-NEU, one per token. Adjacent terms of the same polarity are merged, as this notation
    has no boundaries. If a sentence cannot be tagged, ``tags`` is null and ``refused`` contains the reason:
    "conflicting polarity" (SemEval's fourth polarity), "terms overlap", or "a term does not align with words".

    Raises: InvalidInput with the line (as row) if the file is not XML of this format, a term differs from the text at
        its offsets, or a polarity is not known.
    """

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the whole file."""
        root = _root(file.text(), file.path)
        rows = [_row(sentence, file.path) for sentence in root]
        yield pl.DataFrame(rows, schema=SCHEMA, orient="row")


aspect_terms = AspectTerms()


def tokenise(text: str) -> list[tuple[int, int]]:
    """Return the start and end offset of each token.

    >>> text = "The waiter's top-up, ok."
    >>> [text[start:end] for start, end in tokenise(text)]
    ['The', 'waiter', "'", 's', 'top', '-', 'up', ',', 'ok', '.']
    """
    return [match.span() for match in TOKEN.finditer(text)]


class _Element(Element):
    """An element, and the line on which it starts, from 1."""

    line: int


def _root(text: str, path: Path) -> Element:
    # The bytes passed here are UTF-8, whatever encoding the XML declaration states.
    parser, builder = expat.ParserCreate("utf-8"), TreeBuilder(element_factory=_Element)

    def start(tag: str, attributes: dict[str, str]) -> None:
        builder.start(tag, attributes).line = parser.CurrentLineNumber  # type: ignore[attr-defined]

    def refuse(*_: object) -> None:
        cure = "use the upstream file, which declares none"
        what = "the file declares a document type, which may define entities"
        raise InvalidInput(Problem(what, str(path), cure=cure))

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, builder.end, builder.data
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        cure, found = "fetch the file again; it may be truncated", expat.ErrorString(error.code)
        raise InvalidInput(Problem("the file is not XML", str(path), found, cure, row=error.lineno)) from error
    root = builder.close()
    if root.tag != "sentences":
        raise _refusal("the file has no element 'sentences'", root, path, f"'{root.tag}'")
    for child in root:
        if child.tag != "sentence":
            raise _refusal("'sentences' contains an element other than 'sentence'", child, path, f"'{child.tag}'")
    # Sentences may have no terms, but a file with other element names must not be read as all O.
    if len(root) and next(root.iter("aspectTerm"), None) is None:
        found = f"elements {', '.join(sorted({element.tag for element in root.iter()}))}"
        cure = "use the files of aspect terms (ATSA), not those of aspect categories (ACSA)"
        raise InvalidInput(Problem("no sentence has an 'aspectTerm'", str(path), found, cure))
    return root


def _row(sentence: Element, path: Path) -> tuple[list[str], list[str] | None, str, str | None]:
    text = _text(sentence, path)
    spans = tokenise(text)
    if not spans:
        raise _refusal("the text of this sentence contains no words", sentence, path, repr(text))
    terms = _terms(sentence, text, path)
    refused = _why_untaggable(terms, spans)
    tags = None if refused else _tags(terms, spans)
    return [text[start:end] for start, end in spans], tags, text, refused


def _text(sentence: Element, path: Path) -> str:
    texts = sentence.findall("text")
    if len(texts) != 1:
        raise _refusal("a sentence must have one 'text'", sentence, path, f"{len(texts)} elements 'text'")
    if len(texts[0]):
        texts[0][0].tail = None
        found = repr(tostring(texts[0][0], encoding="unicode")[:80])
        raise _refusal("the text of this sentence contains other elements", texts[0], path, found)
    return texts[0].text or ""


def _terms(sentence: Element, text: str, path: Path) -> list[Term]:
    """Return the distinct terms in text order."""
    lists = sentence.findall("aspectTerms")
    if len(lists) > 1:
        raise _refusal(
            "a sentence must have at most one 'aspectTerms'", lists[1], path, f"{len(lists)} elements 'aspectTerms'"
        )
    elements = [element for terms in lists for element in terms]
    terms = {_term(element, text, path) for element in elements}
    return sorted(terms, key=lambda term: (term.start, term.end, term.polarity))


def _term(element: Element, text: str, path: Path) -> Term:
    if element.tag != "aspectTerm":
        raise _refusal("'aspectTerms' contains an element other than 'aspectTerm'", element, path, f"'{element.tag}'")
    missing = [name for name in ("from", "to", "term", "polarity") if name not in element.attrib]
    if missing:
        found = f"attributes {', '.join(sorted(element.attrib))}"
        raise _refusal(f"an 'aspectTerm' lacks '{missing[0]}'", element, path, found)
    polarity = element.attrib["polarity"]
    if polarity not in _TAGS and polarity != _CONFLICT:
        cure = did_you_mean(polarity, [*_TAGS, _CONFLICT])
        raise _refusal("unknown polarity", element, path, repr(polarity), cure)
    start, end = (_offset(element, name, path) for name in ("from", "to"))
    term = element.attrib["term"]
    if start >= end or text[start:end] != term:
        found = f"{text[start:end]!r} at {start} to {end}, expected {term!r}"
        cure = "do the offsets count bytes, entities or white space differently? Fetch the file again"
        raise _refusal("a term differs from the text at its offsets", element, path, found, cure)
    return Term(start, end, polarity)


def _offset(element: Element, name: str, path: Path) -> int:
    value = element.attrib[name]
    if not re.fullmatch("[0-9]{1,9}", value):
        raise _refusal(f"'{name}' of an 'aspectTerm' is not a number of characters", element, path, repr(value))
    return int(value)


def _why_untaggable(terms: Sequence[Term], spans: Sequence[tuple[int, int]]) -> str | None:
    if any(term.polarity == _CONFLICT for term in terms):
        return "conflicting polarity"
    if any(before.end > after.start for before, after in pairwise(terms)):
        return "terms overlap"
    starts, ends = {start for start, _ in spans}, {end for _, end in spans}
    if any(term.start not in starts or term.end not in ends for term in terms):
        return "a term does not align with words"
    return None


def _tags(terms: Sequence[Term], spans: Sequence[tuple[int, int]]) -> list[str]:
    tags = ["O"] * len(spans)
    for term in terms:
        for token, (start, end) in enumerate(spans):
            if term.start <= start and end <= term.end:
                tags[token] = _TAGS[term.polarity]
    return tags


def _refusal(what: str, element: Element, path: Path, found: str, cure: str = _RELEASE) -> InvalidInput:
    return InvalidInput(Problem(what, str(path), found, cure, row=element.line))  # type: ignore[attr-defined]
