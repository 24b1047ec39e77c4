"""The synthetic corpus: sound, said to be synthetic, and hard enough to show shifts."""

from pathlib import Path

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder


def test_two_tasks_of_four_domains_with_three_splits(synthetic: DatasetFolder) -> None:
    synthetic.check()
    assert synthetic.manifest.synthetic
    assert not synthetic.manifest.partial
    assert list(synthetic.manifest.tasks) == ["nli", "sa"]
    for task in synthetic.manifest.tasks.values():
        assert len(task.domains) == 4
        assert all(list(facts.splits) == ["train", "validation", "test"] for facts in task.domains.values())
        assert {facts.splits["test"].rows for facts in task.domains.values()} == {30}


def test_every_domain_has_every_label_and_its_own_texts(synthetic: DatasetFolder) -> None:
    for name, task in synthetic.manifest.tasks.items():
        texts = [set(synthetic.split(name, domain, "train")[task.inputs[0]]) for domain in task.domains]
        assert sum(map(len, texts)) == len(set.union(*texts))
        for domain in task.domains:
            assert set(synthetic.split(name, domain, "test")["label"]) == set(range(len(task.labels)))


def test_premises_are_groups_of_three_in_one_split(synthetic: DatasetFolder) -> None:
    for domain in synthetic.task("nli").domains:
        splits = [synthetic.split("nli", domain, split) for split in ("train", "validation", "test")]
        groups = [set(rows["group"]) for rows in splits]
        assert sum(map(len, groups)) == len(set.union(*groups)) == 40
        assert splits[2].group_by("group").len()["len"].to_list() == [3] * 10


def test_seed_and_sizes(tmp_path: Path) -> None:
    made = [
        build_synthetic(tmp_path / str(number), seed=seed, n_train=n_train, n_test=10)
        for number, (seed, n_train) in enumerate([(1, 20), (1, 20), (2, 20), (1, 32)])
    ]
    assert made[0] == made[1]
    assert len({manifest.content_hash for manifest in made}) == 3
    for task, domain in (("nli", "harbour"), ("sa", "tents")):
        first, other = (DatasetFolder.open(tmp_path / number).split(task, domain, "test") for number in "02")
        column = "premise" if task == "nli" else "text"
        assert not set(first[column]) & set(other[column])
    for manifest, n_train in zip(made[1:], (20, 20, 32), strict=True):
        for facts in manifest.tasks["sa"].domains.values():
            assert facts.splits["test"].rows == 10
            assert facts.splits["train"].rows + facts.splits["validation"].rows == n_train
