"""Which of the datasets at hand an entry is for, and what its scores are made with there."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store.derived import MadeWith
from shiftbench.scoring.scores.score import token_encoder
from shiftbench.scoring.scores.summary import depth_encoder_name, encoder_name
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput, Problem


def folder_of(card: Card, folders: Sequence[DatasetFolder]) -> DatasetFolder:
    """Find the dataset that a card's predictions are for.

    Args:
        card: the card, which names a content hash.
        folders: the datasets at hand.
    Returns: the folder; of a public and a gold one, which have one hash, the one that can be scored with.
    Raises: InvalidInput naming both versions when it is not there.
    """
    same = [folder for folder in folders if folder.content_hash == card.data]
    if same:  # of a public and a gold folder, which have one hash, the one that can be scored with
        return min(same, key=lambda folder: folder.manifest.withholds_labels)
    here = ", ".join(f"{folder.manifest.benchmark} {folder.content_hash[:12]}" for folder in folders) or "none"
    cure = f"the datasets here are {here}; predict on one of these, or build the same version"
    raise InvalidInput(
        Problem(
            "the predictions were made for another version of the data", "card", card.data[:12], cure, column="data"
        )
    )


def made_with(folder: DatasetFolder) -> MadeWith:
    """Return the encoders that scores of a dataset are made with here."""
    return depth_encoder_name(folder), encoder_name(token_encoder(folder))


def refuse_candidates_alone(predictions: pl.DataFrame, folder: DatasetFolder, file: Path) -> None:
    """Refuse a file that no board would show: candidate data sets serve ``shiftbench study protocol`` alone."""
    tasks = predictions["task"].unique().sort().to_list()
    if all(folder.task(task).candidates_for is not None for task in tasks):
        what = "no board would show this: its predictions are for candidate data sets alone"
        cure = "give the file to 'shiftbench study protocol', or predict the task that they are candidates for, too"
        raise InvalidInput(Problem(what, str(file), ", ".join(tasks), cure))
