"""The store: entries are immutable, durable, and the same when sent twice."""

import json
import shutil
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.baselines.majority import fit
from shiftbench.baselines.program import make_card
from shiftbench.baselines.runs import train_and_predict
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Store, open_store
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.scoring.scores.score import N_STORED, SCORE_COLUMNS, score_file
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.refusals import refusal


@pytest.fixture(scope="module")
def submission(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Card]:
    path = tmp_path_factory.mktemp("predictions") / "majority.parquet"
    train_and_predict(fit, synthetic, "nli", sources=None, targets=None, seeds=None).predictions.write_parquet(path)
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
    """Check a folder without depths, or with those of another encoder: the content hash covers rows alone."""
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
    identities = {entry_id("me", card, rows) for rows in (first, second, third)}
    assert len(identities) == 3


def test_refused_input_leaves_nothing(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    bad = tmp_path / "bad.parquet"
    pl.read_parquet(path).head(10).write_parquet(bad)
    assert [
        refusal(InvalidInput, store.submit, bad, card, [synthetic]),
        refusal(InvalidInput, store.submit, path, card.model_copy(update={"data": "0" * 64}), [synthetic]),
    ] == wording
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
    with pytest.raises(InvalidInput, match="id"):
        Store(tmp_path).entry("../secrets")
    with pytest.raises(InvalidInput, match="entry"):
        Store(tmp_path).entry("0123456789abcdef")


def test_the_card_file_is_plain_json(synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic])
    content = json.loads((tmp_path / "store" / "entries" / entry.id / "card.json").read_text())
    assert content["card"]["name"] == "Majority"
    assert set(content) == {"id", "submitter", "submitted_at", "card"}


def test_a_quota_counts_what_was_sent_that_day(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store, folders = Store(tmp_path / "store"), [synthetic]
    cards = [card.model_copy(update={"name": f"model {number}"}) for number in range(4)]
    first, _ = store.submit(path, cards[0], folders, "ada", daily_quota=2)
    assert store.submit(path, cards[0], folders, "ada", daily_quota=1) == (first, False)
    store.submit(path, cards[1], folders, "ada", daily_quota=2)
    # Withdrawn entries still count.
    store.withdraw(first.id, "ada")
    with pytest.raises(InvalidInput, match=r"ada: .* 2 of 2 "):
        store.submit(path, cards[2], folders, "ada", daily_quota=2)
    store.submit(path, cards[2], folders, "bob", daily_quota=2)
    today = datetime.now(UTC).date()
    assert (store.sent_on("ada", today), store.sent_on("bob", today)) == (2, 1)
    assert store.sent_on("ada", today - timedelta(days=1)) == 0
    # Entries of another day do not count against today's quota.
    file = store.root / "entries" / first.id / "card.json"
    file.write_text(file.read_text().replace(str(today), "2020-01-01"))
    Store(store.root).submit(path, cards[3], folders, "ada", daily_quota=2)


def test_a_withdrawn_entry_is_gone_and_stays_so(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic], "ada")
    other, _ = store.submit(path, card, [synthetic], "bob")
    before = {file: file.read_bytes() for file in (store.root / "entries").rglob("*") if file.is_file()}
    with pytest.raises(InvalidInput, match="'bob'"):
        store.withdraw(entry.id, "bob")
    with pytest.raises(InvalidInput, match="entry"):
        store.withdraw("0" * 16, "ada")
    assert store.ids() == sorted([entry.id, other.id])
    store.withdraw(entry.id, "ada")
    store.withdraw(entry.id, "ada")
    for each in (store, Store(store.root)):
        assert (each.ids(), each.entries()) == ([other.id], [other])
        with pytest.raises(InvalidInput, match="withdrawn"):
            each.entry(entry.id)
        with pytest.raises(InvalidInput, match="withdrawn"):
            each.submit(path, card, [synthetic], "ada")
    assert before == {file: file.read_bytes() for file in before}
    anew, new = store.submit(path, card.model_copy(update={"name": "anew"}), [synthetic], "ada")
    assert new
    assert store.ids() == sorted([other.id, anew.id])


def test_the_long_table_is_rebuilt_like_the_scores(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic])
    table = store.table(entry, synthetic)
    assert table.schema == SCORE_COLUMNS
    assert table.filter(pl.col("replicates").list.len() == N_STORED).height > 0
    file = next(store.root.glob("scores/*/*.parquet"))
    kept = file.read_bytes()
    for damaged in (b"", kept[:200], kept[:-8] + b"\0" * 8):
        file.write_bytes(damaged)
        assert store.table(entry, synthetic).equals(table)
    file.unlink()
    assert store.table(entry, synthetic).equals(table)
    bare = DatasetFolder(synthetic.path, synthetic.manifest.model_copy(update={"encoder": None}))
    assert "@" not in "".join(store.table(entry, bare)["metric"].unique())
    assert store.table(entry, synthetic).equals(table)


def test_racing_clients_never_exceed_a_quota(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    root, refused, accepted = tmp_path / "store", [], []

    def send(number: int) -> None:
        # A second Store object, as another process would have.
        try:
            entry, _ = Store(root).submit(
                path, card.model_copy(update={"name": str(number)}), [synthetic], "ada", daily_quota=3
            )
            accepted.append(entry.id)
        except InvalidInput as error:
            refused.append(str(error))

    threads = [threading.Thread(target=send, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(accepted)) == len(accepted) == 3
    assert Store(root).ids() == sorted(accepted)
    assert len(refused) == 9
    assert all("quota" in said for said in refused)


def test_what_a_killed_process_left_is_swept(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    half = store.root / ".new" / "0123456789abcdef"
    half.mkdir(parents=True)
    (half / "card.json").write_text("{")
    entry, _ = store.submit(path, card, [synthetic])
    assert store.ids() == [entry.id]
    assert sorted(item.name for item in store.root.iterdir()) == [".lock", "entries", "log", "scores"]


def test_names_that_are_no_ids_are_no_entries(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path
) -> None:
    path, card = submission
    store = Store(tmp_path / "store")
    entry, _ = store.submit(path, card, [synthetic])
    for name in ("notes", "0123456789ABCDEF", "0123456789abcdef0", ".hidden"):
        (store.root / "entries" / name).mkdir()
    damaged = store.root / "entries" / "0123456789abcdef"
    damaged.mkdir()
    assert store.ids() == sorted([entry.id, damaged.name])
    for content in ("{", "[]", '{"id": 1}', (store.root / "entries" / entry.id / "card.json").read_text()):
        (damaged / "card.json").write_text(content)
        with pytest.raises(InvalidInput, match="0123456789abcdef: "):
            store.entry(damaged.name)


def test_places_that_are_no_store(
    synthetic: DatasetFolder, submission: tuple[Path, Card], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    path, card = submission
    file = tmp_path / "file"
    file.write_text("")
    places = (file, "https://huggingface.co/datasets/org/store", synthetic.path)
    messages = [refusal(InvalidInput, open_store, place) for place in places]
    unwritable = open_store(file / "store")
    messages.append(refusal(InvalidInput, unwritable.check_writable))
    assert messages == wording
    assert refusal(InvalidInput, unwritable.submit, path, card, [synthetic]) == messages[-1]
    new = open_store(tmp_path / "new")
    assert new.ids() == []
    assert not new.root.exists()
    new.check_writable()
    assert open_store(new.root).ids() == []
