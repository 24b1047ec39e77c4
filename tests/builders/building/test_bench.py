"""The bench of reading: its rows have the release's keys, and a small run gives every figure."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks.build import run_read_bench, write_rows

KEYS = [
    "author",
    "body",
    "normalizedBody",
    "content",
    "content_len",
    "summary",
    "summary_len",
    "id",
    "subreddit",
    "subreddit_id",
    "title",
]


def test_rows_look_like_the_release_and_differ(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    write_rows(path, 500_000)
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert all(list(row) == KEYS for row in rows)
    assert 4_000 < 500_000 / len(rows) < 5_500
    assert len({row["content"] for row in rows}) == len({row["id"] for row in rows}) == len(rows)


@pytest.mark.long
def test_a_small_run_gives_every_figure() -> None:
    *beside_parsing, beside_half, steps = run_read_bench(scale=0.001)
    assert {timing.name for timing in beside_parsing} == {"0.002 GB of JSON lines decompressed, checked and sampled"}
    assert all(timing.yardstick.startswith("decompressed and parsed by ") for timing in beside_parsing)
    # Targets hold at full size; the fastest reader, which sets one, comes first.
    assert all(timing.wanted is None for timing in (*beside_parsing, beside_half, steps))
    assert beside_parsing[0].yardstick_seconds == min(timing.yardstick_seconds for timing in beside_parsing)
    for timing in (*beside_parsing, beside_half, steps):
        assert timing.ratio == timing.seconds / timing.yardstick_seconds > 0
        assert timing.peak_memory > 10_000_000
