"""``Store``, the interface to a store's files, local or on the Hub."""

import json
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from shiftbench.builders.cache import cache_folder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.builders.hub_access import is_transient
from shiftbench.leaderboard.store.backup import back_up
from shiftbench.leaderboard.store.entries import (
    COMPARISONS,
    ENTRIES,
    INDEX,
    LOCAL_SUBMITTER,
    RECORDS,
    SCORES,
    WITHDRAWN,
    Changes,
    Entry,
    ScoreVersions,
    SubmissionRecord,
    card_path,
    comparison_path,
    derived_files,
    entry_bytes,
    entry_id,
    forecasts_path,
    index_path,
    now,
    parse_entry,
    parse_submission_record,
    parse_tombstone,
    predictions_bytes,
    predictions_path,
    read_scores,
    read_table,
    record_path,
    scores_path,
    stored_rows,
    table_path,
    tombstone_bytes,
    tombstone_path,
    validation_path,
)
from shiftbench.leaderboard.store.hub import HubRepository
from shiftbench.leaderboard.store.local import Listed, Listing, LocalFolder
from shiftbench.leaderboard.store.log import (
    ACCEPTED,
    CONFIGURED,
    LOG,
    REFUSED,
    Draft,
    Event,
    EventLog,
    Moderation,
    digest_of_names,
    digests_of,
)
from shiftbench.leaderboard.store.log import (
    WITHDRAWN as WITHDRAWAL,
)
from shiftbench.leaderboard.store.model_facts import HubFacts
from shiftbench.scoring.forecasting.entries import EntryForecasts, forecast_entry, read_forecasts
from shiftbench.scoring.scores.score import (
    IN_THIS_PROCESS,
    FileChecks,
    Scored,
    checked_predictions,
    score_predictions,
    token_encoder,
)
from shiftbench.scoring.scores.shape import Scores
from shiftbench.scoring.scores.summary import depth_encoder_name, encoder_name
from shiftbench.scoring.scores.validation_rows import read_validation
from shiftbench.validation.cards import Card
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.versions import SETTINGS_CURE


class CheckedRows(NamedTuple):
    """The checked rows of an entry (``CHECKED_PREDICTIONS``): on test rows and, if it has any, on validation rows.

    ``validation_problem`` is the reason why the validation file cannot be read; None if it can, or there is none.
    """

    predictions: pl.DataFrame
    validation: pl.DataFrame | None
    validation_problem: InvalidInput | None

    def refuse_lost_validation(self) -> None:
        """Raise InvalidInput, with the reason, if the entry's validation rows cannot be read."""
        if self.validation_problem is not None:
            raise self.validation_problem


def has_folder(card: Card, folders: Iterable[DatasetFolder]) -> bool:
    """Return whether the dataset of a card's predictions is among ``folders`` (see ``find_folder``)."""
    return any(not card.version.difference(folder.version) for folder in folders)


def find_folder(card: Card, folders: Sequence[DatasetFolder]) -> DatasetFolder:
    """Return the dataset of a card's predictions; InvalidInput, with both versions, if it is not among ``folders``.

    A card without a settings hash matches any settings of the same content.
    """
    differences = [card.version.difference(folder.version) for folder in folders]
    same = [folder for folder, differs in zip(folders, differences, strict=True) if not differs]
    if same:  # a public and a gold folder have one hash: prefer the one that can be scored with
        return min(same, key=lambda folder: folder.manifest.withholds_labels)
    here = ", ".join(f"{folder.manifest.benchmark} {folder.version}" for folder in folders) or "none"
    column, what, cure = "data", "another version of the data", "predict on one of these, or build the same version"
    if "settings" in differences:
        column, what = "settings", "the same data with different settings"
        cure = f"predict on one of these, or {SETTINGS_CURE}"
    what, cure = f"the predictions were made for {what}", f"available here: {here}; {cure}"
    raise InvalidInput(Problem(what, "card", str(card.version), cure, column=column))


def current_versions(folder: DatasetFolder) -> ScoreVersions:
    """Return the current encoders and data version with which scores of a dataset are computed here."""
    return ScoreVersions(depth_encoder_name(folder), encoder_name(token_encoder(folder)), folder.version)


def refuse_candidates_alone(predictions: pl.DataFrame, folder: DatasetFolder, file: Path) -> None:
    """Raise InvalidInput for a file with candidate data sets only, which no board shows (see ``study protocol``)."""
    tasks = predictions["task"].unique().sort().to_list()
    if all(folder.task(task).candidates_for is not None for task in tasks):
        what = "no board can show this entry: its predictions are only for candidate data sets"
        cure = "compare candidate data sets with 'shiftbench study protocol', or add predictions for the task itself"
        raise InvalidInput(Problem(what, str(file), ", ".join(tasks), cure))


class Erasure(NamedTuple):
    """The account whose name, and the entries whose free text, a change erases from the log."""

    account: str
    entries: frozenset[str]


class Change(NamedTuple):
    """One atomic change of a store: files (None deletes one) and the log events for them."""

    events: Sequence[Draft]
    files: Changes = MappingProxyType({})
    erasure: Erasure | None = None


MAX_REFUSALS = 20
"""Rejections per person and day (UTC) that the log records individually; anybody can send invalid files."""


class EntryFiles(NamedTuple):
    """The paths of an entry's files on this machine."""

    card: Path
    predictions: Path
    validation: Path
    scores: Path
    table: Path
    forecasts: Path


class Store:
    """The entries of a store. Reading never changes them; a partly written entry is never visible.

    ``root`` is the local folder from which files are read; for a repository on the Hub, its copy on this machine.
    ``behind`` is the reason why that copy may be outdated; None if it is up to date.
    """

    def __init__(self, root: Path | str, place: LocalFolder | None = None) -> None:
        self.root = Path(root)
        self.behind: str | None = None
        self._place = place or LocalFolder(self.root)
        self.log = EventLog(self.root)
        self._noted: list[Draft] = []
        self._refused: Counter[tuple[str, str]] = Counter()
        self._erased: frozenset[str] = frozenset()
        self._records_by_id: dict[str, SubmissionRecord] = {}
        self._records: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def submit(
        self,
        predictions: Path | PredictionInput,
        card: Card,
        folders: Sequence[DatasetFolder],
        submitter: str = LOCAL_SUBMITTER,
        *,
        daily_quota: int | None = None,
        score: Callable[[pl.DataFrame], bool] = lambda _: True,
        checks: FileChecks = IN_THIS_PROCESS,
        validation: Path | PredictionInput | None = None,
        ask_hub: Callable[[Card], HubFacts | None] = lambda _: None,
    ) -> tuple[Entry, bool]:
        """Check and score a prediction file, and store it as an entry.

        Predictions on withheld labels are stored without scores (see ``shiftbench.leaderboard.release``).

        Args:
            predictions: the prediction file.
            card: its card; ``card.data`` determines the dataset.
            folders: the available datasets.
            submitter: the account.
            daily_quota: maximum number of entries per submitter and UTC day; None: unlimited.
            score: function that returns whether to score checked predictions now; otherwise ``scores`` does it later.
            checks: reads and checks the files; a server passes checks that run in another process.
            validation: a file with predictions of the same models on validation rows, stored for forecasts.
            ask_hub: function that returns facts about a new entry's model (``model_facts.read_hub_facts``).
        Returns: the entry, durable, and whether it is new (False for a file sent before, which costs no quota).
        Raises: InvalidInput with every problem; nothing is stored then.
        """
        self.refuse_banned(submitter)  # before the expensive checks
        folder = find_folder(card, folders)
        frame = checks.predictions(predictions, folder, card.subset)
        folder.refuse_withheld()
        if not folder.has_public_labels:
            self.require_private()
        refuse_candidates_alone(frame, folder, PredictionInput.of(predictions).path)
        rows, held_out = stored_rows(frame), None
        if validation is not None:
            held_out = stored_rows(checks.held_out(validation, frame, folder))
        identity = entry_id(submitter, card, rows, held_out)
        if self._accepts(identity, submitter, daily_quota):  # before the expensive scoring
            derived = {predictions_path(identity): predictions_bytes(rows)}
            if held_out is not None:
                derived[validation_path(identity)] = predictions_bytes(held_out)
            if folder.has_public_labels and score(frame):
                scored = score_predictions(frame, folder, card.subset, encoder=token_encoder(folder))
                derived |= derived_files(identity, scored)
        else:
            return self.entry(identity), False
        hub = ask_hub(card)

        def make() -> Change | None:
            if not self._accepts(identity, submitter, daily_quota):
                return None
            entry = Entry(identity, submitter, now(), card, held_out is not None, hub)
            event = Draft(ACCEPTED, identity, submitter)
            return Change([event], {**derived, card_path(identity): entry_bytes(entry)})

        new = self.change(make)
        return self.entry(identity), new

    def withdraw(self, identity: str, submitter: str) -> None:
        """Withdraw an entry: it is no longer shown, and the same file is not accepted again. Idempotent.

        Raises: InvalidInput if there is no such entry, or somebody else submitted it.
        """

        def make() -> Change | None:
            if self._read(identity).submitter != submitter:
                what, cure = "only the submitter of an entry may withdraw it", "sign in as its submitter"
                raise InvalidInput(Problem(what, identity, f"'{submitter}'", cure))
            if self._withdrawn(identity):
                return None
            event = Draft(WITHDRAWAL, identity, submitter)
            return Change([event], {tombstone_path(identity): tombstone_bytes(identity)})

        self.change(make)

    def ids(self) -> list[str]:
        """List the sorted ids of the entries that are shown: neither withdrawn nor hidden by the host."""
        present = self._place.ids() - self._place.withdrawn()
        self._refresh_log()
        return sorted(present - self.moderation.hidden.keys())

    @property
    def moderation(self) -> Moderation:
        """Return the effect of the host's actions, as of the last read of the log (``ids``, ``refresh``, a change)."""
        return self.log.moderation

    def every_id(self) -> set[str]:
        """Return the ids of all entries whose files exist, shown or not."""
        return self._place.ids()

    def withdrawn_ids(self) -> set[str]:
        """Return the ids of entries with a tombstone: withdrawn ones, and those whose files were erased."""
        return self._place.withdrawn()

    def sent_by(self, account: str) -> list[str]:
        """List the sorted ids of all entries of an account whose files exist."""
        with self._lock:
            self._read_submission_records()
            return sorted(each for each, record in self._records_by_id.items() if record.submitter == account)

    def sent(self, identity: str) -> Entry:
        """Read one entry as submitted, whether it is shown or not, without the host's name for it."""
        return self._read(identity)

    def derived_of(self, ids: Collection[str]) -> set[str]:
        """Return the paths of everything computed from some entries, and of the tables that contain any entry."""
        places = (scores_path, table_path, forecasts_path)
        versions = self._place.versions()
        paths = {place(each, version) for place in places for each in ids for version in versions}
        paths |= {f"{SCORES}/{version}/{INDEX}" for version in versions}
        for version in self._place.names(COMPARISONS):
            names = self._place.names(f"{COMPARISONS}/{version}")
            paths |= {f"{COMPARISONS}/{version}/{name}" for name in names if any(each in name for each in ids)}
        return self._place.present(paths)

    def forget_former_revisions(self) -> None:
        """Remove former revisions from a repository on the Hub, in which erased content could still be read."""
        self._place.squash()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude all writers during a block, after completing what a killed process left."""
        with self._place.locked():
            yield

    def entries(self) -> list[Entry]:
        """List the entries that are shown, oldest first, without those in ``unreadable``."""
        return sorted(self._readable()[0], key=lambda entry: (entry.submitted_at, entry.id))

    def unreadable(self) -> dict[str, str]:
        """Return the ids of entries whose card is missing or damaged, with the reason."""
        return self._readable()[1]

    def entry(self, identity: str) -> Entry:
        """Read one entry, with the host's name for it if it was renamed.

        Raises: InvalidInput if the id is unknown, or the entry was withdrawn, hidden or erased.
        """
        done = self.moderation
        if identity in done.erased or identity in done.hidden:
            what = "erased" if identity in done.erased else "hidden by the leaderboard's host"
            raise InvalidInput(Problem(f"this entry was {what}", identity, cure="see the board"))
        entry = self._read(identity)
        if self._withdrawn(identity):
            raise InvalidInput(Problem("this entry was withdrawn by its submitter", identity, cure="see the board"))
        name = done.names.get(identity)
        # An entry that imitates another model must not stay on that model's line of the overall board.
        card = entry.card if name is None else entry.card.model_copy(update={"name": name, "model": None})
        return replace(entry, card=card)

    def withdrawn_at(self, identity: str) -> str | None:
        """Return when an entry was withdrawn, as ISO 8601 (empty if unreadable); None if it was not."""
        content = self._bytes(tombstone_path(identity))
        return None if content is None else parse_tombstone(content)

    def predictions(self, entry: Entry) -> Path:
        """Return the path of an entry's prediction file on this machine."""
        return self._place.fetch(predictions_path(entry.id))

    def validation(self, entry: Entry) -> Path | None:
        """Return the path of an entry's predictions on validation rows on this machine; None if it has none."""
        return self._place.fetch(validation_path(entry.id)) if entry.has_validation else None

    def checked_rows(self, identity: str, folder: DatasetFolder) -> pl.DataFrame:
        """Return an entry's checked predictions (see ``checked_files``), even if its validation file is unreadable."""
        return self.checked_files(identity, folder).predictions

    def checked_files(self, identity: str, folder: DatasetFolder) -> CheckedRows:
        """Return an entry's rows, also of a withdrawn one, checked against the dataset and the entry's id.

        The id covers both files, so it cannot be checked if the validation file is unreadable. Since scores only need
        the predictions, these are returned then, after their own checks.

        Raises: InvalidInput if the predictions are damaged, or the files are not the submitted ones.
        """
        entry = self._read(identity)
        rows = checked_predictions(self.predictions(entry), folder, entry.card.subset)
        try:
            path = self.validation(entry)
            held_out = None if path is None else read_validation(path, folder)
        except InvalidInput as error:
            return CheckedRows(rows, None, error)
        sent = None if held_out is None else stored_rows(held_out)
        if entry_id(entry.submitter, entry.card, stored_rows(rows), sent) != entry.id:
            files = "card or predictions" if sent is None else "card, predictions or validation rows"
            cure = "restore the entry's files from a backup, or ask the submitter to submit it again"
            raise InvalidInput(Problem(f"{files} have changed since they were submitted", entry.id, cure=cure))
        return CheckedRows(rows, held_out, None)

    def scores(self, entry: Entry, folder: DatasetFolder) -> Scores:
        """Return an entry's scores: from the derived file, or recomputed.

        They are recomputed if the file is missing or damaged, or was computed with other encoders or settings than the
        current ones, since the content hash only covers the rows.
        """
        return self.stored_scores(entry, folder) or self.score_again(entry, folder)

    def stored_scores(self, entry: Entry, folder: DatasetFolder) -> Scores | None:
        """Return an entry's stored scores if they exist and are current."""
        content = self._bytes(scores_path(entry.id)) if folder.has_public_labels else None
        return None if content is None else read_scores(content, current_versions(folder))

    def score_again(self, entry: Entry, folder: DatasetFolder) -> Scores:
        """Recompute an entry's scores, even if they are stored."""
        return self._score(entry, folder).scores

    def table(self, entry: Entry, folder: DatasetFolder) -> pl.DataFrame:
        """Return an entry's long table of scores, with replicates (``SCORE_COLUMNS``); recomputed as in ``scores``."""
        content = self._bytes(table_path(entry.id)) if folder.has_public_labels else None
        stored = None if content is None else read_table(content, current_versions(folder))
        return self._score(entry, folder).table if stored is None else stored

    def versions(self) -> list[str]:
        """List the metric versions for which there are scores, the newest first."""
        return sorted(self._place.versions(), key=lambda name: [int(part) for part in name.split(".")], reverse=True)

    def scores_of_version(self, version: str) -> Iterator[tuple[str, bytes]]:
        """Yield id and nested scores of the entries with scores of a metric version, in their original format."""
        self._place.fetch_scores(version)
        for identity in self.ids():
            content = self._bytes(scores_path(identity, version))
            if content is not None:
                yield identity, content

    def share_scores(self, made: Iterable[str] = ()) -> None:
        """Upload recomputed and missing scores to the store's repository; does nothing for a local store."""
        paths = [path(each) for each in made for path in (scores_path, table_path, forecasts_path)]
        self._place.share([path for path in paths if (self.root / path).is_file()])

    def entry_files(self, identity: str) -> EntryFiles:
        """Return the paths of an entry's files on this machine, whether they exist or not."""
        places = (card_path, predictions_path, validation_path, scores_path, table_path, forecasts_path)
        return EntryFiles(*(self.root / place(identity) for place in places))

    def index_file(self, name: str) -> Path:
        """Return the path of an index's cached table, whether it exists or not."""
        return self.root / index_path(name)

    def cache_index(self, tables: Mapping[str, bytes]) -> None:
        """Cache tables of an index by name; InvalidInput if the store cannot be written."""
        self._place.write_local({index_path(name): content for name, content in tables.items()})

    def comparison(self, first: str, other: str) -> bytes | None:
        """Return the cached comparison of two entries, or None."""
        return self._bytes(comparison_path(first, other))

    def cache_comparison(self, first: str, other: str, content: bytes) -> None:
        """Cache the comparison of two entries; InvalidInput if the store cannot be written."""
        self._place.write_local({comparison_path(first, other): content})

    def trim_comparisons(self, max_bytes: int) -> int:
        """Delete the oldest cached comparisons if all take more than ``max_bytes``; return how many were deleted.

        Comparisons are the only files that grow without submissions, since anybody may compare any two entries. After
        a deletion they take at most 90% of ``max_bytes``, so that not every new one causes another deletion.
        """
        sizes = self._place.stats(COMPARISONS)
        total = sum(each.size for each in sizes.values())
        if total <= max_bytes:
            return 0
        gone = []
        for path, each in sorted(sizes.items(), key=lambda item: int(item[1].mark)):
            if total <= 0.9 * max_bytes:
                break
            gone.append(path)
            total -= each.size
        self._place.drop(gone)
        return len(gone)

    def forecasts(self, identity: str) -> EntryForecasts | None:
        """Return an entry's stored forecasts; None if there are none, or they cannot be read."""
        content = self._bytes(forecasts_path(identity))
        return None if content is None else read_forecasts(content)

    def forecast_again(self, entry: Entry, folder: DatasetFolder) -> EntryForecasts:
        """Recompute and store an entry's forecasts; slow, so never called while a page waits.

        Raises: InvalidInput if its files are damaged, its labels are withheld, or the store cannot be written; the
            entry and its scores stay unchanged.
        """
        rows = self.checked_files(entry.id, folder)
        rows.refuse_lost_validation()
        found = forecast_entry(rows.predictions, rows.validation, folder)
        self._place.write_local({forecasts_path(entry.id): found.model_dump_json().encode()})
        return found

    def sent_on(self, submitter: str, day: date) -> int:
        """Count the entries that a submitter sent on a UTC day, including withdrawn ones, to compare with a quota."""
        return Counter((each.submitter, each.day) for each in self._submission_records())[submitter, day.isoformat()]

    def first_days(self) -> dict[str, str]:
        """Return the UTC day (ISO) of each submitter's first entry, including withdrawn ones."""
        days: dict[str, str] = {}
        for each in self._submission_records():
            days[each.submitter] = min(each.day, days.get(each.submitter, each.day))
        return days

    def records(self, beginning: str) -> dict[str, bytes]:
        """Return the records whose names begin with a prefix, sorted by name (cached, as records never change)."""
        names = sorted(name for name in self._place.records() if name.startswith(beginning))
        with self._lock:
            for name in names:
                if name not in self._records:
                    self._records[name] = (self.root / record_path(name)).read_bytes()
            return {name: self._records[name] for name in names}

    def add_records(self, make: Callable[[], Mapping[str, bytes] | None], event: Draft) -> bool:
        """Add records, which are never changed or removed; return whether they were added, durably.

        ``make`` runs without concurrent writers, and returns contents by name; None adds nothing. ``event`` describes
        them in the log. InvalidInput if a record of such a name exists.
        """

        def files() -> Change | None:
            found = make()
            if found is None:
                return None
            if taken := sorted(set(found) & self._place.records()):
                raise InvalidInput(
                    Problem("another process added this record", str(self.root), taken[0], "run the command again")
                )
            return Change([event], {record_path(name): content for name, content in found.items()})

        return self.change(files)

    def refresh(self) -> None:
        """Read what others added; InvalidInput if the Hub is unreachable, or a local folder has vanished.

        ``behind`` then has the reason, so that the known content can be shown with it.
        """
        try:
            self._place.refresh()
            self._refresh_log()
        except InvalidInput as error:
            self.behind = str(error)
            raise
        self.behind = None

    def listing(self, choose: Callable[[Mapping[str, Listed]], Collection[str]] = lambda _: ()) -> Listing:
        """List all files of the store, and read those that ``choose`` returns, at a moment without writers.

        Raises: InvalidInput if there is no store, or it cannot be reached.
        """
        return self._place.listing(choose)

    def listed_content(self, path: str, listing: Listing) -> bytes | None:
        """Read a listed file; None if it was deleted or changed since."""
        return self._place.listed_content(path, listing)

    def check_writable(self) -> None:
        """Raise InvalidInput if the store cannot be written."""
        self._place.check_writable()

    def require_private(self) -> None:
        """Keep the store private, as withheld labels require, now and at every later update.

        A local folder is made readable only for its owner. A public repository on the Hub is rejected.

        Raises: InvalidInput if it is public, its state is unknown, or others may read it and it has another owner.
        """
        self._place.require_private()

    def note_event(self, event: Draft) -> None:
        """Add an event without file changes."""
        self.change(lambda: Change([event]))

    def note_configuration(self, configuration: Mapping[str, Any], hosts: Collection[str]) -> None:
        """Queue a server's configuration and hosts for the log, if they have changed."""
        text = json.dumps(configuration, sort_keys=True, default=str)
        last: list[Event] = []
        for event in self.log.events:
            if event.act == CONFIGURED:
                last = [event] if event.words else [*last, event]
        people = self.log.people
        known = {people.get(event.whom) for event in last if event.whom}
        if last and (last[0].words or {}).get("configuration") == text and known == set(hosts):
            return
        with self._lock:
            self._noted += [
                Draft(CONFIGURED, words={"configuration": text}),
                *(Draft(CONFIGURED, whom=host, facts={"is_host": True}) for host in sorted(hosts)),
            ]

    def note_refusal(self, submitter: str, error: InvalidInput) -> None:
        """Queue the reason for rejecting a submission for the log; ``flush_notes`` or the next event writes it.

        Only the problem is recorded, not the value found, which is the submitter's own text.
        """
        day = now()[:10]
        with self._lock:
            self._refused[submitter, day] += 1
            if self._refused[submitter, day] <= MAX_REFUSALS:
                words = {"reason": "; ".join(problem.what for problem in error.problems[:3])[:500]}
                self._noted.append(Draft(REFUSED, by=submitter, words=words))
            if len(self._refused) > 1_000:  # mostly of former days
                self._refused = Counter({key: count for key, count in self._refused.items() if key[1] == day})

    def flush_notes(self) -> None:
        """Write the queued events."""
        if self._noted:
            self.change(lambda: Change([]))

    def refuse_banned(self, person: str) -> None:
        """Raise InvalidInput if the host has banned this person."""
        if self.log.key_of(person) in self.moderation.banned:
            raise InvalidInput(Problem("the host of this leaderboard has banned this account", f"'{person}'"))

    def change(self, make: Callable[[], Change | None]) -> bool:
        """Make a change and add its events, all or nothing; return whether this call made it.

        ``make`` runs without concurrent writers, on the newest state; None changes nothing.
        """
        self._save_unlogged()
        noted: list[Draft] = []

        def changes() -> Changes | None:
            self._refresh_log()
            change = make()
            if change is None:
                return None
            noted[:] = self._noted
            log = self.log.added([*noted, *change.events], self._beginning)
            if change.erasure is not None:
                log = self.log.erased(*change.erasure, log)
            return {**change.files, **log}

        added = self._place.add(changes)
        self._refresh_log()
        if added:
            with self._lock:
                del self._noted[: len(noted)]
        return added

    def _save_unlogged(self) -> None:
        """Back up a store from a version without a log, before its log begins; on the Hub, revisions serve as backup.

        Raises: InvalidInput if there is not enough disk space.
        """
        saved = self.root.with_name(f"{self.root.name}.before-its-log.tar")
        if self.log.head.n or isinstance(self._place, HubRepository) or saved.exists():
            return
        if self._place.ids() or self._place.records():
            back_up(self, saved)

    def _beginning(self) -> dict[str, Any]:
        """Return the store's content when its log begins: counts, and digests of the ids."""
        ids, withdrawn = self._place.ids(), self._place.withdrawn()
        return {
            "entries": {"n": len(ids), "digest": digest_of_names(ids)},
            "withdrawn": {"n": len(withdrawn), "digest": digest_of_names(withdrawn)},
            "rounds": digests_of(self.records("round-")),
        }

    def _refresh_log(self) -> None:
        """Read new log events; if persons were erased, clear caches that may contain them."""
        self.log.refresh()
        erased = frozenset(self.moderation.erased)
        if erased != self._erased:
            with self._lock:
                self._records.clear()
                self._records_by_id.clear()
                self._erased = erased

    def _accepts(self, identity: str, submitter: str, daily_quota: int | None) -> bool:
        """Return whether an entry is new and may be added; InvalidInput if it is withdrawn or over quota."""
        self.refuse_banned(submitter)
        if self._withdrawn(identity):
            what = "this file with this card was withdrawn and cannot be submitted again"
            raise InvalidInput(Problem(what, identity, cure="change the card, for example its name or step"))
        if (self.root / card_path(identity)).is_file():
            return False
        today = date.fromisoformat(now()[:10])
        if daily_quota is not None and (sent := self.sent_on(submitter, today)) >= daily_quota:
            found = f"{sent} of {daily_quota} entries sent on {today} (UTC)"
            raise InvalidInput(Problem("today's quota is used up", submitter, found, "send it again tomorrow"))
        return True

    def _withdrawn(self, identity: str) -> bool:
        return (self.root / tombstone_path(identity)).is_file()

    def _read(self, identity: str) -> Entry:
        content = self._bytes(card_path(identity))
        if content is None:
            raise InvalidInput(
                Problem("the store has no such entry", str(self.root), f"'{identity}'", "see the board for ids")
            )
        return parse_entry(content, identity)

    def _readable(self) -> tuple[list[Entry], dict[str, str]]:
        """Read all cards; an unreadable one does not stop the others."""
        entries, reasons = [], {}
        for identity in self.ids():
            try:
                entries.append(self._read(identity))
            except InvalidInput as error:
                reasons[identity] = str(error)
        return entries, reasons

    def _submission_records(self) -> list[SubmissionRecord]:
        """Return the submitter and day of each entry (cached, since cards never change)."""
        with self._lock:
            self._read_submission_records()
            return list(self._records_by_id.values())

    def _read_submission_records(self) -> None:
        found = self._place.ids()
        for identity in self._records_by_id.keys() - found:
            del self._records_by_id[identity]
        for identity in found - self._records_by_id.keys():
            record = parse_submission_record(self._bytes(card_path(identity)) or b"", identity)
            if record is not None:  # damaged cards are not cached, as they may be restored meanwhile
                self._records_by_id[identity] = record

    def _score(self, entry: Entry, folder: DatasetFolder) -> Scored:
        if not folder.has_public_labels:
            cure = "see the results of the last round"
            raise InvalidInput(Problem("entries on withheld labels are scored only in rounds", entry.id, cure=cure))
        frame = self.checked_rows(entry.id, folder)
        scored = score_predictions(frame, folder, entry.card.subset, encoder=token_encoder(folder))
        self._place.write_local(derived_files(entry.id, scored))
        return scored

    def _bytes(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


_HUB = "hf://"
_REPOSITORY = re.compile(r"hf://datasets/([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)", re.ASCII)


def is_hub_place(place: str | Path) -> bool:
    """Return whether a store's location is a repository on the Hub."""
    return str(place).startswith(_HUB)


def open_store(place: str | Path, *, cache: Path | None = None, api: Any = None, must_exist: bool = False) -> Store:
    """Open a store.

    For a repository, the copy on this machine is updated first. If the Hub cannot be reached, the store has the content
    of that copy, and ``Store.behind`` has the reason; nothing can be added then.

    Args:
        place: a local folder, which need not exist yet, or ``hf://datasets/ORG/NAME``, a repository that must exist.
        cache: folder for copies of repositories; default: one in the user's cache folder.
        api: a ``huggingface_hub.HfApi``; default: one with the endpoint and token from the environment.
        must_exist: reject a local folder that does not exist yet.
    Raises: InvalidInput if the location is not a store's, or cannot be reached and there is no copy.
    """
    if is_hub_place(place):
        return _open_repository(str(place), cache or cache_folder() / "stores", api)
    root = Path(place)
    if "://" in str(place) or (root.exists() and not root.is_dir()):
        raise InvalidInput(Problem("this is not a store", str(place), cure="give a folder, or hf://datasets/ORG/NAME"))
    if must_exist and not root.exists():
        raise InvalidInput(Problem("there is no such store", str(place), cure="give the folder of 'serve --store'"))
    names = {path.name for path in root.iterdir()} if root.is_dir() else set()
    if names and not names & {ENTRIES, SCORES, WITHDRAWN, RECORDS, LOG, ".lock"}:
        found = ", ".join(sorted(names)[:3])
        raise InvalidInput(
            Problem("this folder contains other files than those of a store", str(root), found, "give another folder")
        )
    return Store(root)


def _open_repository(place: str, cache: Path, api: Any) -> Store:
    from huggingface_hub import HfApi
    from huggingface_hub.utils.tqdm import disable_progress_bars

    named = _REPOSITORY.fullmatch(place)
    if named is None:
        raise InvalidInput(
            Problem("this is not the name of a Hub repository", place, cure="give hf://datasets/ORG/NAME")
        )
    if not sys.stderr.isatty():
        disable_progress_bars()
    copy = HubRepository(named[1], cache / named[1].replace("/", "--"), api or HfApi())
    store = Store(copy.root, copy)
    try:
        store.refresh()
    except InvalidInput as error:
        if not is_transient(error) or not copy.ids():
            raise
    return store
