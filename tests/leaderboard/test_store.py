"""The store: entries are immutable, durable, and the same when sent twice."""

import json
import shutil
import threading
from pathlib import Path

import polars as pl
import pytest

from baselines.majority import fit
from baselines.program import make_card, train_and_predict
from builders.folder import DatasetFolder
from leaderboard.scoring import score_file
from leaderboard.store import Store, _entry_id
from validation.cards import Card
from validation.report import InvalidInput


@pytest.fixture(scope="module")
def submission(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Card]:
    path = tmp_path_factory.mktemp("predictions") / "majority.parquet"
    train_and_predict(fit, synthetic, "nli", sources=None, targets=None, seeds=None).write_parquet(path)
    return path, make_card(synthetic, name="Majority", paradigm="other")


def test_an_entry_comes_back_as_it_was_sent(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, new = store.submit(path, card, [synthetic], submitter="ada")
    assert new
    assert store.entries() == [entry]
    assert (entry.submitter, entry.card) == ("ada", card)
    assert store.scores(entry, synthetic) == score_file(path, synthetic)


def test_the_same_file_twice_is_one_entry(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    first, _ = store.submit(path, card, [synthetic])
    shuffled = tmp_path / "shuffled.csv"
    pl.read_parquet(path).reverse().write_csv(shuffled)
    again, new = store.submit(shuffled, card, [synthetic])
    assert (again.id, new) == (first.id, False)
    other, new = store.submit(path, card, [synthetic], submitter="bob")
    assert new
    assert other.id != first.id


def test_scores_are_rebuilt_from_the_entry(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic])
    before = store.scores(entry, synthetic)
    shutil.rmtree(tmp_path / "store" / "scores")
    assert Store(tmp_path / "store").scores(entry, synthetic) == before


def test_damaged_scores_are_made_again(synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic])
    before = store.scores(entry, synthetic)
    next(store.root.glob("scores/*/*.json")).write_text('{"benchmark": 1}')
    assert store.scores(entry, synthetic) == before


def test_scores_follow_the_depths_of_the_folder(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    """The content hash is of rows: a folder of the same hash may have no depths, or those of another encoder."""
    path, card = submission
    bare = DatasetFolder(synthetic.path, synthetic.manifest.model_copy(update={"encoder": None}))
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [bare])
    assert store.scores(entry, bare).tasks[0].shifts[0].depth_f1 == {}
    assert store.scores(entry, synthetic).tasks[0].shifts[0].depth_f1 != {}
    assert store.scores(entry, synthetic) == score_file(path, synthetic)


def test_entries_differ_wherever_their_tables_do(synthetic: DatasetFolder, tmp_path: Path) -> None:
    card = make_card(synthetic, name="a", paradigm="other")
    first = pl.DataFrame({"source": ["a"], "id": ["b"], "prediction": ["c\x1f0\x1ed"], "seed": [0]})
    second = first.with_columns(source=pl.lit("a\x1f0\x1ed"), prediction=pl.lit("c"))
    third = pl.DataFrame({"source": ["a", "d"], "id": ["b", ""], "prediction": ["c", ""], "seed": [0, 0]})
    identities = {_entry_id("me", card, rows) for rows in (first, second, third)}
    assert len(identities) == 3


def test_refused_input_leaves_nothing(synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    bad = tmp_path / "bad.parquet"
    pl.read_parquet(path).head(10).write_parquet(bad)
    with pytest.raises(InvalidInput, match="test ids are missing"):
        store.submit(bad, card, [synthetic])
    with pytest.raises(InvalidInput, match="another version of the data"):
        store.submit(path, card.model_copy(update={"data": "0" * 64}), [synthetic])
    assert not (tmp_path / "store").exists()
    assert store.entries() == []


def test_two_at_the_same_moment(synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    results: list[str] = []
    threads = [
        threading.Thread(target=lambda: results.append(store.submit(path, card, [synthetic])[0].id)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert {entry.id for entry in store.entries()} == set(results)
    assert len(set(results)) == 1
    assert [path.name for path in store.root.glob(".new-*")] == []


def test_an_id_cannot_leave_the_store(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="this is no entry id"):
        Store(tmp_path).entry("../secrets")
    with pytest.raises(InvalidInput, match="no such entry"):
        Store(tmp_path).entry("0123456789abcdef")


def test_the_card_file_is_plain_json(synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic])
    content = json.loads((tmp_path / "store" / "entries" / entry.id / "card.json").read_text())
    assert content["card"]["name"] == "Majority"
    assert set(content) == {"id", "submitter", "submitted_at", "card"}
