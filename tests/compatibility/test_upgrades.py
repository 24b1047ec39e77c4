"""Stores of every released version: saved as they were before the first change, then read by the old version as before.

``READ_BY`` holds what the old versions read of a store, taken from their own code (commits 9d56ca1 and 0a6bf6d).
"""

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from shiftbench.leaderboard.store import Store, open_store
from shiftbench.leaderboard.store.audit import verify
from shiftbench.leaderboard.store.backup import check_backup, restore
from shiftbench.leaderboard.store.hosting import Act, Order, perform
from shiftbench.validation.json_text import parse_json
from tests.leaderboard.sending import Sender, tiny_sender
from tests.leaderboard.store.test_backup import contents

HERE = Path(__file__).parent
CARD_OF_0_1 = {
    "base_model", "command", "contact", "cost_usd", "data", "extra_data", "family", "licence", "model_selection",
    "name", "paradigm", "parameters", "pretraining_domains", "shots", "step", "subset", "tokens", "training_size",
    "tunable_parameters", "url", "versions",
}  # fmt: skip
CARD_OF_0_2 = CARD_OF_0_1 | {
    "code_url", "model", "model_url", "paper_url", "run", "share_predictions", "tuning_trials",
}  # fmt: skip


@dataclass(frozen=True)
class Reader:
    """What a version reads of a store: the keys of an entry's file that it needs, and those of cards that it allows."""

    entry: frozenset[str]
    card: frozenset[str]


ENTRY = frozenset({"id", "submitter", "submitted_at", "card"})
READ_BY = {"0.1.0": Reader(ENTRY, frozenset(CARD_OF_0_1)), "0.2.0": Reader(ENTRY, frozenset(CARD_OF_0_2))}
STORES = {"0.1.0": ("store",), "0.2.0": ("store", "secret")}


@pytest.fixture(scope="session")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    shutil.copytree(HERE / "written_by_0_1_0" / "store", folder / "0.1.0" / "store")
    with tarfile.open(HERE / "written_by_0_2_0" / "files.tar.xz") as files:
        files.extractall(folder / "0.2.0", filter="data")
    return folder


@pytest.fixture(scope="module")
def sender(tmp_path_factory: pytest.TempPathFactory) -> Sender:
    return tiny_sender(tmp_path_factory.mktemp("sender"))


@pytest.mark.parametrize(("version", "name"), [(version, name) for version, names in STORES.items() for name in names])
def test_a_store_is_saved_before_its_log_begins_and_stays_what_the_old_version_reads(
    version: str, name: str, unpacked: Path, sender: Sender, tmp_path: Path
) -> None:
    root, saved = tmp_path / name, tmp_path / f"{name}.before-its-log.tar"
    shutil.copytree(unpacked / version / name, root)
    before, store = contents(root), open_store(root)
    (entry, *_) = store.entries()
    assert not saved.exists()  # reading changes nothing
    perform(store, Order(Act.ANNOTATE, entry.id, "a reason", "a note"), "host")
    restore(saved, tmp_path / "restored")
    assert contents(tmp_path / "restored") == before
    new, _ = sender.send(store, "Sent to the new version", "ada")
    assert check_backup(saved).number == 1
    assert verify(Store(root)).problems == ()
    after = contents(root)
    assert {path: after.get(path) for path in before} == before
    added = {path.split("/")[0] for path in after.keys() - before.keys()}
    assert added == {"log", "entries", "scores"}
    unknown = {}
    for each in store.every_id():
        read = parse_json(after[f"entries/{each}/card.json"])
        assert READ_BY[version].entry <= read.keys()
        unknown[each] = read["card"].keys() - READ_BY[version].card
    # The old version reads its own entries; it leaves out, by name, one whose card has a key that it does not know.
    assert {each: keys for each, keys in unknown.items() if keys} == {new.id: {"settings"}}


def test_a_new_store_and_one_with_a_log_are_not_saved(sender: Sender, tmp_path: Path) -> None:
    for number in range(2):
        sender.send(Store(tmp_path / "store"), f"model {number}", "ada")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
