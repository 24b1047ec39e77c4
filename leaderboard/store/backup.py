"""Backups: one tar file with a store's content at one moment; later backups only append what is new.

    <path in the store>     each file, unchanged; a newer one of the same path replaces an earlier one
    backup/<number>.json    a list of the changes in the members before it, with sizes, times and SHA-256

A backup appends members, then a list, which links to the previous list, so that all lists together describe the store.
Every byte of the file is verifiable: members by the list's hash of everything since the previous list, a list by the
hash at its end, and member headers and the end of the file because they have a single valid form. Members that a killed
backup appended have no list; the next backup truncates them, and a restore ignores them. ``tar -xf`` reads it as well.

The file is rewritten if the store has lost content that it contains, so that an erased person is removed from it, and
if more than half of it is outdated. Caches (the index, comparisons) are omitted: servers rebuild them.
"""

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from filelock import FileLock, Timeout

from shiftbench.leaderboard.store.entries import COMPARISONS, ENTRIES, SCORES, now
from shiftbench.leaderboard.store.local import Listed, Listing
from shiftbench.leaderboard.store.log import ERASED, EventLog
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.output_files import (
    PRIVATE_FILE,
    PRIVATE_FOLDER,
    check_new_folder,
    make_private,
    refuse_unwritable,
    sync,
)
from shiftbench.validation.report import InvalidInput, Problem

FORMAT = 1
"""Format version of the lists; a later version may read earlier formats, and rejects later ones."""
_LISTS = "backup"
_BLOCK = tarfile.BLOCKSIZE
_END = bytes(2 * _BLOCK)
_PIECE = 1 << 20
_CURE = "choose another backup file"


class StoredFile(NamedTuple):
    """A file of a store in a backup: size in bytes, mark (see ``Listed``), SHA-256, and the offset of its content."""

    size: int
    mark: str
    sha256: str
    offset: int


class _Link(NamedTuple):
    """The position of a list: the offset of its content, its size, and the hash at its end."""

    offset: int
    size: int
    sha256: str


@dataclass(frozen=True)
class Backup:
    """Content of a backup file: the store's files by path, according to its last complete list.

    ``end`` is the offset at which the next backup appends. ``is_finished`` is False if a killed backup left data there.
    ``revision`` is the commit of a store on the Hub. ``is_private``: whether only its owner could read the store.
    ``erasures`` is the number of persons that the host had erased.
    """

    files: Mapping[str, StoredFile]
    made_at: str
    revision: str | None
    is_private: bool
    erasures: int
    number: int
    last: _Link
    end: int
    is_finished: bool


@dataclass(frozen=True)
class BackedUp:
    """Result of a backup.

    Attributes:
        files, size: number and bytes of the store's files in the backup.
        new_files, read: number and bytes of the files that were read from the store this time.
        written: bytes written to the backup file.
        is_rewritten: whether an existing file was rewritten instead of appended to.
        revision: commit of a store on the Hub.
    """

    files: int
    size: int
    new_files: int
    read: int
    written: int
    is_rewritten: bool
    revision: str | None


class Listable(Protocol):
    """The part of a store's interface that backups use."""

    @property
    def log(self) -> EventLog:
        """Return its log."""

    def listing(self, choose: Callable[[Mapping[str, Listed]], Collection[str]] = ...) -> Listing:
        """List its files, and read those that ``choose`` returns, while nobody writes."""

    def listed_content(self, path: str, listing: Listing) -> bytes | None:
        """Read a file of a listing; None if it was deleted or changed since."""


def back_up(store: Listable, file: Path) -> BackedUp:
    """Write a store to a backup file, or append what is new to an existing one; servers may keep running.

    Args:
        store: the store.
        file: path of the backup; the file need not exist yet.
    Returns once the file is on disk and the written data have been read back and compared.

    Raises: InvalidInput if the store or the file cannot be read or written, the file is damaged or not a backup, or
        another backup is writing to it. The file is then unchanged.
    """
    cure = "check its permissions and the space on its disk"
    with refuse_unwritable("the backup cannot be written", str(file), cure), _only_writer(file):
        before = read_lists(file) if file.exists() else None
        if before is not None:
            done = _append(store, file, before)
            if done is not None:
                return done
        return _rewrite(store, file, before)


def check_backup(file: Path) -> Backup:
    """Read a whole backup file, compare every byte with its hashes, and return its content.

    Raises: InvalidInput if it is damaged, not a backup, or of a later format.
    """
    found = read_lists(file)
    with file.open("rb") as opened:
        for _ in _checked_generations(opened, found):
            pass
        if found.is_finished and opened.seek(0, os.SEEK_END) != found.end + len(_END):
            raise _damaged(file, "trailing bytes")
    return found


def restore(file: Path, root: Path) -> Backup:
    """Verify a backup file, and write its store to a new folder, which appears when it is complete.

    Args:
        file: path of the backup.
        root: path of the new folder, which does not exist yet or is empty.
    Raises: InvalidInput if the folder is not empty or cannot be written, or as ``check_backup``; no folder is created
        then.
    """
    check_new_folder(root, "--store")
    found = check_backup(file)
    part = root.absolute().with_name(f".{root.absolute().name}.part")
    with refuse_unwritable("the store cannot be written", str(root), "check the space on its disk"):
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(PRIVATE_FOLDER, parents=True)
        with file.open("rb") as opened:
            for path, each in found.files.items():
                _restore_file(part / path, _content(opened, path, each), each)
        if found.is_private:
            make_private(part)
        else:
            part.chmod(0o777 & ~_umask())
        os.sync()
        part.rename(root)
        sync(root.absolute().parent)
    return found


def _restore_file(place: Path, content: bytes, stored: StoredFile) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    if stored.mark.isdigit():  # keep the modification time, so that a backup of the restored store finds nothing new
        os.utime(place, ns=(int(stored.mark), int(stored.mark)))


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


@contextmanager
def _only_writer(file: Path) -> Iterator[None]:
    lock = FileLock(file.with_name(f".{file.name}.lock"), timeout=0)
    try:
        with lock:
            yield
    except Timeout as error:
        cure = "wait until it has finished"
        raise InvalidInput(Problem("another backup is writing to this file", str(file), cure=cure)) from error


@dataclass
class _Writer:
    """Appends members and a list to an open file, starting at an offset."""

    to: BinaryIO
    start: int
    digest: Any = field(default_factory=hashlib.sha256)
    changed: dict[str, StoredFile] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.to.seek(self.start)

    def add(self, path: str, content: bytes, mark: str) -> None:
        """Append a file of the store."""
        self._write(_head(path, len(content)))
        self.changed[path] = StoredFile(len(content), mark, hashlib.sha256(content).hexdigest(), self.to.tell())
        self._write(content)
        self._write(bytes(-len(content) % _BLOCK))

    def end(self, facts: Mapping[str, Any], number: int, previous: _Link | None) -> None:
        """Append the list, and the end of the file."""
        self.to.flush()
        os.fsync(self.to.fileno())
        content = _list_bytes(
            {
                "format": FORMAT,
                **facts,
                "previous": previous,
                "start": self.start,
                "members": self.digest.hexdigest(),
                "files": {path: list(each) for path, each in self.changed.items()},
            }
        )
        self.to.write(_head(f"{_LISTS}/{number:06}.json", len(content)) + content + _END)
        self.to.truncate()
        self.to.flush()
        os.fsync(self.to.fileno())

    def _write(self, content: bytes) -> None:
        self.digest.update(content)
        self.to.write(content)


def _append(store: Listable, file: Path, before: Backup) -> BackedUp | None:
    """Append what is new to a backup file; if it must be rewritten, write nothing and return None."""
    listing, erasures = store.listing(), _erasures(store)
    wanted = _files_to_back_up(listing.files)
    if erasures != before.erasures or _must_be_rewritten(before, wanted):
        return None
    size = file.stat().st_size
    with file.open("r+b") as opened:
        writer = _Writer(opened, before.end)
        try:
            read = _add_new(store, writer, before.files)
            if read is None:  # the store lost a file meanwhile
                _cut(opened, before.end)
                return None
            revision, is_private, new, gone, n_bytes = read
            facts = {"made_at": now(), "revision": revision, "private": is_private, "erasures": erasures, "gone": gone}
            writer.end(facts, before.number + 1, before.last)
        except BaseException:
            _cut(opened, before.end)
            raise
    found = _read_back(file, before.end)
    written = found.end + len(_END) - min(size, before.end)
    total = sum(each.size for each in found.files.values())
    return BackedUp(len(found.files), total, new, n_bytes, written, False, found.revision)


def _cut(opened: BinaryIO, end: int) -> None:
    """Truncate a file after its last finished backup."""
    opened.seek(end)
    opened.truncate()
    opened.write(_END)


def _erasures(store: Listable) -> int:
    """Count the persons whom the host has erased; files read after this no longer contain their names."""
    store.log.refresh()
    return sum(event.act == ERASED for event in store.log.events)


def _must_be_rewritten(before: Backup, wanted: Mapping[str, Listed]) -> bool:
    """Return whether the file contains anything (except scores) that the store lost, or is more than half outdated."""
    lost = any(not path.startswith(f"{SCORES}/") for path in before.files.keys() - wanted.keys())
    live = sum(each.size + 2 * _BLOCK for each in before.files.values())
    return lost or before.end > 2 * live + _PIECE


def _add_new(
    store: Listable, writer: _Writer, there: Mapping[str, StoredFile]
) -> tuple[str | None, bool, int, list[str], int] | None:
    """Append a store's new files; None if a file in ``there`` (except scores) has vanished."""
    n_bytes, new = 0, 0
    while True:
        known = {**there, **writer.changed}

        def small_and_new(files: Mapping[str, Listed], known: Mapping[str, StoredFile] = known) -> list[str]:
            # These small files must be consistent: read later, they might be from another moment.
            return [path for path in _new(files, known) if not path.startswith((f"{ENTRIES}/", f"{SCORES}/"))]

        listing = store.listing(small_and_new)
        wanted = _files_to_back_up(listing.files)
        if any(not path.startswith(f"{SCORES}/") for path in known.keys() - wanted.keys()):
            return None
        vanished = False
        for path, listed in _new(wanted, known).items():
            content = store.listed_content(path, listing)
            if content is None:
                vanished = True
                continue
            n_bytes, new = n_bytes + len(content), new + 1
            if path in known and known[path].sha256 == hashlib.sha256(content).hexdigest():
                writer.changed[path] = known[path]._replace(mark=listed.mark)
            else:
                writer.add(path, content, listed.mark)
        if not vanished:
            gone = sorted(known.keys() - wanted.keys())
            return listing.revision, listing.is_private, new, gone, n_bytes


def _rewrite(store: Listable, file: Path, before: Backup | None) -> BackedUp:
    """Rewrite a backup file; unchanged content is copied from the old file instead of the store."""
    part = file.with_name(f".{file.name}.part")
    while True:
        listing, erasures = store.listing(), _erasures(store)
        wanted = _files_to_back_up(listing.files)
        with open(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_RDWR, PRIVATE_FILE), "w+b") as opened:
            writer = _Writer(opened, 0)
            if before is not None:
                with file.open("rb") as old:
                    for path, each in before.files.items():
                        if wanted.get(path) == (each.size, each.mark):
                            writer.add(path, _content(old, path, each), each.mark)
            read = _add_new(store, writer, {})
            if read is None:
                continue
            revision, is_private, new, gone, n_bytes = read
            for path in gone:
                writer.changed.pop(path, None)
            facts: dict[str, Any] = {
                "made_at": now(),
                "revision": revision,
                "private": is_private,
                "erasures": erasures,
                "gone": [],
            }
            writer.end(facts, 1, None)
        found = _read_back(part, 0)
        part.replace(file)
        sync(file.absolute().parent)
        total = sum(each.size for each in found.files.values())
        return BackedUp(
            len(found.files), total, new, n_bytes, found.end + len(_END), before is not None, found.revision
        )


def _new(files: Mapping[str, Listed], known: Mapping[str, StoredFile]) -> dict[str, Listed]:
    """Return the files to back up that are new or changed."""
    return {
        path: listed
        for path, listed in _files_to_back_up(files).items()
        if path not in known or (known[path].size, known[path].mark) != listed
    }


def _files_to_back_up(files: Mapping[str, Listed]) -> dict[str, Listed]:
    """Return all files except caches, sorted by path."""
    index = f"{SCORES}/"
    return {
        path: listed
        for path, listed in sorted(files.items())
        if not path.startswith(f"{COMPARISONS}/") and not (path.startswith(index) and path.count("/") > 2)
    }


def _read_back(file: Path, start: int) -> Backup:
    """Re-read and verify what was written from an offset on."""
    found = read_lists(file)
    with file.open("rb") as opened:
        for _ in _checked_generations(opened, found, start):
            pass
    return found


def _head(path: str, size: int) -> bytes:
    """Return a member's header: one block with a single valid form."""
    member = tarfile.TarInfo(path)
    member.size, member.mode = size, PRIVATE_FILE
    return member.tobuf(tarfile.USTAR_FORMAT)


_TAIL = '"size": "{:012}", "sha256": "{}"}}\n'
_TAIL_BYTES = len(_TAIL.format(0, "0" * 64))


def _list_bytes(content: Mapping[str, Any]) -> bytes:
    """Encode a list as JSON padded to whole blocks; it ends with its size and the hash of everything before."""
    text = json.dumps(content, ensure_ascii=False)[:-1] + ", "
    body = text.encode()
    body += b" " * (-(len(body) + _TAIL_BYTES) % _BLOCK)
    size = len(body) + _TAIL_BYTES
    return body + _TAIL.format(size, hashlib.sha256(body).hexdigest()).encode()


def read_lists(file: Path) -> Backup:
    """Read the lists of a backup file, backwards from its last finished one; contents are not read.

    Raises: InvalidInput if it is not a backup, a list is damaged, or of a later format.
    """
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            end, is_finished = size - len(_END), True
            last = _link_before(opened, end)
            if last is None:
                end, last, is_finished = _last_finished(opened, file, size)
            return _merged(opened, file, last, end, is_finished=is_finished)
    except OSError as error:
        raise InvalidInput(
            Problem("the backup cannot be read", str(file), error.strerror or str(error), "give a backup file")
        ) from error


def _link_before(opened: BinaryIO, end: int) -> _Link | None:
    """Return the link to the list that ends at an offset, followed only by the end of the file; else None."""
    if end < _BLOCK + _TAIL_BYTES:
        return None
    opened.seek(end - _TAIL_BYTES)
    tail, rest = opened.read(_TAIL_BYTES), opened.read()
    if rest != _END:
        return None
    try:
        read = parse_json(b"{" + tail)
        size, digest = int(read["size"]), str(read["sha256"])
    except (ValueError, KeyError, TypeError):
        return None
    return _Link(end - size, size, digest) if tail == _TAIL.format(size, digest).encode() else None


def _last_finished(opened: BinaryIO, file: Path, size: int) -> tuple[int, _Link, bool]:
    """Find the last list of a file whose last backup was killed, by scanning the members' headers.

    Raises: InvalidInput if a member's header is invalid: the file is damaged, since a kill only truncates it.
    """
    at, last, end = 0, None, 0
    while at + _BLOCK <= size:
        opened.seek(at)
        block = opened.read(_BLOCK)
        if last is not None and end == at and not any(block) and not any(opened.read()):
            return end, last, False  # killed while the end was written
        try:
            member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except tarfile.HeaderError as error:
            what = "the header of a member" if last or at else "not a backup"
            raise _damaged(file, what) from error
        content, at = at + _BLOCK, at + _BLOCK + -(-member.size // _BLOCK) * _BLOCK
        if member.name.startswith(f"{_LISTS}/") and at <= size:
            opened.seek(at - _TAIL_BYTES)
            try:
                read = parse_json(b"{" + opened.read(_TAIL_BYTES))
                last, end = _Link(content, member.size, str(read["sha256"])), at
            except (ValueError, KeyError, TypeError) as error:
                raise _damaged(file, member.name) from error
    if last is None:
        raise InvalidInput(Problem("this file contains no complete backup", str(file), cure=_CURE))
    return end, last, False


def _merged(opened: BinaryIO, file: Path, last: _Link, end: int, *, is_finished: bool) -> Backup:
    """Read the lists backwards from the last one, and merge them."""
    lists = [_read_list(opened, file, last)]
    while (previous := lists[-1]["previous"]) is not None:
        lists.append(_read_list(opened, file, _Link(*previous)))
    files: dict[str, StoredFile] = {}
    for each in reversed(lists):
        for path in each["gone"]:
            files.pop(path, None)
        files |= {path: StoredFile(*stored) for path, stored in each["files"].items()}
    newest = lists[0]
    files = dict(sorted(files.items()))
    return Backup(
        files,
        newest["made_at"],
        newest["revision"],
        newest["private"],
        newest["erasures"],
        len(lists),
        last,
        end,
        is_finished,
    )  # fmt: skip


def _read_list(opened: BinaryIO, file: Path, link: _Link) -> dict[str, Any]:
    if link.offset < _BLOCK or link.size % _BLOCK or link.size < _TAIL_BYTES:
        raise _damaged(file, "the position of a list")
    opened.seek(link.offset)
    content = opened.read(link.size)
    body = content[:-_TAIL_BYTES]
    digest = hashlib.sha256(body).hexdigest()
    if digest != link.sha256 or content[-_TAIL_BYTES:] != _TAIL.format(link.size, digest).encode():
        raise _damaged(file, "a list of files")
    read: dict[str, Any] = parse_json(content)
    if read["format"] > FORMAT:
        cure = "update shiftbench: pip install --upgrade shiftbench"
        found = f"format {read['format']}; this version reads up to {FORMAT}"
        raise InvalidInput(Problem("this backup was made by a later version of shiftbench", str(file), found, cure))
    return read


def _checked_generations(opened: BinaryIO, found: Backup, start: int = 0) -> Iterator[int]:
    """Verify every byte from an offset on, backup by backup, from the last one backwards; yield their numbers."""
    file, link, number = Path(opened.name), found.last, found.number
    while True:
        read = _read_list(opened, file, link)
        head = link.offset - _BLOCK
        opened.seek(head)
        if opened.read(_BLOCK) != _head(f"{_LISTS}/{number:06}.json", link.size):
            raise _damaged(file, "the header of a list")
        if _digest(opened, read["start"], head) != read["members"]:
            raise _damaged(file, f"the members of backup {number}")
        yield number
        if read["start"] <= start or read["previous"] is None:
            return
        link, number = _Link(*read["previous"]), number - 1
        if link.offset + link.size != read["start"]:
            raise _damaged(file, "the position of a list")


def _digest(opened: BinaryIO, start: int, end: int) -> str:
    digest, left = hashlib.sha256(), end - start
    opened.seek(start)
    while left > 0 and (piece := opened.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    return digest.hexdigest()


def _content(opened: BinaryIO, path: str, stored: StoredFile) -> bytes:
    opened.seek(stored.offset)
    content = opened.read(stored.size)
    if hashlib.sha256(content).hexdigest() != stored.sha256:
        raise _damaged(Path(opened.name), path)
    return content


def _damaged(file: Path, where: str) -> InvalidInput:
    return InvalidInput(Problem("this file is damaged or not a backup", str(file), where, _CURE))
