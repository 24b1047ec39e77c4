"""A build that withholds its test labels, of any size, and files that predict them."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shiftbench.builders.building import own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.release.halves import halves
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.validation.cards import Card
from tests.changed_folders import open_changed

TASK = "tickets"
DOMAINS = ("ferry", "kettle", "violin")
KEY = "5eed" * 16
"""The key used in place of a build's random one, so that halves are the same in every run."""
Labels = Mapping[str, NDArray[np.int64]]
"""Codes of predicted labels by target, in the order of the target's ids."""


def build_gold(
    out: Path,
    n_test: int,
    *,
    classes: int = 2,
    domains: tuple[str, ...] = DOMAINS,
    spell: Callable[[str], str] = str,
) -> DatasetFolder:
    """Build invented tickets with labels dealt at random, and open the gold folder."""
    rng = np.random.default_rng([n_test, classes])
    rows = []
    for domain in domains:
        for number in range(n_test + 12):
            label = number % classes if number < 12 else int(rng.integers(classes))
            split = "test" if number >= 12 else "train"
            text = f"The {domain} came back with number {number}, and the note beside it says {rng.integers(10**9)}."
            rows.append((domain, f"label{label}", spell(text), split))
    frame = pl.DataFrame(rows, schema=["domain", "label", "text", "split"], orient="row")
    out.mkdir(parents=True, exist_ok=True)
    frame.write_csv(out / "rows.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own, "label_key", lambda _: KEY)
        own.build_own(TASK, out / "rows.csv", out / "built", withhold_labels=True)
    return DatasetFolder.open(out / "built" / "gold")


def with_permuted_half(folder: DatasetFolder, out: Path, *, feedback: bool, seed: int = 0) -> DatasetFolder:
    """Copy a gold folder with the labels of one half of each target exchanged at random among that half's rows."""
    shutil.copytree(folder.path, out)
    rng = np.random.default_rng(seed)
    for target in folder.task(TASK).domains:
        (path,) = out.glob(f"data/{TASK}/{target}/test-*.parquet")
        rows = pl.read_parquet(path)
        mine = halves(folder).filter(domain=target, feedback=feedback)["id"]
        chosen = rows["id"].is_in(mine.implode()).to_numpy()
        labels = rows["label"].to_numpy().copy()
        labels[chosen] = rng.permutation(labels[chosen])
        rows.with_columns(label=pl.Series(labels, dtype=rows.schema["label"])).write_parquet(path)
    return open_changed(out)


def gold_codes(folder: DatasetFolder, target: str) -> NDArray[np.int64]:
    """Return the labels of a target's test rows, in the order of their ids."""
    return folder.split(TASK, target, "test").sort("id")["label"].to_numpy().astype(np.int64)


def in_feedback(folder: DatasetFolder, target: str) -> NDArray[np.bool_]:
    """Return which of a target's test rows, in the order of their ids, belong to the feedback half."""
    return halves(folder).filter(domain=target).sort("id")["feedback"].to_numpy()


def file_of(folder: DatasetFolder, predicted: Labels, path: Path) -> Path:
    """Write a prediction file of models trained on each other domain, which all predict the same, with 90% confidence.

    Confidences and probabilities are there so that whatever is told of a file might tell of them, too.
    """
    names = np.array(folder.task(TASK).labels)
    sure = np.where(np.eye(names.size, dtype=bool), 0.9, 0.1 / (names.size - 1))
    parts = [
        folder.split(TASK, target, "test")
        .sort("id")
        .select(
            "id",
            source=pl.lit(source),
            prediction=pl.Series(names[codes]),
            confidence=pl.lit(0.9),
            probabilities=pl.Series(sure[codes]).arr.to_list(),
        )
        for target, codes in predicted.items()
        for source in folder.task(TASK).domains
        if source != target
    ]
    columns = ["source", "id", "prediction", "confidence", "probabilities"]
    pl.concat(parts).select(columns).write_parquet(path)
    return path


def with_errors(folder: DatasetFolder, share: float, seed: int = 0) -> dict[str, NDArray[np.int64]]:
    """Predict every target's labels, a share of them drawn at random."""
    rng = np.random.default_rng(seed)
    found = {}
    for target in folder.task(TASK).domains:
        codes = gold_codes(folder, target).copy()
        wrong = rng.random(codes.size) < share
        codes[wrong] = rng.integers(len(folder.task(TASK).labels), size=int(wrong.sum()))
        found[target] = codes
    return found


def send(store: Store, folder: DatasetFolder, predicted: Labels, path: Path, account: str, name: str = "m") -> Entry:
    """Submit a file to a store."""
    return send_file(store, folder, file_of(folder, predicted, path), account, name)


def send_file(store: Store, folder: DatasetFolder, path: Path, account: str, name: str = "m") -> Entry:
    """Submit a written file."""
    card = Card(name=name, paradigm="other", data=folder.content_hash)
    return store.submit(path, card, [folder], account)[0]
