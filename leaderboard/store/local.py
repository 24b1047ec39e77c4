"""A store in a local folder: written durably, visible completely or not at all, by one process at a time.

Files are written to ``.new`` first, and only by the holder of the lock. An addition of several files is committed once
``.new/plan.json`` lists them all: the next holder of the lock completes what a killed process left with a plan, and
deletes what it left without one.

If the folder disappears or is replaced while in use, writing is refused: a new one in its place would be an empty
store, which would accept withdrawn entries again and reset quotas.
"""

import json
import os
import shutil
import stat
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from filelock import FileLock

from shiftbench.leaderboard.store.entries import (
    DERIVED,
    ENTRIES,
    ENTRY_ID,
    RECORD,
    RECORDS,
    SCORES,
    VERSION,
    WITHDRAWN,
    Changes,
    Files,
)
from shiftbench.validation.output_files import PRIVATE_FILE, PRIVATE_FOLDER, refuse_unwritable, replace_file, sync
from shiftbench.validation.report import InvalidInput, Problem

_PLAN = "plan.json"
LOCK_SECONDS = 120
"""Timeout of a writer that waits for others, each of which needs a fraction of a second."""


class Listed(NamedTuple):
    """A file of a store: its size in bytes, and a ``mark`` that changes with its content.

    The mark is the modification time in nanoseconds; on the Hub, the blob id.
    """

    size: int
    mark: str


class Listing(NamedTuple):
    """All files of a store by path, except hidden ones, at a moment without writers.

    ``contents`` has the requested files' contents at the same moment. ``revision`` is the commit of a store on the Hub;
    ``is_private``: only its owner may read it.
    """

    files: Mapping[str, Listed]
    contents: Mapping[str, bytes]
    revision: str | None
    is_private: bool


class LocalFolder:
    """A local folder; created on the first write."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._is_private = False
        self._threads = threading.RLock()
        self._processes = FileLock(root / ".lock", timeout=LOCK_SECONDS, poll_interval=0.01)
        self._opened: int | None = None
        self._note_root()

    def add(self, make: Callable[[], Changes | None]) -> bool:
        """Make the changes that ``make`` returns, all or none. ``make`` runs without concurrent writers, and may raise.

        Returns: whether this call made the changes, which are then durable; False if ``make`` returned None.
        """
        with self.locked():
            changes = make()
            if changes is not None:
                self._decide(changes)
                self._finish()
        return changes is not None

    def write_local(self, files: Changes) -> None:
        """Write files on this machine only, replacing existing ones; atomically unless all are derived."""
        derived = {path: content for path, content in files.items() if content is not None and _is_derived(path)}
        with self.locked():
            if len(derived) == len(files):
                self._write(derived)
            else:
                self._decide(files)
                self._finish()

    def fetch(self, path: str) -> Path:
        """Return a file's path on this machine."""
        return self.root / path

    def ids(self) -> set[str]:
        """Return the ids of all entries, including withdrawn ones; InvalidInput if the store has vanished."""
        self._refuse_vanished()
        return {name for name in self.names(ENTRIES) if ENTRY_ID.fullmatch(name)}

    def withdrawn(self) -> set[str]:
        """Return the ids of withdrawn entries."""
        names = (name.removesuffix(".json") for name in self.names(WITHDRAWN) if name.endswith(".json"))
        return {name for name in names if ENTRY_ID.fullmatch(name)}

    def records(self) -> set[str]:
        """Return the names of all records; InvalidInput if the store has vanished, so that no record is overlooked."""
        self._refuse_vanished()
        return {name for name in self.names(RECORDS) if RECORD.fullmatch(name)}

    def names(self, folder: str) -> list[str]:
        """List the names in a folder of the store; empty if it does not exist."""
        try:
            with os.scandir(self.root / folder) as found:
                return [item.name for item in found]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def refresh(self) -> None:
        """Do nothing, since a local folder needs no update; InvalidInput if it has vanished."""
        self._refuse_vanished()

    def _refuse_vanished(self) -> None:
        if self.has_vanished():
            cure = "restore the folder, or restart the server if the store was replaced on purpose"
            raise InvalidInput(Problem("the store's folder was removed or replaced", str(self.root), cure=cure))

    def has_vanished(self) -> bool:
        """Return whether the folder in use is gone, or was replaced by another one."""
        if self._opened is None:
            self._note_root()
            return False
        try:
            return not os.path.samestat(os.fstat(self._opened), self.root.stat())
        except OSError:
            return True

    def forget_root(self) -> None:
        """Stop checking that the root is still the same folder: a local copy may be deleted and made again."""
        self._opened = None

    def fetch_scores(self, version: str) -> None:
        """Do nothing: a local folder already has its scores."""

    def share(self, made: Collection[str]) -> None:
        """Do nothing: readers of a local folder see new scores."""

    def present(self, paths: Iterable[str]) -> set[str]:
        """Return which of the paths exist."""
        return {path for path in paths if (self.root / path).exists()}

    def squash(self) -> None:
        """Do nothing: a local folder has no former revisions."""

    def versions(self) -> set[str]:
        """Return the metric versions for which there are scores."""
        return {name for name in self.names(SCORES) if VERSION.fullmatch(name)}

    def listing(self, choose: Callable[[Mapping[str, Listed]], Collection[str]]) -> Listing:
        """List all files, and read those that ``choose`` returns, without concurrent writers.

        A read-only folder, such as one on a failing disk, is listed without its lock.
        """
        self._refuse_vanished()
        if self._opened is None:
            raise InvalidInput(Problem("there is no such store", str(self.root), cure="give a store's folder"))
        may_write = os.access(self.root, os.W_OK, effective_ids=os.access in os.supports_effective_ids)
        with self.locked() if may_write else nullcontext():
            files = dict(self._files(self.root))
            contents = {path: (self.root / path).read_bytes() for path in choose(files)}
            is_private = not self.root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        return Listing(files, contents, None, is_private)

    def listed_content(self, path: str, listing: Listing) -> bytes | None:
        """Read a listed file; None if it was deleted or changed since."""
        if path in listing.contents:
            return listing.contents[path]
        try:
            with (self.root / path).open("rb") as file:
                return file.read() if _listed(os.fstat(file.fileno())) == listing.files[path] else None
        except FileNotFoundError:
            self._refuse_vanished()
            return None

    def _files(self, folder: Path) -> Iterator[tuple[str, Listed]]:
        with os.scandir(folder) as found:
            for item in found:
                if item.name.startswith("."):
                    continue
                if item.is_dir(follow_symlinks=False):
                    yield from self._files(Path(item.path))
                else:
                    yield Path(item.path).relative_to(self.root).as_posix(), _listed(item.stat())

    def stats(self, folder: str) -> dict[str, Listed]:
        """Return size and modification time of the files below a folder of this machine's copy."""
        there = self.root / folder
        return dict(self._files(there)) if there.is_dir() else {}

    def drop(self, paths: Collection[str]) -> None:
        """Delete files and folders."""
        with self.locked():
            self._remove(paths)

    def check_writable(self) -> None:
        """Check that the folder can be written."""
        with self.locked():
            self._write({})

    def require_private(self) -> None:
        """Restrict the folder, and everything written to it from now on, to its owner."""
        self._is_private = True
        if self.root.is_dir() and self.root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            cure = f"have its owner run: chmod -R go= {self.root}"
            with refuse_unwritable("this store of withheld labels is readable by other users", str(self.root), cure):
                self.root.chmod(PRIVATE_FOLDER)

    def make_folder(self) -> None:
        """Create the folder if it does not exist."""
        self._refuse_vanished()
        with _writing(self.root):
            self._make_folder(self.root)
        self._note_root()

    def _note_root(self) -> None:
        """Open the folder if it exists: while it is open, no other one can get its inode number."""
        if self._opened is None and self.root.is_dir():
            self._opened = os.open(self.root, os.O_RDONLY)
            weakref.finalize(self, os.close, self._opened)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Exclude other threads and processes from writing."""
        self.make_folder()
        with _writing(self.root), self._threads, self._processes:
            self._finish()
            yield

    @property
    def _scratch(self) -> Path:
        return self.root / ".new"

    def _write(self, files: Files) -> None:
        """Write derived files one by one."""
        self._scratch.mkdir(self._folder_mode)
        for path, content in files.items():
            final = self.root / path
            self._make_folder(final.parent)
            with replace_file(final, scratch=self._scratch) as new:
                self._write_new(new, content)
        self._scratch.rmdir()

    def _decide(self, changes: Changes) -> None:
        """Write the new files to ``.new``, then the plan with their destinations, which commits them.

        The folder of a new entry is moved last, as a whole, since readers hold no lock.
        """
        scratch, moves, new_entries = self._scratch, {}, {}
        scratch.mkdir(self._folder_mode)
        for number, (path, content) in enumerate(changes.items()):
            folder = PurePosixPath(path).parent
            if content is None:
                continue
            if folder.parts[0] == ENTRIES and not (self.root / folder).exists():
                part = scratch / folder.name
                part.mkdir(self._folder_mode, exist_ok=True)
                new, new_entries[folder.name] = part / PurePosixPath(path).name, str(folder)
            else:
                new, moves[str(number)] = scratch / str(number), path
            self._write_new(new, content)
            if not _is_derived(path):
                sync(new)
        for name in new_entries:  # a file's name is durable only once its folder is synced
            sync(scratch / name)
        moves |= new_entries
        for path in moves.values():
            self._make_folder((self.root / path).parent)
        plan = {"moves": moves, "removals": [path for path, content in changes.items() if content is None]}
        with replace_file(scratch / _PLAN, durable=True) as new:
            self._write_new(new, json.dumps(plan).encode())

    def _finish(self) -> None:
        """Carry out the plan in ``.new``, if there is one, and empty ``.new``. Idempotent."""
        plan = self._scratch / _PLAN
        if plan.is_file():
            decided = json.loads(plan.read_bytes())
            for name, path in decided["moves"].items():
                if (self._scratch / name).exists():
                    (self._scratch / name).replace(self.root / path)
            self._remove(decided["removals"])
            touched = {PurePosixPath(path).parent for path in (*decided["moves"].values(), *decided["removals"])}
            for folder in touched:
                if (self.root / folder).is_dir():
                    sync(self.root / folder)
            plan.unlink()  # only after the moves are durable: until then, the next holder of the lock repeats them
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _remove(self, paths: Iterable[str]) -> None:
        for path in paths:
            whole = self.root / path
            if whole.is_dir():
                shutil.rmtree(whole)
            else:
                whole.unlink(missing_ok=True)

    @property
    def _folder_mode(self) -> int:
        return PRIVATE_FOLDER if self._is_private else 0o777

    def _write_new(self, path: Path, content: bytes) -> None:
        path.touch(PRIVATE_FILE if self._is_private else 0o666)
        path.write_bytes(content)

    def _make_folder(self, folder: Path) -> None:
        """Make a folder of the store durably."""
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(missing):
            each.mkdir(self._folder_mode if each.is_relative_to(self.root) else 0o777, exist_ok=True)
        for each in missing:
            sync(each.parent)


def _listed(of_file: os.stat_result) -> Listed:
    return Listed(of_file.st_size, str(of_file.st_mtime_ns))


def _is_derived(path: str) -> bool:
    """Return whether a file is recomputed if it is lost."""
    return PurePosixPath(path).parts[0] in DERIVED


def _writing(root: Path) -> AbstractContextManager[None]:
    cure = "check its permissions and the space on its disk"
    return refuse_unwritable("the store cannot be written", str(root), cure)
