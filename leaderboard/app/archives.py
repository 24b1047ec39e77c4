"""Everything at once: one table of all scores, and one archive of the predictions that may be passed on.

Neither holds an account, a contact, or anything of a board whose labels are withheld.
"""

import io
import json
import zipfile
from collections.abc import Iterator

import polars as pl

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.store import Entry, folder_of

CHUNK = 1 << 20
_PRIVATE = ("submitter", "stamp", "submitted_at", "copies", "look_alike")
"""Columns of a board's rows that are about accounts, or about this server."""


def scores_parquet(index: Index) -> bytes:
    """Build a table of all scores: the columns of ``shiftbench.leaderboard.board.rows.SCHEMA`` and of single domains.

    Args:
        index: the boards.
    Returns: Parquet, a row for each entry and task of boards with public labels; ``board`` names the board first.
    """
    frames = [
        index.frame(board).select(pl.lit(board.name).alias("board"), pl.exclude(*_PRIVATE, "words"))
        for board in index.boards()
        if board.folder.has_public_labels and index.has_entries(board)
    ]
    content = io.BytesIO()
    (pl.concat(frames, how="diagonal") if frames else pl.DataFrame({"board": []})).write_parquet(content)
    return content.getvalue()


def shared_entries(index: Index) -> list[Entry]:
    """List the entries whose predictions may be passed on in bulk: public labels, and a card that says so."""
    return [entry for entry in map(index.entry, sorted(index.scored_ids())) if is_shared(index, entry)]


def is_shared(index: Index, entry: Entry) -> bool:
    """Return whether an entry's predictions may be passed on in bulk."""
    return entry.card.allows_bulk and folder_of(entry.card, index.folders).has_public_labels


def predictions_archive(index: Index) -> Iterator[bytes]:
    """Build a ZIP archive of predictions piece by piece: ``<entry>.parquet`` and ``cards.jsonl``.

    Predictions on validation rows are beside, ``<entry>.validation.parquet``, where an entry has them.

    Args:
        index: the boards.
    Returns: its bytes, in pieces of about a MiB, so that no server holds all of it.
    """
    written = _Pieces()
    entries = shared_entries(index)
    # Parquet is compressed as it is.
    with zipfile.ZipFile(written, "w", zipfile.ZIP_STORED) as archive:
        cards = [{"entry": entry.id, **entry.card.model_copy(update={"contact": None}).as_dict()} for entry in entries]
        archive.writestr("cards.jsonl", "".join(json.dumps(card, ensure_ascii=False) + "\n" for card in cards))
        for entry in entries:
            files = {f"{entry.id}.parquet": index.store.predictions(entry)}
            if (held_out := index.store.validation(entry)) is not None:
                files[f"{entry.id}.validation.parquet"] = held_out
            for name, path in files.items():
                with path.open("rb") as file, archive.open(name, "w") as member:
                    while chunk := file.read(CHUNK):
                        member.write(chunk)
                        yield written.take()
    yield written.take()


class _Pieces(io.RawIOBase):
    """What an archive is written to, and taken from piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: bytes) -> int:  # type: ignore[override]
        self._pieces.append(bytes(piece))
        return len(piece)

    def take(self) -> bytes:
        """Return what was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
