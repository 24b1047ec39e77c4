"""The builder of a dataset folder yields what load_dataset yields, from the files of the asked config alone."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from datasets import ClassLabel, DatasetBuilder, load_dataset
from syrupy.assertion import SnapshotAssertion

from shiftbench import dataset_builder
from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder import dataset_builder as dataset_builders
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import public_copy
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

pytestmark = pytest.mark.xdist_group("load_dataset")


def same(folder: Path, config: str, cache: Path) -> None:
    """Compare every split's features, rows and their order, read at once and streamed, with load_dataset's."""
    expected = load_dataset(str(folder), config, cache_dir=str(cache / "theirs"))
    builder = dataset_builder(folder, config, cache_dir=cache / "ours")
    assert isinstance(builder, DatasetBuilder)
    assert list(builder.info.splits) == list(expected)
    assert {name: split.num_examples for name, split in builder.info.splits.items()} == {
        name: len(rows) for name, rows in expected.items()
    }
    found = builder.as_dataset()
    assert list(found) == list(expected)
    for split, rows in expected.items():
        assert builder.info.features == found[split].features == rows.features
        assert found[split].to_list() == rows.to_list()
        streamed = builder.as_streaming_dataset(split=split)
        assert streamed.features == rows.features
        assert list(streamed) == rows.to_list()


@pytest.mark.parametrize("config", ["nli", "sa.tents", "nli.depth"])
def test_it_yields_what_load_dataset_yields(config: str, synthetic: DatasetFolder, tmp_path: Path) -> None:
    same(synthetic.path, config, tmp_path)


@pytest.mark.parametrize("config", ["ab.d0", "qa.d0", "tg"])
def test_every_task_kind(config: str, grid: DatasetFolder, tmp_path: Path) -> None:
    same(grid.path, config, tmp_path)


def test_a_public_copy(mixed: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    public = public_copy(mixed, tmp_path / "public")
    same(public.path, "nli", tmp_path)
    assert refusal(InvalidInput, dataset_builder, public.path, "nli.harbour") == wording


def test_one_split_by_name_and_the_first_task_by_default(synthetic: DatasetFolder, tmp_path: Path) -> None:
    rows = dataset_builder(str(synthetic.path), "nli.harbour", cache_dir=tmp_path).as_dataset(split="test")
    assert list(rows["id"]) == synthetic.split("nli", "harbour", "test")["id"].to_list()
    assert rows.features["label"] == ClassLabel(names=list(synthetic.task("nli").labels))
    builder = dataset_builder(synthetic.path, cache_dir=tmp_path)
    assert builder.config.name == "nli"
    assert list(builder.builder_configs)[:3] == ["nli", "nli.harbour", "nli.kitchen"]
    assert "seegmiller" in builder.info.citation


def test_only_the_files_of_the_asked_config_are_read(synthetic: DatasetFolder, tmp_path: Path) -> None:
    copy = shutil.copytree(synthetic.path, tmp_path / "copy")
    for path in sorted(copy.rglob("*")):
        if path.is_file() and path.parent != copy / "data/sa/tents" and path.name != "shiftbench.json":
            path.unlink()
    builder = dataset_builder(copy, "sa.tents", cache_dir=tmp_path / "cache")
    expected = {
        split: synthetic.split("sa", "tents", split).rows(named=True) for split in ("train", "validation", "test")
    }
    assert {split: list(builder.as_streaming_dataset(split=split)) for split in expected} == expected
    assert {split: rows.to_list() for split, rows in builder.as_dataset().items()} == expected


def test_a_folder_built_anew_at_the_same_path_is_read_anew(tmp_path: Path) -> None:
    for seed in (0, 1):
        build_synthetic(tmp_path / "out", seed=seed, overwrite=bool(seed), n_train=30, n_test=12)
        rows = dataset_builder(tmp_path / "out", "sa.tents", cache_dir=tmp_path / "cache").as_dataset(split="test")
        assert rows.to_list() == DatasetFolder.open(tmp_path / "out").split("sa", "tents", "test").rows(named=True)


def test_files_that_lack_rows_are_refused(synthetic: DatasetFolder, tmp_path: Path) -> None:
    copy = shutil.copytree(synthetic.path, tmp_path / "copy")
    file = copy / "data/sa/tents/train-00000-of-00001.parquet"
    synthetic.split("sa", "tents", "train").head(3).write_parquet(file)
    with pytest.raises(InvalidInput, match=r"train-00000-of-00001\.parquet: "):
        dataset_builder(copy, "sa.tents", cache_dir=tmp_path / "cache").as_dataset()


def test_what_is_not_there_is_said(synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    assert [
        refusal(InvalidInput, dataset_builder, synthetic.path, "nli.harbor"),
        refusal(InvalidInput, dataset_builder, tmp_path),
    ] == wording


def test_a_repository_is_read_at_one_commit(synthetic: DatasetFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    class Hub:
        def repo_info(self, repo_id: str, repo_type: str, revision: str) -> SimpleNamespace:
            asked.append((repo_id, repo_type, revision))
            return SimpleNamespace(sha="abc123")

        def hf_hub_download(self, repo_id: str, name: str, repo_type: str, revision: str) -> str:
            asked.append((repo_id, repo_type, revision))
            return str(synthetic.path / name)

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    where, manifest, base = dataset_builders._open("org/demo", "v1")
    assert (where, manifest, base) == ("org/demo", synthetic.manifest, "hf://datasets/org/demo@abc123")
    assert asked == [("org/demo", "dataset", "v1"), ("org/demo", "dataset", "abc123")]
