"""Rows for the demo: a sample of MultiNLI's upstream files, and a dataset's rows as a user's CSV files."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.builders.dr.inference import NLI
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.reading.places import find_file
from shiftbench.builders.specs.upstream_file import UpstreamFile

N_ROWS = 500
"""Maximum rows taken from each genre's training file, and from its test file, for a sample."""
N_TEST = 1_000
"""Maximum test texts per domain in the CSV."""


@dataclass(frozen=True)
class DemoFiles:
    """The files written.

    Attributes:
        task: name of the task.
        source: domain to train a model on: the first one with training and test rows.
        inputs: the CSV's text columns.
        test: CSV with the test texts of all domains.
        train: CSV with the training texts of ``source``.
    """

    task: str
    source: str
    inputs: tuple[str, ...]
    test: Path
    train: Path


def sample_genres(raws: Sequence[Path], place: Path) -> tuple[int, int]:
    """Write the first rows of each genre of MultiNLI as upstream files for a partial build.

    Args:
        raws: folders of upstream files, searched in order.
        place: the folder to write to; replaced if it exists.
    Returns: the number of rows written, and of rows available.
    Raises: InvalidInput naming the line of an upstream file that cannot be read.
    """
    if place.exists():
        shutil.rmtree(place)
    read: dict[Path, pl.DataFrame] = {}
    n_taken = n_rows = 0
    for genre in NLI.domains:
        for files in genre.files.values():
            found = next(((file, path) for file in files if (path := find_file(raws, file.path))), None)
            if found is None:
                continue
            file, path = found
            if path not in read:
                with UpstreamFile(path) as opened:
                    read[path] = pl.concat(file.read(opened))
            rows = read[path].filter(pl.col("genre") == genre.name)
            if rows.is_empty():
                continue
            (part,) = (file for file in files if file.partial)
            (place / part.path).parent.mkdir(parents=True, exist_ok=True)
            rows.head(N_ROWS).write_ndjson(place / part.path)
            n_taken, n_rows = n_taken + min(N_ROWS, len(rows)), n_rows + len(rows)
    return n_taken, n_rows


def write_rows(folder: DatasetFolder, place: Path) -> DemoFiles:
    """Write the first task's test rows of all domains as one CSV, and the training rows of its first domain as another.

    Args:
        folder: the dataset.
        place: the folder to write to.
    Returns: the files, with columns domain, group, the inputs and label (by name).
    """
    place.mkdir(parents=True, exist_ok=True)
    task = next(iter(folder.manifest.tasks))
    info = folder.task(task)
    source = next(name for name, facts in info.domains.items() if {"train", "test"} <= set(facts.splits))
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
    train = write([folder.split(task, source, "train")], "train.csv")
    return DemoFiles(task, source, info.inputs, test, train)
