"""Rows of a dataset folder as files of somebody with one model: a CSV to check it on, and its training texts."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder

N_TEST = 1_000
"""Test texts of a domain in the CSV, at most."""


@dataclass(frozen=True)
class DemoFiles:
    """What was written.

    Attributes:
        task, home: the task, and the domain that a model is to be trained on: the first one.
        inputs: the CSV's text columns.
        test, train: the CSV of all domains, and that of the training texts.
    """

    task: str
    home: str
    inputs: tuple[str, ...]
    test: Path
    train: Path


def write_rows(folder: DatasetFolder, place: Path) -> DemoFiles:
    """Write the first task's test rows of all domains as one CSV, and the train rows of its first domain as another.

    Args:
        folder: the dataset.
        place: the folder to write to.
    Returns: the files, with columns domain, group, the inputs and label (by name).
    """
    place.mkdir(parents=True, exist_ok=True)
    task = next(iter(folder.manifest.tasks))
    info = folder.task(task)
    home = next(name for name, facts in info.domains.items() if {"train", "test"} <= set(facts.splits))
    names = dict(enumerate(info.labels))
    columns = ["domain", "group", *info.inputs, "label"]

    def write(frames: list[pl.DataFrame], file: str) -> Path:
        rows = pl.concat(frames).with_columns(pl.col("label").replace_strict(names, return_dtype=pl.String))
        rows.select(columns).write_csv(place / file)
        return place / file

    tests = [
        folder.split(task, name, "test").head(N_TEST) for name, facts in info.domains.items() if "test" in facts.splits
    ]
    test = write([rows.with_columns(pl.col("domain").cast(pl.String)) for rows in tests], "mine.csv")
    train = write([folder.split(task, home, "train")], "train.csv")
    return DemoFiles(task, home, info.inputs, test, train)
