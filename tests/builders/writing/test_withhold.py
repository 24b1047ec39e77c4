"""Withheld test labels: the public folder loads, trains and validates, and nothing in it tells of a test label."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.majority import fit
from shiftbench.baselines.program import make_card
from shiftbench.baselines.runs import train_and_predict
from shiftbench.builders import dr
from shiftbench.builders.assembling.assemble import AssembledTask
from shiftbench.builders.building.build import build
from shiftbench.builders.building.own import build_own
from shiftbench.builders.building.synthetic import NLI, build_synthetic
from shiftbench.builders.cache import recall_folder
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.builders.publishing.public import public_copy
from shiftbench.builders.writing.withhold import label_leaks, withheld_folders
from shiftbench.builders.writing.writer import write_folder
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.scores.score import checked_predictions, score_file
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import GOLD
from tests.builders.folder.test_load_dataset import load
from tests.builders.writing.pairs import KEY, Pair, files, pair
from tests.command_line import run_process as run

KINDS = {"sa": "label", "ab": "tags", "qa": "answers", "tg": "target_text"}
pytestmark = pytest.mark.xdist_group("load_dataset")


@pytest.fixture(scope="module")
def synthetic_pair(tmp_path_factory: pytest.TempPathFactory, word_encoder: Encoder) -> Pair:
    out = tmp_path_factory.mktemp("withheld") / "out"
    build_synthetic(out, encoder=word_encoder, n_train=90, n_test=30, withhold_labels=True)
    return pair(out)


@pytest.fixture(scope="module")
def kinds(grid: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    """A task of each kind, three domains each, and what the public and the gold folder have of it."""
    root = tmp_path_factory.mktemp("kinds")
    tasks = [_task(grid, name) for name in KINDS]
    facts: dict[str, Any] = {"title": "Kinds", "seed": 0, "partial": False, "synthetic": True, "encoder": None}
    write_folder(root / "out", tasks, grid.manifest.sources, label_key=KEY, **facts)
    return pair(root / "out")


def _task(folder: DatasetFolder, name: str) -> AssembledTask:
    info = folder.task(name)
    domains = {
        domain: {split: folder.split(name, domain, split) for split in ("train", "test")}
        for domain in list(info.domains)[:3]
    }
    spec = replace(NLI, name=name, kind=info.kind, inputs=info.inputs, labels=info.labels, metric=info.metric)
    ids = pl.concat([splits["test"].select("id") for splits in domains.values()]).sort("id")
    return AssembledTask(spec, domains, dict.fromkeys(domains, ("generated",)), subsets={"all": ids})


@pytest.mark.parametrize("pair_of", ["synthetic_pair", "kinds"])
def test_both_folders_are_sound_and_have_one_version(pair_of: str, request: pytest.FixtureRequest) -> None:
    public, gold = request.getfixturevalue(pair_of)
    public.check()
    gold.check()
    assert public.version == gold.version
    assert public.version.settings is not None
    assert (public.manifest.withholds_labels, gold.manifest.withholds_labels) == (True, False)
    assert files(public).keys() == files(gold).keys()


def test_test_gold_is_null_and_all_else_the_same(kinds: Pair) -> None:
    public, gold = kinds
    for task, column in KINDS.items():
        for domain, facts in public.task(task).domains.items():
            assert {split: of.withheld_labels for split, of in facts.splits.items()} == {"train": False, "test": True}
            assert public.split(task, domain, "train").equals(gold.split(task, domain, "train"))
            here, there = public.split(task, domain, "test"), gold.split(task, domain, "test")
            assert here.schema == there.schema
            assert here[column].null_count() == len(here) == len(there)
            assert there[column].null_count() == 0
            assert here.drop(column).equals(there.drop(column))


def test_public_loads_with_labels_in_train_and_null_in_test(kinds: Pair, tmp_path: Path) -> None:
    public, gold = kinds
    found = load(public.path, tmp_path, *KINDS, *(f"{task}.d0" for task in KINDS))
    for task, column in KINDS.items():
        for config in (task, f"{task}.d0"):
            train, test = found[config]["train"], found[config]["test"]
            assert (train["labels"], train["tags"]) == (test["labels"], test["tags"])
            assert test["first"][column] is None
            assert train["columns"] == test["columns"]
            assert test["rows"] == sum(
                facts.splits["test"].rows
                for domain, facts in public.task(task).domains.items()
                if config in (task, f"{task}.{domain}")
            )
        assert found[f"{task}.d0"]["train"]["first"] == gold.split(task, "d0", "train").row(0, named=True)


def test_statistics_count_no_test_gold(kinds: Pair) -> None:
    public, gold = kinds
    for task in KINDS:
        here, there = (read_statistics(folder.path, task) for folder in (public, gold))
        for domain, facts in here.domains.items():
            test = facts.splits["test"]
            assert (test.labels, test.tags, test.unanswered, test.target_words) == ({}, {}, None, None)
            assert test.input_words == there.domains[domain].splits["test"].input_words
            assert facts.splits["train"] == there.domains[domain].splits["train"]
        assert "test" not in {found.split for found in here.target_lengths}
        assert here.duplicates == there.duplicates


def test_neither_key_nor_checksums_nor_counts_of_test_steps_are_public(tmp_path: Path) -> None:
    lines = [f"d{n % 2},{'ab'[n // 2 % 2]},text {n},{'test' if n % 3 else 'train'}" for n in range(30)]
    (tmp_path / "c.csv").write_text("domain,label,text,split\n" + "\n".join(lines) + "\n")
    build_own("t", tmp_path / "c.csv", tmp_path / "out", withhold_labels=True)
    public, gold = pair(tmp_path / "out")
    key, checksum = gold.manifest.label_key, gold.manifest.sources["own"].files[0].sha256
    assert key
    assert not [name for name, content in files(public).items() if key.encode() in content]
    assert not [name for name, content in files(public).items() if checksum[:16].encode() in content]
    assert "withheld" in (public.path / "README.md").read_text()
    steps = {split: [count.split == split for count in gold.task("t").transforms] for split in ("train", "test")}
    assert any(steps["train"])
    assert any(steps["test"])
    assert public.task("t").transforms == tuple(c for c in gold.task("t").transforms if c.split != "test")
    content = gold.manifest.model_dump(mode="json")
    assert Manifest.model_validate(content).label_key == key
    with pytest.raises(ValueError, match="key"):
        Manifest.model_validate(public.manifest.model_dump(mode="json") | {"label_key": key})


def test_the_same_rows_keep_their_hash_when_built_over(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"n_train": 20, "n_test": 9, "withhold_labels": True}
    first = build_synthetic(tmp_path / "out", **sizes)
    again = build_synthetic(tmp_path / "out", overwrite=True, **sizes)
    other = build_synthetic(tmp_path / "other", **sizes)
    assert first.content_hash == again.content_hash != other.content_hash
    assert recall_folder(first.version) == tmp_path / "out" / "gold"
    with pytest.raises(InvalidInput, match="--overwrite"):
        build_synthetic(tmp_path / "out", **sizes)
    # A pair takes the place of an ordinary folder, but not the other way round.
    build_synthetic(tmp_path / "ordinary", n_train=20, n_test=9)
    build_synthetic(tmp_path / "ordinary", overwrite=True, **sizes)
    assert sorted(path.name for path in (tmp_path / "ordinary").iterdir()) == ["gold", "public"]


def test_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shiftbench.builders.writing.writer.public_manifest", stop)
    with pytest.raises(KeyboardInterrupt):
        build_synthetic(tmp_path / "out", n_train=20, n_test=9, withhold_labels=True)
    assert list(tmp_path.iterdir()) == []


def test_cards_say_which_folder_is_which(synthetic_pair: Pair) -> None:
    public, gold = ((folder.path / "README.md").read_text() for folder in synthetic_pair)
    assert "withheld.**" in public
    assert f"`{synthetic_pair[1].content_hash}`" in public
    assert ("**Gold" in gold, "**Gold" in public) == (True, False)


def test_a_label_in_the_public_folder_is_found(kinds: Pair, tmp_path: Path) -> None:
    public, gold = kinds
    for task, column in KINDS.items():
        folder = public_copy(public, tmp_path / task)  # a copy loses nothing here: every source is open
        place = f"data/{task}/d0/test-00000-of-00001.parquet"
        (folder.path / place).unlink()
        (folder.path / place).write_bytes((gold.path / place).read_bytes())
        with pytest.raises(InvalidInput) as refused:
            folder.check()
        changed, shown = map(str, refused.value.problems)
        assert place in changed
        assert f"'{column}', row 1: " in shown


@pytest.fixture(scope="module")
def predictions(synthetic_pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("predictions") / "majority.parquet"
    train_and_predict(fit, synthetic_pair[0], "nli", sources=None, targets=None, seeds=None).predictions.write_parquet(
        path
    )
    return path


def test_public_trains_and_validates_and_gold_scores(synthetic_pair: Pair, predictions: Path, tmp_path: Path) -> None:
    public, gold = synthetic_pair
    assert len(checked_predictions(predictions, public)) == 16 * 30
    card = make_card(public, name="Majority", paradigm="other")
    store = Store(tmp_path / "store")
    entry, new = store.submit(predictions, card, [public, gold])
    assert new
    assert score_file(predictions, gold).tasks
    with pytest.raises(InvalidInput, match="rounds"):
        store.scores(entry, gold)


def test_scoring_with_public_is_refused(synthetic_pair: Pair, predictions: Path, tmp_path: Path) -> None:
    public, _ = synthetic_pair
    card = make_card(public, name="Majority", paradigm="other")
    attempts: tuple[Callable[[], object], ...] = (
        lambda: score_file(predictions, public),
        lambda: compare_entrants(Entrant(predictions, public), Entrant(predictions, public)),
        lambda: Store(tmp_path / "store").submit(predictions, card, [public]),
    )
    for attempt in attempts:
        with pytest.raises(InvalidInput, match=f"gold .*{public.version}"):
            attempt()
    assert not (tmp_path / "store" / "entries").exists()


def test_the_folder_of_the_two_is_no_dataset_folder(synthetic_pair: Pair) -> None:
    public, gold = synthetic_pair
    with pytest.raises(InvalidInput) as refused:
        DatasetFolder.open(public.path.parent)
    assert str(refused.value).endswith(f"give {public.path} or {gold.path}")
    assert withheld_folders(public.path) is None


def test_a_file_for_another_version_is_told_both(
    synthetic_pair: Pair, synthetic: DatasetFolder, predictions: Path, tmp_path: Path
) -> None:
    # Its key is drawn, so that now and then a short text of one version is in the other, too.
    shared = pl.col("id").is_in(synthetic.test("nli")["id"].implode())
    own = tmp_path / "majority.parquet"
    pl.read_parquet(predictions).filter(~shared).write_parquet(own)
    versions = [folder.version for folder in (synthetic, synthetic_pair[0])]
    with pytest.raises(InvalidInput) as refused:
        score_file(own, synthetic)
    assert str(refused.value.problems[0]).endswith(f" {versions[0]}")
    card = own.with_name("majority.card.yaml")
    card.write_text(f"name: x\nparadigm: other\ndata: {synthetic_pair[0].content_hash}\n")
    with pytest.raises(InvalidInput) as refused:
        score_file(own, synthetic)
    assert f" {versions[0]}, " in str(refused.value.problems[0])
    assert str(refused.value.problems[0]).endswith(f" {versions[1].content[:12]}")


def test_tasks_that_show_each_others_gold_are_not_built_together(wording: SnapshotAssertion) -> None:
    specs = {spec.name: spec for spec in dr.TASKS}
    (problem,) = label_leaks(specs["qg"], [specs["nli"], specs["qa"]])
    assert str(problem) == wording
    assert label_leaks(specs["qa_imbalanced"], [specs["qa"]]) == ()
    assert label_leaks(specs["nli"], specs.values()) == ()


def test_every_kind_has_a_gold_column_here() -> None:
    assert set(KINDS.values()) == set(GOLD.values())


@pytest.mark.long
def test_the_commands_from_build_to_board(tmp_path: Path) -> None:
    out, preds, store = tmp_path / "out", tmp_path / "preds.parquet", tmp_path / "store"
    built = run("build", "synthetic", "--out", out, "--withhold-labels", "--encoder", "none", "--json", "-")
    assert built.returncode == 0, built.stderr
    assert f"{out}/public" in built.stderr
    assert "warning: too small for scores and rounds on withheld labels" in built.stderr
    assert "label_key" not in json.loads(built.stdout)
    assert run("train", "tfidf-lr", "sa", "--data", out / "public", "--out", preds).returncode == 0
    card = tmp_path / "preds.card.yaml"
    assert run("validate", preds, "--data", out / "public", "--card", card).returncode == 0
    refused = run("score", preds, "--data", out / "public")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "withheld" in refused.stderr
    assert run("submit", preds, "--card", card, "--to", store, "--data", out / "public").returncode == 1
    sent = run("submit", preds, "--to", store, "--data", out / "gold")
    assert sent.returncode == 0, sent.stderr
    (entry,) = Store(store).entries()
    # The card alone leads to the gold folder that was built on this machine.
    nominated = run("board", "nominate", entry.id, "--to", store)
    assert (entry.id in nominated.stderr, "synthetic/sa" in nominated.stderr) == (True, True)
    assert "withheld" in run("protocol", "sa", "--data", out / "public").stderr
    assert "withheld" in run("serve", "--data", out / "public", "--store", store).stderr


def test_a_pair_is_not_replaced_by_a_folder_with_labels(tmp_path: Path) -> None:
    build_synthetic(tmp_path / "out", n_train=30, n_test=10, withhold_labels=True)
    for out in (tmp_path / "out", tmp_path / "out/public"):
        with pytest.raises(InvalidInput, match="pair"):
            build_synthetic(out, n_train=30, n_test=10, overwrite=True)
    build_synthetic(tmp_path / "out", n_train=30, n_test=10, overwrite=True, withhold_labels=True)


def test_pairings_withhold_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="pairings"):
        build("df1", None, tmp_path, tmp_path / "out", withhold_labels=True)


def test_nobody_else_reads_the_gold_folder(kinds: Pair) -> None:
    """Before: whatever the user's umask allows, so as a rule everybody of the machine."""
    public, gold = (folder.path for folder in kinds)
    assert gold.stat().st_mode & 0o777 == 0o700
    shared = {path.stat().st_ino for path in public.rglob("*") if path.is_file()}
    for path in gold.rglob("*"):
        if path.is_dir() or path.stat().st_ino not in shared:
            assert path.stat().st_mode & 0o077 == 0, path
    tests = [path for path in gold.rglob("test-*.parquet") if path.stat().st_mode & 0o777 == 0o600]
    assert len(tests) == 3 * len(KINDS)
    assert (gold / "shiftbench.json").stat().st_mode & 0o777 == 0o600
    assert all(path.stat().st_mode & 0o400 for path in public.rglob("*"))
    assert all(path.stat().st_mode & 0o077 for path in public.rglob("*")), "the public folder is for everybody"
