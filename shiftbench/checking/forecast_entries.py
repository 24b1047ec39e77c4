"""Forecasts of prediction files and of a store's entries with all methods, to compare the methods."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import polars as pl

from shiftbench.baselines.grid.collect import by_entry
from shiftbench.baselines.grid.stored import StoredTrials
from shiftbench.baselines.grid.trial import PREDICTIONS, RECORD, find_dataset
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Store, find_folder, has_folder
from shiftbench.scoring.forecasting.comparison import Forecasted
from shiftbench.scoring.forecasting.files import read_accompanying_validation
from shiftbench.scoring.forecasting.run import forecast_task
from shiftbench.scoring.forecasting.samples import TaskSamples, reason_against_forecasts, task_samples
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.validation_rows import validation_file
from shiftbench.validation.cards import Card, card_path, read_card
from shiftbench.validation.probabilities import PROBABILITIES
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import PLACEBO


class Entrant(NamedTuple):
    """One model's checked predictions on test rows, and on validation rows if available; ``model``: display name."""

    model: str
    subset: str
    folder: DatasetFolder
    predictions: pl.DataFrame
    validation: pl.DataFrame | None


def read_files(files: Sequence[Path], folders: Sequence[DatasetFolder]) -> list[Entrant]:
    """Read prediction files, each with its validation rows if they are next to it.

    Args:
        files: prediction files, each for the dataset and subset named in its card or, without a card, for the only
            given dataset. A folder of runs of ``shiftbench grid`` stands for all models with trials in it; the seeds
            of a model are combined.
        folders: the datasets.
    Raises: InvalidInput listing the problems of a file, or if a folder has no trials.
    """
    return [found for path in files for found in (_read_runs if path.suffix == "" else _read_file)(path, folders)]


def _read_file(path: Path, folders: Sequence[DatasetFolder]) -> list[Entrant]:
    card = _read_card_beside(path)
    if card is None and len(folders) > 1:
        what, cure = "this prediction file has no card next to it", "write one, or give a single --data"
        raise InvalidInput(Problem(what, str(path), cure=cure))
    folder = folders[0] if card is None else find_folder(card, folders)
    subset = "all" if card is None else card.subset
    frame = checked_predictions(path, folder, subset)
    return [Entrant(path.stem, subset, folder, frame, read_accompanying_validation(path, folder))]


def _read_runs(runs: Path, folders: Sequence[DatasetFolder]) -> list[Entrant]:
    """Read all models of a grid's folder of runs."""
    kept = StoredTrials(runs)
    trials = kept.trials()
    if not trials:
        cure = f"give a prediction file, or the folder in which 'shiftbench grid' stores TASK/MODEL/TRIAL/{RECORD}"
        raise InvalidInput(Problem("this folder contains no trials", str(runs), cure=cure))
    found = []
    with TemporaryDirectory(prefix="shiftbench-runs-") as place:
        for entry in by_entry(trials):
            done = [trial for trial in entry if kept.is_done(trial)]
            if not done:
                continue
            joined = Path(place) / f"{entry[0].model}.parquet"
            for name, out in (
                (PREDICTIONS, joined),
                (validation_file(Path(PREDICTIONS)).name, validation_file(joined)),
            ):
                frames = [kept.predictions(trial, name) for trial in done if name in kept.files(trial)]
                out.unlink(missing_ok=True)  # left by the same model on another task
                if frames:
                    pl.concat(frames).write_parquet(out)
            card = kept.card(done[0])
            folder = find_dataset(done[0], folders) or find_folder(card, folders)
            frame = checked_predictions(joined, folder, card.subset)
            found.append(
                Entrant(entry[0].model, card.subset, folder, frame, read_accompanying_validation(joined, folder))
            )
    return found


def _read_card_beside(path: Path) -> Card | None:
    card = card_path(path)
    return read_card(card) if card.is_file() else None


def read_store(store: Store, folders: Sequence[DatasetFolder]) -> tuple[list[Entrant], list[str]]:
    """Read the entries of a store that are for these datasets and have probabilities.

    Returns: the entries, and messages about the skipped ones, with the reason for damaged ones. For entries without
        validation rows, their own test rows are used instead.
    """
    found, damaged, without, other = [], [], 0, 0
    for entry in store.entries():
        if not has_folder(entry.card, folders):
            other += 1
            continue
        folder = find_folder(entry.card, folders)
        name = f"{entry.card.name} ({entry.id[:6]})"
        try:
            rows = store.checked_files(entry.id, folder)
            rows.refuse_lost_validation()
        except InvalidInput as error:
            damaged.append(f"{name}: {error.problems[0]}")
            continue
        if PROBABILITIES not in rows.predictions.columns:
            without += 1
            continue
        found.append(Entrant(name, entry.card.subset, folder, rows.predictions, rows.validation))
    why = {"for other data": other, "without probabilities for all labels": without}
    left_out = [f"skipped {n} of the store's entries: {reason}" for reason, n in why.items() if n]
    return found, [*left_out, *damaged]


def forecast_entrants(
    entrants: Sequence[Entrant], methods: Sequence[str], *, placebos: bool = False
) -> tuple[list[Forecasted], list[str]]:
    """Forecast every classification task of every model.

    Args:
        entrants: the models.
        methods: names, from ``chosen_methods``.
        placebos: forecast only the placebo tasks, instead of all others.
    Returns: the forecasts, and the skipped tasks with the reason (for example from ``reason_against_forecasts``).
    """
    boards: dict[str, list[tuple[Entrant, TaskSamples]]] = {}
    left_out = []
    for each in entrants:
        for task in each.predictions["task"].unique(maintain_order=True).to_list():
            if task.endswith(PLACEBO) != placebos:
                continue
            name = f"{each.folder.manifest.benchmark}/{task}" + ("" if each.subset == "all" else f" ({each.subset})")
            rows = each.predictions.filter(pl.col("task") == task)
            reason = reason_against_forecasts(each.folder.task(task), rows)
            if reason is not None:
                left_out.append(f"{each.model} on {name}: {reason}")
                continue
            held_out = None if each.validation is None else each.validation.filter(pl.col("task") == task)
            try:
                samples = task_samples(task, rows, each.folder, held_out)
            except InvalidInput as error:
                left_out.append(f"{each.model} on {name}: {error.problems[0].what}")
                continue
            boards.setdefault(name, []).append((each, samples))
    found = []
    total = sum(map(len, boards.values()))
    with progress(total=total, desc="forecasting", unit=" models") as bar:
        for board, models in boards.items():
            for entrant, samples in models:
                found.append(Forecasted(board, entrant.model, forecast_task(samples, methods)))
                bar.update()
    return found, left_out
