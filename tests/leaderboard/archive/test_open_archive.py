"""The open archive: which entries it holds, that nothing in it is personal, that it loads, and the way back."""

import json
import shutil
from pathlib import Path
from typing import Any

import mlcroissant
import polars as pl
import pytest
from datasets import load_dataset
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.archive import open_archive
from shiftbench.leaderboard.archive.open_archive import fill_store
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.leaderboard.store.rescore import rescore
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.command_line import run
from tests.leaderboard.release.gold import build_gold
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors
from tests.refusals import refusal

DOMAINS = ("books", "films", "games")
ACCOUNT, CONTACT = "ada-account", "ada@example.org"


class Kept:
    """A store with an entry for each answer on whether predictions may be shared, and a withdrawn one."""

    def __init__(self, root: Path) -> None:
        self.folder = build_dealt_folder(root / "data", DOMAINS)
        self.store = Store(root / "store")
        self.entries: dict[str, Entry] = {}
        for name, share in {"unsaid": None, "yes": True, "sure": True, "no": False, "gone": True}.items():
            frame = labels_with_errors(self.folder, "moods", DOMAINS, 0.1 + 0.05 * len(self.entries))
            if name == "sure":
                frame = frame.with_columns(confidence=pl.lit(0.75))
            frame.write_parquet(root / "p.parquet")
            card = Card(
                name=f"Model {name}", paradigm="fine-tuned", data=self.folder.content_hash, share_predictions=share,
                contact=CONTACT, parameters=3,
            )  # fmt: skip
            self.entries[name], _ = self.store.submit(root / "p.parquet", card, [self.folder], submitter=ACCOUNT)
        self.store.withdraw(self.entries["gone"].id, ACCOUNT)

    def write(self, out: Path) -> Path:
        done = run("archive", "--store", self.store.root, "--data", self.folder.path, "--out", out)
        assert done.returncode == 0, done.stderr
        return out


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    return Kept(tmp_path_factory.mktemp("kept"))


@pytest.fixture(scope="module")
def archive(kept: Kept, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept.write(tmp_path_factory.mktemp("archive") / "archive")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_entries_are_in_it_whose_cards_allow_it(kept: Kept, tmp_path: Path) -> None:
    out = tmp_path / "archive"
    done = run("archive", "--store", kept.store.root, "--data", kept.folder.path, "--out", out, "--json", "-")
    assert set(pl.read_parquet(out / "entries.parquet")["name"]) == {"Model yes", "Model sure"}
    told = json.loads(done.stdout)
    assert set(told["left_out"]) == {kept.entries["unsaid"].id, kept.entries["no"].id}
    assert all("share_predictions" in reason for reason in told["left_out"].values())
    assert len(told["entries"]) == 2
    predictions = pl.read_parquet(out / "predictions/*.parquet")
    assert len(predictions) == told["predictions"]


def test_predictions_scores_and_figures_are_those_of_the_store(kept: Kept, archive: Path) -> None:
    entries = pl.read_parquet(archive / "entries.parquet")
    entry = kept.entries["sure"]
    (identity,) = entries.filter(name="Model sure")["entry"]
    own = pl.read_parquet(archive / f"predictions/{identity}.parquet")
    sent = kept.store.checked_rows(entry.id, kept.folder).sort("source", "seed", "id")
    assert own.select(sent.columns).equals(sent)
    assert own["probabilities"].is_null().all()
    scores = kept.store.scores(entry, kept.folder)
    figures = pl.read_parquet(archive / "figures.parquet").filter(entry=identity)
    (mean,) = figures.filter(figure="mean_st").iter_rows(named=True)
    summary = scores.tasks[0].summary.mean_st
    assert (mean["value"], mean["low"], mean["high"]) == (summary.value, summary.low, summary.high)
    table = kept.store.table(entry, kept.folder).drop("replicates")
    assert pl.read_parquet(archive / "scores.parquet").filter(entry=identity).drop("entry").equals(table)


def test_no_account_no_contact_and_no_id_of_the_store_is_in_it(kept: Kept, archive: Path) -> None:
    said = [path.read_text() for path in archive.glob("*.*") if path.suffix in (".md", ".json")]
    for path in archive.rglob("*.parquet"):
        frame = pl.read_parquet(path)
        said += [path.name, *(str(value) for column in frame.iter_columns() for value in column.unique())]
    for secret in (ACCOUNT, CONTACT, *(entry.id for entry in kept.entries.values())):
        assert not any(secret in text for text in said)


def test_the_same_store_gives_the_same_bytes(kept: Kept, archive: Path, tmp_path: Path) -> None:
    assert contents(kept.write(tmp_path / "again")) == contents(archive)


def test_a_stopped_command_goes_on(kept: Kept, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    check, out = Store.checked_files, tmp_path / "archive"

    def stopping(store: Store, identity: str, folder: DatasetFolder) -> Any:
        checked.append(identity)
        if len(checked) == 2:
            raise KeyboardInterrupt
        return check(store, identity, folder)

    monkeypatch.setattr(Store, "checked_files", stopping)
    words = ("archive", "--store", kept.store.root, "--data", kept.folder.path, "--out", out)
    assert run(*words).returncode == 130
    assert not out.exists()
    assert run(*words).returncode == 0
    assert len(checked) == len(set(checked)) + 1  # the first entry was not read again
    assert contents(out) == contents(archive)
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


def test_an_entry_that_was_withdrawn_meanwhile_is_not_in_it(kept: Kept, tmp_path: Path) -> None:
    store = Store(shutil.copytree(kept.store.root, tmp_path / "store"))
    out = tmp_path / "archive"

    def stop(*_: Any) -> dict[str, str]:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        open_archive.write_archive(store, [kept.folder], out, stop)
    store.withdraw(kept.entries["sure"].id, ACCOUNT)
    done = open_archive.write_archive(store, [kept.folder], out, lambda *_: {})
    assert list(pl.read_parquet(out / "entries.parquet")["name"]) == ["Model yes"]
    assert [path.stem for path in (out / "predictions").iterdir()] == list(done.entries)


def test_plain_load_dataset_reads_it(archive: Path, tmp_path: Path) -> None:
    for name in ("predictions", "entries", "scores", "figures"):
        rows = load_dataset(str(archive), name, split="test", cache_dir=str(tmp_path))
        paths = archive / "predictions/*.parquet" if name == "predictions" else archive / f"{name}.parquet"
        expected = pl.read_parquet(paths)
        assert rows.column_names == expected.columns
        assert len(rows) == len(expected)
    assert rows[0]["task"] == "moods"


def test_its_croissant_is_sound(archive: Path) -> None:
    dataset = mlcroissant.Dataset(jsonld=archive / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert len(list(dataset.records("figures"))) == len(pl.read_parquet(archive / "figures.parquet"))


def test_a_store_filled_from_it_has_the_same_scores(kept: Kept, archive: Path, tmp_path: Path) -> None:
    words = ("rescore", "--from-archive", archive, "--store", tmp_path / "new", "--data", kept.folder.path)
    done = run(*words, "--json", tmp_path / "done.json")
    assert done.returncode == 0, done.stderr
    assert "2 of its entries" in done.stderr
    new = Store(tmp_path / "new")
    assert new.ids() == sorted(pl.read_parquet(archive / "entries.parquet")["entry"])
    by_name = {entry.card.name: entry for entry in new.entries()}
    for name in ("yes", "sure"):
        before = kept.store.scores(kept.entries[name], kept.folder)
        assert new.scores(by_name[f"Model {name}"], kept.folder) == before
    again = rescore(new, [kept.folder])
    assert (again.failed, set(again.kept)) == ({}, set(new.ids()))


def test_an_archive_that_is_cut_off_is_named(kept: Kept, archive: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    shutil.copytree(archive, cut)
    for path in (cut / "predictions").iterdir():
        path.write_bytes(path.read_bytes()[:-100])
    done = run("rescore", "--from-archive", cut, "--store", tmp_path / "new", "--data", kept.folder.path)
    assert done.returncode == 1
    assert f"error: {cut}: " in done.stderr
    assert f" {cut}/predictions/" in done.stderr


def test_what_is_no_archive_is_refused(kept: Kept, archive: Path, tmp_path: Path, wording: SnapshotAssertion) -> None:
    copy = Path(shutil.copytree(archive, tmp_path / "copy"))
    entries, messages = copy / "entries.parquet", []
    for content in (b"PAR1", b"x" * 20):
        entries.write_bytes(content)
        messages.append(refusal(InvalidInput, fill_store, Store(tmp_path / "new"), copy, [kept.folder]))
    entries.unlink()
    assert [*messages, refusal(InvalidInput, fill_store, Store(tmp_path / "new"), copy, [kept.folder])] == wording
    assert not (tmp_path / "new").exists()


def test_an_entry_that_was_changed_is_left_out_and_named(kept: Kept, archive: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(archive, tmp_path / "copy"))
    path = next((copy / "predictions").iterdir())
    pl.read_parquet(path).with_columns(prediction=pl.lit("odd")).write_parquet(path)
    n_filled, failed = fill_store(Store(tmp_path / "new"), copy, [kept.folder])
    assert n_filled == 1
    assert list(failed) == [path.stem]
    assert "changed" in failed[path.stem]
    assert path.stem not in Store(tmp_path / "new").ids()
    assert len(Store(tmp_path / "new").ids()) == 1


def test_a_withheld_board_is_in_no_archive(kept: Kept, tmp_path: Path) -> None:
    gold = build_gold(tmp_path / "gold", 40)
    task = next(iter(gold.manifest.tasks))
    rows = gold.test(task, columns=["id"])
    label = gold.task(task).labels[0]
    rows.with_columns(source=pl.lit("none"), prediction=pl.lit(label)).write_parquet(tmp_path / "p.parquet")
    card = Card(name="secret", paradigm="zero-shot", data=gold.content_hash, share_predictions=True)
    store = Store(tmp_path / "store")
    store.submit(tmp_path / "p.parquet", card, [gold])
    done = run("archive", "--store", store.root, "--data", gold.path, "--out", tmp_path / "out")
    assert done.returncode == 1
    assert "shared" in done.stderr
    assert [path.name for path in tmp_path.iterdir() if "out" in path.name] == []


def test_bad_input_is_refused(kept: Kept, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "file").write_text("x")
    store = kept.store.root
    done = [
        run("archive", "--store", place, "--out", out, "--data", kept.folder.path)
        for place, out in ((tmp_path / "none", tmp_path / "out"), (store, tmp_path), (store, tmp_path / "file/out"))
    ]
    assert [each.returncode for each in done] == [1, 1, 1]
    assert [each.stderr for each in done] == wording
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]
