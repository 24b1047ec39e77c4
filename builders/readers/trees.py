r"""Bracketed trees, one per line, as in the Stanford Sentiment Treebank: ``(3 (2 It) (4 (2 works) (2 .)))``.

Source: Socher et al. 2013, https://nlp.stanford.edu/sentiment/trainDevTestTrees_PTB.zip. The label of a node is its
sentiment, from 0 (very negative) to 4; words are escaped as in the Penn Treebank.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.report import InvalidInput, Problem

SCHEMA = pl.Schema({"text": pl.String(), "root": pl.String()})
"""One row per tree, in file order, no nulls; ``root`` is the label of the whole sentence, 0 to 4 as text."""

LABELS = ("0", "1", "2", "3", "4")

_PIECE = re.compile(r"[()]|[^ ()]+")
"""A bracket, a label or a word. Only spaces separate them: words may contain no-break spaces."""

_ESCAPED = {"-LRB-": "(", "-RRB-": ")"}
_AGAIN = "fetch the file again; it may be truncated or edited"


@dataclass(frozen=True)
class Trees:
    r"""A reader of trees: one row per line, in one frame; see ``SCHEMA``.

    ``text`` contains the words of the tree joined by spaces, with -LRB- and -RRB- converted to brackets, ``\/`` to
    ``/`` and ``\*`` to ``*``. ``root`` is the label of the whole tree. Blank lines are skipped.

    Raises: InvalidInput with the line (as row) if brackets do not match, a node has a label other than 0 to 4 or
        contains neither a word nor nodes; InvalidInput if there is no tree.
    """

    def __call__(self, file: UpstreamFile) -> Iterator[pl.DataFrame]:
        """Read the whole file."""
        rows = []
        for number, line in file.lines():
            if not line.strip():
                continue
            try:
                rows.append(_tree(line.strip(" ")))
            except _MalformedError as error:
                found = repr(line[:80])
                raise InvalidInput(Problem(str(error), str(file.path), found, _AGAIN, row=number)) from error
        if not rows:
            raise InvalidInput(Problem("the file contains no tree", str(file.path), cure=_AGAIN))
        yield pl.DataFrame(rows, schema=SCHEMA, orient="row")


trees = Trees()


class _MalformedError(Exception):
    """A line is not a valid tree."""


@dataclass
class _Node:
    """An open node; ``holds`` is its content after the label."""

    label: str = ""
    holds: str = ""


def _tree(line: str) -> tuple[str, str]:
    """Return the text and the root's label, without recursion because trees may be very deep."""
    words: list[str] = []
    opened: list[_Node] = []
    root = None
    for piece in _PIECE.findall(line):
        if root is not None and not opened:
            raise _MalformedError("there is more text after the tree")
        if piece == "(":
            if opened:
                _set_content(opened[-1], "nodes")
            opened.append(_Node())
            root = root or opened[0]
        elif not opened:
            raise _MalformedError("a tree must begin with a bracket")
        elif piece == ")":
            if not opened.pop().holds:
                raise _MalformedError("a node contains neither a word nor nodes")
        elif not opened[-1].label:
            if piece not in LABELS:
                raise _MalformedError(f"the label of a node is {piece!r}, not one of 0 to 4")
            opened[-1].label = piece
        else:
            _set_content(opened[-1], "a word")
            words.append(_ESCAPED.get(piece, piece).replace("\\/", "/").replace("\\*", "*"))
    if opened or root is None:
        raise _MalformedError("a bracket is not closed")
    return " ".join(words), root.label


def _set_content(node: _Node, what: str) -> None:
    if not node.label:
        raise _MalformedError("a node has no label")
    if node.holds == "a word" or (what == "a word" and node.holds):
        raise _MalformedError("a node contains more than one word, or a word next to nodes")
    node.holds = what
