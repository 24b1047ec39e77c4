"""Plan and run the downloads of missing files under RAW, several in parallel, each written atomically."""

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
"""Value of ``accepted`` that accepts the terms of every source."""


@dataclass(frozen=True)
class Request:
    """A planned download: the first download of a source that provides missing paths.

    Attributes:
        source: the release.
        download: the download; if it fails, the source's next one that provides the paths is tried.
        places: the missing paths it provides, as in the specs; a gzipped or zipped file may be stored instead.
    """

    source: SourceSpec
    download: Download
    places: tuple[str, ...]


@dataclass(frozen=True)
class ByHand:
    """Missing paths of a source without an automatic download; its ``instructions`` explain how to get them."""

    source: SourceSpec
    places: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A plan of downloads.

    Attributes:
        requests: downloads, in the order of the specs; empty if there is nothing to download.
        by_hand: files to be obtained by hand, by source.
        terms: sources of ``requests`` whose terms have not been accepted yet.
    """

    requests: tuple[Request, ...]
    by_hand: tuple[ByHand, ...]
    terms: tuple[SourceSpec, ...]


def plan_fetch(specs: Iterable[TaskSpec], raws: Sequence[Path]) -> Plan:
    """Find the missing files of tasks and a download for each, without network access.

    Files that contain only part of a release are ignored. A folder that does not exist counts as empty.

    Args:
        specs: the tasks.
        raws: folders of upstream files; downloads go to the first.
    Raises: InvalidInput if there is a folder or a broken link at a file's path.
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
    """Run the downloads of a plan into a folder of upstream files, with a progress bar on standard error.

    Files are written atomically and recorded in ``RAW/<slug>/fetched.json``; accepted terms are stored in
    ``RAW/<slug>/terms.json``. A failing source does not stop the others. After an interruption the same call resumes.

    Args:
        plan: the downloads, from ``plan_fetch``.
        raw: the target folder; created if missing.
        accepted: slugs of sources whose terms are accepted, or ``all``.
        parallel: number of parallel downloads, 1 or more.
        api: the Hub client; by default for ``HF_ENDPOINT``.
    Returns: the files fetched, in the order of the plan; files to be obtained by hand are skipped.
    Raises: InvalidInput, after all other downloads, listing every source that failed or whose terms were not accepted;
        or before any download if ``accepted`` contains an unknown source (UnknownChoice), the disk has too little
        space, or another fetch is writing to the folder.
    """
    known = [*read_sources(), *(request.source.slug for request in plan.requests)]
    unknown = [name for name in accepted if name not in (ALL, *known)]
    if unknown:
        raise UnknownChoice(
            Problem("there is no such source", "--accept-terms", f"'{name}'", did_you_mean(name, known))
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
        check_folder(raw, "the folder of upstream files is not writable", str(raw), _OTHER_FOLDER)
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

        # With nothing to download, a running fetch is no problem: it removes its own leftovers.
        with suppress(Timeout), FileLock(raw / _SCRATCH / _LOCK, blocking=False):
            _remove_leftovers(raw / _SCRATCH)
    problems += [problem for outcome in outcomes for problem in outcome.problems]
    if problems:
        raise InvalidInput(dict.fromkeys(problems)) from next(filter(None, (each.cause for each in outcomes)), None)
    return tuple(file for outcome in outcomes for file in outcome.fetched)


def _find_missing(file: FileSpec, raws: Sequence[Path]) -> list[str]:
    """Return the missing paths of a file and of its companion files.

    Companion files must be in the same folder as the file: if they are not, all are fetched to the first folder.
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
    """Choose the first download that provides each path; return the requests, and the paths without a download."""
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
    """Return the path where a download stores a file of a spec: as it is, gzipped or zipped; else None."""
    forms = (place, f"{place}.gz", f"{place}.zip", str(PurePosixPath(place).with_suffix(".zip")))
    return next((form for form in forms if form in download.places), None)


class _Outcome(NamedTuple):
    """The files fetched by a request, and the problems of the others."""

    fetched: tuple[Fetched, ...]
    problems: tuple[Problem, ...] = ()
    cause: BaseException | None = None


@dataclass(frozen=True)
class _Run:
    """State shared by the downloads of one call."""

    raw: Path
    scratch: Path
    client: "httpx2.Client"
    gauge: Gauge
    api: "HfApi | None"
    left: dict[str, int]
    """Expected bytes of each download that has not started yet."""
    users: Counter[str]
    """Number of pending requests per download; an archive may be used by two sources."""
    recording: threading.Lock = field(default_factory=threading.Lock)
    asking: threading.Lock = field(default_factory=threading.Lock)
    revisions: list[str] = field(default_factory=list)
    locks: dict[str, threading.Lock] = field(default_factory=dict)

    def start(self, request: Request) -> _Outcome:
        """Run a request of the plan; each transfer reports its own expected bytes."""
        self.gauge.expect(-self.left.pop(_key(request.download), 0))
        return self._fetch(request)

    def _fetch(self, request: Request, *before: str) -> _Outcome:
        """Run a request; if it fails, try later downloads of its source that provide the same paths.

        ``before``: errors of earlier downloads.
        """
        source = request.source
        try:
            with refuse_unwritable(
                "the download cannot be written", str(self.raw), f"free disk space, or {_OTHER_FOLDER}"
            ):
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
        """Try the URLs of a download in order; raise _FailedError with all responses if none works."""
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
        """Fetch the files of a download from one URL, and record them."""
        source, download = request.source, request.download
        files: Sequence[RemoteFile] = (RemoteFile(urlsplit(address).path, address, download.size, download.sha256),)
        revision, headers = None, dict[str, str]()
        if is_on_hub(address):
            # One request at a time, so that all files of a repository come from the revision found first.
            with self.asking:
                known = [file.revision for file in read_records(self.raw, source.slug).values() if file.revision]
                address, revision, files, headers = find_on_hub(address, [*known, *self.revisions], self.api)
                self.revisions.append(revision)
            files = _with_recorded(files, download)
        outs = [folder / f"{number}-{PurePosixPath(file.name).name}" for number, file in enumerate(files)]
        if len(files) == 1 and download.place is not None and download.rows_as is None:
            outs = [folder / PurePosixPath(download.place).name]  # the suffix determines the expected format
        for file, out in zip(files, outs, strict=True):
            fetch_file(
                self.client, file.url, out, size=file.size, sha256=file.sha256, headers=headers, gauge=self.gauge
            )
        counts = [count_rows(out) for out in outs] if revision else [None]
        rows = None if None in counts else sum(filter(None, counts))
        try:
            new = _stage(request, outs, folder / _STAGED)
        except (RefusedError, InvalidInput):
            shutil.rmtree(folder)  # the download is complete but wrong: it must not count as finished in the next run
            raise
        fetched = tuple(_describe(place, path, address, revision, rows) for place, path in new.items())
        with self.recording:  # before the files are moved, so that a kill leaves no file without a record
            write_records(self.raw, source.slug, fetched, self.scratch)
        for place, path in new.items():
            put_in_place(path, self.raw / place)
        for one in fetched:
            log.info("%s", _format_outcome(one))
        return fetched


def _with_recorded(files: Sequence[RemoteFile], download: Download) -> Sequence[RemoteFile]:
    """Check the Hub files of a download's URL against its recorded size and checksum.

    Returns: the files; if there is only one, with the recorded size and checksum, which the transfer then verifies.
    Raises: RefusedError if there are several files and their total size differs from the recorded one, or a checksum is
        recorded, which only applies to a single file.
    """
    if len(files) == 1:
        return [files[0]._replace(size=download.size or files[0].size, sha256=download.sha256 or files[0].sha256)]
    total = sum(file.size or 0 for file in files)
    if download.sha256 is not None:
        raise RefusedError(f"{len(files)} files, but only one recorded checksum")
    if download.size not in (None, total):
        raise RefusedError(f"{total:,} bytes in {len(files)} files, {download.size:,} are recorded: another revision?")
    return files


def _stage(request: Request, outs: Sequence[Path], staged: Path) -> dict[str, Path]:
    """Convert downloaded files to the requested ones; return the staged files by target path."""
    download = request.download
    forms = [str(find_form(download, place)) for place in request.places]
    if download.rows_as is None and len(outs) != 1:
        raise RefusedError(f"{len(outs)} files where one is expected")
    if download.place is not None and download.rows_as is None:
        check_form(outs[0])
        return {download.place: outs[0]}
    shutil.rmtree(staged, ignore_errors=True)  # left by a killed run
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
    """All URLs of a download failed; the message contains each response."""


_SCRATCH, _STAGED, _LOCK = ".fetching", "staged", "lock"
"""The scratch folder under RAW, with a lock and one folder per unfinished download; the staging folder in the latter,
empty once all files have been moved; the lock file."""
_OTHER_FOLDER = "give another folder as the first --raw; finished downloads are kept"


@contextmanager
def _scratch(raw: Path) -> Iterator[Path]:
    """Lock and yield the scratch folder; only one fetch at a time may use it."""
    from filelock import FileLock, Timeout

    scratch = raw / _SCRATCH
    scratch.mkdir(exist_ok=True)
    try:
        with FileLock(scratch / _LOCK, blocking=False):
            yield scratch
    except Timeout as error:
        cure = "wait until it has finished"
        raise InvalidInput(Problem("another fetch is writing to this folder", str(raw), cure=cure)) from error


def _remove_leftovers(scratch: Path, requests: Sequence[Request] = ()) -> None:
    """Remove leftovers of runs that were killed while writing a record or after moving all files.

    Partial downloads and archives not yet unpacked stay, even if this run is for other tasks.
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
    """Check that the disk has room for the downloads and for the files that are unpacked or converted from them."""
    downloads = [request.download for request in requests]
    written = sum(each.size or 0 for each in downloads if each.place is None or each.rows_as is not None)
    free = shutil.disk_usage(raw).free
    if left + written > free:
        needed = f"{free / 1e9:,.2f} GB free, at least {(left + written) / 1e9:,.2f} GB needed"
        cure = f"free disk space, or {_OTHER_FOLDER}"
        raise InvalidInput(Problem("the disk has too little space for the downloads", str(raw), needed, cure))


def _count_left(request: Request, scratch: Path) -> int:
    """Return the remaining bytes of a request; 0 if its size is not recorded."""
    came = sum(n_bytes(path) for path in (scratch / _key(request.download)).glob("*") if path.suffix != NOTES)
    return max(0, (request.download.size or 0) - came)


def _key(download: Download) -> str:
    """Return the name of a download's scratch folder."""
    return sha256(repr((download.urls, download.sha256)).encode()).hexdigest()[:16]


def _open_gauge(bar: Any) -> Gauge:
    """Return a thread-safe gauge that updates a progress bar."""
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
    """Run requests in ``parallel`` threads; return their outcomes in order, or raise an unexpected error.

    The threads are daemons: waiting for a server must not block Ctrl-C or the interpreter's exit.
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
            except BaseException as error:  # otherwise the thread would end silently, as if its downloads were done
                failed.append(error)
                stop.set()

    threads = [threading.Thread(target=work, name="fetch", daemon=True) for _ in range(min(parallel, len(requests)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # on some systems Ctrl-C does not interrupt a wait without timeout
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
        return f"{one.place}: {one.rows:,} rows; no recorded count to compare with"
    if facts.rows == one.rows:
        return f"{one.place}: {one.rows:,} rows, as recorded"
    return f"{one.place}: {one.rows:,} rows, {facts.rows:,} recorded: a build checks the rows that it uses"
