"""A dataset folder loads with plain ``datasets.load_dataset``, in a process that has none of our packages."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import public_copy
from shiftbench.builders.writing import writer

SCRIPT = """
import importlib.util, json, sys

# An editable installation would let our packages in by the back door.
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
for name in ("builders", "validation", "baselines", "leaderboard", "shiftbench"):
    assert importlib.util.find_spec(name) is None, name

from datasets import get_dataset_config_names, load_dataset

loaded = {}
for config in sys.argv[2:] or get_dataset_config_names(sys.argv[1]):
    dataset = load_dataset(sys.argv[1], config)
    loaded[config] = {
        split: {
            "rows": len(rows),
            "columns": rows.column_names,
            "labels": getattr(rows.features.get("label"), "names", None),
            "tags": getattr(getattr(rows.features.get("tags"), "feature", None), "names", None),
            "first": rows[0],
            "ids": list(rows["id"]),
            "domains": sorted(set(rows["domain"])) if "domain" in rows.column_names else None,
        }
        for split, rows in dataset.items()
    }
if not sys.argv[2:]:
    loaded["default"] = len(load_dataset(sys.argv[1])["test"])
print(json.dumps(loaded))
"""


def load(folder: Path, home: Path, *configs: str) -> dict[str, Any]:
    """Return all rows that load_dataset returns of a folder, by config and split."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HF_"))}
    environment |= {"HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-I", "-c", SCRIPT, str(folder), *configs]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=home, env=environment, timeout=120
    )
    assert result.returncode == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return content


@pytest.fixture(scope="module")
def loaded(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return load(synthetic.path, tmp_path_factory.mktemp("home"))


def test_every_task_kind_loads(grid: DatasetFolder, tmp_path: Path) -> None:
    folder = grid
    found = load(folder.path, tmp_path, "ab.d0", "qa.d0", "qg.d0", "tg")
    for config in ("ab.d0", "qa.d0", "qg.d0"):
        task, domain = config.split(".")
        assert found[config]["test"]["first"] == folder.split(task, domain, "test").row(0, named=True)
    assert found["ab.d0"]["test"]["tags"] == ["O", "T-POS", "T-NEG", "T-NEU"]
    assert found["tg"]["test"]["domains"] == ["d0", "d1", "d2", "d3", "d4", "d5"]


def test_every_config_loads(synthetic: DatasetFolder, loaded: dict[str, Any]) -> None:
    expected = {"default"}
    for task, info in synthetic.manifest.tasks.items():
        expected |= {task, f"{task}.depth"} | {f"{task}.{domain}" for domain in info.domains}
    assert set(loaded) == expected


def test_a_domain_has_its_rows_in_three_splits(synthetic: DatasetFolder, loaded: dict[str, Any]) -> None:
    for task, info in synthetic.manifest.tasks.items():
        for domain, facts in info.domains.items():
            config = loaded[f"{task}.{domain}"]
            assert list(config) == ["train", "validation", "test"]
            assert {split: rows["rows"] for split, rows in config.items()} == {
                split: split_facts.rows for split, split_facts in facts.splits.items()
            }
            assert all(rows["domains"] == [domain] for rows in config.values())


def test_a_task_has_all_its_domains_in_one_table(synthetic: DatasetFolder, loaded: dict[str, Any]) -> None:
    for task, info in synthetic.manifest.tasks.items():
        for split, rows in loaded[task].items():
            assert rows["domains"] == sorted(info.domains)
            assert rows["rows"] == sum(facts.splits[split].rows for facts in info.domains.values())
    assert loaded["default"] == loaded["nli"]["test"]["rows"]


def test_labels_have_their_names(synthetic: DatasetFolder, loaded: dict[str, Any]) -> None:
    for task, info in synthetic.manifest.tasks.items():
        for config in (task, *(f"{task}.{domain}" for domain in info.domains)):
            for rows in loaded[config].values():
                assert rows["columns"] == ["id", "domain", "group", *info.inputs, "label"]
                assert rows["labels"] == list(info.labels)


def test_rows_are_those_of_the_folder(synthetic: DatasetFolder, loaded: dict[str, Any]) -> None:
    first = synthetic.split("sa", "tents", "validation").row(0, named=True)
    assert loaded["sa.tents"]["validation"]["first"] == first


def test_one_domain_loads_without_reading_the_files_of_any_other(synthetic: DatasetFolder, tmp_path: Path) -> None:
    copy = shutil.copytree(synthetic.path, tmp_path / "copy")
    for path in sorted(copy.rglob("*.parquet")):
        if path.parent.parent == copy / "data/nli":
            path.write_bytes(b"unreadable")  # of the first config, datasets wants to see what the files are named
        elif path.parent != copy / "data/sa/tents":
            path.unlink()
    # A fresh home: nothing can come from a cache.
    found = load(copy, tmp_path, "sa.tents")
    for split, rows in found["sa.tents"].items():
        assert rows["ids"] == synthetic.split("sa", "tents", split)["id"].to_list()


def test_shards_load_as_one_table_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "SHARD_BYTES", 2**12)
    build_synthetic(tmp_path / "cut", n_train=30, n_test=12)
    folder = DatasetFolder.open(tmp_path / "cut")
    assert len(folder.files("data/nli/harbour/train-*.parquet")) > 1
    found = load(folder.path, tmp_path, "nli", "nli.harbour")
    assert found["nli.harbour"]["train"]["ids"] == folder.split("nli", "harbour", "train")["id"].to_list()
    expected = [
        id_ for domain in sorted(folder.task("nli").domains) for id_ in folder.split("nli", domain, "train")["id"]
    ]
    assert found["nli"]["train"]["ids"] == expected


def test_depth_tables_load(synthetic: DatasetFolder, loaded: dict[str, Any]) -> None:
    depth = loaded["nli.depth"]["test"]
    assert list(loaded["nli.depth"]) == ["test"]
    assert depth["columns"] == ["id", "source", "depth", "weight"]
    domains = synthetic.task("nli").domains
    assert depth["rows"] == sum(len(synthetic.depth("nli", source, target)) for source in domains for target in domains)


def test_a_public_copy_loads_without_what_may_not_be_published(mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    found = load(public.path, tmp_path)
    assert not {"nli.harbour", "sa.kettles"} & set(found)
    for task in ("nli", "sa"):
        assert set(found[task]["test"]["domains"]) == set(public.task(task).domains)
        assert found[task]["test"]["rows"] == public.task(task).subsets["all"]
