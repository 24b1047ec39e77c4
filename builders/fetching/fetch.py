"""What is missing under RAW, which download brings it, and fetching it: several at a time, each whole or not at all."""

import logging
import os
import shutil
import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.fetching.archives import unpack_members
from shiftbench.builders.fetching.hub import RemoteFile, count_rows, find_on_hub, find_writer, is_on_hub
from shiftbench.builders.fetching.records import (
    Fetched,
    accepts_terms,
    read_records,
    today,
    write_records,
    write_terms,
)
from shiftbench.builders.fetching.transfer import (
    NOTES,
    Gauge,
    RefusedError,
    StoppedError,
    fetch_file,
    n_bytes,
    open_client,
    put_in_place,
)
from shiftbench.builders.reading.places import check_form, find_file
from shiftbench.builders.specs.sources import Download, SourceSpec, read_sources
from shiftbench.builders.specs.spec import FileSpec, TaskSpec, upstream
from shiftbench.validation.output_files import check_folder, refuse_unwritable, sync
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean

if TYPE_CHECKING:
    import httpx2
    from huggingface_hub import HfApi

log = logging.getLogger(__name__)

ALL = "all"
"""Accepts the terms of every source."""


@dataclass(frozen=True)
class Request:
    """A download that will be made: the first of its source that brings the places.

    Attributes:
        source: the release.
        download: what is asked for; where it fails, the source's next one that brings the places is tried.
        places: the missing places that it brings, as specs name them; a place may be filled by its gzipped or zipped
            form.
    """

    source: SourceSpec
    download: Download
    places: tuple[str, ...]


@dataclass(frozen=True)
class ByHand:
    """Missing places of a source that no download brings: its ``instructions`` say how a person gets them."""

    source: SourceSpec
    places: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """What is to be fetched.

    Attributes:
        requests: downloads, in the order of the specs; empty where nothing is missing that one brings.
        by_hand: what a person must get, a source each.
        terms: sources of ``requests`` whose terms were not accepted yet.
    """

    requests: tuple[Request, ...]
    by_hand: tuple[ByHand, ...]
    terms: tuple[SourceSpec, ...]


def plan_fetch(specs: Iterable[TaskSpec], raws: Sequence[Path]) -> Plan:
    """Find which files of tasks no folder has, and which download brings each; no network is touched.

    Files that hold a release in part are not looked for. A folder that is not there lacks everything.

    Args:
        raws: folders of upstream files; what is fetched goes to the first.
    Raises: InvalidInput where a folder or a broken link lies in a file's place.
    """
    wanted: dict[SourceSpec, dict[str, None]] = {}
    problems: list[Problem] = []
    for file in (
        file for spec in specs for domain in spec.domains for split in domain.files.values() for file in split
    ):
        if not file.partial:
            try:
                missing = _find_missing(file, raws)
            except InvalidInput as error:
                problems += error.problems
            else:
                wanted.setdefault(file.source, {}).update(dict.fromkeys(missing))
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    requests: list[Request] = []
    by_hand: list[ByHand] = []
    for source, places in wanted.items():
        chosen, left = _choose(source, source.downloads, places)
        requests += chosen
        by_hand += [ByHand(source, left)] if left else []
    asking = dict.fromkeys(request.source for request in requests)
    return Plan(tuple(requests), tuple(by_hand), tuple(source for source in asking if not accepts_terms(raws, source)))


def fetch(
    plan: Plan, raw: Path, *, accepted: Collection[str] = (), parallel: int = 4, api: "HfApi | None" = None
) -> tuple[Fetched, ...]:
    """Fetch what a plan asks for into a folder of upstream files, with a bar of progress where standard error shows it.

    What was fetched is there whole, and recorded in ``RAW/<slug>/fetched.json``; accepted terms are kept in
    ``RAW/<slug>/terms.json``. A source that fails stops no other. Stopped or killed, the same call asks for the rest.

    Args:
        raw: made where it is not there.
        accepted: slugs of sources whose terms are accepted, or ``all``.
        parallel: downloads at a time, 1 or more.
        api: the Hub; by default the one of ``HF_ENDPOINT``.
    Returns: what was fetched, a place each, in the order of the plan; places by hand are left out without a word.
    Raises: InvalidInput after everything else was fetched, naming at once every source that failed or whose terms
        were not accepted; before anything is fetched where ``accepted`` names no source (UnknownChoice), the disk has
        too little space, or another fetch is writing to the folder.
    """
    known = [*read_sources(), *(request.source.slug for request in plan.requests)]
    unknown = [name for name in accepted if name not in (ALL, *known)]
    if unknown:
        raise UnknownChoice(
            Problem("there is no such source", "accepted terms", f"'{name}'", did_you_mean(name, known))
            for name in unknown
        )
    refused = [source for source in plan.terms if not {ALL, source.slug} & set(accepted)]
    problems = [
        Problem("its terms are not accepted", source.slug, str(source.terms), f"give --accept-terms {source.slug}")
        for source in refused
    ]
    requests = [request for request in plan.requests if request.source not in refused]
    outcomes: list[_Outcome] = []
    if requests:
        check_folder(raw, "nothing can be written to the folder of upstream files", str(raw), _OTHER_FOLDER)
        with _scratch(raw) as scratch, open_client() as client:
            _remove_leftovers(scratch, requests)
            left = {_key(request.download): _count_left(request, scratch) for request in requests}
            _check_space(requests, raw, sum(left.values()))
            for source in (source for source in plan.terms if source not in refused):
                write_terms(raw, source, scratch)
            with progress(total=sum(left.values()), desc="downloading", unit="B", unit_scale=True) as bar:
                users = Counter(_key(request.download) for request in requests)
                run = _Run(raw, scratch, client, _open_gauge(bar), api, left, users)
                outcomes = _map_parallel(run.start, requests, parallel, run.gauge.stop)
    elif os.access(raw / _SCRATCH, os.W_OK):
        from filelock import FileLock, Timeout

        # Another fetch that is at work removes its own; nothing is to be brought, so it is not in the way.
        with suppress(Timeout), FileLock(raw / _SCRATCH / _LOCK, blocking=False):
            _remove_leftovers(raw / _SCRATCH)
    problems += [problem for outcome in outcomes for problem in outcome.problems]
    if problems:
        raise InvalidInput(dict.fromkeys(problems)) from next(filter(None, (each.cause for each in outcomes)), None)
    return tuple(file for outcome in outcomes for file in outcome.fetched)


def _find_missing(file: FileSpec, raws: Sequence[Path]) -> list[str]:
    """Return the places of a file, and of what is read beside it, that are empty, or empty in the first folder.

    What is read beside a file must lie beside it: where it does not, both are wanted in one folder.
    """
    path = find_file(raws, file.path)
    if path is not None and all(path.with_name(name).exists() for name in file.beside):
        return []
    beside = [str(PurePosixPath(file.path).with_name(name)) for name in file.beside]
    missing = [] if find_file(raws[:1], file.path) else [file.path]
    return missing + [place for place in beside if not (raws[0] / place).exists()]


def _choose(
    source: SourceSpec, downloads: Sequence[Download], places: Iterable[str]
) -> tuple[list[Request], tuple[str, ...]]:
    """Choose for each place the first download that brings it; return the requests, and the places that none brings."""
    chosen: dict[int, list[str]] = {}
    left: list[str] = []
    for place in places:
        number = next((n for n, download in enumerate(downloads) if find_form(download, place)), None)
        if number is None:
            left.append(place)
        else:
            chosen.setdefault(number, []).append(place)
    return [Request(source, downloads[number], tuple(chosen[number])) for number in chosen], tuple(left)


def find_form(download: Download, place: str) -> str | None:
    """Return the place that a download fills in the stead of one that a spec names: itself, or gzipped, or zipped."""
    forms = (place, f"{place}.gz", f"{place}.zip", str(PurePosixPath(place).with_suffix(".zip")))
    return next((form for form in forms if form in download.places), None)


class _Outcome(NamedTuple):
    """What a request brought, and why it did not bring the rest."""

    fetched: tuple[Fetched, ...]
    problems: tuple[Problem, ...] = ()
    cause: BaseException | None = None


@dataclass(frozen=True)
class _Run:
    """What the downloads of one call share."""

    raw: Path
    scratch: Path
    client: "httpx2.Client"
    gauge: Gauge
    api: "HfApi | None"
    left: dict[str, int]
    """By download, the bytes that were expected before it began."""
    users: Counter[str]
    """How many requests are yet to take something from what is downloaded, as of an archive that two sources name."""
    recording: threading.Lock = field(default_factory=threading.Lock)
    asking: threading.Lock = field(default_factory=threading.Lock)
    revisions: list[str] = field(default_factory=list)
    locks: dict[str, threading.Lock] = field(default_factory=dict)

    def start(self, request: Request) -> _Outcome:
        """Fetch what a request of the plan is for; each transfer tells by itself how many bytes it expects."""
        self.gauge.expect(-self.left.pop(_key(request.download), 0))
        return self._fetch(request)

    def _fetch(self, request: Request, *before: str) -> _Outcome:
        """Fetch what a request is for; where that fails, by the later downloads of its source that bring it.

        ``before``: what failed before it.
        """
        source = request.source
        try:
            with refuse_unwritable("what comes cannot be written", str(self.raw), f"make room, or {_OTHER_FOLDER}"):
                return _Outcome(self._bring(request))
        except InvalidInput as error:
            return _Outcome((), tuple(error.problems))
        except _FailedError as error:
            later = source.downloads[source.downloads.index(request.download) + 1 :]
            others, left = _choose(source, later, request.places)
            if others:
                log.info("%s: %s; trying another download", ", ".join(request.places), error)
            outcomes = [self._fetch(other, *before, str(error)) for other in others]
            cure = f"try again, or by hand: {source.instructions}"
            found = "; ".join((*before, str(error)))
            problems = [Problem("the download failed", ", ".join(left), found, cure)] if left else []
            return _Outcome(
                tuple(file for outcome in outcomes for file in outcome.fetched),
                (*problems, *(problem for outcome in outcomes for problem in outcome.problems)),
                error.__cause__,
            )

    def _bring(self, request: Request) -> tuple[Fetched, ...]:
        """Try the addresses of a download in order; raise _FailedError with what each answered where none brings it."""
        refusals: list[str] = []
        cause: BaseException | None = None
        key = _key(request.download)
        folder = self.scratch / key
        with self.locks.setdefault(key, threading.Lock()):
            self.users[key] -= 1
            for address in request.download.urls:
                folder.mkdir(exist_ok=True)
                try:
                    fetched = self._bring_from(address, request, folder)
                except RefusedError as error:
                    refusals.append(f"{address}: {error}")
                    cause = cause or error.__cause__
                except InvalidInput as error:
                    refusals += map(str, error.problems)
                    cause = cause or error.__cause__
                else:
                    if self.users[key] < 1:
                        shutil.rmtree(folder)
                    return fetched
        raise _FailedError("; ".join(refusals)) from cause

    def _bring_from(self, address: str, request: Request, folder: Path) -> tuple[Fetched, ...]:
        """Fetch a download's places from one address, and record them."""
        source, download = request.source, request.download
        files: Sequence[RemoteFile] = (RemoteFile(urlsplit(address).path, address, download.size, download.sha256),)
        revision, headers = None, dict[str, str]()
        if is_on_hub(address):
            with self.asking:  # files of one repository come from one revision
                known = [file.revision for file in read_records(self.raw, source.slug).values() if file.revision]
                address, revision, files, headers = find_on_hub(address, [*known, *self.revisions], self.api)
                self.revisions.append(revision)
            files = _with_recorded(files, download)
        outs = [folder / f"{number}-{PurePosixPath(file.name).name}" for number, file in enumerate(files)]
        if len(files) == 1 and download.place is not None and download.rows_as is None:
            outs = [folder / PurePosixPath(download.place).name]  # its ending says what it must be
        for file, out in zip(files, outs, strict=True):
            fetch_file(
                self.client, file.url, out, size=file.size, sha256=file.sha256, headers=headers, gauge=self.gauge
            )
        counts = [count_rows(out) for out in outs] if revision else [None]
        rows = None if None in counts else sum(filter(None, counts))
        try:
            new = _stage(request, outs, folder / _STAGED)
        except (RefusedError, InvalidInput):
            shutil.rmtree(folder)  # it is whole, and not what was looked for
            raise
        fetched = tuple(_describe(place, path, address, revision, rows) for place, path in new.items())
        with self.recording:  # before the file is in its place, so that none there is without a record
            write_records(self.raw, source.slug, fetched, self.scratch)
        for place, path in new.items():
            put_in_place(path, self.raw / place)
        for one in fetched:
            log.info("%s", _format_outcome(one))
        return fetched


def _with_recorded(files: Sequence[RemoteFile], download: Download) -> Sequence[RemoteFile]:
    """Return the files of the Hub that a download's address names, with the size and checksum recorded of one alone.

    Raises: RefusedError where they are several and have another size together, or a checksum of one is recorded.
    """
    if len(files) == 1:
        return [files[0]._replace(size=download.size or files[0].size, sha256=download.sha256 or files[0].sha256)]
    total = sum(file.size or 0 for file in files)
    if download.sha256 is not None:
        raise RefusedError(f"{len(files)} files, and the checksum of one is recorded")
    if download.size not in (None, total):
        raise RefusedError(f"{total:,} bytes in {len(files)} files, {download.size:,} are recorded: another revision?")
    return files


def _stage(request: Request, outs: Sequence[Path], staged: Path) -> dict[str, Path]:
    """Make what a request is for out of the files that came: by place, in the form that the download has there."""
    download = request.download
    forms = [str(find_form(download, place)) for place in request.places]
    if download.rows_as is None and len(outs) != 1:
        raise RefusedError(f"{len(outs)} files where one is expected")
    if download.place is not None and download.rows_as is None:
        check_form(outs[0])
        return {download.place: outs[0]}
    shutil.rmtree(staged, ignore_errors=True)  # a run that was killed left it
    new = {form: staged / form for form in forms}
    if download.rows_as is None:
        unpack_members(outs[0], {form: download.members[form] for form in forms}, staged)
    else:
        (path,) = new.values()
        path.parent.mkdir(parents=True)
        find_writer(download.rows_as)(outs, path)
    for path in new.values():
        sync(path)
    return new


class _FailedError(Exception):
    """No address of a download brings what it is for; it says what each answered."""


_SCRATCH, _STAGED, _LOCK = ".fetching", "staged", "lock"
"""A folder under RAW with a lock and a folder for each download that is not in its place yet; one inside that, in which
nothing is left once all is in its place; and the lock."""
_OTHER_FOLDER = "give another folder first; run it again then: what came is kept"


@contextmanager
def _scratch(raw: Path) -> Iterator[Path]:
    """Yield the folder of what is not whole yet, which one fetch at a time writes to."""
    from filelock import FileLock, Timeout

    scratch = raw / _SCRATCH
    scratch.mkdir(exist_ok=True)
    try:
        with FileLock(scratch / _LOCK, blocking=False):
            yield scratch
    except Timeout as error:
        cure = "wait until it has ended"
        raise InvalidInput(Problem("another fetch is writing to this folder", str(raw), cure=cure)) from error


def _remove_leftovers(scratch: Path, requests: Sequence[Request] = ()) -> None:
    """Remove what runs left that were killed while they wrote a record, or had put everything in its place.

    What was not unpacked yet, or came in part, stays for the task that asked for it, even where this run is for others.
    """
    wanted = {_key(request.download) for request in requests}
    for path in scratch.iterdir():
        if not path.is_dir():
            if path.name != _LOCK:
                path.unlink()
        elif path.name not in wanted:
            files = [file for file in path.rglob("*") if file.is_file()]
            staged = path / _STAGED
            if not files or (staged.is_dir() and not any(file.is_relative_to(staged) for file in files)):
                shutil.rmtree(path)


def _check_space(requests: Sequence[Request], raw: Path, left: int) -> None:
    """Refuse to begin where the disk cannot hold what is to come, and once more what is unpacked or rewritten of it."""
    downloads = [request.download for request in requests]
    written = sum(each.size or 0 for each in downloads if each.place is None or each.rows_as is not None)
    free = shutil.disk_usage(raw).free
    if left + written > free:
        needed = f"{free / 1e9:,.2f} GB free, at least {(left + written) / 1e9:,.2f} GB needed"
        cure = f"make room, or {_OTHER_FOLDER}"
        raise InvalidInput(Problem("the disk has too little space for the downloads", str(raw), needed, cure))


def _count_left(request: Request, scratch: Path) -> int:
    """Count the bytes of a request that are to come, as far as its size is recorded."""
    came = sum(n_bytes(path) for path in (scratch / _key(request.download)).glob("*") if path.suffix != NOTES)
    return max(0, (request.download.size or 0) - came)


def _key(download: Download) -> str:
    """Return the name of the folder that a download comes into."""
    return sha256(repr((download.urls, download.sha256)).encode()).hexdigest()[:16]


def _open_gauge(bar: Any) -> Gauge:
    """Return what moves a bar from several threads."""
    lock = threading.Lock()

    def came(n: int) -> None:
        with lock:
            bar.update(n)

    def expect(n: int) -> None:
        with lock:
            bar.total = (bar.total or 0) + n

    return Gauge(came, expect)


def _map_parallel(
    do: Callable[[Request], _Outcome], requests: Sequence[Request], parallel: int, stop: threading.Event
) -> list[_Outcome]:
    """Run requests in so many threads; return their outcomes in order, or raise what none of ours raises.

    The threads are daemons: one that waits for a server must not hold up Ctrl-C, nor the interpreter's end.
    """
    waiting = deque(enumerate(requests))
    outcomes: dict[int, _Outcome] = {}
    failed: list[BaseException] = []

    def work() -> None:
        while not stop.is_set():
            try:
                number, request = waiting.popleft()
            except IndexError:
                return
            try:
                outcomes[number] = do(request)
            except StoppedError:
                return
            except BaseException as error:  # a fault of ours must not pass for a download that is done
                failed.append(error)
                stop.set()

    threads = [threading.Thread(target=work, name="fetch", daemon=True) for _ in range(min(parallel, len(requests)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # Ctrl-C does not end a wait without an end on every system
    finally:
        stop.set()
        for thread in threads:
            thread.join(1)
    if failed:
        raise failed[0]
    return [outcomes[number] for number in range(len(requests))]


def _describe(place: str, path: Path, address: str, revision: str | None, rows: int | None) -> Fetched:
    one = Fetched(place=place, address=address, revision=revision, rows=rows, date=today())
    return one.model_copy(update={"size": n_bytes(path), "sha256": file_sha256(path)}) if path.is_file() else one


def _format_outcome(one: Fetched) -> str:
    if one.rows is None:
        return f"{one.place}: fetched" if one.size is None else f"{one.place}: {one.size:,} bytes"
    facts = upstream().files.get(one.place)
    if facts is None or facts.rows is None:
        return f"{one.place}: {one.rows:,} rows; nothing is recorded to compare them with"
    if facts.rows == one.rows:
        return f"{one.place}: {one.rows:,} rows, as recorded"
    return f"{one.place}: {one.rows:,} rows, recorded {facts.rows:,}: a build compares the rows that it takes"
