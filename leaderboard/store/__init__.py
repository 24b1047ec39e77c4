"""The store: accepted entries, each an immutable folder, with scores derived beside them.

    ROOT/entries/<id>/card.json             submitter, time and card
    ROOT/entries/<id>/predictions.parquet
    ROOT/entries/<id>/validation.parquet    what the same models predicted on validation rows, where it was sent
    ROOT/withdrawn/<id>.json                tombstone: its sender withdrew the entry, which itself never changes
    ROOT/records/<name>.json                looks at withheld labels, nominations, rounds (``leaderboard.release``)
    ROOT/scores/<version>/<id>.parquet      the long table of scores, with replicates
    ROOT/scores/<version>/<id>.json         the nested scores; both are made again when missing
    ROOT/scores/<version>/<id>.forecasts.json   forecasts of its accuracy (``scoring.forecasting.entries``)
    ROOT/scores/<version>/index/<name>.parquet  what an index keeps of all entries
    ROOT/comparisons/<version>/<id>--<id>.json  the comparison of an entry with another one

Nobody else spells these paths: what lies beside entries is read and kept through ``Store``.

ROOT is a local folder or a dataset repository of the Hub (``open_store``). An entry's id is a hash of submitter, card
and predictions, those on validation rows too where they were sent: the same files sent twice are the same entry. What
was withdrawn stays withdrawn: the same files sent again are refused, and their sender told so; with another card, or
other validation rows, they are another entry.

In: a checked submission. Out: an entry that never changes, its scores, and the list of all entries.
"""

from shiftbench.leaderboard.store.entries import ENTRY_ID, LOCAL_SUBMITTER, Entry
from shiftbench.leaderboard.store.store import Store, folder_of, is_at_hand, open_store

__all__ = ["ENTRY_ID", "LOCAL_SUBMITTER", "Entry", "Store", "folder_of", "is_at_hand", "open_store"]
