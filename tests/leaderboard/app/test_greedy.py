"""How long a visitor waits beside 16 threads of another address that ask without end: run it to read the figures."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, count
from pathlib import Path
from threading import Event

import httpx
import numpy as np
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.server import serve
from shiftbench.leaderboard.store import Store
from shiftbench.validation.cards import Card
from tests.leaderboard.app.test_server import free_port
from tests.leaderboard.app.waiting import last_answer
from tests.leaderboard.conftest import predict

N_THREADS, N_ASKED, N_ENTRIES = 16, 20, 24
GREEDY, VICTIM = "127.0.0.2", "127.0.0.1"
BUSY = ("many others are comparing now", "Try again later")


def client(address: str) -> httpx.Client:
    return httpx.Client(transport=httpx.HTTPTransport(local_address=address), timeout=120)


@pytest.fixture(scope="module")
def address(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Store]]:
    root = tmp_path_factory.mktemp("greedy")
    store, domains = Store(root / "store"), list(synthetic.task("nli").domains)
    for number in range(N_ENTRIES):
        path = root / f"{number}.parquet"
        predict(synthetic, domains, 0.05 + 0.015 * number).write_parquet(path)
        store.submit(path, Card(name=f"m{number}", paradigm="other", data=synthetic.content_hash), [synthetic])
    server = serve([synthetic], store, port=free_port(), block=False)
    try:
        yield server.url, store
    finally:
        server.close()


def measured(
    ask: Callable[[httpx.Client, int], httpx.Response], greedy: Callable[[httpx.Client, int], httpx.Response]
) -> tuple[list[float], int]:
    """Return the seconds of the victim's requests, and how many were not answered."""
    stopped, numbers = Event(), count()

    def ask_on(_: int) -> None:
        with client(GREEDY) as session:
            while not stopped.is_set():
                greedy(session, next(numbers))

    seconds, refused = [], 0
    with ThreadPoolExecutor(N_THREADS) as pool, client(VICTIM) as session:
        threads = [pool.submit(ask_on, number) for number in range(N_THREADS)]
        time.sleep(1)
        try:
            for number in range(N_ASKED):
                begun = time.monotonic()
                answer = last_answer(session, ask(session, number))
                seconds.append(time.monotonic() - begun)
                refused += answer.status_code >= 500 or any(words in answer.text for words in BUSY)
        finally:
            stopped.set()
        for thread in threads:
            thread.result()
    return seconds, refused


def report(what: str, seconds: list[float], refused: int) -> None:
    middle, late = np.percentile(seconds, [50, 95])
    print(f"{what} beside {N_THREADS} greedy threads: median {middle:.2f} s, 95th percentile {late:.2f} s, "
          f"{refused} of {len(seconds)} refused")  # fmt: skip


@pytest.mark.long
def test_comparisons_of_another_visitor(address: tuple[str, Store]) -> None:
    url, store = address
    pairs = list(combinations(sorted(store.ids()), 2))

    def compare(session: httpx.Client, number: int) -> httpx.Response:
        return session.get(f"{url}/compare", params={"id": list(pairs[-1 - number])})

    def compare_many(session: httpx.Client, number: int) -> httpx.Response:
        return session.get(f"{url}/compare", params={"id": list(pairs[number % (len(pairs) - N_ASKED)])})

    seconds, refused = measured(compare, compare_many)
    report("comparisons", seconds, refused)
    assert refused == 0


@pytest.mark.long
def test_checks_without_javascript_of_another_visitor(
    address: tuple[str, Store], synthetic: DatasetFolder, tmp_path: Path
) -> None:
    url, store = address
    path = store.predictions(store.entry(store.ids()[0]))
    content, fields = path.read_bytes(), {"name": "x", "paradigm": "other", "board": "synthetic/nli"}

    def send(session: httpx.Client, file: bytes) -> httpx.Response:
        files = {"file": ("p.parquet", file)}
        return session.post(f"{url}/submit", data={"do": "check", **fields}, files=files, headers={"origin": url})

    bad = b"no predictions\n" * 10_000
    seconds, refused = measured(lambda session, _: send(session, content), lambda session, _: send(session, bad))
    report("checks", seconds, refused)
    assert refused == 0
