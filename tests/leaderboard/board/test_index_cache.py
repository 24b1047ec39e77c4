"""The index cache: it is read instead of the entries, and made again when it is damaged or outdated."""

import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.leaderboard.board import Index
from shiftbench.leaderboard.board.ranks import BoardRanks
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.shape import METRIC_VERSION
from tests.leaderboard.board.conftest import board_of, ready_frame
from tests.leaderboard.conftest import Filled


def kept_files(store: Store) -> dict[str, Path]:
    folder = store.root / "scores" / METRIC_VERSION / "index"
    return {name: folder / f"{name}.parquet" for name in ("rows", "replicates", "intervals")}


def test_a_second_start_reads_no_entry(filled: Filled, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ready_frame(Index([filled.folder], store))
    assert all(path.is_file() for path in kept_files(store).values())

    def fail(*_: Any) -> None:
        raise AssertionError("an entry was read")

    again = Store(store.root)
    for name in ("scores", "table", "entry"):
        monkeypatch.setattr(again, name, fail)
    monkeypatch.setattr(BoardRanks, "add", fail)
    assert ready_frame(Index([filled.folder], again)).equals(before)


@pytest.mark.parametrize("name", ["rows", "replicates", "intervals"])
@pytest.mark.parametrize("how", ["damaged", "cut", "foreign", "missing", "folder"])
def test_what_is_kept_badly_is_made_again(filled: Filled, store: Store, name: str, how: str) -> None:
    before = ready_frame(Index([filled.folder], store))
    path = kept_files(store)[name]
    content = path.read_bytes()
    path.unlink()
    if how == "damaged":
        path.write_bytes(b"PAR1" + content[4:-300] + b"\0" * 296 + b"PAR1")
    elif how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "foreign":
        pl.DataFrame({"id": ["a"], "task": [1]}).write_parquet(path)
    elif how == "folder":
        path.mkdir()
    assert ready_frame(Index([filled.folder], store)).equals(before)


def test_a_store_that_cannot_be_written_is_still_shown(filled: Filled, store: Store) -> None:
    folder = kept_files(store)["rows"].parent
    folder.write_text("in the way")
    assert ready_frame(Index([filled.folder], store)).height == 5


def test_thousands_of_entries_start_and_answer_quickly(filled: Filled, store: Store) -> None:
    """Check speed within generous limits, as this machine may be busy."""
    templates = [filled.entries[name].id for name in ("good", "poor")]
    folder = store.root / "entries"
    first = Index([filled.folder], store)
    assert first.settle()
    rows = pl.read_parquet(kept_files(store)["rows"])
    template = rows.filter(pl.col("id").is_in(templates))
    rng = np.random.default_rng(0)
    many = pl.concat([template] * 1000).with_columns(
        id=pl.Series([f"{number:016x}" for number in range(2000)]), mean_st=pl.Series(rng.random(2000))
    )
    pl.concat([rows, many]).write_parquet(kept_files(store)["rows"])
    for identity in many["id"]:
        (folder / identity).mkdir()
        shutil.copy(folder / templates[0] / "card.json", folder / identity / "card.json")
    started = time.perf_counter()
    index = Index([filled.folder], store)
    frame = index.frame(board_of(index))
    assert time.perf_counter() - started < 3
    assert frame.height == 2005
    started = time.perf_counter()
    for _ in range(20):
        index.frame(board_of(index))
        index.refresh()
    assert (time.perf_counter() - started) / 20 < 0.2
