"""Reading a dataset folder: what is asked for and not there is named, and damage is found."""

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from shiftbench.builders.folder.hashes import content_hash, settings_hash
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.public import public_copy
from shiftbench.validation.report import InvalidInput
from tests import wording

TRAIN = "data/nli/harbour/train-00000-of-00001.parquet"
TEST = "data/nli/harbour/test-00000-of-00001.parquet"
AGAIN = "build the folder again"


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
    assert first.startswith(f"{path}: {wording.FILE_DATASET_FOLDER_WAS}; found checksum ")
    assert first.endswith(f" in the manifest; {AGAIN}")
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


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda folder: folder.task("nil"), f"{wording.FOLDER_HAS_NO_SUCH}; found 'nil'; did you mean 'nli'?"),
        (
            lambda folder: folder.split("nli", "harbor", "test"),
            "task 'nli' has no such domain; found 'harbor'; did you mean 'harbour'?",
        ),
        (
            lambda folder: folder.split("nli", "harbour", "dev"),
            "domain 'harbour' has no such split; found 'dev'; it has train, validation, test",
        ),
        (
            lambda folder: folder.subset("nli", "few"),
            "task 'nli' has no such subset; found 'few'; did you mean 'fewshot'?",
        ),
    ],
)
def test_what_is_not_there_is_named(ask, words: str, synthetic: DatasetFolder) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInput) as refused:
        ask(synthetic)
    assert str(refused.value) == f"{synthetic.path}: {words}"


@pytest.mark.parametrize(
    ("path", "change", "words"),
    [
        (
            TRAIN,
            lambda frame: frame.head(70),
            f"{wording.ROWS_DIFFER_FROM_MANIFEST}; found 70 rows, 78 in the manifest; {AGAIN}",
        ),
        (
            TRAIN,
            lambda frame: frame.with_columns(hypothesis=pl.lit("Nobody slept.")),
            f"{wording.ROWS_DIFFER_FROM_MANIFEST}; found other inputs or ids; {AGAIN}",
        ),
        (
            TEST,
            lambda frame: frame.with_columns(label=(pl.col("label") + 1) % 3),
            f"{wording.ROWS_DIFFER_FROM_MANIFEST}; found other labels; {AGAIN}",
        ),
        (
            TEST,
            lambda frame: frame.with_columns(group=pl.lit("one")),
            f"{wording.ROWS_DIFFER_FROM_MANIFEST}; found other groups; {AGAIN}",
        ),
        (
            TEST,
            lambda frame: frame.with_columns(domain=pl.lit("kitchen")),
            f"{wording.ROWS_DIFFER_FROM_MANIFEST}; found other domains; {AGAIN}",
        ),
        (TEST, lambda frame: frame.drop("group"), f"{wording.A_COLUMN_IS_MISSING}; found group"),
        (
            TEST,
            lambda frame: frame.with_columns(label=pl.lit(7, pl.Int64)),
            f"{wording.VALUE_OUT_RANGE}; found 7 (and 29 more rows)",
        ),
        (
            "subsets/nli/fewshot.parquet",
            lambda frame: frame.head(5),
            f"ids differ from the manifest; found 5 ids, 5 of them of test rows, 90 in the manifest; {AGAIN}",
        ),
        (
            "subsets/nli/fewshot.parquet",
            lambda frame: frame.with_columns(id="x" + pl.col("id")),
            f"ids differ from the manifest; found 90 ids, 0 of them of test rows, 90 in the manifest; {AGAIN}",
        ),
        (
            "depth/nli/harbour--kitchen.parquet",
            lambda frame: frame.with_columns(depth=pl.col("depth") + 2),
            wording.VALUE_OUT_RANGE,
        ),
    ],
    ids=["rows", "inputs", "labels", "groups", "domains", "column", "range", "subset-size", "subset-ids", "depth"],
)
def test_damage_is_found_and_named(path: str, change, words: str, copy: DatasetFolder) -> None:  # type: ignore[no-untyped-def]
    rewrite(copy, path, change)
    message = changed(path, damage(copy))
    assert message.startswith(path.replace("-00000-of-00001", "-*"))
    assert words in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize("path", [TRAIN, "subsets/nli/all.parquet", "depth/sa/lamps--tents.parquet"])
def test_a_missing_file_is_named(path: str, copy: DatasetFolder) -> None:
    (copy.path / path).unlink()
    assert damage(copy) == f"{path}: {wording.FILE_DATASET_FOLDER_MISSING}; {AGAIN}"


def test_a_file_that_breaks_off_is_named(copy: DatasetFolder) -> None:
    path = copy.path / TEST
    path.write_bytes(path.read_bytes()[:-100])
    message = changed(TEST, damage(copy))
    assert message.startswith(f"{TEST}: a file of the dataset folder cannot be read; found ")
    assert message.endswith(AGAIN)


def test_all_damage_is_listed_at_once(copy: DatasetFolder) -> None:
    (copy.path / TRAIN).unlink()
    (copy.path / "depth/sa/lamps--tents.parquet").unlink()
    rewrite(copy, "data/sa/tents/test-00000-of-00001.parquet", lambda frame: frame.head(3))
    assert len(damage(copy).splitlines()) == 4  # the file and its rows


def test_a_content_hash_of_other_rows_is_found(copy: DatasetFolder) -> None:
    edit_manifest(copy, content_hash="ab" * 32)
    assert damage(copy) == (
        f"shiftbench.json: the content hash does not match the splits in the manifest; found abababababab; {AGAIN}"
    )


def test_a_folder_without_depth_needs_no_depth_tables(copy: DatasetFolder) -> None:
    shutil.rmtree(copy.path / "depth")
    assert len(damage(copy).splitlines()) == 2 * 16
    edit_manifest(copy, encoder=None, settings_hash=settings_hash(copy.manifest.tasks, None))
    DatasetFolder.open(copy.path).check()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            None,
            "this is not a dataset folder; found no shiftbench.json in it; give a folder written by 'shiftbench build'",
        ),
        ("{", "shiftbench.json: the manifest is not JSON; found "),
        ("[]", "shiftbench.json: the folder has format version None, this program reads version 2; build the folder"),
        ('{"format_version": 99}', "the folder has format version 99, this program reads version 2; build the folder"),
        ('{"format_version": 2}', f"shiftbench.json: {wording.MANIFEST_DAMAGED}; found "),
    ],
    ids=["none", "broken", "list", "version", "empty"],
)
def test_what_is_no_dataset_folder_is_refused(content: str | None, words: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "shiftbench.json").write_text(content)
    with pytest.raises(InvalidInput) as refused:
        DatasetFolder.open(tmp_path)
    assert words in str(refused.value)
    assert str(refused.value).startswith(str(tmp_path))


def test_a_withheld_domain_is_explained(mixed: DatasetFolder, tmp_path: Path) -> None:
    public = public_copy(mixed, tmp_path / "public")
    assert "harbour" not in public.task("nli").domains
    cure = "build it yourself: shiftbench build synthetic nli --raw RAW --out DIR"
    with pytest.raises(InvalidInput) as refused:
        public.split("nli", "harbour", "test")
    assert str(refused.value) == (
        f"{public.path}: domain 'harbour' of task 'nli' is not in this folder: the licence of Closed texts does not "
        f"allow publishing its rows; {cure}"
    )
    with pytest.raises(InvalidInput) as refused:
        public.test("nli", "early")
    assert str(refused.value) == (
        f"{public.path}: subset 'early' is not in this folder, because it needs rows that may not be published; found "
        f"'nli' without harbour; {cure}"
    )
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
    cure = "delete it, or build the folder again"
    assert damage(public) == f"{path}: the folder contains a file of a domain that may not be published; {cure}"


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
    assert f"{path}: a file of the dataset folder is not a regular file" in said[0]


def test_a_manifest_that_is_a_pipe_is_none(copy: DatasetFolder) -> None:
    (copy.path / "shiftbench.json").unlink()
    os.mkfifo(copy.path / "shiftbench.json")
    assert wording.NOT_DATASET_FOLDER in damage(copy)


@pytest.mark.parametrize(
    "path",
    ["../other.parquet", "data/../../x.parquet", "/etc/passwd", "data/nli/../../../x", "README.md", "data", "",
     "a\\..\\b", "data\\..\\..\\x", "data/\0"],
)  # fmt: skip
def test_files_outside_of_the_folder_are_not_listed(copy: DatasetFolder, path: str) -> None:
    """Before: a manifest that listed them was sound."""
    edit_manifest(copy, files=copy.manifest.files | {path: "0" * 64})
    assert wording.MANIFEST_DAMAGED in damage(copy)


@pytest.mark.parametrize("name", ["../nli", "a/b", "..", "", "a\\b", "/etc"])
@pytest.mark.parametrize("of", ["task", "domain", "subset"])
def test_a_name_is_no_path(copy: DatasetFolder, of: str, name: str) -> None:
    content = json.loads((copy.path / "shiftbench.json").read_text())
    task = content["tasks"]["nli"]
    holder = {"task": content["tasks"], "domain": task["domains"], "subset": task["subsets"]}[of]
    holder[name] = next(iter(holder.values()))
    edit_manifest(copy, tasks=content["tasks"])
    assert "is a path, not a name of a task, domain or subset" in damage(copy)


@pytest.mark.parametrize("content", [b"[" * 100_000, b'{"a":' * 100_000, b"\xff", b"1" * 5_000, b"", b"[1, 2]"])
def test_a_manifest_of_any_bytes_is_refused_in_words(copy: DatasetFolder, content: bytes) -> None:
    """Before: a RecursionError where it nests too deep."""
    (copy.path / "shiftbench.json").write_bytes(content)
    assert "shiftbench.json" in damage(copy)
