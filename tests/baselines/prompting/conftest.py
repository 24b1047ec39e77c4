"""A scripted server, and an empty cache of answers, for each test; folders with every kind of task."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shiftbench.builders.building import synthetic_grid
from shiftbench.builders.folder.reader import DatasetFolder
from tests.leaderboard.id_folder import build_id_folder

from .chat_server import ChatServer, running_chat_server


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="module")
def _running() -> Iterator[ChatServer]:
    with running_chat_server() as server:
        yield server


@pytest.fixture
def server(_running: ChatServer) -> ChatServer:
    """A server that says 'positive' to everything, at once."""
    _running.__init__(_running.url)  # type: ignore[misc]
    return _running


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """The seven tasks of DR in random words, of two domains each with 12 or 13 test rows."""
    out = tmp_path_factory.mktemp("grid") / "grid"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic_grid, "_TASKS", [replace(task, n_domains=2) for task in synthetic_grid._TASKS])
        synthetic_grid.build_grid(out, scale=0.005)
    return DatasetFolder.open(out)


@pytest.fixture(scope="session")
def boss(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    """Tasks in the form of BOSS, each with an ID domain."""
    return build_id_folder(tmp_path_factory.mktemp("boss") / "boss", None)
