"""The five real MultiNLI genres that lie beside the project: sizes and rows as they were when first built.

Only a part of upstream is there, so the build needs ``--partial``. Rows are pinned by id; none of them is kept here.
"""

from pathlib import Path

import pytest

from builders.build import build
from builders.folder import DatasetFolder
from validation.report import InvalidInput

pytestmark = pytest.mark.real

SIZES = {
    "fiction": (2426, 121, 1973),
    "government": (2420, 121, 1945),
    "slate": (2477, 123, 1955),
    "telephone": (2623, 131, 1966),
    "travel": (2412, 120, 1976),
}
TEST_IDS = {
    "fiction": ("00536086ccbd", "0186577d8167", "fff2c9e0a8e7"),
    "government": ("00076f341cac", "012b55ed7a5d", "ffef84a33154"),
    "slate": ("001f52bfef62", "019089483f73", "ffe6c742552f"),
    "telephone": ("002f6a9223dd", "01f76fac3f55", "ff77cf5dc6cb"),
    "travel": ("001347e6d93b", "0172afcd908e", "ffc9d321d00b"),
}
"""First, tenth and last id of each test split."""


@pytest.fixture(scope="module")
def genres(real_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    out = tmp_path_factory.mktemp("real") / "dr"
    build("dr", "nli", real_raw, out, partial=True)
    return DatasetFolder.open(out)


def test_sizes(genres: DatasetFolder) -> None:
    domains = genres.task("nli").domains
    found = {
        name: tuple(facts.splits[split].rows for split in ("train", "validation", "test"))
        for name, facts in domains.items()
    }
    assert found == SIZES
    assert genres.task("nli").subsets == {"all": 9815, "fewshot": 600}
    assert genres.manifest.partial


def test_premises_found_in_test_leave_train(genres: DatasetFolder) -> None:
    left = {
        count.domain: count.before - count.after
        for count in genres.task("nli").transforms
        if count.name == "test_groups_leave_train"
    }
    assert left == {"fiction": 0, "government": 0, "slate": 5, "telephone": 0, "travel": 9}
    others = {count.name for count in genres.task("nli").transforms if count.before != count.after}
    assert others == {"test_groups_leave_train"}


def test_groups_are_in_one_split_each(genres: DatasetFolder) -> None:
    for domain in SIZES:
        groups = [set(genres.split("nli", domain, split)["group"]) for split in ("train", "validation", "test")]
        assert sum(map(len, groups)) == len(set.union(*groups))


@pytest.mark.parametrize("domain", SIZES)
def test_test_ids(genres: DatasetFolder, domain: str) -> None:
    ids = [id_.removeprefix(f"dr/nli/{domain}/test/") for id_ in genres.split("nli", domain, "test")["id"]]
    assert (ids[0], ids[9], ids[-1]) == TEST_IDS[domain]


def test_every_label_is_there_and_no_text_was_lost(genres: DatasetFolder) -> None:
    genres.check()
    for domain in SIZES:
        test = genres.split("nli", domain, "test")
        assert set(test["label"]) == {0, 1, 2}
        assert (test["premise"].str.len_chars() > 0).all()
        assert (test["hypothesis"].str.len_chars() > 0).all()


def test_an_incomplete_upstream_is_refused_with_both_figures(real_raw: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as refused:
        build("dr", "nli", real_raw, tmp_path / "out")
    lines = str(refused.value).splitlines()
    # The test sections are whole, the train sections are samples.
    assert len(lines) == len(SIZES)
    assert all("split train, differs from the recorded one" in line and "--partial" in line for line in lines)
    assert "found 2,547 rows, recorded 77,348" in lines[0]
    assert not (tmp_path / "out").exists()
