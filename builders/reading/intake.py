"""Read a large upstream file once for several consumers, with checkpoints to resume from."""

import hashlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from shiftbench.builders.checksums import file_sha256, file_state
from shiftbench.builders.reading.checkpoint import Checkpoint, State, checkpoint_key
from shiftbench.builders.reading.fingerprint import measure_rows, merge_fingerprints
from shiftbench.builders.reading.sampling import STRATUM, Reservoir
from shiftbench.builders.specs.spec import Fingerprint, Reader, Transform
from shiftbench.builders.specs.upstream_file import BLOCK, Position, UpstreamFile
from shiftbench.builders.stored_rows import PART_BYTES, Rows, StoredRows, compact, frame_bytes, write_part
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind

log = logging.getLogger(__name__)

LARGE = 1 << 28
"""Files of at least this size (bytes on disk) are checkpointed."""

CHECKPOINT_SECONDS = 60.0


@dataclass(frozen=True)
class Sample:
    """Sampling of rows: from each ``stratum`` the ``size`` rows with the smallest keyed hash of ``identity``."""

    stratum: pl.Expr
    size: int
    identity: tuple[str, ...]
    key: str


@dataclass(frozen=True)
class Consumer:
    """A consumer of a file's rows: the steps to apply, and whether to take all rows or a sample."""

    name: str
    transforms: tuple[Transform, ...]
    sample: Sample | None = None
    kind: TaskKind | None = None
    """Task kind, to compute the fingerprint of rows before sampling; None: no fingerprint."""


@dataclass(frozen=True)
class StepCount:
    """Rows before and after a step, and rows changed by it; sampling is a step named 'sample'."""

    name: str
    before: int
    after: int
    changed: int = 0


@dataclass(frozen=True)
class Taken:
    """A consumer's rows, the row counts of its steps, and the fingerprint before sampling."""

    rows: Rows
    counts: tuple[StepCount, ...]
    fingerprint: Fingerprint | None = None


@dataclass(frozen=True)
class FileRead:
    """Result of reading a file: its checksum, its number of rows before any step, and each consumer's rows by name."""

    sha256: str
    n_rows: int
    results: dict[str, Taken]


def read_file(
    path: Path,
    reader: Reader,
    consumers: Sequence[Consumer],
    *,
    cache: Path | None,
    store: Path | None = None,
    large: int = LARGE,
    every: float = CHECKPOINT_SECONDS,
    block: int = BLOCK,
) -> FileRead:
    """Read a file once for several consumers.

    For a large file, checkpoints are written regularly and on interruption: a later call with the same file, reader,
    consumers and program resumes there, or returns the complete result.

    Args:
        path: the file.
        reader: reader of its format.
        consumers: the consumers of its rows.
        cache: folder for checkpoints; None writes none.
        store: folder for the rows of consumers without sampling, which are returned as ``StoredRows`` in it or in the
            cache instead of in memory; None returns frames.
        large: minimum size in bytes of files to checkpoint.
        every: seconds between checkpoints.
        block: bytes parsed at a time.
    Returns: number of rows, checksum, and by consumer the rows with the counts of each step.
    Raises: InvalidInput if the file is malformed. The first Ctrl-C takes effect after the current frame, a second one
        immediately.
    """
    n_bytes = path.stat().st_size
    with ExitStack() as opened:
        checkpoint = None
        if cache is not None and n_bytes >= large:
            what = [reader, *(part for consumer in consumers for part in _identity_parts(consumer))]
            # Some readers also read a companion file: if it changes, the checkpoint must not be reused.
            if (sibling := path.with_name(getattr(reader, "sibling", path.name))) != path and sibling.is_file():
                what.append(file_state(sibling))
            checkpoint = opened.enter_context(Checkpoint(cache / "reads" / checkpoint_key(path, what)))
        intake = _Intake(path, consumers, checkpoint, store)
        if intake.sha256 is None:
            with progress(total=n_bytes, desc=path.name, unit="B", unit_scale=True, leave=False) as bar:
                intake.read(reader, bar.update, every, block)
        return intake.result()


class _Intake:
    """One reading of a file."""

    def __init__(
        self, path: Path, consumers: Sequence[Consumer], checkpoint: Checkpoint | None, store: Path | None
    ) -> None:
        self.sha256: str | None = None
        self._path = path
        self._takers = [_ConsumerState(consumer) for consumer in consumers]
        self._checkpoint = checkpoint
        self._store = store
        self._parts = checkpoint.folder if checkpoint is not None else store
        """Folder for rows that do not fit in memory; files in it become part of a checkpoint when it is saved."""
        self._position = Position()
        self._n_rows = 0
        self._serial = 0
        state = checkpoint.load() if checkpoint is not None else None
        if checkpoint is not None and state is not None:
            self._resume(checkpoint.folder, state)

    def read(self, reader: Reader, progress: Callable[[int], object], every: float, block: int) -> None:
        """Read from the last saved position to the end."""
        with (
            UpstreamFile(self._path, start=self._position, progress=progress, block=block) as file,
            closing(_parse_ahead(reader(file), file)) as frames,
        ):
            saved = time.monotonic()
            whole = True  # whether all consumers have processed the same frames, and no write is in progress
            try:
                with _interrupt_waits() as interrupted:
                    for frame, position in frames:
                        whole = False
                        self._take(frame, position)
                        if file.resumable and time.monotonic() - saved >= every:
                            self._save()
                            saved = time.monotonic()
                        whole = True
                        if interrupted():
                            raise KeyboardInterrupt
            except BaseException as stop:
                if whole and file.resumable and self._checkpoint is not None:
                    self._save()
                    if isinstance(stop, KeyboardInterrupt):
                        kept = f"{self._n_rows:,} rows read so far are kept; run the same command again to resume"
                        log.info("%s: %s", self._path.name, kept)
                raise
            self.sha256 = file.sha256
        self._save()

    def result(self) -> FileRead:
        """Return the result."""
        assert self.sha256 is not None
        if self._store is not None:
            self._put_aside(0)
        stored = self._store is not None
        results = {taker.consumer.name: taker.collect(stored=stored) for taker in self._takers}
        return FileRead(self.sha256, self._n_rows, results)

    def _take(self, frame: pl.DataFrame, position: Position) -> None:
        for taker in self._takers:
            try:
                taker.take(frame)
            except InvalidInput as refused:  # steps know neither the file name nor the frame's first row number
                raise add_file_name(refused, self._path, self._n_rows if taker.has_all_rows else None) from refused
        self._n_rows += len(frame)
        self._position = position
        if self._store is not None:
            self._put_aside(PART_BYTES)

    def _put_aside(self, n_bytes: int) -> None:
        """Flush the rows of consumers that hold at least ``n_bytes`` in memory."""
        assert self._parts is not None
        for number, taker in enumerate(self._takers):
            if taker.n_bytes >= n_bytes and not taker.samples:
                self._parts.mkdir(parents=True, exist_ok=True)
                self._serial += 1
                taker.save(self._parts / f"{number}-{self._serial}.parquet")

    def _resume(self, folder: Path, state: State) -> None:
        for taker, counts, fingerprint, parts in zip(
            self._takers, state.counts, state.fingerprints, state.parts, strict=True
        ):
            taker.resume(counts, fingerprint, {folder / name: sha256 for name, sha256 in parts.items()})
        self.sha256, self._n_rows = state.sha256, state.n_rows
        self._position, self._serial = state.position, state.serial
        how = "was already read" if state.sha256 else f"reading resumes at line {state.position.lines + 1:,}"
        log.info("%s: %s", self._path.name, how)

    def _save(self) -> None:
        if self._checkpoint is None:
            return
        self._checkpoint.folder.mkdir(parents=True, exist_ok=True)
        self._serial += 1
        parts = []
        for number, taker in enumerate(self._takers):
            taker.save(self._checkpoint.folder / f"{number}-{self._serial}.parquet")
            parts.append({path.name: sha256 for path, sha256 in taker.parts.items()})
        state = State(
            position=self._position,
            n_rows=self._n_rows,
            sha256=self.sha256,
            counts=[taker.counts for taker in self._takers],
            fingerprints=[taker.fingerprint for taker in self._takers],
            parts=parts,
            serial=self._serial,
        )
        self._checkpoint.save(state)


@contextmanager
def _interrupt_waits() -> Iterator[Callable[[], bool]]:
    """Delay the first Ctrl-C until all consumers have processed the same frames; do not delay a second."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False  # only the main thread receives signals
        return
    came: list[int] = []

    def wait(number: int, _: object) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    before = signal.signal(signal.SIGINT, wait)
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGINT, before)


def _parse_ahead(frames: Iterator[pl.DataFrame], file: UpstreamFile) -> Generator[tuple[pl.DataFrame, Position]]:
    """Yield frames with the position after each; a thread parses the next frame meanwhile."""

    def next_frame() -> tuple[pl.DataFrame | None, Position]:
        return next(frames, None), file.position

    with ThreadPoolExecutor(1, "parse-ahead") as parsing:
        coming = parsing.submit(next_frame)
        while (parsed := coming.result())[0] is not None:
            coming = parsing.submit(next_frame)
            yield parsed[0], parsed[1]


def add_file_name(refused: InvalidInput, path: Path | str, n_before: int | None) -> InvalidInput:
    """Add the file name and file row numbers to the problems raised by a step.

    Args:
        refused: the problems, with 1-based row numbers in the step's frame.
        path: the file, or its name in the report.
        n_before: rows of the file before that frame; None if unknown: row numbers are then removed.
    Returns: the problems with row numbers in the file.
    """
    return InvalidInput(
        replace(
            problem, file=str(path), row=None if n_before is None or problem.row is None else n_before + problem.row
        )
        for problem in refused.problems
    )


class _ConsumerState:
    """The state of a consumer during reading."""

    def __init__(self, consumer: Consumer) -> None:
        self.consumer = consumer
        self.counts = [(0, 0, 0)] * len(consumer.transforms)
        """Rows before, after and changed by each step."""
        self.parts: dict[Path, str] = {}
        """Files with rows on disk, and their checksums."""
        self.fingerprint = None if consumer.kind is None else Fingerprint()
        self.n_bytes = 0
        """Bytes of the rows held in memory."""
        self._frames: list[pl.DataFrame] = []
        sample = consumer.sample
        self._reservoir = Reservoir(sample.size, sample.identity, sample.key) if sample else None

    @property
    def samples(self) -> bool:
        """Return whether rows are sampled."""
        return self._reservoir is not None

    @property
    def has_all_rows(self) -> bool:
        """Return whether no step has dropped a row yet, so that row numbers are those of the file."""
        return all(before == after for before, after, _ in self.counts)

    def take(self, frame: pl.DataFrame) -> None:
        """Apply the steps to a frame, and collect the remaining (sampled) rows."""
        for step, transform in enumerate(self.consumer.transforms):
            before, after, changed = self.counts[step]
            n_rows, n_changed = len(frame), transform.n_changed(frame)
            frame = transform.apply(frame)
            self.counts[step] = (before + n_rows, after + len(frame), changed + n_changed)
        if self.fingerprint is not None and self.consumer.kind is not None and len(frame):
            self.fingerprint = merge_fingerprints([self.fingerprint, measure_rows(frame, self.consumer.kind)])
        if self.consumer.sample is not None and self._reservoir is not None:
            self._reservoir.take(frame.with_columns(self.consumer.sample.stratum.alias(STRATUM)))
        elif len(frame) or not (self._frames or self.parts):  # an empty frame defines the columns
            self._frames.append(compact(frame))
            self.n_bytes += frame_bytes(frame)

    def save(self, path: Path) -> None:
        """Write the rows to disk: the whole sample, or the rows added since the last save."""
        if self._reservoir is not None:
            self._reservoir.save(path)
            self.parts = {path: file_sha256(path)}
        elif self._frames:
            write_part(pl.concat(self._frames, rechunk=False), path)
            self.parts[path] = file_sha256(path)
            self._frames, self.n_bytes = [], 0

    def resume(
        self, counts: list[tuple[int, int, int]], fingerprint: Fingerprint | None, parts: dict[Path, str]
    ) -> None:
        """Restore a saved state."""
        self.counts, self.fingerprint, self.parts = counts, fingerprint, parts
        if self._reservoir is not None:
            self._reservoir.load(*parts)

    def collect(self, *, stored: bool) -> Taken:
        """Return all rows (on disk as stored rows), and the row counts of the steps."""
        rows: Rows
        names = [transform.name for transform in self.consumer.transforms]
        counts = [StepCount(name, *count) for name, count in zip(names, self.counts, strict=True)]
        if self._reservoir is not None:
            rows = self._reservoir.rows()
            n_taken, n_repeats = self._reservoir.n_taken, self._reservoir.n_repeats
            # Only repeats of rows in the sample are noticed: remembering all rows would take too much memory. Hence the
            # separate step, and counts that depend on the sample's size.
            counts.append(StepCount("repeats_noticed_leave", n_taken, n_taken - n_repeats))
            counts.append(StepCount("sample", n_taken - n_repeats, len(rows)))
        elif stored:
            rows = StoredRows.at(self.parts)
        else:
            frames = [*map(pl.read_parquet, self.parts), *self._frames]
            rows = pl.concat(frames) if frames else pl.DataFrame()
        return Taken(rows, tuple(counts), self.fingerprint)


def _identity_parts(consumer: Consumer) -> Iterator[object]:
    yield consumer.name
    yield consumer.kind
    yield from (transform.name for transform in consumer.transforms)
    if sample := consumer.sample:
        stratum = hashlib.sha256(sample.stratum.meta.serialize()).hexdigest()
        yield from (sample.size, sample.identity, sample.key, stratum)
