"""The list of test rows that repeat a train text: who gets which ids, and what becomes of damage and older folders."""

from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.folder.configs import repeats_path
from shiftbench.builders.folder.reader import REPEATED_TESTS, DatasetFolder
from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.builders.publishing.public import public_copy
from shiftbench.builders.writing.withhold import withheld_folders
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.repeated import build_repeating_folder


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    place = tmp_path_factory.mktemp("repeats") / "data"
    build_repeating_folder(place, 0.1, closed="cellar")
    return DatasetFolder.open(place)


def listed(folder: DatasetFolder) -> pl.DataFrame:
    found = folder.repeated_tests("tales")
    assert found is not None
    return found


def test_the_list_has_as_many_rows_as_the_statistics_count(mixed: DatasetFolder) -> None:
    mixed.check()
    found = listed(mixed)
    counts = read_statistics(mixed.path, "tales").duplicates.across_splits
    assert found.schema == REPEATED_TESTS
    assert 60 < found["near"].sum() == sum(count.near for count in counts)
    assert found["exact"].sum() == sum(count.exact for count in counts)
    assert repeats_path("tales") in mixed.manifest.files


def test_a_public_copy_lists_published_rows_alone(mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    public.check()
    kept = listed(mixed).filter(~pl.col("id").str.contains("/cellar/"))
    assert listed(public).equals(kept)
    assert 0 < len(kept) < len(listed(mixed))


def test_a_public_copy_of_an_older_folder_has_no_list(mixed: DatasetFolder, tmp_path: Path) -> None:
    older = DatasetFolder(mixed.path, mixed.manifest.model_copy(update={"lists_repeats": False}))
    public = public_copy(older, tmp_path / "public")
    assert public.repeated_tests("tales") is None
    assert not (public.path / repeats_path("tales")).exists()


def test_the_list_is_the_same_where_labels_are_withheld(tmp_path: Path) -> None:
    build_repeating_folder(tmp_path / "pair", 0.1, label_key="5a" * 32)
    folders = withheld_folders(tmp_path / "pair")
    assert folders is not None
    public, gold = map(DatasetFolder.open, folders)
    public.check()
    assert listed(public).equals(listed(gold))


def test_ids_that_are_no_test_rows_are_found(mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    path = public.path / repeats_path("tales")
    path.unlink()
    listed(mixed).write_parquet(path)
    with pytest.raises(InvalidInput, match="repeated"):
        public.check()
