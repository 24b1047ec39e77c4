"""Many clients at once over HTTP: every accepted entry is there once after a restart, and quotas hold."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from gradio_client import Client, handle_file

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.endpoints import PAGE_ROWS
from shiftbench.leaderboard.app.server import ServerSettings, serve
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from tests.leaderboard.app.test_server import free_port

QUOTA = 2


def predictions(folder: DatasetFolder, root: Path, number: int = 0) -> Path:
    """Write the smallest sound prediction file: one source on its own test set; each number has other predictions."""
    domain = next(iter(folder.task("sa").domains))
    rows = folder.split("sa", domain, "test")
    first, other = folder.task("sa").labels[:2]
    said = [other if number >> place & 1 else first for place in range(rows.height)]
    path = root / f"predictions-{number}.parquet"
    rows.select("id", source=pl.lit(domain), prediction=pl.Series(said, dtype=pl.String)).write_parquet(path)
    return path


def crowd(folder: DatasetFolder, root: Path, *, clients: int, each: int) -> tuple[list[dict[str, Any]], float]:
    """Have clients submit entries of their own at the same time, every one twice; gives the answers and seconds."""
    server = serve([folder], Store(root / "store"), port=free_port(), block=False)

    def send(number: int) -> list[dict[str, Any]]:
        client = Client(server.url, verbose=False, token=False, httpx_kwargs={"timeout": 300})
        answers = []
        for turn in range(each):
            file = predictions(folder, root, each * number + turn)
            card = Card.model_validate({"name": f"{number}-{turn}", "paradigm": "other", "data": folder.content_hash})
            for _ in range(2):
                answers.append(client.predict(handle_file(str(file)), json.dumps(card.as_dict()), api_name="/submit"))
        return answers

    begun = time.monotonic()
    try:
        with ThreadPoolExecutor(clients) as pool:
            answers = [answer for some in pool.map(send, range(clients)) for answer in some]
    finally:
        server.close()
    return answers, time.monotonic() - begun


def check_crowd(folder: DatasetFolder, root: Path, answers: list[dict[str, Any]], wanted: int) -> None:
    accepted = Counter(answer["entry"] for answer in answers if answer["ok"])
    assert len(accepted) == wanted
    assert set(accepted.values()) == {2}
    assert sum(answer["new"] for answer in answers) == wanted
    again = serve([folder], Store(root / "store"), port=free_port(), block=False)
    try:
        client = Client(again.url, verbose=False, token=False, httpx_kwargs={"timeout": 300})
        pages = range(1, -(-wanted // PAGE_ROWS) + 2)
        board = [row for page in pages for row in client.predict("synthetic/sa", page, api_name="/board")]
    finally:
        again.close()
    assert sorted(row["id"] for row in board if row["verified"]) == sorted(accepted)


def test_every_accepted_entry_is_there_once_after_a_restart(synthetic: DatasetFolder, tmp_path: Path) -> None:
    answers, _ = crowd(synthetic, tmp_path, clients=4, each=2)
    check_crowd(synthetic, tmp_path, answers, 8)


@pytest.mark.long
def test_a_thousand_submissions_of_fifty_clients(synthetic: DatasetFolder, tmp_path: Path) -> None:
    answers, seconds = crowd(synthetic, tmp_path, clients=50, each=20)
    check_crowd(synthetic, tmp_path, answers, 1_000)
    print(f"{len(answers):,} submissions of 1,000 entries by 50 clients over HTTP: {seconds:.0f} s")


def test_a_quota_holds_among_clients_that_race(synthetic: DatasetFolder, tmp_path: Path) -> None:
    file = predictions(synthetic, tmp_path)
    store = Store(tmp_path / "store")
    server = serve([synthetic], store, port=free_port(), settings=ServerSettings(daily_quota=QUOTA), block=False)

    def send(number: int) -> dict[str, Any]:
        card = Card.model_validate({"name": f"{number}", "paradigm": "other", "data": synthetic.content_hash})
        content = (handle_file(str(file)), json.dumps(card.as_dict()))
        answer: dict[str, Any] = Client(server.url, verbose=False, token=False, httpx_kwargs={"timeout": 300}).predict(
            *content, api_name="/submit"
        )
        return answer

    try:
        with ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(send, range(5)))
    finally:
        server.close()
    assert sum(answer["ok"] for answer in answers) == QUOTA == len(store.ids())
    assert all("quota" in answer["problems"][0] for answer in answers if not answer["ok"])
