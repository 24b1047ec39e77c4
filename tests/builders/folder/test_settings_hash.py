"""The settings hash: every setting that changes scores changes it, names of groups and the order of rows do not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.building.own import build_own
from shiftbench.builders.folder.hashes import groups_sha256, settings_hash
from shiftbench.builders.folder.manifest import EncoderFacts, Pairing, TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.publishing.publish import publish_folders
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind
from tests.changed_folders import open_changed
from tests.own_settings import build_rows, own_rows

ENCODER = EncoderFacts(id="words", revision="1", dimensions=8)
PAIRING = Pairing(name="SiS-1", source_rows=10, target_rows=5, reported_q=0.5)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return build_rows(tmp_path_factory.mktemp("own") / "single", own_rows())


def test_groups_of_one_and_of_ten_have_one_content_and_two_settings(single: DatasetFolder, tmp_path: Path) -> None:
    tens = build_rows(tmp_path / "tens", own_rows(10))
    assert tens.content_hash == single.content_hash
    assert tens.version.difference(single.version) == "settings"
    tens.check()


def test_min_texts_of_5_and_1000_have_one_content_and_two_settings(tmp_path: Path) -> None:
    few, many = (build_rows(tmp_path / f"{n}", own_rows(), min_texts=n) for n in (5, 1000))
    assert few.content_hash == many.content_hash
    assert few.version.difference(many.version) == "settings"


def test_names_of_groups_and_the_order_of_rows_do_not_matter(tmp_path: Path) -> None:
    rows = own_rows(10)
    # The same text stands in two groups, and its ids are dealt by the names of these.
    text = pl.when(pl.col("group").is_in(["1000", "1001"]), pl.int_range(pl.len()) % 10 == 0)
    rows = rows.with_columns(text=text.then(pl.lit("the fans were good")).otherwise("text"))
    assert rows.filter(text="the fans were good")["group"].to_list() == ["1000", "1001"]
    renamed = rows.with_columns(group=(9999 - pl.col("group").cast(pl.Int64)).cast(pl.String))
    first, second, third = (
        build_rows(tmp_path / name, frame)
        for name, frame in {"a": rows, "b": renamed, "c": rows.sample(fraction=1, shuffle=True, seed=1)}.items()
    )
    assert first.test("reviews")["group"].to_list() != second.test("reviews")["group"].to_list()
    assert first.version == second.version == third.version
    moved = rows.with_columns(group=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("1001")).otherwise("group"))
    assert build_rows(tmp_path / "d", moved).version.difference(first.version) == "settings"


def regrouped(task: TaskInfo) -> dict[str, Any]:
    fans = task.domains["fans"]
    test = fans.splits["test"].model_copy(update={"groups_sha256": "f" * 64})
    return {"domains": task.domains | {"fans": fans.model_copy(update={"splits": fans.splits | {"test": test}})}}


@pytest.mark.parametrize(
    "change",
    [
        lambda _: {"kind": TaskKind.TAGGING},
        lambda _: {"metric": "accuracy"},
        regrouped,
        lambda _: {"subset_hashes": {"fewshot": "f" * 64}},
        lambda _: {"min_texts": 31},
        lambda _: {"min_texts": None},
        lambda _: {"id_domain": "fans"},
        lambda _: {"candidates_for": "sa"},
        lambda _: {"label_folds": {"fair": "bad"}},
        lambda _: {"pairing": PAIRING},
    ],
)
def test_each_setting_of_a_task_counts(single: DatasetFolder, change: Callable[[TaskInfo], dict[str, Any]]) -> None:
    task = single.task("reviews")
    changed = task.model_copy(update=change(task))
    before, after = (settings_hash({"reviews": each}, None) for each in (task, changed))
    assert before is not None
    assert after is not None
    assert before[:32] != after[:32]
    assert before[32:] == after[32:]


@pytest.mark.parametrize("change", [{"name": "SiS-2"}, {"source_rows": 11}, {"target_rows": 6}])
def test_each_fact_of_a_pairing_counts(single: DatasetFolder, change: dict[str, Any]) -> None:
    pairings = PAIRING, PAIRING.model_copy(update=change), PAIRING.model_copy(update={"reported_q": 0.6})
    tasks = [single.task("reviews").model_copy(update={"pairing": each}) for each in pairings]
    first, changed, same = (settings_hash({"reviews": task}, None) for task in tasks)
    assert first == same != changed


@pytest.mark.parametrize("change", [None, {"id": "other"}, {"revision": "2"}, {"dimensions": 9}])
def test_the_encoder_counts_in_the_second_half_alone(single: DatasetFolder, change: dict[str, Any] | None) -> None:
    other = None if change is None else ENCODER.model_copy(update=change)
    before, after = (settings_hash(single.manifest.tasks, encoder) for encoder in (ENCODER, other))
    assert before is not None
    assert after is not None
    assert before[:32] == after[:32]
    assert before[32:] != after[32:]


@pytest.mark.parametrize(
    "change",
    [{"title": "other"}, {"notes": ("other",)}, {"absent_domains": ("other",)}, {"subsets": {"all": 7}}],
)
def test_what_changes_no_score_does_not_count(single: DatasetFolder, change: dict[str, Any]) -> None:
    changed = single.task("reviews").model_copy(update=change)
    assert settings_hash({"reviews": changed}, None) == single.manifest.settings_hash


def test_the_list_of_what_counts_is_whole() -> None:
    """A new field of a task is in the settings hash, in the content hash, or known to change no score."""
    content = {"labels", "domains", "withheld", "inputs"}
    settings = {"kind", "metric", "subset_hashes", "min_texts", "id_domain", "candidates_for", "label_folds", "pairing"}
    neither = {"title", "absent_domains", "sizes", "subsets", "withheld_subsets", "transforms", "notes", "differences"}
    assert set(TaskInfo.model_fields) == content | settings | neither


@pytest.mark.parametrize(
    ("texts", "groups", "same"),
    [
        (["a", "b", "c"], ["x", "x", "y"], True),
        (["a", "b", "c"], ["y", "y", "x"], True),
        (["a", "b", "c"], ["x", "y", "y"], False),
        (["a", "b", "c"], ["x", "y", "z"], False),
        (["a", "b", "c"], ["x", "x", "x"], False),
    ],
)
def test_groups_are_compared_as_a_partition(texts: list[str], groups: list[str], same: bool) -> None:
    def hashed(of: list[str]) -> str:
        return groups_sha256(pl.DataFrame({"id": ["1", "2", "3"], "group": of, "text": texts}), ["text"])

    assert (hashed(groups) == hashed(["x", "x", "y"])) == same


def test_lists_of_tokens_are_inputs_too() -> None:
    frame = pl.DataFrame({"id": ["1", "2", "3"], "group": ["x", "y", "y"], "tokens": [["a", "b"], ["a", "b"], ["c"]]})
    swapped = frame.with_columns(group=pl.Series(["y", "x", "y"]))
    assert groups_sha256(frame, ["tokens"]) == groups_sha256(swapped, ["tokens"])
    apart = frame.with_columns(tokens=pl.Series([["a", "b"], ["a"], ["c"]]))
    assert groups_sha256(apart, ["tokens"]) != groups_sha256(apart.with_columns(swapped["group"]), ["tokens"])


def damage(folder: DatasetFolder) -> str:
    with pytest.raises(InvalidInput) as refused:
        open_changed(folder.path).check()
    return str(refused.value)


def test_regrouped_rows_and_other_settings_are_found_by_a_check(tmp_path: Path) -> None:
    folder = build_rows(tmp_path / "own", own_rows(10))
    (file,) = folder.files("data/reviews/fans/test-*.parquet")
    rows = pl.read_parquet(file)
    rows.with_columns(pl.col("group").reverse()).write_parquet(file)  # as many groups as before
    assert "groups" in damage(folder)
    rows.write_parquet(file)
    manifest = folder.path / "shiftbench.json"
    content = json.loads(manifest.read_text())
    content["tasks"]["reviews"]["min_texts"] = 5
    manifest.write_text(json.dumps(content))
    assert "settings" in damage(folder)


def test_public_and_gold_folders_have_one_settings_hash(tmp_path: Path) -> None:
    own_rows(10).write_csv(tmp_path / "rows.csv")
    build_own("reviews", tmp_path / "rows.csv", tmp_path / "out", withhold_labels=True)
    public, gold = (DatasetFolder.open(tmp_path / "out" / name) for name in ("public", "gold"))
    assert public.version.settings is not None
    assert public.version == gold.version
    public.check()
    gold.check()
    # Groups of withheld rows are known in public, and so is a change of them.
    (file,) = public.files("data/reviews/fans/test-*.parquet")
    pl.read_parquet(file).with_columns(pl.col("group").reverse()).write_parquet(file)
    assert "groups" in damage(public)


def test_a_pair_of_two_settings_is_not_published(tmp_path: Path) -> None:
    own_rows(10).write_csv(tmp_path / "rows.csv")
    for min_texts, place in ((5, "first"), (1000, "second")):
        options = {"min_texts": min_texts, "withhold_labels": True, "overwrite": True}
        build_own("reviews", tmp_path / "rows.csv", tmp_path / "out", **options)  # type: ignore[arg-type]
        shutil.copytree(tmp_path / "out" / "public", tmp_path / place)
    shutil.rmtree(tmp_path / "out" / "public")
    shutil.copytree(tmp_path / "first", tmp_path / "out" / "public")
    first, second = (DatasetFolder.open(tmp_path / place) for place in ("first", "second"))
    assert first.content_hash == second.content_hash
    with pytest.raises(InvalidInput, match="'gold'") as refused:
        publish_folders(tmp_path / "out", "org/reviews", dry_run=True)
    assert all(str(each.version) in str(refused.value) for each in (first, second))
