"""One token per line with its tag, sentences separated by blank lines: the format of CoNLL-2003 and its successors.

Sources: Few-NERD (``token<TAB>coarse-fine``), WNUT 2017 and CrossNER (``token<TAB>BIO tag``), CoNLL-2003 (``token POS
chunk tag``), E-NER (``token tag``, CRLF; named .csv but not a CSV: quotes are ordinary characters).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem

SCHEMA = pl.Schema({"tokens": pl.List(pl.String), "tags": pl.List(pl.String), "document": pl.String()})
"""One row per sentence, in file order, no nulls; as many ``tags`` (as in upstream) as ``tokens``."""

_DOCUMENT = "-DOCSTART-"
_PARTED = {" ": "spaces", "\t": "tabs"}
_PER_FRAME = 10_000
_AGAIN = "fetch the file again; it may be truncated or edited"


def token_lines(separator: str = "\t", tag: int = 1) -> "TokenLines":
    """Return a reader of one token per line, with sentences separated by blank lines.

    Args:
        separator: separator of the fields of a line; the token is the first field.
        tag: 0-based index of the field with the tag, which is the last field.
    Returns: a reader of frames with the columns of ``SCHEMA``.
    """
    return TokenLines(separator, tag)


def any_token_lines(file: UpstreamFile) -> Iterator[pl.DataFrame]:
    """Read one token per line with its tag in the last field; fields are tab-separated if the first line has a tab."""
    with UpstreamFile(file.path) as peek:
        first = next((line for _, line in peek.lines() if line.strip()), "")
    separator = "\t" if "\t" in first else " "
    return token_lines(separator, tag=max(1, first.count(separator)))(file)


@dataclass(frozen=True)
class TokenLines:
    r"""A reader of one token per line: one row per sentence, one frame per 10,000 sentences; see ``SCHEMA``.

    Tags are unchanged. One or more lines of white space separate sentences (WNUT's train file has a TAB there). A line
    that begins with -DOCSTART- begins a document and is not a token: ``document`` is the name of the file with the
    1-based number of the document, or of the sentence if there are no such lines. Only LF and CRLF end a line.

    Raises: InvalidInput with the line (as row) if a line has a different number of fields, a token or tag is empty, or
        documents begin after the first sentence; InvalidInput if there is no sentence.
    """

    separator: str = "\t"
    tag: int = 1

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the file from its start."""
        sentences = self._sentences(file)
        empty = True
        while rows := list(islice(sentences, _PER_FRAME)):
            # By column, because polars is half as fast with rows of lists.
            columns = zip(SCHEMA, zip(*rows, strict=True), strict=True)
            yield pl.DataFrame({name: list(column) for name, column in columns}, schema=SCHEMA)
            empty = False
        if empty:
            raise InvalidInput(Problem("the file contains no sentence", str(file.path), cure=_AGAIN))

    def _sentences(self, file: UpstreamFile) -> Iterator["_Row"]:
        tokens: list[str] = []
        tags: list[str] = []
        n_sentences = n_documents = 0
        name = file.path.name.removesuffix(".gz")
        for number, line in file.lines():
            begins = line.startswith(_DOCUMENT) and line.split(self.separator)[0] == _DOCUMENT
            if not begins and line.strip(" \t"):
                token, tag = self._fields(file, number, line)
                tokens.append(token)
                tags.append(tag)
                continue
            if tokens:
                n_sentences += 1
                yield tokens, tags, f"{name} {n_documents or n_sentences}"
                tokens, tags = [], []
            if begins and n_sentences and not n_documents:
                what = "a document begins here, but the sentences before it belong to no document"
                raise InvalidInput(Problem(what, str(file.path), repr(line[:80]), _AGAIN, row=number))
            n_documents += begins
        if tokens:
            yield tokens, tags, f"{name} {n_documents or n_sentences + 1}"

    def _fields(self, file: UpstreamFile, number: int, line: str) -> tuple[str, str]:
        fields = line.split(self.separator)
        if len(fields) != self.tag + 1:
            what = f"this line has {len(fields)} fields, a token line has {self.tag + 1}"
            other = {" ": "\t", "\t": " "}.get(self.separator, "")
            if len(fields) == 1 and len(line.split(other)) == self.tag + 1:
                what = f"fields are separated by {_PARTED[other]} instead of {_PARTED[self.separator]}"
                cure = "is this another file of the same project?"
                raise InvalidInput(Problem(what, str(file.path), repr(line[:80]), cure, row=number))
        elif not fields[0].strip() or not fields[self.tag].strip():
            what = "a token or its tag is empty"
        else:
            return fields[0], fields[self.tag]
        raise InvalidInput(Problem(what, str(file.path), repr(line[:80]), _AGAIN, row=number))


_Row = tuple[list[str], list[str], str]
