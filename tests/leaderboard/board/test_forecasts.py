"""Forecasts of an index's entries: what waits, what is kept, what a fault leaves, what boards show of it."""

from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.live_index import LiveIndex
from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.forecasts import ANOTHER_ENTRY, ForecastIndex, forecast_rows
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.scoring.forecasting.entries import NO_PROBABILITIES
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput, Problem
from tests.leaderboard.confident import TASK, write_confident
from tests.leaderboard.conftest import predict


@pytest.fixture
def sent(synthetic: DatasetFolder, tmp_path: Path) -> tuple[Index, Entry, Entry]:
    """An index of an entry with probabilities and validation rows, and of one without."""
    store = Store(tmp_path / "store")
    file, held_out = write_confident(synthetic, tmp_path)
    card = Card(name="Sure", paradigm="fine-tuned", data=synthetic.content_hash)
    sure, _ = store.submit(file, card, [synthetic], validation=held_out)
    predict(synthetic, list(synthetic.task(TASK).domains), 0.1).write_parquet(tmp_path / "p.parquet")
    bare, _ = store.submit(tmp_path / "p.parquet", card.model_copy(update={"name": "Bare"}), [synthetic])
    return Index([synthetic], store, background=True), sure, bare


def test_what_waits_is_computed_once_and_kept_for_the_next_server(sent: tuple[Index, Entry, Entry]) -> None:
    index, sure, bare = sent
    board = next(board for board in index.boards() if board.task == TASK)
    found = ForecastIndex(index)
    assert sorted(found.waiting()) == sorted([sure.id, bare.id])
    before = found.on([board])
    assert (before.n_entries, before.n_waiting, list(before.found)) == (2, 2, [])
    for identity in found.waiting():
        found.compute(identity)
    assert (found.waiting(), found.has_new) == ([], False)
    after = ForecastIndex(index).on([board])
    assert (after.n_waiting, [each.model for each in after.found]) == (0, [f"Sure ({sure.id[:6]})"])
    assert after.left_out == [f"1 of 2 entries: {NO_PROBABILITIES}"]
    (part,) = after.compared.boards
    assert {each.method for each in part.standings} >= {"source-accuracy", "mean-drop", "doc", "atc"}
    doc = next(each for each in part.standings if each.method == "doc")
    off = (pl.col("forecast") - pl.col("truth")).abs()
    by_target = forecast_rows(after).filter(method="doc").group_by("target").agg(off.mean().alias("off"))
    assert doc.error == pytest.approx(by_target["off"].mean())


def with_exchanged_ids(rows: pl.DataFrame, place: int) -> pl.DataFrame:
    """Exchange what is predicted for the text of a row and for another one of its domain that has another label."""
    target = pl.col("id").str.split("/").list.get(2)
    one = rows.with_columns(target=target).row(place, named=True)
    others = rows.filter(source=one["source"]).filter(
        target == one["target"], pl.col("prediction") != one["prediction"]
    )
    other = others.row(0, named=True)["id"]
    exchanged = pl.col("id").replace({one["id"]: other, other: one["id"]})
    return rows.with_columns(id=pl.when(pl.col("source") == one["source"]).then(exchanged).otherwise("id"))


def test_a_model_counts_once_however_often_it_was_sent(sent: tuple[Index, Entry, Entry], tmp_path: Path) -> None:
    index, sure, _ = sent
    store = index.store
    rows = pl.read_parquet(store.predictions(sure))
    for n in (1, 2):  # nearly the same predictions by another card of the same model
        card = sure.card.model_copy(update={"name": f"Sure {n}", "model": "Sure"})
        path = tmp_path / f"{n}.parquet"
        with_exchanged_ids(rows, n).write_parquet(path)
        last, _ = store.submit(path, card, index.folders, validation=store.validation(sure))
    index = Index(index.folders, store, background=True)
    board = next(board for board in index.boards() if board.task == TASK)
    found = ForecastIndex(index)
    for identity in found.waiting():
        found.compute(identity)
    shown = found.on([board])
    assert len(shown.found) == 1
    assert f"2 of 4 entries: {ANOTHER_ENTRY}" in shown.left_out
    store.withdraw(last.id, "local")
    store.withdraw(sure.id, "local")
    index.refresh()
    (left,) = ForecastIndex(index).on([board]).found
    assert left.model.startswith("Sure 1 (")


def test_a_fault_costs_no_entry_and_is_shown(
    sent: tuple[Index, Entry, Entry], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    index, sure, bare = sent

    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    def refuse(*_: object) -> None:
        raise InvalidInput(Problem("the store cannot be written", str(index.store.root)))

    found = ForecastIndex(index)
    monkeypatch.setattr(index.store, "forecast_again", fail)
    with pytest.raises(RuntimeError):
        found.compute(sure.id)
    monkeypatch.setattr(index.store, "forecast_again", refuse)
    found.compute(bare.id)
    assert found.waiting() == []  # nothing is tried for ever
    board = next(board for board in index.boards() if board.task == TASK)
    shown = found.on([board])
    assert sorted(shown.left_out) == wording
    assert set(index.frame(board)["id"]) == {sure.id, bare.id}
    # The next server tries again.
    assert ForecastIndex(index).waiting() != []


def test_a_server_forecasts_in_the_background(sent: tuple[Index, Entry, Entry]) -> None:
    index, sure, _ = sent
    live = LiveIndex(index)
    live.start()
    try:
        for _ in range(600):
            if not live.forecasts.waiting():
                break
            live._stopped.wait(0.05)
    finally:
        live.stop()
    kept = live.forecasts.of(sure.id)
    assert kept is not None
    assert kept.of(TASK) is not None
