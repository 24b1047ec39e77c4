"""Predictions on validation rows of a tagging task, in a dataset that also has a task to forecast."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.validation_rows import read_validation
from shiftbench.validation.report import InvalidInput


@pytest.fixture
def folder(tmp_path: Path) -> DatasetFolder:
    rows = [
        {"domain": domain, "split": split, "tokens": f"word {domain}{n} {split}", "tags": "B-X O O"}
        for domain in "ab"
        for split in ("train", "validation", "test")
        for n in range(3)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "tags.csv")
    build_own("tags", tmp_path / "tags.csv", tmp_path / "data")
    return DatasetFolder.open(tmp_path / "data")


def predicted(folder: DatasetFolder, tags: str, place: Path) -> Path:
    ids = pl.concat([folder.split("tags", domain, "validation").select("id") for domain in "ab"])
    ids.select(source=pl.lit("a"), id="id", prediction=pl.lit(tags)).write_csv(place)
    return place


def test_tags_on_validation_rows_are_read_and_counted_against_tokens(folder: DatasetFolder, tmp_path: Path) -> None:
    assert len(read_validation(predicted(folder, "B-X O O", tmp_path / "whole.csv"), folder)) == 6
    with pytest.raises(InvalidInput, match="tokens"):
        read_validation(predicted(folder, "B-X O", tmp_path / "short.csv"), folder)
