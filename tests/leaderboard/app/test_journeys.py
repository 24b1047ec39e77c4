"""What people come for, in a browser: each task is done in so many clicks; ``pytest -s`` prints clicks and seconds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiftbench.leaderboard.app.server import serve
from shiftbench.validation.cards import Card
from tests.leaderboard.conftest import Filled, fill, predict
from tests.leaderboard.journeys import TASKS, walk


@pytest.fixture
def url(filled: Filled, tmp_path: Path) -> Iterator[str]:
    """Serve entries of which one has open weights."""
    own = fill(filled.folder, tmp_path)
    predict(own.folder, list(own.folder.task("nli").domains), 0.2).write_parquet(tmp_path / "open.parquet")
    facts = {"name": "Open", "paradigm": "fine-tuned", "data": own.folder.content_hash, "open_weights": True}
    own.store.submit(tmp_path / "open.parquet", Card.model_validate(facts), [own.folder])
    server = serve([own.folder], own.store, port=0, block=False)
    try:
        yield server.url
    finally:
        server.close()


def test_every_task_takes_few_clicks(browser: Any, url: str) -> None:
    done = {question: (more, line) for question, more, line in walk(browser.browser, url)}
    print("", *(line for _, line in done.values()), sep="\n")
    assert len(done) == len(TASKS)
    asked = {question: more for question, (more, _) in done.items() if more is not None}
    assert len(asked) >= len(TASKS) - 1
    assert all(more <= 0 for more in asked.values()), asked
