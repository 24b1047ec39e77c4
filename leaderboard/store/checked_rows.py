"""An entry's files as they are read again: checked against the dataset, and against the id that was made of them."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store.entries import Entry, entry_id, stored_rows
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.validation_rows import read_validation
from shiftbench.validation.report import InvalidInput, Problem


class CheckedRows(NamedTuple):
    """The checked rows of an entry (``shiftbench.validation.predictions.CHECKED_PREDICTIONS``).

    Attributes:
        predictions: those on test rows.
        validation: those on validation rows; None where the entry has none, or their file cannot be read.
        validation_problem: why that file cannot be read; None where it can, or the entry has none.
    """

    predictions: pl.DataFrame
    validation: pl.DataFrame | None
    validation_problem: InvalidInput | None

    def refuse_lost_validation(self) -> None:
        """Raise why the validation rows of the entry cannot be read; nothing where they can, or there are none."""
        if self.validation_problem is not None:
            raise self.validation_problem


def read_checked_rows(
    entry: Entry, folder: DatasetFolder, predictions: Path, validation: Callable[[], Path | None]
) -> CheckedRows:
    """Read an entry's files and check them against the dataset and the entry's id.

    The id is made of both files, so it cannot be checked without the second. Scores need only the first, which is
    returned then once it passes its own check.

    Args:
        entry: the entry.
        folder: its dataset.
        predictions: its prediction file.
        validation: returns the file of its validation rows; None where it has none.
    Raises: InvalidInput when the predictions are damaged, or card or files are not those that were sent.
    """
    rows = checked_predictions(predictions, folder, entry.card.subset)
    try:
        path = validation()
        held_out = None if path is None else read_validation(path, folder)
    except InvalidInput as error:
        return CheckedRows(rows, None, error)
    sent = None if held_out is None else stored_rows(held_out)
    if entry_id(entry.submitter, entry.card, stored_rows(rows), sent) != entry.id:
        files = "card or predictions" if sent is None else "card, predictions or validation rows"
        what, cure = "have changed since they were submitted", "or ask for it to be submitted again"
        raise InvalidInput(
            Problem(f"{files} {what}", entry.id, cure=f"restore the entry's files from a backup, {cure}")
        )
    return CheckedRows(rows, held_out, None)
