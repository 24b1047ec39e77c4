"""A small prediction file that tests of the store submit under many names."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.baselines.majority import fit
from shiftbench.baselines.program import make_card
from shiftbench.baselines.runs import train_and_predict
from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput


@dataclass(frozen=True)
class Sender:
    """A prediction file with its card and its dataset."""

    path: Path
    card: Card
    folder: DatasetFolder

    def send(self, store: Store, name: str, submitter: str, **options: Any) -> tuple[Entry, bool]:
        """Submit the file as a model of that name."""
        return store.submit(self.path, self.card.model_copy(update={"name": name}), [self.folder], submitter, **options)

    def of_one_source(self, out: Path) -> "Sender":
        """Return another file, with a part of the predictions."""
        frame = pl.read_parquet(self.path)
        frame.filter(pl.col("source") == frame["source"].min()).write_parquet(out / "part.parquet")
        return replace(self, path=out / "part.parquet")

    def race(self, stores: Sequence[Store], submitter: str, **options: Any) -> list[str]:
        """Submit one model to each store, all at once; return the refusals' messages."""
        refused: list[str] = []

        def one(number: int, store: Store) -> None:
            try:
                self.send(store, f"model {number}", submitter, **options)
            except InvalidInput as error:
                refused.append(str(error))

        threads = [threading.Thread(target=one, args=pair) for pair in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return refused


def tiny_sender(out: Path) -> Sender:
    """Build a tiny dataset without depths, and predict its first task with the most frequent class."""
    build_synthetic(out / "data", n_train=30, n_test=10)
    folder = DatasetFolder.open(out / "data")
    path = out / "majority.parquet"
    train_and_predict(fit, folder, "nli", sources=None, targets=None, seeds=None).predictions.write_parquet(path)
    return Sender(path, make_card(folder, name="Majority", paradigm="other"), folder)
