"""The store with entries that tests of the leaderboard use, for tests of scores, comparisons and reports."""

from tests.leaderboard.conftest import filled, id_folder, index, sender, synthetic

__all__ = ["filled", "id_folder", "index", "sender", "synthetic"]
