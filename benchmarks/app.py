"""Speed of the leaderboard with 10,000 entries in a real browser, for ``python -m benchmarks app``.

Times are medians of 20 runs. The server runs in a separate process; the browser is headless Chromium with playwright
(extra 'dev'); "cold" means an empty browser cache. Most entries are copies, with noise, of a few that were scored.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from itertools import cycle, repeat
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import numpy as np
import polars as pl
from tqdm import tqdm

from benchmarks.static_copy import record
from benchmarks.static_copy import serving as serving_copy
from shiftbench.builders.building.synthetic_grid import build_grid, noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board import index_cache
from shiftbench.leaderboard.board.copies import read_copies
from shiftbench.leaderboard.pages.addresses import (
    GRADIO_PAGE,
    HEALTH,
    ROWS,
    board_address,
    compare_address,
    entry_address,
)
from shiftbench.leaderboard.store import Entry, Store
from shiftbench.leaderboard.store.entries import entry_bytes
from shiftbench.validation.cards import Card
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.timing import Timing

N_ENTRIES = 10_000
TIMES = 20
_TEMPLATES = 4
"""Number of entries that are scored; all others are copies of them."""
_TASK = "nli"
SMALL = 0.03
"""Test sizes of copied entries, as a share of the paper's: the smallest with bootstrap replicates for every shift."""
_NOISE = 0.005
"""Standard deviation of the noise on each replicate of a copy: entries with equal replicates are slower to rank."""
_ROW = "table.sb-board tbody tr"
_COMPARED = "main table"
"""Selector of an element that a comparison page only has when it is finished."""
_PICTURE = "table.sb-cells"
"""Selector of the score matrix on an entry's page."""
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
_CHANGED = """
(change) => new Promise((done) => {
  const board = document.querySelector('#board-rows'), begun = performance.now();
  const seen = new MutationObserver(() => requestAnimationFrame(() => {
    seen.disconnect();
    done(performance.now() - begun);
  }));
  seen.observe(board, {childList: true, subtree: true});
  const [selector, value] = change, element = document.querySelector(selector);
  if (value === null) { element.click(); return; }
  element.value = value;
  element.dispatchEvent(new Event(element.tagName === 'INPUT' ? 'input' : 'change', {bubbles: true}));
})
"""
"""JavaScript: return the milliseconds from a changed filter, or a click, to the frame that shows other rows."""
_ROUND_TRIP = """
async (address) => {
  const begun = performance.now();
  await (await fetch(address)).text();
  return performance.now() - begun;
}
"""
"""JavaScript: return the milliseconds until a response is read."""


def run_app_bench(scale: float = 1.0) -> Iterator[Timing]:
    """Measure start-up, pages, a submission and comparisons.

    Args:
        scale: entries as a share of 10,000, and test sizes of the submission as a share of Table 2's; targets are
            evaluated only at 1.
    Returns: an iterator of timings, as they are measured.
    Raises: InvalidInput if the browser or its driver is not installed.
    """
    chromium = _chromium()
    with tempfile.TemporaryDirectory(prefix="shiftbench-bench-") as place:
        full, small = Path(place) / "full", Path(place) / "small"
        build_grid(full, scale=scale)
        build_grid(small, scale=SMALL, seed=1)
        store = Store(Path(place) / "store")
        fill(store, DatasetFolder.open(small), max(_TEMPLATES, round(N_ENTRIES * scale)), Path(place))
        for timing in _timings([small, full], store, chromium, Path(place)):
            yield timing if scale == 1 else replace(timing, met=None)


def fill(store: Store, folder: DatasetFolder, n: int, place: Path) -> None:
    """Add n entries to a store: a few that are scored by the package, and copies with noise on the ranked scores.

    Args:
        store: the store.
        folder: the dataset; entries are for its task 'nli'.
        n: number of entries.
        place: a folder for temporary files.
    """
    rng = np.random.default_rng(0)
    templates = [_template(store, folder, number, place) for number in range(_TEMPLATES)]
    for number in tqdm(range(_TEMPLATES, n), desc="writing entries", unit="entry", leave=False, disable=None):
        template = templates[number % _TEMPLATES]
        identity = sha256(f"entry {number}".encode()).hexdigest()[:16]
        _copy(store, folder, template, identity, number, rng)


@dataclass(frozen=True)
class _Template:
    """A scored entry, with the files that its copies share."""

    entry: Entry
    scores: dict[str, Any]
    forecasts: bytes
    table: pl.DataFrame
    metadata: dict[str, str]


def _template(store: Store, folder: DatasetFolder, number: int, place: Path) -> _Template:
    rows = noisy_predictions(folder, seed=number)
    path = place / f"template-{number}.parquet"
    rows.filter(pl.col("id").str.starts_with(f"{folder.manifest.benchmark}/{_TASK}/")).write_parquet(path)
    entry, _ = store.submit(path, card_of(folder, number), [folder])
    files = store.entry_files(entry.id)
    table = files.table
    scores = msgspec.json.decode(files.scores.read_bytes())
    forecasts = store.forecast_again(entry, folder).model_dump_json().encode()
    metadata = {key: value for key, value in pl.read_parquet_metadata(table).items() if key != "ARROW:schema"}
    return _Template(entry, scores, forecasts, pl.read_parquet(table), metadata)


def _copy(
    store: Store, folder: DatasetFolder, template: _Template, identity: str, number: int, rng: np.random.Generator
) -> None:
    """Write a copy of a template entry with another card, and with noise added to scores and replicates."""
    moved = float(rng.normal(0, 0.02))
    files = store.entry_files(identity)
    for path in (files.card, files.table):
        path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(store.predictions(template.entry), files.predictions)
    primary = pl.col("replicates").is_not_null()
    drawn = [
        None if each is None else each + moved + rng.normal(0, _NOISE, each.len())
        for each in template.table["replicates"]
    ]
    table = template.table.with_columns(
        pl.Series("replicates", drawn, template.table.schema["replicates"]),
        value=pl.when(primary).then(pl.col("value") + moved).otherwise("value"),
    )
    table.write_parquet(files.table, metadata=template.metadata)
    scores = {**template.scores, "tasks": [_moved(task, moved) for task in template.scores["tasks"]]}
    files.scores.write_bytes(msgspec.json.encode(scores))
    files.forecasts.write_bytes(template.forecasts)
    at = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T12:00:00+00:00"
    entry = Entry(identity, f"user{number % 700}", at, card_of(folder, number))
    files.card.write_bytes(entry_bytes(entry))


def _moved(task: dict[str, Any], moved: float) -> dict[str, Any]:
    def higher(estimate: dict[str, Any]) -> dict[str, Any]:
        return {key: value + moved if isinstance(value, float) else value for key, value in estimate.items()}

    summary = task["summary"]
    return {**task, "summary": {**summary, **{name: higher(summary[name]) for name in ("mean_ss", "mean_st")}}}


def card_of(folder: DatasetFolder, number: int) -> Card:
    """Return a card for a synthetic entry: model name, size and so on are derived from ``number``."""
    content = {
        "name": f"Model {number % 10} of {number}",
        "paradigm": ("fine-tuned", "few-shot", "zero-shot", "retrieval")[number % 4],
        "parameters": 10 ** (7 + number % 5),
        "base_model": f"base-{number % 40}",
        "data": folder.content_hash,
    }
    return Card.model_validate(content)


def _timings(folders: Sequence[Path], store: Store, chromium: str, place: Path) -> Iterator[Timing]:
    from playwright.sync_api import sync_playwright

    n = f"{len(store.ids()):,} local entries"
    first, _ = _start_seconds(folders, store)
    with serving(folders, store):
        wait_until_saved(store)
    starts = [_start_seconds(folders, store) for _ in range(5)]
    again, worked = (statistics.median(start[part] for start in starts) for part in (0, 1))
    yield Timing(name=f"first start-up with {n}, without a cache", seconds=first, wanted="no limit")
    yield replace(_timing_under_limit(f"start-up with {n}", again, 3.0), cpu_seconds=worked)
    with serving(folders, store) as (url, _), sync_playwright() as playwright:
        # The Gradio app is loaded lazily and slowly: load it now, so that this does not slow down a timed page.
        httpx.get(url + GRADIO_PAGE, timeout=60)
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        try:
            board = board_address(_board_name(DatasetFolder.open(folders[0]), _TASK))
            yield from _pages(browser, url, url + board, store)
            yield _timing_under_limit(
                "full-size submission, from upload to its row on the board",
                _submission_seconds(url, folders[-1], place),
                10.0,
            )
            yield from _comparisons(browser, url, folders[-1], place)
        finally:
            browser.close()


def _board_name(folder: DatasetFolder, task: str) -> str:
    """Return the name of a task's board, with the version, because several versions of the benchmark are served."""
    return f"{folder.manifest.benchmark}/{task}@{folder.content_hash[:8]}"


def _cold(browser: Any, address: str, wanted: str) -> float:
    """Measure the seconds until a browser with an empty cache shows an element."""
    with closing(browser.new_context()) as context:
        page = context.new_page()
        begun = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_selector(wanted)
        return time.perf_counter() - begun


def _beside_plain_files(browser: Any, name: str, addresses: Iterator[str], wanted: str, most: float) -> Timing:
    """Time pages with an empty browser cache, alternating with a copy of the first one on a static file server.

    Args:
        browser: a playwright browser.
        name: name of the timing.
        addresses: URLs to open; the first one is copied.
        wanted: CSS selector of the element that ends a timing.
        most: target: highest acceptable ratio of our median to that of the static copy.
    """
    address = next(addresses)
    with closing(browser.new_context()) as context:
        answers = record(context.new_page(), address)
    parts = urlsplit(address)
    with serving_copy(answers) as plain:
        copied = f"{plain}{parts.path or '/'}" + (f"?{parts.query}" if parts.query else "")
        turns = [(_cold(browser, next(addresses), wanted), _cold(browser, copied, wanted)) for _ in range(TIMES)]
    ours, theirs = (statistics.median(turn[side] for turn in turns) for side in (0, 1))
    return Timing(
        name=name,
        seconds=ours,
        wanted=f"at most {most:g} times a static copy",
        met=ours < most * theirs,
        yardstick="a static copy of the page",
        yardstick_seconds=theirs,
        cost_ratio=ours / theirs,
    )


def _pages(browser: Any, url: str, board: str, store: Store) -> Iterator[Timing]:
    identities = store.ids()
    asked = cycle(identities)  # a small run has fewer entries than requests
    yield _beside_plain_files(browser, "first row of the front page, empty cache", repeat(url), _ROW, 1.2)
    yield _beside_plain_files(browser, "first row of a task's board, empty cache", repeat(board), _ROW, 1.2)
    entries = (url + entry_address(identity) for identity in asked)
    yield _beside_plain_files(browser, "page of a different entry each time, empty cache", entries, _PICTURE, 1.5)
    with closing(browser.new_context()) as context:
        page = context.new_page()

        def warm() -> float:
            begun = time.perf_counter()
            page.goto(url + entry_address(next(asked)), wait_until="commit")
            page.wait_for_selector(_PICTURE)
            return time.perf_counter() - begun

        warm()
        yield _timing_under_limit("page of a different entry each time, warm cache", _median_of(warm), 0.5)
        changes: dict[str, Callable[[int], list[str | None]]] = {
            "filter": lambda number: ["#board-rows .sb-chip-row[aria-label=Kind] a:nth-of-type(2)", None],
            "search": lambda number: ["input[name=q]", f"model {number % 10}"],
            "sort": lambda number: [f"#board-rows thead th:nth-child({5 + number % 3}) a", None],
        }
        for name, change in changes.items():
            page.goto(board)
            turns = [
                (page.evaluate(_CHANGED, change(number)) / 1000, page.evaluate(_ROUND_TRIP, HEALTH) / 1000)
                for number in range(TIMES)
            ]
            ours, empty = (statistics.median(turn[side] for turn in turns) for side in (0, 1))
            yield Timing(
                name=f"{name}, until the new rows are shown",
                seconds=ours,
                wanted="at most 0.1 s more than an empty response",
                met=ours - empty < 0.1,
                yardstick="an empty response",
                yardstick_seconds=empty,
            )


def _submission_seconds(url: str, folder_path: Path, place: Path) -> float:
    """Measure the seconds from uploading predictions for sentiment, the largest task, until they are on the board."""
    from shiftbench.leaderboard.app.client import submit_to_url

    folder = DatasetFolder.open(folder_path)
    rows, path = noisy_predictions(folder, seed=9), place / "submission.parquet"
    rows.filter(pl.col("id").str.starts_with(f"{folder.manifest.benchmark}/sa/")).write_parquet(path)
    card = card_of(folder, N_ENTRIES)
    begun = time.perf_counter()
    entry = submit_to_url(url, path, card)["entry"]
    text = httpx.get(url + ROWS, params={"board": _board_name(folder, "sa")}).text
    seconds = time.perf_counter() - begun
    if entry not in text:
        raise AssertionError("the submission's row is not on the board")
    return seconds


def _comparisons(browser: Any, url: str, folder_path: Path, place: Path) -> Iterator[Timing]:
    """Time comparisons of entries that are not cached, from opening the URL until the table is shown."""
    from shiftbench.leaderboard.app.client import submit_to_url

    folder = DatasetFolder.open(folder_path)
    entries = []
    for number in range(6):
        rows, path = noisy_predictions(folder, seed=20 + number), place / f"compared-{number}.parquet"
        rows.filter(pl.col("id").str.starts_with(f"{folder.manifest.benchmark}/{_TASK}/")).write_parquet(path)
        entries.append(submit_to_url(url, path, card_of(folder, N_ENTRIES + 1 + number))["entry"])
    for chosen, limit in ((entries[:2], 2.0), (entries[2:], 6.0)):
        address = url + compare_address(chosen)
        seconds = _cold(browser, address, _COMPARED)
        yield _timing_under_limit(f"comparison of {len(chosen)} entries with one run each, not cached", seconds, limit)


def _start_seconds(folders: Sequence[Path], store: Store) -> tuple[float, float]:
    """Start a server, stop it after its first page, and return the wall-clock and CPU seconds until then."""
    before = os.times()
    with serving(folders, store) as (_, seconds):
        pass
    after = os.times()
    worked = after.children_user + after.children_system - before.children_user - before.children_system
    return seconds, worked


@contextmanager
def serving(folders: Sequence[Path], store: Store) -> Iterator[tuple[str, float]]:
    """Run a server in a separate process; yield its URL, and the seconds until it served a page."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = [word for folder in folders for word in ("--data", str(folder))]
    command = [sys.executable, "-m", "shiftbench", "serve", *data, "--store", str(store.root), "--port", str(port)]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                httpx.get(url, timeout=60).raise_for_status()
                break
            except httpx.ConnectError:
                if process.poll() is not None:
                    raise InvalidInput(Problem("the server exited before it responded", " ".join(command))) from None
                time.sleep(0.005)
        yield url, time.perf_counter() - begun
    finally:
        process.terminate()
        process.wait(timeout=30)


def wait_until_saved(store: Store) -> None:
    """Wait until the server's background work is done: all entries cached and checked for near-copies."""
    deadline = time.monotonic() + 1_800
    while time.monotonic() < deadline and not _is_saved(store):
        time.sleep(2)


def _is_saved(store: Store) -> bool:
    n = len(store.ids())
    return index_cache.read_rows(store)["id"].n_unique() == n and read_copies(store)["near"].count() >= n


def _median_of(seconds: Callable[[], float]) -> float:
    return statistics.median(seconds() for _ in range(TIMES))


def _timing_under_limit(name: str, seconds: float, limit: float) -> Timing:
    return Timing(name=name, seconds=seconds, wanted=f"under {limit:g} s", met=seconds < limit)


def _chromium() -> str:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or find_spec("playwright") is None:
        missing = "chromium" if chromium is None else "playwright"
        cure = "install Chromium, and the extra 'dev': pip install 'shiftbench[dev]'"
        raise InvalidInput(
            Problem("the browser or its driver is not installed", "benchmarks app", f"no {missing}", cure)
        )
    return chromium
