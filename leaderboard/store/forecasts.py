"""Forecasts of a store's entries: kept beside their scores, and never computed while a page waits."""

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store.entries import Entry
from shiftbench.leaderboard.store.store import Store
from shiftbench.scoring.forecasting.entries import EntryForecasts, forecast_entry, read_forecasts


def kept_forecasts(store: Store, identity: str) -> EntryForecasts | None:
    """Return what is kept of an entry's forecasts; None where there is nothing that can be shown."""
    content = store.forecasts(identity)
    return None if content is None else read_forecasts(content)


def forecast_again(store: Store, entry: Entry, folder: DatasetFolder) -> EntryForecasts:
    """Forecast an entry anew and keep that.

    Raises: InvalidInput when its files are damaged, its labels are withheld, or the store cannot be written; the entry
        and its scores stay as they are.
    """
    rows = store.checked_files(entry.id, folder)
    rows.refuse_lost_validation()
    found = forecast_entry(rows.predictions, rows.validation, folder)
    store.keep_forecasts(entry.id, found.model_dump_json().encode())
    return found
