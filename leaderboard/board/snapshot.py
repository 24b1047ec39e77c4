"""The content of a store as an index read it at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.boards import Board, boards_of


@dataclass(frozen=True)
class Unscored:
    """An entry that has no scores here, with the reason; named by its model, or by its id if the card is unreadable."""

    id: str
    name: str
    reasons: tuple[str, ...]
    files: tuple[int, ...] = ()
    """The states of its files: the entry is read again when that changes."""
    waiting: bool = False
    """Whether it will be scored."""


@dataclass(frozen=True)
class Snapshot:
    """The entries read at one moment. A snapshot never changes, so requests and the ranking thread need no lock.

    Attributes:
        folders: the datasets.
        every: the rows of all scored entries (``rows.SCHEMA``).
        rows: those of them that boards show and rank, with ``copies`` (see ``copies.Copies.fold``).
        ids: ids of the scored entries.
        unscored: the others, by id.
        unread: number of entries that are still to be read.
        frames: what ``Index.frame`` made of the rows, by board.
        placed: the intervals of ranks that it put into them, by board.
    """

    folders: Sequence[DatasetFolder]
    every: pl.DataFrame
    rows: pl.DataFrame
    ids: frozenset[str]
    unscored: dict[str, Unscored]
    unread: int = 0
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    placed: dict[str, pl.DataFrame] = field(default_factory=dict)
    _boards: list[Board] = field(default_factory=list)

    def boards(self) -> list[Board]:
        """List the boards; they are computed once."""
        if not self._boards:
            used = self.rows.select("data", "subset").unique()
            self._boards[:] = boards_of(self.folders, set(used.iter_rows()))
        return self._boards
