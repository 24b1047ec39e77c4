"""The store: accepted entries, each an immutable folder, with derived scores stored separately.

    ROOT/entries/<id>/card.json             submitter, time and card
    ROOT/entries/<id>/predictions.parquet
    ROOT/entries/<id>/validation.parquet    predictions of the same models on validation rows, if submitted
    ROOT/withdrawn/<id>.json                tombstone: the submitter withdrew the entry, which itself never changes
    ROOT/records/<name>.json                feedback on withheld labels, nominations, rounds (``leaderboard.release``)
    ROOT/scores/<version>/<id>.parquet      the long table of scores, with replicates
    ROOT/scores/<version>/<id>.json         the nested scores; both are recomputed if missing
    ROOT/scores/<version>/<id>.forecasts.json   forecasts of its accuracy (``scoring.forecasting.entries``)
    ROOT/scores/<version>/index/<name>.parquet  cached tables of an index
    ROOT/comparisons/<version>/<id>--<id>.json  cached comparison of two entries

These paths are defined only here: other rooms read and write them through ``Store``.

ROOT is a local folder or a dataset repository on the Hub (``open_store``). An entry's id is a hash of submitter, card
and predictions (including those on validation rows, if submitted), so files that are sent twice are the same entry. A
withdrawn entry stays withdrawn: if the same files are sent again, they are rejected with that reason. With another
card, or other validation rows, they are another entry.

Input: a checked submission. Output: an entry that never changes, its scores, and the list of all entries.
"""

from shiftbench.leaderboard.store.entries import ENTRY_ID, LOCAL_SUBMITTER, Entry
from shiftbench.leaderboard.store.store import Store, find_folder, has_folder, open_store

__all__ = ["ENTRY_ID", "LOCAL_SUBMITTER", "Entry", "Store", "find_folder", "has_folder", "open_store"]
