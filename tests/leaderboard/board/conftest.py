"""A store without an index cache, and the boards made of it."""

import shutil
from pathlib import Path

import polars as pl
import pytest

from shiftbench.leaderboard.board import Board, Index, find_board
from shiftbench.leaderboard.store import Store
from tests.leaderboard.conftest import Filled


@pytest.fixture
def store(filled: Filled, tmp_path: Path) -> Store:
    """A copy of the filled store, without its index cache."""
    shutil.copytree(filled.store.root, tmp_path / "store", ignore=shutil.ignore_patterns("index"))
    return Store(tmp_path / "store")


def board_of(index: Index, name: str = "synthetic/nli") -> Board:
    return find_board(name, index.boards())


def ready_frame(index: Index, name: str = "synthetic/nli") -> pl.DataFrame:
    assert index.settle()
    return index.frame(board_of(index, name))
