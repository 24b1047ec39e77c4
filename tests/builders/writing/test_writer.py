"""Writing a dataset folder: all of it or nothing, the same bytes for the same rows, never over something else."""

import json
import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import Features

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.cache import recall_folder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.writing import writer
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.schemas import ANSWERS


def build(out: Path, seed: int = 0, *, overwrite: bool = False) -> DatasetFolder:
    build_synthetic(out, seed=seed, overwrite=overwrite, n_train=30, n_test=12)
    return DatasetFolder.open(out)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """A folder that ``build`` wrote, for reading."""
    return build(tmp_path_factory.mktemp("built") / "new/deep/out")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def break_writing(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Make the writing of the manifest fail, which is the last thing written."""

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(writer.Manifest, "write", fail)


def test_the_same_rows_are_the_same_bytes(built: DatasetFolder, tmp_path: Path) -> None:
    first, second, other = map(contents, (built.path, build(tmp_path / "b").path, build(tmp_path / "c", seed=1).path))
    assert first == second
    assert first.keys() == other.keys()
    assert all(first[path] != other[path] for path in first if path.startswith("data/"))


def test_the_folder_holds_what_the_manifest_lists(tmp_path: Path) -> None:
    folder = build(tmp_path / "new/deep/out")
    listed = {
        f"data/{task}/{domain}/{split}-00000-of-00001.parquet"
        for task, info in folder.manifest.tasks.items()
        for domain, facts in info.domains.items()
        for split in facts.splits
    }
    listed |= {
        f"subsets/{task}/{subset}.parquet" for task, info in folder.manifest.tasks.items() for subset in info.subsets
    }
    listed |= {f"repeats/{task}.parquet" for task in folder.manifest.tasks}
    listed |= {f"statistics/{task}.{suffix}" for task in folder.manifest.tasks for suffix in ("json", "png")}
    assert set(contents(folder.path)) == listed | {"README.md", "croissant.json", "shiftbench.json"}
    assert recall_folder(folder.version) == folder.path
    assert [path.name for path in folder.path.parent.iterdir()] == ["out"]


def test_parquet_files_carry_the_label_names(built: DatasetFolder) -> None:
    schema = pq.read_schema(built.path / "data/sa/lamps/test-00000-of-00001.parquet")
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    assert features["label"] == {"names": ["negative", "positive"], "_type": "ClassLabel"}
    assert schema.names == ["id", "domain", "group", "text", "label"]


@pytest.mark.parametrize("gold", [("label", pl.Int64()), ("tags", pl.List(pl.Int64)), ("answers", ANSWERS)])
def test_the_schema_of_a_file_is_the_one_that_datasets_writes(gold: tuple[str, pl.DataType]) -> None:
    columns = {"id": pl.String(), "tokens": pl.List(pl.String), "weight": pl.Float64(), "near": pl.Boolean()}
    schema = writer._arrow_schema(pl.DataFrame(schema=[*columns.items(), gold]).schema, ("b", "a"))
    assert schema.equals(Features.from_arrow_schema(schema).arrow_schema, check_metadata=True)


def test_the_card_is_yaml_that_names_every_config(built: DatasetFolder) -> None:
    folder = built
    _, front, text = (folder.path / "README.md").read_text().split("---\n", 2)
    configs = {config["config_name"]: config for config in yaml.safe_load(front)["configs"]}
    domains = [f"{task}.{domain}" for task, info in folder.manifest.tasks.items() for domain in info.domains]
    assert list(configs) == ["nli", *domains[:4], "sa", *domains[4:]]
    assert [name for name, config in configs.items() if config.get("default")] == ["nli"]
    assert "&id" not in front
    assert "**Synthetic" in text
    facts = folder.task("sa").domains["lamps"].splits
    assert all(facts[split].rows == facts[split].groups for split in facts)
    cells = " / ".join(f"{facts[split].rows}" for split in facts)
    nli = folder.task("nli").domains["harbour"].splits
    grouped = " / ".join(f"{nli[split].rows} ({nli[split].groups})" for split in nli)
    address = "https://spdx.org/licenses/Apache-2.0.html"
    assert f"| `sa.lamps` | {cells} |\n" in text
    assert f": [Apache-2.0]({address}).\n" in text  # one of all domains is named once
    assert f"| `nli.harbour` | {grouped} |\n" in text  # groups are named where they are not the rows


def sharded(out: Path, monkeypatch: pytest.MonkeyPatch, shard: int = 2**12, group: int = 2**10) -> DatasetFolder:
    """Build the folder that ``build`` writes, in small pieces."""
    monkeypatch.setattr(writer, "SHARD_BYTES", shard)
    monkeypatch.setattr(writer, "GROUP_BYTES", group)
    return build(out)


def test_large_splits_are_written_in_shards_of_the_same_rows(
    built: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = built
    cut = sharded(tmp_path / "cut", monkeypatch)
    cut.check()
    assert cut.content_hash == whole.content_hash
    assert contents(cut.path) == contents(sharded(tmp_path / "again", monkeypatch).path)
    files = sorted((cut.path / "data/nli/harbour").glob("train-*"))
    assert len(files) > 1
    assert [file.name for file in files] == [f"train-{i:05}-of-{len(files):05}.parquet" for i in range(len(files))]
    assert all(pq.read_table(file).nbytes <= 2**12 for file in files)
    groups = [pq.ParquetFile(file).metadata.num_row_groups for file in files]
    assert min(groups) > 1
    for task, info in whole.manifest.tasks.items():
        for domain, facts in info.domains.items():
            for split in facts.splits:
                assert cut.split(task, domain, split).equals(whole.split(task, domain, split))
    assert cut.test("nli").equals(whole.test("nli"))


def test_a_row_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = sharded(tmp_path / "cut", monkeypatch, shard=1, group=1)
    cut.check()
    n_rows = cut.task("sa").domains["lamps"].splits["test"].rows
    assert len(list((cut.path / "data/sa/lamps").glob("test-*"))) == n_rows


def test_a_missing_shard_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = sharded(tmp_path / "cut", monkeypatch)
    min((cut.path / "data/nli/harbour").glob("train-*")).unlink()
    with pytest.raises(InvalidInput, match=r"train-00000-of-00002.parquet: "):
        cut.check()


def test_row_groups_have_ten_thousand_rows_where_these_are_short(tmp_path: Path) -> None:
    ids = pl.DataFrame({"id": [f"{number:06}" for number in range(20_001)]})
    writer.write_ids(tmp_path / "ids.parquet", ids)
    metadata = pq.ParquetFile(tmp_path / "ids.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [10_000, 10_000, 1]


@pytest.mark.parametrize("overwrite", [False, True])
def test_something_else_is_never_replaced(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/thesis.txt").write_text("years")
    with pytest.raises(InvalidInput, match="else"):
        build(tmp_path / "out", overwrite=overwrite)
    with pytest.raises(InvalidInput, match="else"):
        build(tmp_path / "out/thesis.txt", overwrite=overwrite)
    with pytest.raises(InvalidInput, match=r"thesis\.txt"):
        build(tmp_path / "out/thesis.txt/deeper", overwrite=overwrite)
    assert contents(tmp_path) == {"out/thesis.txt": b"years"}


def test_a_dataset_is_replaced_only_when_told_to(built: DatasetFolder, tmp_path: Path) -> None:
    first = DatasetFolder.open(shutil.copytree(built.path, tmp_path / "out"))
    before = contents(tmp_path)
    with pytest.raises(InvalidInput, match="--overwrite"):
        build(tmp_path / "out", seed=1)
    assert contents(tmp_path) == before
    (tmp_path / "out/data/stale.parquet").touch()
    second = build(tmp_path / "out", seed=1, overwrite=True)
    assert second.content_hash != first.content_hash
    second.check()
    assert set(contents(tmp_path)) == set(before)


def test_an_empty_folder_may_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    build(tmp_path / "out").check()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    build_synthetic(Path("."), n_train=30, n_test=12)
    DatasetFolder.open(tmp_path / "here").check()


def test_a_link_stays_a_link(built: DatasetFolder, tmp_path: Path) -> None:
    shutil.copytree(built.path, tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    replaced = build(tmp_path / "link", seed=1, overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert DatasetFolder.open(tmp_path / "real").content_hash == replaced.content_hash
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()], ids=["disk", "ctrl-c"])
def test_a_failure_midway_leaves_nothing_or_the_old_folder(
    error: BaseException, built: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built.path, tmp_path / "old")
    before = contents(tmp_path)
    break_writing(monkeypatch, error)
    raised = InvalidInput if isinstance(error, OSError) else type(error)
    words = "the dataset folder cannot be written; found disk full" if isinstance(error, OSError) else ""
    with pytest.raises(raised, match=words):
        build(tmp_path / "new")
    with pytest.raises(raised, match=words):
        build(tmp_path / "old", seed=1, overwrite=True)
    assert contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_failure_between_the_two_renames_brings_the_old_folder_back(
    built: DatasetFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built.path, tmp_path / "out")
    before = contents(tmp_path)
    rename = Path.rename

    def fail_for_new(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError("the disk is gone")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_new)
    with pytest.raises(InvalidInput, match="gone"):
        build(tmp_path / "out", seed=1, overwrite=True)
    assert contents(tmp_path) == before


def test_the_manifest_marks_what_may_not_be_published(mixed: DatasetFolder) -> None:
    for task, closed in (("nli", "harbour"), ("sa", "kettles")):
        marks = {domain: facts.rebuild_only for domain, facts in mixed.task(task).domains.items()}
        assert marks == {domain: domain == closed for domain in mixed.task(task).domains}
        assert not mixed.task(task).withheld
    mixed.check()


def test_an_output_path_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="output"):
        writer.check_out(Path("/proc/1/new/out"), overwrite=False)
