"""The one class that callers use, wherever a store's files are."""

import hashlib
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
    MadeWith,
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
from shiftbench.leaderboard.store.hub import HubPlace
from shiftbench.leaderboard.store.local import Listed, Listing, LocalPlace
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
    """The checked rows of an entry (``CHECKED_PREDICTIONS``): on test rows and, where it has any, on validation rows.

    ``validation_problem`` says why the file of the latter cannot be read, where it cannot.
    """

    predictions: pl.DataFrame
    validation: pl.DataFrame | None
    validation_problem: InvalidInput | None

    def refuse_lost_validation(self) -> None:
        """Raise why the validation rows of the entry cannot be read; nothing where they can, or there are none."""
        if self.validation_problem is not None:
            raise self.validation_problem


def is_at_hand(card: Card, folders: Iterable[DatasetFolder]) -> bool:
    """Return whether the dataset that a card's predictions are for is at hand (see ``folder_of``)."""
    return any(not card.version.difference(folder.version) for folder in folders)


def folder_of(card: Card, folders: Sequence[DatasetFolder]) -> DatasetFolder:
    """Return the dataset at hand that a card's predictions are for; InvalidInput naming both versions without it.

    A card without a settings hash fits any settings of the same content.
    """
    differences = [card.version.difference(folder.version) for folder in folders]
    same = [folder for folder, differs in zip(folders, differences, strict=True) if not differs]
    if same:  # of a public and a gold folder, which have one hash, the one that can be scored with
        return min(same, key=lambda folder: folder.manifest.withholds_labels)
    here = ", ".join(f"{folder.manifest.benchmark} {folder.version}" for folder in folders) or "none"
    column, what, cure = "data", "another version of the data", "predict on one of these, or build the same version"
    if "settings" in differences:
        column, what = "settings", "other settings of the same data"
        cure = f"predict on one of these, or {SETTINGS_CURE}"
    what, cure = f"the predictions were made for {what}", f"the datasets here are {here}; {cure}"
    raise InvalidInput(Problem(what, "card", str(card.version), cure, column=column))


def made_with(folder: DatasetFolder) -> MadeWith:
    """Return the encoders and settings that scores of a dataset are made with here."""
    return MadeWith(depth_encoder_name(folder), encoder_name(token_encoder(folder)), folder.version)


def refuse_candidates_alone(predictions: pl.DataFrame, folder: DatasetFolder, file: Path) -> None:
    """Refuse a file that no board would show: candidate data sets serve ``shiftbench study protocol`` alone."""
    tasks = predictions["task"].unique().sort().to_list()
    if all(folder.task(task).candidates_for is not None for task in tasks):
        what = "no board would show this: its predictions are for candidate data sets alone"
        cure = "give the file to 'shiftbench study protocol', or predict the task that they are candidates for, too"
        raise InvalidInput(Problem(what, str(file), ", ".join(tasks), cure))


class Erasure(NamedTuple):
    """An account whose name, and entries whose words, a change takes out of the log."""

    account: str
    entries: frozenset[str]


class Change(NamedTuple):
    """What is done to a store in one step: files (None for one that goes) and the events that tell of it."""

    events: Sequence[Draft]
    files: Changes = MappingProxyType({})
    erasure: Erasure | None = None


MAX_REFUSALS = 20
"""Refusals of one person on a day (UTC) that the log names one by one; anybody may send what is refused."""


class EntryFiles(NamedTuple):
    """The paths of an entry's files on this machine."""

    card: Path
    predictions: Path
    validation: Path
    scores: Path
    table: Path


class Store:
    """Entries in one place. Reading never changes them; a half-written entry is never visible.

    ``root`` is the local folder that is read; of a repository on the Hub, its copy on this machine. ``behind`` says
    why that copy may not be up to date; None where it is.
    """

    def __init__(self, root: Path | str, place: LocalPlace | None = None) -> None:
        self.root = Path(root)
        self.behind: str | None = None
        self._place = place or LocalPlace(self.root)
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
        """Check and score a prediction file, and store it; ``card.data`` says which of the folders it is for.

        A submitter may send ``daily_quota`` entries on one UTC day; None for any number. Without ``score`` the checked
        predictions are scored when ``scores`` is asked; those on withheld labels never are (see
        ``shiftbench.leaderboard.release``). The entry keeps ``validation`` predictions for forecasts, and what
        ``ask_hub`` (``model_facts.read_hub_facts``) finds out about a new one's model.

        Returns: the entry, durable, and whether it is new (False for a file sent before, which costs no quota).
        Raises: InvalidInput with every problem; nothing is stored then.
        """
        self.refuse_banned(submitter)  # before the work of checking
        folder = folder_of(card, folders)
        frame = checks.predictions(predictions, folder, card.subset)
        folder.refuse_withheld()
        if not folder.has_public_labels:
            self.require_private()
        refuse_candidates_alone(frame, folder, PredictionInput.of(predictions).path)
        rows, held_out = stored_rows(frame), None
        if validation is not None:
            held_out = stored_rows(checks.held_out(validation, frame, folder))
        identity = entry_id(submitter, card, rows, held_out)
        if self._accepts(identity, submitter, daily_quota):  # before the work of scoring
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

        Raises: InvalidInput when there is no such entry, or somebody else sent it.
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
        """List the ids of the entries that are shown, sorted: neither withdrawn nor hidden by the host."""
        present = self._place.ids() - self._place.withdrawn()
        self._refresh_log()
        return sorted(present - self.moderation.hidden.keys())

    @property
    def moderation(self) -> Moderation:
        """Return what the host's acts amount to, as of the last look at the log (``ids``, ``refresh``, a change)."""
        return self.log.moderation

    def every_id(self) -> set[str]:
        """Return the ids of all entries whose files are here, shown or not."""
        return self._place.ids()

    def withdrawn_ids(self) -> set[str]:
        """Return the ids of entries that have a tombstone: withdrawn ones, and those whose files were erased."""
        return self._place.withdrawn()

    def sent_by(self, account: str) -> list[str]:
        """List the ids of all entries of an account whose files are here, sorted."""
        with self._lock:
            self._read_submission_records()
            return sorted(each for each, record in self._records_by_id.items() if record.submitter == account)

    def sent(self, identity: str) -> Entry:
        """Read one entry as it was sent, whether it is shown or not, without the host's name for it."""
        return self._read(identity)

    def derived_of(self, ids: Collection[str]) -> set[str]:
        """Return the places of all that was computed of some entries, and of the tables that hold any entry."""
        places = (scores_path, table_path, forecasts_path)
        versions = self._place.versions()
        paths = {place(each, version) for place in places for each in ids for version in versions}
        paths |= {f"{SCORES}/{version}/{INDEX}" for version in versions}
        for version in self._place.names(COMPARISONS):
            names = self._place.names(f"{COMPARISONS}/{version}")
            paths |= {f"{COMPARISONS}/{version}/{name}" for name in names if any(each in name for each in ids)}
        return self._place.present(paths)

    def forget_former_revisions(self) -> None:
        """Take former revisions away from a repository on the Hub: what was erased can be read in them."""
        self._place.squash()

    @contextmanager
    def kept_still(self) -> Iterator[None]:
        """Keep everybody from writing for the length of a block; what a killed process left is finished before."""
        with self._place.locked():
            yield

    def entries(self) -> list[Entry]:
        """List the entries that are shown, oldest first; ``unreadable`` lists what is left out."""
        return sorted(self._readable()[0], key=lambda entry: (entry.submitted_at, entry.id))

    def unreadable(self) -> dict[str, str]:
        """Return the ids of entries whose card is missing or damaged, with the reason."""
        return self._readable()[1]

    def entry(self, identity: str) -> Entry:
        """Read one entry, under the name that the host gave it where it was renamed.

        Raises: InvalidInput when there is none of that id, or it was withdrawn, hidden or erased.
        """
        done = self.moderation
        if identity in done.erased or identity in done.hidden:
            what = "erased" if identity in done.erased else "hidden by the leaderboard's host"
            raise InvalidInput(Problem(f"this entry was {what}", identity, cure="see the board"))
        entry = self._read(identity)
        if self._withdrawn(identity):
            raise InvalidInput(Problem("this entry was withdrawn by its submitter", identity, cure="see the board"))
        name = done.names.get(identity)
        # An entry that poses as another model must not stay on that model's line of the overall board.
        card = entry.card if name is None else entry.card.model_copy(update={"name": name, "model": None})
        return replace(entry, card=card)

    def withdrawn_at(self, identity: str) -> str | None:
        """Return when an entry was withdrawn, as ISO 8601 (empty where that cannot be read); None for all others."""
        content = self._bytes(tombstone_path(identity))
        return None if content is None else parse_tombstone(content)

    def predictions(self, entry: Entry) -> Path:
        """Return the path of an entry's prediction file on this machine."""
        return self._place.fetch(predictions_path(entry.id))

    def validation(self, entry: Entry) -> Path | None:
        """Return the path of an entry's predictions on validation rows on this machine; None where it has none."""
        return self._place.fetch(validation_path(entry.id)) if entry.has_validation else None

    def checked_rows(self, identity: str, folder: DatasetFolder) -> pl.DataFrame:
        """Return an entry's predictions, checked as ``checked_files`` does; they need no validation file."""
        return self.checked_files(identity, folder).predictions

    def checked_files(self, identity: str, folder: DatasetFolder) -> CheckedRows:
        """Return an entry's rows, of a withdrawn one too, checked against the dataset and the entry's id.

        The id is made of both files, so it cannot be checked without the second. Scores need only the first, which is
        returned then once it passes its own check.

        Raises: InvalidInput when the predictions are damaged, or the files are not those that were sent.
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
            cure = "restore the entry's files from a backup, or ask for it to be submitted again"
            raise InvalidInput(Problem(f"{files} have changed since they were submitted", entry.id, cure=cure))
        return CheckedRows(rows, held_out, None)

    def scores(self, entry: Entry, folder: DatasetFolder) -> Scores:
        """Return an entry's scores: from the derived file, or computed again.

        They are computed again where the file is missing or damaged, or was made with other encoders or settings
        than the folder and this machine have now: the content hash is of rows alone.
        """
        return self.stored_scores(entry, folder) or self.score_again(entry, folder)

    def stored_scores(self, entry: Entry, folder: DatasetFolder) -> Scores | None:
        """Return an entry's stored scores, if they exist and ``scores`` would return them."""
        content = self._bytes(scores_path(entry.id)) if folder.has_public_labels else None
        return None if content is None else read_scores(content, made_with(folder))

    def score_again(self, entry: Entry, folder: DatasetFolder) -> Scores:
        """Score an entry again, whatever is stored."""
        return self._score(entry, folder).scores

    def table(self, entry: Entry, folder: DatasetFolder) -> pl.DataFrame:
        """Return an entry's long table of scores, with replicates (``SCORE_COLUMNS``); computed again as ``scores``."""
        content = self._bytes(table_path(entry.id)) if folder.has_public_labels else None
        stored = None if content is None else read_table(content, made_with(folder))
        return self._score(entry, folder).table if stored is None else stored

    def versions(self) -> list[str]:
        """List the metric versions of which there are scores, the newest first."""
        return sorted(self._place.versions(), key=lambda name: [int(part) for part in name.split(".")], reverse=True)

    def scores_of_version(self, version: str) -> Iterator[tuple[str, bytes]]:
        """Return id and nested scores of the entries that have some of a metric version, as they were written then."""
        self._place.fetch_scores(version)
        for identity in self.ids():
            content = self._bytes(scores_path(identity, version))
            if content is not None:
                yield identity, content

    def share_scores(self, made: Iterable[str] = ()) -> None:
        """Upload scores made on this machine to the repository, if the store is one: those of entries that were scored
        again, and what the repository lacks.
        """
        paths = [path(each) for each in made for path in (scores_path, table_path, forecasts_path)]
        self._place.share([path for path in paths if (self.root / path).is_file()])

    def entry_files(self, identity: str) -> EntryFiles:
        """Return the paths of an entry's files on this machine, whether they are there or not."""
        places = (card_path, predictions_path, validation_path, scores_path, table_path)
        return EntryFiles(*(self.root / place(identity) for place in places))

    def index_file(self, name: str) -> Path:
        """Return the path of a table that an index keeps beside the scores, whether it is there or not."""
        return self.root / index_path(name)

    def keep_index(self, tables: Mapping[str, bytes]) -> None:
        """Save tables of an index by name; InvalidInput when the store cannot be written."""
        self._place.keep({index_path(name): content for name, content in tables.items()})

    def comparison(self, first: str, other: str) -> bytes | None:
        """Return the saved comparison of an entry with another one, if there is one."""
        return self._bytes(comparison_path(first, other))

    def keep_comparison(self, first: str, other: str, content: bytes) -> None:
        """Save the comparison of an entry with another one; InvalidInput when the store cannot be written."""
        self._place.keep({comparison_path(first, other): content})

    def forecasts(self, identity: str) -> EntryForecasts | None:
        """Return what is kept of an entry's forecasts; None where there is nothing that can be shown."""
        content = self._bytes(forecasts_path(identity))
        return None if content is None else read_forecasts(content)

    def forecast_again(self, entry: Entry, folder: DatasetFolder) -> EntryForecasts:
        """Forecast an entry anew and keep that beside its scores; no page waits for it.

        Raises: InvalidInput when its files are damaged, its labels are withheld, or the store cannot be written; the
            entry and its scores stay as they are.
        """
        rows = self.checked_files(entry.id, folder)
        rows.refuse_lost_validation()
        found = forecast_entry(rows.predictions, rows.validation, folder)
        self._place.keep({forecasts_path(entry.id): found.model_dump_json().encode()})
        return found

    def sent_on(self, submitter: str, day: date) -> int:
        """Count the entries that somebody sent on a UTC day, withdrawn ones too, for comparison with a quota."""
        return Counter((each.submitter, each.day) for each in self._submission_records())[submitter, day.isoformat()]

    def first_days(self) -> dict[str, str]:
        """Return the UTC day (ISO) of each submitter's first entry, withdrawn ones too: how old an account is here."""
        days: dict[str, str] = {}
        for each in self._submission_records():
            days[each.submitter] = min(each.day, days.get(each.submitter, each.day))
        return days

    def records(self, beginning: str) -> dict[str, bytes]:
        """Return the records whose names begin with a prefix, sorted by name; each is read once, as none changes."""
        names = sorted(name for name in self._place.records() if name.startswith(beginning))
        with self._lock:
            for name in names:
                if name not in self._records:
                    self._records[name] = (self.root / record_path(name)).read_bytes()
            return {name: self._records[name] for name in names}

    def add_records(self, make: Callable[[], Mapping[str, bytes] | None], event: Draft) -> bool:
        """Add records, which are never changed or removed; return whether they were added, and are durable.

        ``make`` is called while nobody else writes, and gives contents by name; None adds nothing. ``event`` says in
        the log what they are. InvalidInput when there is a record of such a name.
        """

        def files() -> Change | None:
            found = make()
            if found is None:
                return None
            if taken := sorted(set(found) & self._place.records()):
                raise InvalidInput(
                    Problem("this record exists already", str(self.root), taken[0], "records never change")
                )
            return Change([event], {record_path(name): content for name, content in found.items()})

        return self.change(files)

    def refresh(self) -> None:
        """Read what others added; InvalidInput when the place does not answer, or a local folder has vanished.

        ``behind`` says then why, so that what is here can be shown with it.
        """
        try:
            self._place.refresh()
            self._refresh_log()
        except InvalidInput as error:
            self.behind = str(error)
            raise
        self.behind = None

    def listing(self, choose: Callable[[Mapping[str, Listed]], Collection[str]] = lambda _: ()) -> Listing:
        """List all files of the store, and read those that ``choose`` returns, at a moment when nobody writes.

        Raises: InvalidInput when there is no store, or it cannot be reached.
        """
        return self._place.listing(choose)

    def listed_content(self, path: str, listing: Listing) -> bytes | None:
        """Read a file of a listing; None where it is gone since."""
        return self._place.listed_content(path, listing)

    def check_writable(self) -> None:
        """Raise InvalidInput for a place that accepts no entry."""
        self._place.check_writable()

    def require_private(self) -> None:
        """Keep the place private, as withheld labels need, now and at every later update.

        Of a local folder, only its owner may read what is in it. A place on the Hub is refused where everybody may
        read it.

        Raises: InvalidInput when it is public, cannot be asked, or belongs to somebody else and others may read it.
        """
        self._place.require_private()

    def note_event(self, event: Draft) -> None:
        """Add an event that changes no file."""
        self.change(lambda: Change([event]))

    def note_configuration(self, configuration: Mapping[str, Any], hosts: Collection[str]) -> None:
        """Remember for the log what a server is configured with, and its hosts, where that has changed."""
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
        """Remember for the log why somebody's submission was refused; ``flush_notes`` or the next event writes it.

        Only what was wrong is noted, and not what was found: that is the submitter's own text.
        """
        day = now()[:10]
        with self._lock:
            self._refused[submitter, day] += 1
            if self._refused[submitter, day] <= MAX_REFUSALS:
                words = {"reason": "; ".join(problem.what for problem in error.problems[:3])[:500]}
                self._noted.append(Draft(REFUSED, by=submitter, words=words))
            if len(self._refused) > 1_000:  # of former days, mostly
                self._refused = Counter({key: count for key, count in self._refused.items() if key[1] == day})

    def flush_notes(self) -> None:
        """Write what was noted since the last event."""
        if self._noted:
            self.change(lambda: Change([]))

    def refuse_banned(self, person: str) -> None:
        """Raise InvalidInput for a person whom the host has banned."""
        if self.log.key_of(person) in self.moderation.banned:
            raise InvalidInput(Problem("this leaderboard's host takes nothing more from this account", f"'{person}'"))

    def change(self, make: Callable[[], Change | None]) -> bool:
        """Make a change and add its events, all or nothing; return whether it came from this call.

        ``make`` is called while nobody else writes, on the newest state; None changes nothing.
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
        """Back up the store of a version that kept no log beside it, before its log begins; on the Hub, revisions do.

        Raises: InvalidInput when there is no room for it.
        """
        saved = self.root.with_name(f"{self.root.name}.before-its-log.tar")
        if self.log.head.n or isinstance(self._place, HubPlace) or saved.exists():
            return
        if self._place.ids() or self._place.records():
            from shiftbench.leaderboard.store.backup import back_up  # which is of stores

            back_up(self, saved)

    def _beginning(self) -> dict[str, Any]:
        """Return what the store holds as its log begins: numbers, and digests of the ids."""
        ids, withdrawn = self._place.ids(), self._place.withdrawn()
        rounds = self.records("round-")
        return {
            "entries": {"n": len(ids), "digest": digest_of_names(ids)},
            "withdrawn": {"n": len(withdrawn), "digest": digest_of_names(withdrawn)},
            "rounds": {name: hashlib.sha256(content).hexdigest() for name, content in rounds.items()},
        }

    def _refresh_log(self) -> None:
        """Read what was added to the log; what was read of erased persons is forgotten."""
        self.log.refresh()
        erased = frozenset(self.moderation.erased)
        if erased != self._erased:
            with self._lock:
                self._records.clear()
                self._records_by_id.clear()
                self._erased = erased

    def _accepts(self, identity: str, submitter: str, daily_quota: int | None) -> bool:
        """Return whether an entry is new and may be added; InvalidInput when it is withdrawn or over quota."""
        self.refuse_banned(submitter)
        if self._withdrawn(identity):
            what = "this file with this card was withdrawn and cannot be submitted again"
            raise InvalidInput(Problem(what, identity, cure="state in the card what is new, such as its name or step"))
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
        """Read all cards; one that cannot be read stops no other."""
        entries, reasons = [], {}
        for identity in self.ids():
            try:
                entries.append(self._read(identity))
            except InvalidInput as error:
                reasons[identity] = str(error)
        return entries, reasons

    def _submission_records(self) -> list[SubmissionRecord]:
        """Return the submitter and day of each entry; each card is read once, since cards never change."""
        with self._lock:
            self._read_submission_records()
            return list(self._records_by_id.values())

    def _read_submission_records(self) -> None:
        found = self._place.ids()
        for identity in self._records_by_id.keys() - found:
            del self._records_by_id[identity]
        for identity in found - self._records_by_id.keys():
            record = parse_submission_record(self._bytes(card_path(identity)) or b"", identity)
            if record is not None:  # a damaged card is not remembered, as it may be restored while this runs
                self._records_by_id[identity] = record

    def _score(self, entry: Entry, folder: DatasetFolder) -> Scored:
        if not folder.has_public_labels:
            cure = "see what the last round released"
            raise InvalidInput(Problem("entries on withheld labels are scored in rounds alone", entry.id, cure=cure))
        frame = self.checked_rows(entry.id, folder)
        scored = score_predictions(frame, folder, entry.card.subset, encoder=token_encoder(folder))
        self._place.keep(derived_files(entry.id, scored))
        return scored

    def _bytes(self, path: str) -> bytes | None:
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None


_HUB = "hf://"
_REPOSITORY = re.compile(r"hf://datasets/([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)", re.ASCII)


def is_hub_place(place: str | Path) -> bool:
    """Return whether a store's place is a repository on the Hub."""
    return str(place).startswith(_HUB)


def open_store(place: str | Path, *, cache: Path | None = None, api: Any = None, must_exist: bool = False) -> Store:
    """Open a store.

    Of a repository the copy on this machine is brought up to date first. Where the Hub cannot be reached, the store is
    what that copy has, and ``Store.behind`` says why; nothing can be added then.

    Args:
        place: a local folder, which need not exist yet, or ``hf://datasets/ORG/NAME``, a repository that must.
        cache: folder for copies of repositories; default one in the user's cache folder.
        api: a ``huggingface_hub.HfApi``; default one of the address and the token in the environment.
        must_exist: refuse a local folder that does not exist yet.
    Raises: InvalidInput when the place is no store's, or cannot be reached and there is no copy.
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
        raise InvalidInput(Problem("this folder holds other files than a store's", str(root), found, "name another"))
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
    copy = HubPlace(named[1], cache / named[1].replace("/", "--"), api or HfApi())
    store = Store(copy.root, copy)
    try:
        store.refresh()
    except InvalidInput as error:
        if not is_transient(error) or not copy.ids():
            raise
    return store
