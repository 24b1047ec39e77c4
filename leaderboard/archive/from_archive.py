"""Filling a store from an open archive, to score its entries again."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.archive.open_archive import ENTRIES, PREDICTIONS, VALIDATION
from shiftbench.leaderboard.store import ENTRY_ID, LOCAL_SUBMITTER, Store
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.scoring.scores.validation_rows import validation_file
from shiftbench.validation.cards import parse_card
from shiftbench.validation.limits import MAX_ROWS
from shiftbench.validation.parquet_file import ParquetFile
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_WANTED = {ENTRIES: ("entry", "card"), PREDICTIONS: ("source", "id", "prediction", "seed")}
_READ = _WANTED | {PREDICTIONS: (*_WANTED[PREDICTIONS], "confidence", "probabilities")}


def fill_store(store: Store, archive: Path, folders: Sequence[DatasetFolder]) -> tuple[int, dict[str, str]]:
    """Submit the entries of an archive to a store; entries that the store has stay as they are.

    Returns: how many entries of the archive are in the store now, and why which others are not.
    Raises: InvalidInput when the folder is no archive.
    """
    table = archive / f"{ENTRIES}.parquet"
    if not table.is_file():
        cure = "give the folder that 'shiftbench board archive' wrote"
        raise InvalidInput(Problem("this is not an archive", str(archive), f"no {table.name} in it", cure))
    n_filled, failed = 0, {}
    rows = _read_table(table, ENTRIES).select(_READ[ENTRIES]).rows()
    for identity, card in progress(rows, desc="reading the archive", unit="entry"):
        try:
            _submit(store, archive, str(identity), str(card), folders)
            n_filled += 1
        except InvalidInput as error:
            failed[str(identity)] = str(error)
    return n_filled, failed


def _submit(store: Store, archive: Path, identity: str, card: str, folders: Sequence[DatasetFolder]) -> None:
    path = archive / PREDICTIONS / f"{identity}.parquet"
    if not ENTRY_ID.fullmatch(identity) or not path.is_file():
        raise InvalidInput(Problem("the archive lacks the predictions of this entry", str(archive), f"'{identity}'"))
    sent, more = _sent_predictions(path), archive / VALIDATION / path.name
    held_out = _sent_predictions(more) if more.is_file() else None
    checked = parse_card(card, f"{archive}, card of {identity}")
    if entry_id(LOCAL_SUBMITTER, checked, sent, held_out) != identity:
        what = "card, predictions or validation rows have changed since they were archived"
        cure = "fetch the archive again"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    with tempfile.TemporaryDirectory(prefix="shiftbench-") as folder:
        file = Path(folder) / path.name
        sent.write_parquet(file)
        beside = None if held_out is None else validation_file(file)
        if held_out is not None and beside is not None:
            held_out.write_parquet(beside)
        store.submit(file, checked, folders, validation=beside)


def _sent_predictions(path: Path) -> pl.DataFrame:
    """Read predictions in the order that entries have them, without columns that the entry did not have."""
    rows = _read_table(path, PREDICTIONS)
    names = [name for name in _READ[PREDICTIONS] if name in rows.columns and not rows[name].is_null().all()]
    return rows.select(names).sort("source", "seed", "id")


def _read_table(path: Path, kind: str) -> pl.DataFrame:
    """Read a table within the size limits of prediction files."""

    def check(names: list[str]) -> None:
        missing = [name for name in _WANTED[kind] if name not in names]
        if missing:
            what = f"column '{missing[0]}' is missing"
            raise InvalidInput(Problem(what, str(path), cure=did_you_mean(missing[0], names or ["nothing"])))

    return pl.concat(list(ParquetFile(path, check, MAX_ROWS).parts(_READ[kind])))
