"""BOSS with test labels withheld: data sets and candidates without one test label, every task kind that it has."""

from pathlib import Path

import pytest

from shiftbench.builders.building.build import build
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.withhold import withheld_folders
from shiftbench.validation.vocabulary import GOLD

pytestmark = pytest.mark.xdist_group("boss")


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.long
def test_no_data_set_has_test_gold_in_public(invented_raw: Path, suite: DatasetFolder, tmp_path: Path) -> None:
    built = build("boss", None, invented_raw, tmp_path / "out", withhold_labels=True)
    assert built.failed == {}
    folders = withheld_folders(tmp_path / "out")
    assert folders is not None
    public, gold = map(DatasetFolder.open, folders)
    public.check()
    gold.check()
    assert public.content_hash == gold.content_hash != suite.content_hash
    assert set(public.manifest.tasks) == set(suite.manifest.tasks)
    for name, task in public.manifest.tasks.items():
        column = GOLD[task.kind]
        for domain, facts in task.domains.items():
            assert facts.splits.keys() == suite.task(name).domains[domain].splits.keys()
            for split in facts.splits:
                rows = public.split(name, domain, split)
                assert rows[column].null_count() == (len(rows) if split == "test" else 0)
