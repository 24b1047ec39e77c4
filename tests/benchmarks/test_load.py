"""The load on a leaderboard, small: all readers are answered, and all entries are shown by both servers."""

import pytest

from benchmarks.load import run_load


@pytest.mark.long
def test_two_servers_on_one_store_answer_everybody_and_show_every_entry() -> None:
    requests, entries = run_load(n_entries=6, n_readers=6, per_hour=900, minutes=0.15, n_servers=2, seed=3)
    assert requests["failed"].sum() == 0
    assert requests["n"].sum() >= 4
    assert entries["sent"].item() >= 2
    assert entries["accepted"].item() == entries["sent"].item()
    assert entries["shown_p95"].item() >= entries["p50"].item()
