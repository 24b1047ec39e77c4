"""Stream an upstream file (plain, gzip or zip) in blocks of whole lines, hashing it while reading."""

import hashlib
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

from isal import isal_zlib
from isal.igzip_lib import IsalError

from shiftbench.builders.checksums import file_sha256
from shiftbench.validation.report import InvalidInput, Problem

BLOCK = 1 << 24
"""Bytes read and parsed at a time."""

LONGEST_LINE = 1 << 26
"""Maximum length of a line in bytes; longer lines indicate a wrong file."""

_READ = 1 << 20
_PIECE = 1 << 16
_GZIP = 31
"""zlib's window bits for gzip content: 16, plus 15 for the largest window."""
_AGAIN = "fetch the file again"
_DAMAGE = (EOFError, zlib.error, IsalError, zipfile.BadZipFile, NotImplementedError)
"""Errors raised for damaged content; NotImplementedError for unsupported compression."""


@dataclass(frozen=True)
class Position:
    """A position at a line end: number of content bytes and lines before it."""

    offset: int = 0
    lines: int = 0


class Stream(Protocol):
    """A stream of bytes that can be read once."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; empty only at the end."""
        ...


class UpstreamFile:
    """A file read once, from start to end: plain, ``.gz``, or ``.zip`` with a single member.

    ``path`` is its path; ``position`` is the end of the last block returned, from which another ``UpstreamFile(path,
    start=position)`` resumes; ``sha256`` is the checksum of the file on disk. It is only open inside a ``with``
    statement.
    """

    def __init__(
        self,
        path: Path,
        *,
        start: Position | None = None,
        progress: Callable[[int], object] | None = None,
        block: int = BLOCK,
    ) -> None:
        """Set the path, the position to resume from, and a callback for the number of bytes read from disk."""
        self.path = path
        self.block = block
        self.position = start or Position()
        self.resumable = False
        """Whether all content was returned in blocks, so that ``position`` is meaningful."""
        self._progress = progress
        self._open = ExitStack()
        self._ahead: Future[tuple[bytes, int]] = Future()
        self._ahead.set_result((b"", 0))

    def __enter__(self) -> "UpstreamFile":
        self._disk = self._open.enter_context(_Disk(self.path, self._progress))
        self._reading = self._open.enter_context(ThreadPoolExecutor(1, "read-ahead"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def sha256(self) -> str:
        """Return the checksum of the whole file on disk, including parts not read."""
        wait([self._ahead])  # only one thread may read at a time
        return self._disk.sha256()

    def text(self) -> str:
        """Read the whole content as UTF-8, without byte order mark; raise InvalidInput for other encodings."""
        parts = []
        with self.stream() as stream:
            while read := stream.read(BLOCK):
                parts.append(read)
                self.position = Position(self.position.offset + len(read), self.position.lines + read.count(b"\n"))
        return decode(b"".join(parts), self.path).removeprefix("\ufeff")

    @contextmanager
    def stream(self) -> Iterator[Stream]:
        """Open the content as bytes from its start; raise InvalidInput if the file is damaged."""
        self.resumable = False
        self.position = Position()
        with _content(self.path, self._disk) as stream, self._damage_named():
            yield stream

    def text_blocks(self) -> Iterator[tuple[int, str]]:
        """Yield the content from its start as UTF-8 text in blocks of whole lines, without byte order mark.

        For readers that carry state from one block to the next; it cannot resume like ``blocks``.
        """
        self.position = Position()
        for first, block in self.blocks():
            self.resumable = False
            text = decode(block, self.path, first)
            yield first, text.removeprefix("\ufeff") if first == 1 else text

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines of ``text_blocks`` with their 1-based numbers, without the line end (LF or CRLF only)."""
        for first, text in self.text_blocks():
            for number, line in enumerate(text.removesuffix("\n").split("\n"), start=first):
                yield number, line.removesuffix("\r")

    def first_line(self) -> bytes:
        """Read the first line without its end; this does not change the position."""
        line = b""
        with _Disk(self.path) as disk, _content(self.path, disk) as stream, self._damage_named():
            while b"\n" not in line and (read := stream.read(_READ)):
                line += read
                _refuse_long_line(len(line.partition(b"\n")[0]))
        return line.partition(b"\n")[0].rstrip(b"\r")

    def blocks(self, size: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Yield the content from ``position`` in blocks of whole lines, each with the number of its first line.

        Lines are numbered from 1 and keep their ends. A last line without an end is a line. A reader that carries state
        from one block to the next cannot resume and should use ``text_blocks``.

        Args:
            size: approximate bytes per block; by default the file's.
        Raises: InvalidInput if the file is damaged, or a line is longer than ``LONGEST_LINE``.
        """
        self.resumable = True
        with _content(self.path, self._disk) as stream:
            with self._damage_named():
                self._skip(stream)
            blocks = _whole_lines(stream, size or self.block)
            self._ahead = self._reading.submit(_next_block, blocks)
            while True:
                with self._damage_named():
                    block, n_lines = self._ahead.result()
                if not block:
                    return
                self._ahead = self._reading.submit(_next_block, blocks)
                first = self.position.lines + 1
                self.position = Position(self.position.offset + len(block), self.position.lines + n_lines)
                yield first, block

    def _skip(self, stream: Stream) -> None:
        left = self.position.offset
        while left:
            skipped = len(stream.read(min(left, BLOCK)))
            if not skipped:
                found = f"{self.position.offset - left:,} bytes, {self.position.offset:,} were read before"
                raise InvalidInput(Problem("the file has become shorter", str(self.path), found, _AGAIN))
            left -= skipped

    @contextmanager
    def _damage_named(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise _damage_found(self.path, str(error), self.position.lines + 1) from error
        except _LongLineError as error:
            cure = "is this the upstream release, in its own format?"
            what = "a line is too long"
            raise InvalidInput(Problem(what, str(self.path), str(error), cure, row=self.position.lines + 1)) from error


def decode(content: bytes, path: Path, first_line: int = 1) -> str:
    """Decode UTF-8.

    Args:
        content: bytes of whole lines.
        first_line: 1-based number of the first line in the file.
    Returns: the text, including a byte order mark.
    Raises: InvalidInput with the line that is not UTF-8.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + content.count(b"\n", 0, error.start)
        found = repr(content[max(0, error.start - 20) : error.start + 20])
        cure = "this release is UTF-8 throughout; was the file opened and saved in another encoding?"
        raise InvalidInput(Problem("this line is not UTF-8", str(path), found, cure, row=line)) from error


class _Disk:
    """A file on disk whose bytes are hashed and reported while reading.

    Hashing runs in a separate thread because it costs as much as parsing. If bytes are not read sequentially, as for a
    zip with its directory at the end, the file is hashed in a separate pass.
    """

    def __init__(self, path: Path, progress: Callable[[int], object] | None = None) -> None:
        self._path = path
        self._progress = progress
        self._stream = path.open("rb", buffering=0)
        self._hash = hashlib.sha256()
        self._hasher = ThreadPoolExecutor(1, "sha256")
        self._hashing: deque[Future[None]] = deque()
        self._in_order = True

    def __enter__(self) -> "_Disk":
        return self

    def __exit__(self, *_: object) -> None:
        self._hasher.shutdown()
        self._stream.close()

    def read(self, size: int = _READ, /) -> bytes:
        read = self._stream.read(size)
        if self._in_order:
            self._hashing.append(self._hasher.submit(self._hash.update, read))
            if len(self._hashing) > 2:  # limit the blocks waiting in memory to be hashed
                self._hashing.popleft().result()
        if self._progress is not None:
            self._progress(len(read))
        return read

    def seek(self, offset: int, whence: int = 0, /) -> int:
        self._in_order = False
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def sha256(self) -> str:
        if not self._in_order:
            return file_sha256(self._path)
        while self.read():
            pass
        while self._hashing:
            self._hashing.popleft().result()
        return self._hash.hexdigest()


class _Gunzip:
    """The content of a gzip file of one or more members."""

    def __init__(self, disk: _Disk) -> None:
        self._disk = disk
        self._read = memoryview(b"")
        self._member = isal_zlib.decompressobj(_GZIP)
        self._compressed: bytes | memoryview = b""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; empty at the end."""
        while True:
            if not self._member.eof:
                # Also without new input: the decompressor may hold output beyond the last ``size``.
                read: bytes = self._member.decompress(self._compressed, size)
                self._compressed = self._member.unconsumed_tail
                if read:
                    return read
            if not self._read_compressed():
                return b""

    def _read_compressed(self) -> bool:
        """Read compressed bytes if none are left, entering the next gzip member if needed; return False at the end."""
        if self._member.eof:
            self._compressed = self._member.unused_data.lstrip(b"\0")  # members may be padded
            while not self._compressed and (piece := self._piece()):
                self._compressed = bytes(piece).lstrip(b"\0")
            if not self._compressed:
                return False
            self._member = isal_zlib.decompressobj(_GZIP)
        elif not self._compressed:
            self._compressed = self._piece()
            if not self._compressed:
                raise EOFError("the file ends inside compressed content")
        return True

    def _piece(self) -> memoryview:
        """Return the next compressed bytes, few enough that their content stays in the CPU cache."""
        if not self._read:
            self._read = memoryview(self._disk.read())
        piece, self._read = self._read[:_PIECE], self._read[_PIECE:]
        return piece


class _LongLineError(Exception):
    """A line is longer than the limit."""


def _refuse_long_line(length: int) -> None:
    if length > LONGEST_LINE:
        raise _LongLineError(f"more than {LONGEST_LINE:,} bytes without a line end")


def _whole_lines(stream: Stream, size: int) -> Iterator[bytes]:
    """Yield content in blocks of about ``size`` bytes, each ending at a line end; the last block may lack one."""
    parts: list[bytes | memoryview] = []
    n_bytes = n_of_line = 0
    while True:
        wanted = min(_READ, size - n_bytes if n_bytes < size else size)
        try:
            read = stream.read(wanted)
        except _DAMAGE:
            whole, _, _ = b"".join(parts).rpartition(b"\n")  # lines before the damage, to locate it
            if whole:
                yield whole + b"\n"
            raise
        if not read:
            break
        parts.append(read)
        n_bytes += len(read)
        cut = read.rfind(b"\n") + 1
        n_of_line = len(read) - cut if cut else n_of_line + len(read)
        _refuse_long_line(n_of_line)
        if n_bytes >= size and cut:
            parts[-1] = memoryview(read)[:cut]
            yield b"".join(parts)
            parts, n_bytes = [read[cut:]], len(read) - cut
    if parts:
        yield b"".join(parts)


@contextmanager
def _content(path: Path, disk: _Disk) -> Iterator[Stream]:
    """Open the decompressed content of a file on disk."""
    if path.suffix.lower() == ".gz":
        yield _Gunzip(disk)
    elif path.suffix.lower() == ".zip":
        with ExitStack() as opened:
            try:
                archive = opened.enter_context(zipfile.ZipFile(disk))
                stream = opened.enter_context(archive.open(_only_member(path, archive)))
            except _DAMAGE as error:
                raise _damage_found(path, str(error), 1) from error
            yield stream
    else:
        yield disk


def _only_member(path: Path, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) != 1:
        names = ", ".join(repr(member.filename) for member in members[:12]) or "none"
        cure = "unpack the zip, or make one that contains only that file"
        raise InvalidInput(Problem("the zip must contain exactly one file", str(path), names, cure))
    if members[0].flag_bits & 1:
        raise InvalidInput(Problem("the zip is encrypted", str(path), repr(members[0].filename), "unpack it"))
    return members[0]


def _damage_found(path: Path, found: str, line: int) -> InvalidInput:
    return InvalidInput(Problem("the compressed file is truncated or damaged", str(path), found, _AGAIN, row=line))


def _next_block(blocks: Iterator[bytes]) -> tuple[bytes, int]:
    """Return the next block and its number of lines; ``(b"", 0)`` at the end."""
    block = next(blocks, b"")
    return block, block.count(b"\n") + (bool(block) and not block.endswith(b"\n"))
