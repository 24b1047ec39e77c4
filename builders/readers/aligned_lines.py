"""Texts and their ratings in two line-aligned files."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem

SCHEMA = pl.Schema({"text": pl.String(), "rating": pl.String()})
"""One row per line, in file order, no nulls; ``rating`` is a whole number as text."""

_PER_FRAME = 10_000
_AGAIN = "fetch both files again; one of them may be truncated"


def rated_texts(sibling: str, highest: int) -> "RatedTexts":
    """Return a reader of texts, one per line, with their ratings in a second file in the same folder.

    Args:
        sibling: name of the file of ratings, one whole number per line.
        highest: the highest rating; the lowest is 1.
    """
    return RatedTexts(sibling, highest)


@dataclass(frozen=True)
class RatedTexts:
    """A reader of one text per line, with the rating 1, 2, ... ``highest`` in the same line of ``sibling``; see
    ``SCHEMA``.

    Source: He et al. 2018, https://github.com/ruidan/DAS, whose program pairs the lines of ``large/<name>/text.txt``
    and ``label.txt`` in this way, and parses ratings as decimals: "4.0" is 4 here. Lines end in LF or CRLF only. Blank
    texts are kept to preserve the alignment. The checksum of the texts does not cover the ratings.

    Raises: InvalidInput if either file is missing or empty, their numbers of lines differ, a rating is invalid, or a
        line is not UTF-8.
    """

    sibling: str
    highest: int

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read all ratings, then the texts from their start."""
        path = file.path.with_name(self.sibling)
        ratings = self._ratings(path, file.path)
        lines = file.lines()
        n_texts = 0
        while texts := [text for _, text in islice(lines, _PER_FRAME)]:
            rated = ratings[n_texts : n_texts + len(texts)]
            n_texts += len(texts)
            if len(rated) == len(texts):
                yield pl.DataFrame({"text": texts, "rating": rated}, schema=SCHEMA)
        if n_texts != len(ratings):
            what = f"{file.path.name} and {path.name} differ in number of lines, so ratings cannot be matched to texts"
            found = f"{n_texts:,} texts, {len(ratings):,} ratings"
            raise InvalidInput(Problem(what, str(file.path), found, _AGAIN))

    def _ratings(self, path: Path, texts: Path) -> list[str]:
        """Read the ratings, as whole numbers."""
        if not path.is_file():
            what, cure = f"the ratings that belong to {texts.name} are missing", "put them next to that file, unpacked"
            raise InvalidInput(Problem(what, str(path), cure=cure))
        numbers = {f"{number}{zero}": str(number) for number in range(1, self.highest + 1) for zero in ("", ".0")}
        ratings = []
        with UpstreamFile(path) as file:
            for row, line in file.lines():
                rating = numbers.get(line.strip())
                if rating is None:
                    what, cure = f"this line is not a rating from 1 to {self.highest}", "is this the upstream release?"
                    if row == 1 and line.strip().isalpha():
                        cure = "it may be a header, which the release does not contain: delete the line"
                    raise InvalidInput(Problem(what, str(path), repr(line[:80]), cure, row=row))
                ratings.append(rating)
        if not ratings:
            raise InvalidInput(Problem("the file is empty", str(path), cure=_AGAIN))
        return ratings
