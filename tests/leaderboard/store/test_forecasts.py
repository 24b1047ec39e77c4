"""Entries with predictions on validation rows, and the forecasts that are kept beside their scores."""

import json
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.forecast_entries import read_store
from shiftbench.leaderboard.archive.open_archive import archive_configs, fill_store, write_archive
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.leaderboard.store.entries import entry_id
from shiftbench.leaderboard.store.rescore import rescore
from shiftbench.scoring.forecasting import entries as entry_forecasts
from shiftbench.scoring.forecasting.entries import NO_PROBABILITIES, forecast_entry
from shiftbench.scoring.forecasting.samples import ONE_LABEL
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput
from tests.leaderboard.confident import TASK, write_confident
from tests.leaderboard.release.gold import build_gold
from tests.refusals import refusal


class Sent:
    """A store with one entry that has validation rows, and its files."""

    def __init__(self, folder: DatasetFolder, place: Path) -> None:
        self.folder, self.store = folder, Store(place / "store")
        self.file, self.held_out = write_confident(folder, place)
        self.card = Card(name="Sure", paradigm="fine-tuned", data=folder.content_hash, share_predictions=True)
        self.entry, _ = self.store.submit(self.file, self.card, [folder], validation=self.held_out)

    def send(self, held_out: Path | None, file: Path | None = None) -> Entry:
        return self.store.submit(file or self.file, self.card, [self.folder], validation=held_out)[0]


@pytest.fixture(scope="module")
def kept(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    found = Sent(synthetic, tmp_path_factory.mktemp("sent"))
    found.store.forecast_again(found.entry, synthetic)
    return found


@pytest.fixture
def sent(synthetic: DatasetFolder, tmp_path: Path) -> Sent:
    return Sent(synthetic, tmp_path)


def test_validation_rows_lie_beside_the_predictions_and_other_ids_stay(kept: Sent) -> None:
    place = kept.store.root / "entries" / kept.entry.id
    assert sorted(path.name for path in place.iterdir()) == ["card.json", "predictions.parquet", "validation.parquet"]
    assert kept.store.entry(kept.entry.id).has_validation
    rows = kept.store.checked_files(kept.entry.id, kept.folder).validation
    assert rows is not None
    assert len(rows) == len(pl.read_parquet(kept.held_out))
    without = kept.send(None)
    stored = pl.read_parquet(kept.store.predictions(without))
    assert without.id == entry_id("local", kept.card, stored) != kept.entry.id
    card = json.loads((kept.store.root / "entries" / without.id / "card.json").read_text())
    assert sorted(card) == ["card", "id", "submitted_at", "submitter"]
    assert kept.store.checked_files(without.id, kept.folder).validation is None


def test_forecasts_are_made_of_the_rows_that_were_sent(kept: Sent) -> None:
    found = kept.store.forecasts(kept.entry.id)
    assert found is not None
    task = found.of(TASK)
    assert task is not None
    domains = kept.folder.task(TASK).domains
    assert task.n_validation == sum(facts.splits["validation"].rows for facts in domains.values())
    assert (found.has_validation, len(task.shifts)) == (True, len(domains) * (len(domains) - 1))
    by_method = {each.method: each for each in task.shifts[0].forecasts}
    assert by_method["doc"].value is not None


def test_rows_of_something_else_are_refused_with_the_reason(
    kept: Sent, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    rows, before = pl.read_parquet(kept.held_out), kept.store.ids()
    messages = {}
    for name, changed in {
        "test ids": rows.with_columns(id=pl.col("id").str.replace("/validation/", "/test/")),
        "another dataset": rows.with_columns(id=pl.col("id").str.replace("synthetic/", "dr/")),
        "other seeds": rows.with_columns(seed=rows["seed"] + 7),
        "no probabilities": rows.drop("probabilities"),
        "a row missing": rows.head(len(rows) - 1),
        "another order of labels": rows.with_columns(pl.col("probabilities").list.reverse()),
    }.items():
        changed.write_parquet(tmp_path / "v.parquet")
        messages[name] = refusal(InvalidInput, kept.send, tmp_path / "v.parquet")
    assert messages == wording
    assert kept.store.ids() == before


def test_withheld_labels_take_no_validation_rows_and_are_not_forecast(tmp_path: Path) -> None:
    gold = build_gold(tmp_path / "gold", 40)
    task = next(iter(gold.manifest.tasks))
    label = gold.task(task).labels[0]
    rows = gold.test(task, columns=["id"]).with_columns(source=pl.lit("none"), prediction=pl.lit(label))
    rows.write_parquet(tmp_path / "p.parquet")
    store, card = Store(tmp_path / "store"), Card(name="m", paradigm="zero-shot", data=gold.content_hash)
    with pytest.raises(InvalidInput, match="withheld"):
        store.submit(tmp_path / "p.parquet", card, [gold], validation=tmp_path / "p.parquet")
    entry, _ = store.submit(tmp_path / "p.parquet", card, [gold])
    with pytest.raises(InvalidInput, match="withheld"):
        store.forecast_again(entry, gold)
    assert rescore(store, [gold]).forecast == ()
    assert not list(store.root.rglob("*.forecasts.json"))


def test_models_that_nothing_is_learnt_from_have_a_reason(kept: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = kept.store.checked_rows(kept.entry.id, kept.folder)
    bare = forecast_entry(rows.drop("probabilities"), None, kept.folder)
    assert (bare.tasks, bare.reasons) == ((), {TASK: NO_PROBABILITIES})
    label = kept.folder.task(TASK).labels[0]
    assert forecast_entry(rows.with_columns(prediction=pl.lit(label)), None, kept.folder).reasons == {TASK: ONE_LABEL}
    monkeypatch.setattr(entry_forecasts, "MAX_PREDICTIONS", 10)
    assert "at most 10" in forecast_entry(rows, None, kept.folder).reasons[TASK]


def test_what_a_kill_left_is_made_again_and_damage_never_costs_the_entry(sent: Sent) -> None:
    assert rescore(sent.store, [sent.folder]).forecast == (sent.entry.id,)
    (file,) = sent.store.root.rglob("*.forecasts.json")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    assert sent.store.forecasts(sent.entry.id) is None
    assert rescore(sent.store, [sent.folder]).forecast == (sent.entry.id,)
    assert file.read_bytes() == whole
    file.unlink()
    (sent.store.root / "entries" / sent.entry.id / "validation.parquet").write_bytes(b"PAR1")
    found = rescore(sent.store, [sent.folder])
    assert (found.kept, found.failed, list(found.not_forecast)) == ((sent.entry.id,), {}, [sent.entry.id])
    assert sent.store.stored_scores(sent.entry, sent.folder) is not None


@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_scores_need_no_validation_file_and_the_forecast_has_the_reason(sent: Sent, damage: str) -> None:
    file = sent.store.entry_files(sent.entry.id).validation
    file.unlink() if damage == "lost" else file.write_bytes(b"PAR1")
    found = rescore(sent.store, [sent.folder], every=True)
    assert (found.scored, found.failed) == ((sent.entry.id,), {})
    assert "validation.parquet" in found.not_forecast[sent.entry.id]
    entrants, left_out = read_store(sent.store, [sent.folder])
    assert entrants == []
    assert len(left_out) == 1
    assert sent.entry.id[:6] in left_out[0]
    assert "validation.parquet" in left_out[0]


def test_validation_rows_of_another_entry_are_not_those_that_were_sent(sent: Sent) -> None:
    file = sent.store.entry_files(sent.entry.id).validation
    pl.read_parquet(file).with_columns(confidence=pl.lit(0.5)).write_parquet(file)
    with pytest.raises(InvalidInput, match="changed"):
        sent.store.checked_files(sent.entry.id, sent.folder).refuse_lost_validation()
    entrants, left_out = read_store(sent.store, [sent.folder])
    assert entrants == []
    assert "changed" in left_out[0]


def test_the_order_of_labels_is_checked_on_each_split_by_itself(kept: Sent) -> None:
    rows = kept.store.checked_files(kept.entry.id, kept.folder)
    assert rows.validation is not None
    few = rows.validation.with_columns(pl.col("probabilities").list.reverse())
    assert "order" in forecast_entry(rows.predictions, few, kept.folder).reasons[TASK]
    assert forecast_entry(rows.predictions, rows.validation, kept.folder).reasons == {}


def test_an_archive_carries_validation_rows(kept: Sent, tmp_path: Path) -> None:
    write_archive(kept.store, [kept.folder], tmp_path / "archive", lambda found, _: {"c": str([c.name for c in found])})
    assert "validation" in (tmp_path / "archive/c").read_text()
    assert "validation" not in [config.name for config in archive_configs({"predictions": 1, "entries": 1})]
    new = Store(tmp_path / "new")
    n_filled, failed = fill_store(new, tmp_path / "archive", [kept.folder])
    assert (n_filled, failed) == (len(kept.store.ids()), {})
    (again,) = [entry for entry in new.entries() if entry.has_validation]
    assert new.checked_files(again.id, kept.folder).validation is not None
    assert new.forecast_again(again, kept.folder) == kept.store.forecasts(kept.entry.id)
