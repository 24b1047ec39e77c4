"""Reading a dataset folder: what is asked for and not there is named, and damage is found."""

import json
import os
import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.hashes import content_hash, settings_hash
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import public_copy
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal

TRAIN = "data/nli/harbour/train-00000-of-00001.parquet"
TEST = "data/nli/harbour/test-00000-of-00001.parquet"


@pytest.fixture
def copy(synthetic: DatasetFolder, tmp_path: Path) -> DatasetFolder:
    """A copy of the synthetic folder to damage, under a name that a glob would read otherwise."""
    return DatasetFolder.open(shutil.copytree(synthetic.path, tmp_path / "copy[1]"))


def damage(folder: DatasetFolder) -> str:
    with pytest.raises(InvalidInput) as refused:
        DatasetFolder.unchecked(folder.path).check()
    return str(refused.value).replace(f"{folder.path}/", "")


def changed(path: str, message: str) -> str:
    """Check that the first line of a message says that a file was changed, and return the rest of it."""
    first, _, rest = message.partition("\n")
    assert first.startswith(f"{path}: ")
    assert "checksum" in first
    return rest


def rewrite(folder: DatasetFolder, path: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    change(pl.read_parquet(folder.path / path, glob=False)).write_parquet(folder.path / path)


def edit_manifest(folder: DatasetFolder, **values: object) -> None:
    path = folder.path / "shiftbench.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_sound_folder_passes(synthetic: DatasetFolder, copy: DatasetFolder) -> None:
    synthetic.check()
    copy.check()


def test_rows_come_back_sorted_by_id(synthetic: DatasetFolder) -> None:
    train = synthetic.split("nli", "harbour", "train")
    assert train.columns == ["id", "domain", "group", "premise", "hypothesis", "label"]
    assert train["id"].is_sorted()
    assert len(train) == synthetic.task("nli").domains["harbour"].splits["train"].rows
    test = synthetic.test("nli")
    assert len(test) == 4 * 30
    assert set(test["domain"]) == set(synthetic.task("nli").domains)
    assert set(synthetic.test("nli", "fewshot")["domain"]) == {"harbour", "kitchen", "orchard"}


def test_facts_are_what_predictions_are_checked_with(synthetic: DatasetFolder) -> None:
    facts = synthetic.prediction_task("nli", "fewshot")
    assert facts.domains == ("harbour", "kitchen", "orchard")
    assert facts.labels == ("entailment", "neutral", "contradiction")
    assert set(facts.test["id"]) == set(synthetic.subset("nli", "fewshot")["id"])
    assert set(facts.sources) == set(synthetic.task("nli").domains) > set(facts.domains)
    assert facts.outside | set(facts.test["id"]) == set(synthetic.test("nli")["id"])
    assert not facts.outside & set(facts.test["id"])
    assert synthetic.prediction_task("nli").outside == frozenset()


def test_what_is_not_there_is_named(synthetic: DatasetFolder, wording: SnapshotAssertion) -> None:
    assert [
        refusal(InvalidInput, synthetic.task, "nil"),
        refusal(InvalidInput, synthetic.split, "nli", "harbor", "test"),
        refusal(InvalidInput, synthetic.split, "nli", "harbour", "dev"),
        refusal(InvalidInput, synthetic.subset, "nli", "few"),
    ] == wording


SUBSET, DEPTH = "subsets/nli/fewshot.parquet", "depth/nli/harbour--kitchen.parquet"
DAMAGE: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame]]] = {
    "rows": (TRAIN, lambda frame: frame.head(70)),
    "inputs": (TRAIN, lambda frame: frame.with_columns(hypothesis=pl.lit("Nobody slept."))),
    "labels": (TEST, lambda frame: frame.with_columns(label=(pl.col("label") + 1) % 3)),
    "groups": (TEST, lambda frame: frame.with_columns(group=pl.lit("one"))),
    "domains": (TEST, lambda frame: frame.with_columns(domain=pl.lit("kitchen"))),
    "column": (TEST, lambda frame: frame.drop("group")),
    "range": (TEST, lambda frame: frame.with_columns(label=pl.lit(7, pl.Int64))),
    "size of a subset": (SUBSET, lambda frame: frame.head(5)),
    "ids of a subset": (SUBSET, lambda frame: frame.with_columns(id="x" + pl.col("id"))),
    "depth": (DEPTH, lambda frame: frame.with_columns(depth=pl.col("depth") + 2)),
}


def test_damage_is_found_and_named(copy: DatasetFolder, wording: SnapshotAssertion) -> None:
    said = {}
    for name, (path, change) in DAMAGE.items():
        before = (copy.path / path).read_bytes()
        rewrite(copy, path, change)
        said[name] = re.sub(r"\d\.\d+", "N", changed(path, damage(copy)))
        assert len(said[name].splitlines()) == 1
        (copy.path / path).write_bytes(before)
    before = (copy.path / TEST).read_bytes()
    (copy.path / TEST).write_bytes(before[:-100])
    message = changed(TEST, damage(copy))
    said["truncated"] = re.sub("; found .*;", "; found ...;", message)
    (copy.path / TEST).write_bytes(before)
    for path in (TRAIN, "subsets/nli/all.parquet", "depth/sa/lamps--tents.parquet"):
        (copy.path / path).rename(copy.path / "moved")
        said[f"no {path}"] = damage(copy)
        (copy.path / "moved").rename(copy.path / path)
    edit_manifest(copy, content_hash="ab" * 32)
    said["content hash"] = damage(copy)
    assert said == wording


def test_all_damage_is_listed_at_once(copy: DatasetFolder) -> None:
    (copy.path / TRAIN).unlink()
    (copy.path / "depth/sa/lamps--tents.parquet").unlink()
    rewrite(copy, "data/sa/tents/test-00000-of-00001.parquet", lambda frame: frame.head(3))
    assert len(damage(copy).splitlines()) == 4  # the file and its rows


def test_a_folder_without_depth_needs_no_depth_tables(copy: DatasetFolder) -> None:
    shutil.rmtree(copy.path / "depth")
    assert len(damage(copy).splitlines()) == 2 * 16
    edit_manifest(copy, encoder=None, settings_hash=settings_hash(copy.manifest.tasks, None))
    DatasetFolder.open(copy.path).check()


def test_what_is_no_dataset_folder_is_refused(tmp_path: Path, wording: SnapshotAssertion) -> None:
    said = {"no file": refusal(InvalidInput, DatasetFolder.open, tmp_path)}
    for content in ("{", "[]", '{"format_version": 99}', '{"format_version": 2}'):
        (tmp_path / "shiftbench.json").write_text(content)
        # What is wrong with a key is in the words of pydantic, with its version.
        said[content] = refusal(InvalidInput, DatasetFolder.open, tmp_path).partition("{'type'")[0]
    assert said == wording


def test_a_withheld_domain_is_explained(mixed: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion) -> None:
    public = public_copy(mixed, tmp_path / "public")
    assert "harbour" not in public.task("nli").domains
    assert [
        refusal(InvalidInput, public.split, "nli", "harbour", "test"),
        refusal(InvalidInput, public.test, "nli", "early"),
    ] == wording
    facts = public.prediction_task("nli")
    assert (facts.domains, facts.withheld) == (("kitchen", "orchard", "workshop"), ("harbour",))
    assert facts.sources == facts.domains


@pytest.mark.parametrize(
    "path",
    [
        "data/nli/harbour/test-00000-of-00001.parquet",
        "depth/nli/harbour--kitchen.parquet",
        "depth/nli/kitchen--harbour.parquet",
    ],
)
def test_files_of_a_withheld_domain_are_found(path: str, mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    (public.path / path).parent.mkdir(exist_ok=True)
    shutil.copy(mixed.path / path, public.path / path)
    assert damage(public).startswith(f"{path}: ")


def test_the_content_hash_is_over_all_domains_in_any_order(mixed: DatasetFolder, tmp_path: Path) -> None:
    tasks = mixed.manifest.tasks
    backwards = {
        name: task.model_copy(update={"domains": dict(reversed(task.domains.items()))})
        for name, task in reversed(tasks.items())
    }
    assert content_hash(backwards, "synthetic") == mixed.content_hash
    public = public_copy(mixed, tmp_path / "public").manifest.tasks
    forgotten = {name: task.model_copy(update={"withheld": {}}) for name, task in public.items()}
    assert content_hash(public, "synthetic") == mixed.content_hash != content_hash(forgotten, "synthetic")


@pytest.mark.parametrize("path", [TRAIN, TEST, "subsets/nli/all.parquet", "repeats/nli.parquet"])
def test_what_is_no_regular_file_is_refused_at_once(copy: DatasetFolder, path: str) -> None:
    """Before: a pipe in place of a file was waited for without end."""
    (copy.path / path).unlink()
    os.mkfifo(copy.path / path)
    said: list[str] = []
    checking = threading.Thread(target=lambda: said.append(damage(copy)), daemon=True)
    checking.start()
    checking.join(timeout=30)
    assert not checking.is_alive()
    assert f"{path}: " in said[0]


def test_a_manifest_that_is_a_pipe_is_none(copy: DatasetFolder) -> None:
    (copy.path / "shiftbench.json").unlink()
    os.mkfifo(copy.path / "shiftbench.json")
    assert damage(copy)


@pytest.mark.parametrize(
    "path",
    ["../other.parquet", "data/../../x.parquet", "/etc/passwd", "data/nli/../../../x", "README.md", "data", "",
     "a\\..\\b", "data\\..\\..\\x", "data/\0"],
)  # fmt: skip
def test_files_outside_of_the_folder_are_not_listed(copy: DatasetFolder, path: str) -> None:
    """Before: a manifest that listed them was sound."""
    edit_manifest(copy, files=copy.manifest.files | {path: "0" * 64})
    assert "shiftbench.json: " in damage(copy)


@pytest.mark.parametrize("name", ["../nli", "a/b", "..", "", "a\\b", "/etc"])
@pytest.mark.parametrize("of", ["task", "domain", "subset"])
def test_a_name_is_no_path(copy: DatasetFolder, of: str, name: str) -> None:
    content = json.loads((copy.path / "shiftbench.json").read_text())
    task = content["tasks"]["nli"]
    holder = {"task": content["tasks"], "domain": task["domains"], "subset": task["subsets"]}[of]
    holder[name] = next(iter(holder.values()))
    edit_manifest(copy, tasks=content["tasks"])
    assert "path" in damage(copy)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"1" * 5_000, b"", b"[1, 2]"])
def test_a_manifest_of_any_bytes_is_refused_in_words(copy: DatasetFolder, content: bytes) -> None:
    """Before: a RecursionError where it nests too deep."""
    (copy.path / "shiftbench.json").write_bytes(content)
    assert "shiftbench.json" in damage(copy)
