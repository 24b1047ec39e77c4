"""Flips in excess of the placebo's, and test texts seen in training, in the scores of a file."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import data_path, read_statistics
from shiftbench.scoring.reports.score_words import mean_flip_words
from shiftbench.scoring.scores.controls import near_duplicates
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import NearDuplicates, Scores
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors
from tests.scoring.reports.notes import notes

DOMAINS = ("books", "films", "games")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return build_dealt_folder(tmp_path_factory.mktemp("dealt") / "data", DOMAINS)


def score(folder: DatasetFolder, frame: pl.DataFrame, tmp_path: Path) -> Scores:
    frame.write_parquet(tmp_path / "p.parquet")
    return score_file(tmp_path / "p.parquet", folder)


def test_flips_stand_beside_those_of_the_placebo(
    folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    real = labels_with_errors(folder, "moods", DOMAINS, 0.3)
    dealt = labels_with_errors(folder, "moods.placebo", list(folder.task("moods.placebo").domains), 0.3)
    task, placebo = score(folder, pl.concat([real, dealt]), tmp_path).tasks
    without = np.mean([shift.flips.loss + shift.flips.gain for shift in placebo.shifts if shift.flips])
    for shift in task.shifts:
        assert shift.flips is not None
        assert shift.flips.without_shift == pytest.approx(without)
        assert shift.flips.excess == pytest.approx(shift.flips.loss + shift.flips.gain - without)
    assert all(shift.flips is not None and shift.flips.excess is None for shift in placebo.shifts)
    alone = score(folder, real, tmp_path).tasks[0]
    assert all(shift.flips is not None and shift.flips.without_shift is None for shift in alone.shifts)
    assert [re.sub(r"[\d.]+%", "N%", mean_flip_words(each)) for each in (task, alone)] == wording


def test_the_rate_of_near_duplicates_is_that_of_test_texts_that_train_has(
    folder: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    task = score(folder, labels_with_errors(folder, "moods", DOMAINS, 0.3), tmp_path).tasks[0]
    counts = read_statistics(folder.path, "moods").duplicates.across_splits
    chosen = [count for count in counts if (count.split, count.other) == ("test", "train")]
    assert len(chosen) == len(DOMAINS)
    assert task.near_duplicates is not None
    assert task.near_duplicates.near == sum(count.near for count in chosen) / sum(count.rows for count in chosen)
    assert near_duplicates(folder, "moods.placebo") is None
    some = task.model_copy(update={"near_duplicates": NearDuplicates(near=0.25, exact=0.125)})
    none, found = (set(notes(each).split(". ")) for each in (task, some))
    assert [sorted(none - found), sorted(found - none)] == wording


def test_a_folder_without_statistics_has_no_rate(tmp_path: Path) -> None:
    folder = build_dealt_folder(tmp_path / "data", DOMAINS)
    (folder.path / data_path("moods")).unlink()
    assert near_duplicates(folder, "moods") is None
