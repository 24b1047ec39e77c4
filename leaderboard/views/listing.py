"""Entries of a store with their scores. One that cannot be scored here keeps its place, with the reason."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from builders.folder import DatasetFolder
from leaderboard.scores import Scores
from leaderboard.store import Entry, Store, folder_of
from validation.report import InvalidInput, Problem


@dataclass(frozen=True)
class Listed:
    """An entry as far as it could be read. ``reasons`` is empty exactly when there are scores."""

    id: str
    entry: Entry | None
    scores: Scores | None
    reasons: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The model's name; the id where the card cannot be read."""
        return self.entry.card.name if self.entry else self.id


class Catalogue:
    """All entries of a store, scored against the datasets at hand. Reads each entry once: they never change."""

    def __init__(self, folders: Sequence[DatasetFolder], store: Store) -> None:
        self.folders = tuple(folders)
        self.store = store
        self._scored: dict[str, Listed] = {}
        self._lock = threading.Lock()

    def entries(self) -> list[Listed]:
        """List what the store holds now, newest first; unreadable cards last.

        An entry without scores is looked at again each time, since what it lacks may have arrived.
        """
        with self._lock:
            found = sorted(path.parent.name for path in (self.store.root / "entries").glob("*/card.json"))
            listed = [self._scored.get(identity) or self._read(identity) for identity in found]
            self._scored = {item.id: item for item in listed if item.scores is not None}
        return sorted(listed, key=lambda item: (item.entry.submitted_at if item.entry else "", item.id), reverse=True)

    def entry(self, identity: str) -> Listed:
        """Give one entry; InvalidInput when the store has none of that id."""
        known = self._scored.get(identity)
        if known is not None:
            return known
        for item in self.entries():
            if item.id == identity:
                return item
        raise InvalidInput(Problem("there is no such entry", "leaderboard", f"'{identity[:40]}'", "see the board"))

    def names(self) -> dict[str, str]:
        """Server paths and the words that stand for them in what users read."""
        paths = {str(folder.path): f"the {folder.manifest.benchmark} dataset" for folder in self.folders}
        return {**paths, str(self.store.root): "the store"}

    def _read(self, identity: str) -> Listed:
        entry = None
        try:
            entry = _card(self.store, identity)
            folder = folder_of(entry.card, self.folders)
            return Listed(identity, entry, self.store.scores(entry, folder))
        except InvalidInput as error:
            reasons = tuple(say(problem, self.names()) for problem in error.problems)
            return Listed(identity, entry, None, reasons)


def say(problem: Problem, names: dict[str, str]) -> str:
    """Give a problem as one line in which no path of this machine appears.

    >>> say(Problem("the file is empty", "/srv/up/a.csv", "0 bytes"), {"/srv/up/a.csv": "a.csv"})
    'a.csv: the file is empty; found 0 bytes'
    """
    text = str(problem)
    # Longest first: a path may begin with another one.
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    return text


def _card(store: Store, identity: str) -> Entry:
    """Read an entry's card; one that is damaged on disk is input that is refused, like any other."""
    try:
        return store.entry(identity)
    except (ValueError, KeyError, TypeError) as error:
        found = type(error).__name__
        raise InvalidInput(Problem("the entry's card is damaged", identity, found, "submit the file again")) from error
