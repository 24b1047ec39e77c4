"""Lines of a text followed by its tagged words: ``text####word=TAG word=TAG``.

Source: the device, laptop, rest and service files of https://github.com/hsqmlzno1/Transferable-E2E-ABSA (Li et al.
2019), which took the format from E2E-TBSA.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

SCHEMA = pl.Schema(
    {"tokens": pl.List(pl.String), "tags": pl.List(pl.String), "text": pl.String(), "untagged": pl.Int64()}
)
"""One row per line, in file order, no nulls; as many ``tags`` as ``tokens``; ``text`` is the part before the tags;
``untagged`` counts words without a tag."""

OUTSIDE = "O"
TAGS = (OUTSIDE, "T-POS", "T-NEG", "T-NEU")

_AGAIN = "fetch the file again; it may be truncated or edited"


@dataclass(frozen=True)
class TaggedText:
    """A reader of tagged text: one row per line, in one frame; see ``SCHEMA``.

    The tags begin after the last ``####`` and are separated by single spaces; the tag of a word begins after its last
    ``=``. Double spaces in upstream's text result in an empty word tagged O, which is dropped. A word without a tag
    gets O, and ``untagged`` counts such words; a line without any tag is rejected.

    Raises: InvalidInput with the line (as row) if a line before the last is blank, has no ``####`` or no words, no word
        has a tag, a tag is not known, or an empty word is tagged.
    """

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the whole file."""
        # Only LF and CRLF end a line; str.splitlines also splits at other characters, which occur in texts.
        lines = [line.removesuffix("\r") for line in file.text().split("\n")]
        while lines and not lines[-1].strip():
            lines.pop()
        rows = [_row(line, file.path, number) for number, line in enumerate(lines, start=1)]
        yield pl.DataFrame(rows, schema=SCHEMA, orient="row")


tagged_text = TaggedText()


def _row(line: str, path: Path, number: int) -> tuple[list[str], list[str], str, int]:
    if not line.strip():
        raise InvalidInput(Problem("a line other than the last is blank", str(path), repr(line), _AGAIN, row=number))
    text, separator, tagged = line.rpartition("####")
    if not separator:
        raise InvalidInput(Problem("this line has no '####'", str(path), repr(line[:80]), _AGAIN, row=number))
    if any(item.endswith(tuple(f"={tag}" for tag in TAGS)) for item in text.split(" ")):
        what, cure = "there are tagged words before the last '####'", "is '####' one of the words?"
        raise InvalidInput(Problem(what, str(path), repr(text[-80:]), cure, row=number))
    items = [_item(item, path, number) for item in tagged.split(" ") if item]
    words = [(token, tag) for token, tag in items if token]
    if not words:
        raise InvalidInput(Problem("this line has no words", str(path), repr(tagged[:80]), _AGAIN, row=number))
    untagged = sum(tag is None for _, tag in words)
    if untagged == len(words):
        raise InvalidInput(Problem("no word of this line has a tag", str(path), repr(tagged[:80]), _AGAIN, row=number))
    return [token for token, _ in words], [tag or OUTSIDE for _, tag in words], text, untagged


def _item(item: str, path: Path, number: int) -> tuple[str, str | None]:
    """Split an item into its word and its tag (None if it has none)."""
    token, separator, tag = item.rpartition("=")
    if not separator:
        return item, None
    if tag not in TAGS:
        raise InvalidInput(Problem("unknown tag", str(path), repr(item[:80]), did_you_mean(tag, TAGS), row=number))
    if not token and tag != OUTSIDE:
        what, cure = "an empty word is tagged", "are there two spaces between its word and its tag?"
        raise InvalidInput(Problem(what, str(path), repr(item), cure, row=number))
    return token, tag
