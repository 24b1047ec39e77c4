"""Domain Robustness with test labels withheld: every task kind, and the placebo tasks, which hold the same rows."""

from pathlib import Path

import pytest

from shiftbench.builders.building.build import build
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing.withhold import withheld_folders
from shiftbench.validation.vocabulary import GOLD, PLACEBO, SPLITS

pytestmark = pytest.mark.xdist_group("dr")


@pytest.mark.usefixtures("unrecorded")
def test_no_task_has_test_gold_in_public(invented_raw: Path, benchmark: DatasetFolder, tmp_path: Path) -> None:
    built = build("dr", None, invented_raw, tmp_path / "out", withhold_labels=True)
    # The questions that it withholds stand in 'qa', whose answers stand in it.
    assert list(built.failed) == ["qg"]
    (problem,) = built.failed["qg"]
    assert "dr/qg" in str(problem)
    assert "dr/qa" in str(problem)
    folders = withheld_folders(tmp_path / "out")
    assert folders is not None
    public, gold = map(DatasetFolder.open, folders)
    public.check()
    gold.check()
    assert public.content_hash == gold.content_hash
    expected = {name for name in benchmark.manifest.tasks if name.partition(".")[0] != "qg"}
    assert set(public.manifest.tasks) == expected
    assert any(name.endswith(PLACEBO) for name in expected)
    for name, task in public.manifest.tasks.items():
        column = GOLD[task.kind]
        for domain, facts in task.domains.items():
            for split in facts.splits:
                rows = public.split(name, domain, split)
                assert rows[column].null_count() == (len(rows) if split == "test" else 0)
        assert "test" not in {count.split for count in task.transforms}
    # Both tasks are made from the same questions: none that is asked in one may be answered in the other.
    answered, asked = (
        {
            question
            for task in ("qa", "qa_imbalanced")
            for domain, facts in gold.task(task).domains.items()
            for split in facts.splits
            if (split == "test") is of_test
            for question in gold.split(task, domain, split).select("context", "question").rows()
        }
        for of_test in (False, True)
    )
    assert asked
    assert not answered & asked


@pytest.mark.usefixtures("unrecorded")
def test_draws_do_not_come_from_the_seed_that_the_manifest_names(
    invented_raw: Path, benchmark: DatasetFolder, tmp_path: Path
) -> None:
    """Test that nobody can repeat the draws and see where the draws of each label end."""
    built = build("dr", "sa", invented_raw, tmp_path / "out", withhold_labels=True)
    assert built.manifest.seed == benchmark.manifest.seed == 0
    gold = DatasetFolder.open(tmp_path / "out/gold")
    drawn, known = ({row for split in SPLITS for row in _texts(f, split)} for f in (gold, benchmark))
    parts = [set(_texts(folder, "test")) for folder in (gold, benchmark)]
    assert drawn & known
    assert parts[0] != parts[1]


def _texts(folder: DatasetFolder, split: str) -> list[str]:
    return [
        text
        for domain, facts in folder.task("sa").domains.items()
        if split in facts.splits
        for text in folder.split("sa", domain, split)["text"]
    ]
