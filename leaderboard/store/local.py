"""A store's files in a local folder: written durably, visible whole or not at all, by one process at a time.

Whatever is being written lies in ``.new`` until it is whole, and only the holder of the lock writes there. What the
next holder finds in it was left by a killed process, and is deleted.

A folder that was there once and is gone, or is another one, is refused: a new one in its place would be an empty store,
which takes again what was withdrawn and counts quotas anew.
"""

import os
import shutil
import stat
import threading
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
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
    Files,
)
from shiftbench.validation.output_files import PRIVATE_FILE, PRIVATE_FOLDER, refuse_unwritable, replace_file, sync
from shiftbench.validation.report import InvalidInput, Problem

LOCK_SECONDS = 120
"""Seconds that a writer waits for others; each of them needs a fraction of a second."""


class Listed(NamedTuple):
    """A file of a store: its size in bytes, and what another content of the same size would not have (``mark``).

    The mark is the time of its last change in nanoseconds, on the Hub its version.
    """

    size: int
    mark: str


class Listing(NamedTuple):
    """All files of a store by path, at a moment when nobody wrote, without hidden ones.

    ``contents`` are those of files that were asked for, of the same moment. ``revision`` is the commit of a store on
    the Hub; ``is_private`` says that only its owner may read it.
    """

    files: Mapping[str, Listed]
    contents: Mapping[str, bytes]
    revision: str | None
    is_private: bool


class LocalPlace:
    """A local folder; made when it is first written to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._is_private = False
        self._threads = threading.RLock()
        self._processes = FileLock(root / ".lock", timeout=LOCK_SECONDS, poll_interval=0.01)
        self._opened: int | None = None
        self._note_root()

    def add(self, make: Callable[[], Files | None]) -> bool:
        """Add the files that ``make`` returns. It is called while nobody else writes, and may raise or return None.

        Returns: whether the files came from this call. It returns only when they are durable.
        """
        with self._locked():
            files = make()
            if files is not None:
                self._write(files)
        return files is not None

    def keep(self, files: Files) -> None:
        """Write files on this machine alone, replacing those of the same place."""
        with self._locked():
            self._write(files)

    def fetch(self, path: str) -> Path:
        """Return a file's path on this machine."""
        return self.root / path

    def ids(self) -> set[str]:
        """Return the ids of all entries, withdrawn ones too; InvalidInput when the store has vanished."""
        self._refuse_vanished()
        return {name for name in self.names(ENTRIES) if ENTRY_ID.fullmatch(name)}

    def withdrawn(self) -> set[str]:
        """Return the ids of withdrawn entries."""
        names = (name.removesuffix(".json") for name in self.names(WITHDRAWN) if name.endswith(".json"))
        return {name for name in names if ENTRY_ID.fullmatch(name)}

    def records(self) -> set[str]:
        """Return the names of all records; InvalidInput when the store has vanished, so that none is forgotten."""
        self._refuse_vanished()
        return {name for name in self.names(RECORDS) if RECORD.fullmatch(name)}

    def names(self, folder: str) -> list[str]:
        """List what lies in a folder of the store; nothing where it is not there."""
        try:
            with os.scandir(self.root / folder) as found:
                return [item.name for item in found]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def refresh(self) -> None:
        """Read what others added: here nothing is to be fetched; InvalidInput when the folder has vanished."""
        self._refuse_vanished()

    def _refuse_vanished(self) -> None:
        if self.has_vanished():
            cure = "put the folder back, or restart the server if it is meant to be another store"
            raise InvalidInput(Problem("the store's folder is gone, or is another one", str(self.root), cure=cure))

    def has_vanished(self) -> bool:
        """Return whether the folder that was there once is gone, or replaced by another one."""
        if self._opened is None:
            self._note_root()
            return False
        try:
            return not os.path.samestat(os.fstat(self._opened), self.root.stat())
        except OSError:
            return True

    def forget_root(self) -> None:
        """Accept whatever folder is there now as the root; for a copy, which may be lost."""
        self._opened = None

    def fetch_scores(self, version: str) -> None:
        """Do nothing: a local folder has its scores."""

    def share(self, made: Collection[str]) -> None:
        """Do nothing: readers of a local folder see what was made."""

    def versions(self) -> set[str]:
        """Return the metric versions of which there are scores."""
        return {name for name in self.names(SCORES) if VERSION.fullmatch(name)}

    def listing(self, choose: Callable[[Mapping[str, Listed]], Collection[str]]) -> Listing:
        """List all files, and read those that ``choose`` returns, while nobody writes.

        A folder that nobody may write to, such as a disk that fails, is listed without its lock.
        """
        self._refuse_vanished()
        if self._opened is None:
            raise InvalidInput(Problem("there is no such store", str(self.root), cure="give a store's folder"))
        with self._locked() if os.access(self.root, os.W_OK) else nullcontext():
            files = dict(self._files(self.root))
            contents = {path: (self.root / path).read_bytes() for path in choose(files)}
            is_private = not self.root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
        return Listing(files, contents, None, is_private)

    def listed_content(self, path: str, listing: Listing) -> bytes | None:
        """Read a file of a listing; None where it is gone since, or another one."""
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

    def drop(self, paths: Collection[str]) -> None:
        """Delete files and folders."""
        with self._locked():
            for path in paths:
                whole = self.root / path
                if whole.is_dir():
                    shutil.rmtree(whole)
                else:
                    whole.unlink(missing_ok=True)

    def check_writable(self) -> None:
        """Check that the folder can be written."""
        with self._locked():
            self._write({})

    def require_private(self) -> None:
        """Restrict the folder, and what is written there from now on, to its owner."""
        self._is_private = True
        if self.root.is_dir() and self.root.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            cure = f"have its owner run: chmod -R go= {self.root}"
            with refuse_unwritable("others may read this store of withheld labels", str(self.root), cure):
                self.root.chmod(PRIVATE_FOLDER)

    def make_folder(self) -> None:
        """Make the folder where it is not there."""
        self._refuse_vanished()
        with _writing(self.root):
            self._make_folder(self.root)
        self._note_root()

    def _note_root(self) -> None:
        """Open the folder if it exists: while it is open, no other one can have its number."""
        if self._opened is None and self.root.is_dir():
            self._opened = os.open(self.root, os.O_RDONLY)
            weakref.finalize(self, os.close, self._opened)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.make_folder()
        with _writing(self.root), self._threads, self._processes:
            yield

    def _write(self, files: Files) -> None:
        """Write files; the folder of a new entry appears last, and complete."""
        scratch = self.root / ".new"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(self._folder_mode)
        folders: dict[PurePosixPath, dict[str, bytes]] = {}
        for path, content in files.items():
            folder = PurePosixPath(path).parent
            if folder.parts[0] == ENTRIES and not (self.root / folder).exists():
                folders.setdefault(folder, {})[path] = content
            else:
                self._write_file(path, content, scratch)
        for folder, inside in folders.items():
            self._write_folder(folder, inside, scratch)
        scratch.rmdir()

    def _write_file(self, path: str, content: bytes, scratch: Path) -> None:
        final = self.root / path
        self._make_folder(final.parent)
        derived = PurePosixPath(path).parts[0] in DERIVED
        with replace_file(final, durable=not derived, scratch=scratch) as new:
            self._write_new(new, content)

    def _write_folder(self, folder: PurePosixPath, files: Files, scratch: Path) -> None:
        part, final = scratch / folder.name, self.root / folder
        self._make_folder(final.parent)
        part.mkdir(self._folder_mode)
        for path, content in files.items():
            self._write_new(part / PurePosixPath(path).name, content)
            sync(part / PurePosixPath(path).name)
        sync(part)
        part.rename(final)
        sync(final.parent)

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


def _writing(root: Path) -> AbstractContextManager[None]:
    cure = "check its permissions and the space on its disk"
    return refuse_unwritable("the store cannot be written", str(root), cure)
