"""Prediction files and a store's entries, forecast by all methods, so that methods can be compared."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl
from tqdm import tqdm

from builders.encoder import Encoder
from builders.folder.reader import DatasetFolder
from leaderboard.forecasting.comparison import Forecasted
from leaderboard.forecasting.files import read_validation_beside
from leaderboard.forecasting.run import forecast_task
from leaderboard.forecasting.samples import SCORES, TaskSamples, task_samples
from leaderboard.forecasting.text_vectors import TextVectors
from leaderboard.scoring.score import checked_predictions
from leaderboard.store import Store, folder_of
from validation.cards import Card, read_card
from validation.probabilities import PROBABILITIES
from validation.report import InvalidInput, Problem
from validation.vocabulary import PLACEBO


class Entrant(NamedTuple):
    """One model's predictions, checked; ``model`` is what it is called."""

    model: str
    subset: str
    folder: DatasetFolder
    predictions: pl.DataFrame
    validation: pl.DataFrame | None


def read_files(files: Sequence[Path], folders: Sequence[DatasetFolder]) -> list[Entrant]:
    """Read prediction files, each with its validation rows if they lie beside it.

    Args:
        files: each for the dataset and subset that its card names, or for the only dataset at hand.
        folders: the datasets.
    Raises: InvalidInput with what is wrong with a file.
    """
    found = []
    for path in files:
        card = _card(path)
        if card is None and len(folders) > 1:
            what, cure = "this prediction file has no card beside it", "write one, or give one --data"
            raise InvalidInput(Problem(what, str(path), cure=cure))
        folder = folders[0] if card is None else folder_of(card, folders)
        subset = "all" if card is None else card.subset
        frame = checked_predictions(path, folder, subset)
        found.append(Entrant(path.stem, subset, folder, frame, read_validation_beside(path, folder)))
    return found


def _card(path: Path) -> Card | None:
    card = path.with_name(f"{path.stem}.card.yaml")
    return read_card(card) if card.is_file() else None


def read_store(store: Store, folders: Sequence[DatasetFolder]) -> tuple[list[Entrant], list[str]]:
    """Read the entries of a store that are for these datasets and have probabilities.

    Returns: the entries, and what was left out. Of entries without validation rows, their own test rows stand in.
    """
    at_hand = {folder.content_hash for folder in folders}
    found, without, other = [], 0, 0
    for entry in store.entries():
        if entry.card.data not in at_hand:
            other += 1
            continue
        folder = folder_of(entry.card, folders)
        frame = checked_predictions(store.predictions(entry), folder, entry.card.subset)
        if PROBABILITIES not in frame.columns:
            without += 1
            continue
        held_out = store.validation_rows(entry, folder)
        found.append(Entrant(f"{entry.card.name} ({entry.id[:6]})", entry.card.subset, folder, frame, held_out))
    why = {"for other data": other, "without probabilities of all labels": without}
    left_out = [f"{n} of the store's entries: {reason}" for reason, n in why.items() if n]
    return found, left_out


def forecast_entrants(
    entrants: Sequence[Entrant], methods: Sequence[str], encoder: Encoder | None
) -> tuple[list[Forecasted], list[str]]:
    """Forecast every task of labels of every model; models on one board draw the line of agreements together.

    Args:
        entrants: the models.
        methods: names, from ``chosen_methods``.
        encoder: embeds texts; None leaves out the methods that need vectors.
    Returns: the forecasts, and what was left out.
    """
    boards: dict[str, list[tuple[Entrant, TaskSamples]]] = {}
    left_out = []
    for each in entrants:
        for task in each.predictions["task"].unique(maintain_order=True).to_list():
            if task.endswith(PLACEBO):
                continue
            name = f"{each.folder.manifest.benchmark}/{task}" + ("" if each.subset == "all" else f" ({each.subset})")
            if each.folder.task(task).kind not in SCORES:
                left_out.append(f"{each.model} on {name}: no method has a meaning for spans")
                continue
            rows = each.predictions.filter(pl.col("task") == task)
            held_out = None if each.validation is None else each.validation.filter(pl.col("task") == task)
            try:
                samples = task_samples(task, rows, each.folder, held_out)
            except InvalidInput as error:
                left_out.append(f"{each.model} on {name}: {error.problems[0].what}")
                continue
            boards.setdefault(name, []).append((each, samples))
    found = []
    total = sum(map(len, boards.values()))
    with tqdm(total=total, desc="forecasting", unit=" models", disable=None) as bar:
        for board, models in boards.items():
            for entrant, samples in models:
                others = [other for _, other in models if other is not samples]
                vectors = None if encoder is None else TextVectors(samples, entrant.folder, encoder)
                made = forecast_task(replace(samples, pool=others), methods, vectors)
                found.append(Forecasted(board, entrant.model, made))
                bar.update()
    return found, left_out
