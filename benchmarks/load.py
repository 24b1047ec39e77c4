"""Load test of a leaderboard, for ``python -m benchmarks load``.

Readers pause about ``PAUSE_SECONDS`` between pages, like people, while entries arrive at a steady rate. The servers,
the readers and the senders share one machine, so the results include the load of all of them.
"""

import asyncio
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np
import polars as pl

from benchmarks.app import SMALL, card_of, fill, serving, wait_until_saved
from shiftbench.builders.building.synthetic_grid import build_grid, noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.app.client import submit_to_url
from shiftbench.leaderboard.pages.addresses import BOARD, DOMAINS, ROWS, board_address, entry_address, with_query
from shiftbench.leaderboard.store import Store
from shiftbench.validation.report import InvalidInput

PAUSE_SECONDS = 5.0
"""Mean time between two pages of a reader, exponentially distributed."""


def run_load(
    n_entries: int, n_readers: int, per_hour: int, minutes: float, n_servers: int, seed: int
) -> Iterator[pl.DataFrame]:
    """Fill a store, serve it, and load it.

    Args:
        n_entries: initial entries in the store.
        n_readers: concurrent readers.
        per_hour: new entries per hour.
        minutes: duration.
        n_servers: server processes on the same store, each with its share of readers and entries.
        seed: seed of the readers' choices and pauses.

    Yields: two tables, first requests by kind of page: number, failures and their reasons, and the 50th, 95th and 99th
        percentile of seconds; then new entries: number sent and accepted, seconds until accepted, and seconds until all
        servers show them.
    """
    with tempfile.TemporaryDirectory(prefix="shiftbench-load-") as place, ExitStack() as servers:
        build_grid(Path(place) / "data", scale=SMALL, seed=1)
        folder = DatasetFolder.open(Path(place) / "data")
        store = Store(Path(place) / "store")
        fill(store, folder, n_entries, Path(place))
        urls = [servers.enter_context(serving([folder.path], store))[0] for _ in range(n_servers)]
        wait_until_saved(store)
        requests, entries = asyncio.run(_load(urls, folder, store, n_readers, per_hour, minutes, seed, Path(place)))
    yield requests
    yield entries


async def _load(
    urls: list[str],
    folder: DatasetFolder,
    store: Store,
    n_readers: int,
    per_hour: int,
    minutes: float,
    seed: int,
    place: Path,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    until = time.monotonic() + 60 * minutes
    name = "/".join((folder.manifest.benchmark, "nli"))
    identities = store.ids()
    seconds: dict[str, list[float]] = defaultdict(list)
    failed: dict[str, Counter[str]] = defaultdict(Counter)
    entries: list[dict[str, float | bool]] = []

    async def read(number: int) -> None:
        rng = np.random.default_rng([seed, number])
        async with httpx.AsyncClient(base_url=urls[number % len(urls)], timeout=60) as client:
            await asyncio.sleep(float(rng.exponential(PAUSE_SECONDS)))
            while time.monotonic() < until:
                kind, address = _next_page(rng, name, identities)
                begun = time.perf_counter()
                try:
                    answer = await client.get(address)
                    if answer.status_code != 200:
                        failed[kind][str(answer.status_code)] += 1
                except httpx.HTTPError as error:
                    failed[kind][type(error).__name__] += 1
                seconds[kind].append(time.perf_counter() - begun)
                await asyncio.sleep(float(rng.exponential(PAUSE_SECONDS)))

    async def send_all() -> None:
        begun, number = time.monotonic(), 0
        sent = []
        while time.monotonic() < until:
            sent.append(asyncio.create_task(asyncio.to_thread(_send, urls, folder, number, place)))
            number += 1
            await asyncio.sleep(max(0.0, begun + number * 3600 / per_hour - time.monotonic()))
        entries.extend(await asyncio.gather(*sent))

    await asyncio.gather(send_all(), *map(read, range(n_readers)))
    kinds = sorted(seconds)
    requests = pl.DataFrame(
        {
            "page": kinds,
            "n": [len(seconds[kind]) for kind in kinds],
            "failed": [failed[kind].total() for kind in kinds],
            "why": [", ".join(f"{n} {why}" for why, n in failed[kind].most_common()) for kind in kinds],
            **{f"p{at}": [float(np.percentile(seconds[kind], at)) for kind in kinds] for at in (50, 95, 99)},
        }
    )
    told = pl.DataFrame(entries)
    return requests, told.select(
        sent=pl.len(),
        accepted=pl.col("accepted").sum(),
        p50=pl.col("seconds").quantile(0.5),
        p95=pl.col("seconds").quantile(0.95),
        shown_p95=pl.col("shown").quantile(0.95),
    )


def _next_page(rng: np.random.Generator, name: str, identities: list[str]) -> tuple[str, str]:
    """Sample the kind and URL of the page that a reader opens next: mostly a board or its rows."""
    kind = str(rng.choice(["front", "board", "rows", "entry", "domains"], p=[0.15, 0.3, 0.3, 0.2, 0.05]))
    addresses = {
        "front": BOARD,
        "board": board_address(name),
        "rows": with_query(ROWS, [("board", name), ("q", f"model {rng.integers(10)}")]),
        "entry": entry_address(identities[rng.integers(len(identities))]),
        "domains": with_query(DOMAINS, [("board", name)]),
    }
    return kind, addresses[kind]


def _send(urls: list[str], folder: DatasetFolder, number: int, place: Path) -> dict[str, float | bool]:
    """Submit an entry to one server and wait until all servers show it; return whether it was accepted, and seconds."""
    rows, path = noisy_predictions(folder, seed=100_000 + number), place / f"load-{number}.parquet"
    rows.filter(pl.col("id").str.starts_with(f"{folder.manifest.benchmark}/nli/")).write_parquet(path)
    card = card_of(folder, 1_000_000 + number)
    begun = time.perf_counter()
    try:
        entry = submit_to_url(urls[number % len(urls)], path, card)["entry"]
    except InvalidInput:
        return {"accepted": False, "seconds": time.perf_counter() - begun, "shown": float("nan")}
    accepted = time.perf_counter() - begun
    for url in urls:
        while httpx.get(url + entry_address(entry), timeout=60).status_code != 200:
            time.sleep(0.2)
    return {"accepted": True, "seconds": accepted, "shown": time.perf_counter() - begun}
