"""Reader of entries of a zip archive from outside: none may be longer than it states, nor than a limit.

Inspect compresses its logs with zstd, which Python's zipfile learns in 3.14 only; pyarrow brings it.
"""

import lzma
import struct
import zipfile
import zlib
from pathlib import Path

from shiftbench.scoring.interchange.log import WHOLE, refuse_log
from shiftbench.validation.report import first_line

MAX_ENTRY_BYTES = 512 * 2**20
"""Bytes of one entry once nothing is compressed."""
MAX_TOTAL_BYTES = 64 * 2**30
MAX_ENTRIES = 5_000_000

_ZSTD = 93
_ENCRYPTED = 1
_LOCAL_HEADER = struct.Struct("<26xHH")


class BoundedArchive:
    """A zip archive whose entries are read one at a time, each checked for length and checksum.

    Args:
        path: the archive.
    Raises: InvalidInput when it is no zip archive, or says that it holds more than any log does.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error) as error:
            refuse_log(path, "this is not a complete zip archive", first_line(error), WHOLE)
        entries = self._zip.infolist()
        self.names = [entry.filename for entry in entries]
        if len(entries) > MAX_ENTRIES:
            refuse_log(path, "the archive has too many entries", f"{len(entries):,}", "split the log")
        if len(set(self.names)) < len(entries):
            refuse_log(path, "the archive has two entries of one name", cure=WHOLE)
        total = sum(entry.file_size for entry in entries)
        if total > MAX_TOTAL_BYTES:
            refuse_log(path, "the archive is too large when unpacked", f"{total:,} bytes", "split the log")

    def __enter__(self) -> "BoundedArchive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self, name: str) -> bytes:
        """Read one entry, whole.

        Raises: InvalidInput when there is no such entry, it is too long, is not as long as the archive says, or its
            checksum is another.
        """
        try:
            entry = self._zip.getinfo(name)
        except KeyError:
            refuse_log(self._path, f"the archive has no entry '{name}'", cure=WHOLE)
        if entry.file_size > MAX_ENTRY_BYTES:
            found = f"{entry.file_size:,} bytes"
            refuse_log(self._path, f"entry '{name}' is too long", found, f"keep it under {MAX_ENTRY_BYTES:,} bytes")
        if entry.flag_bits & _ENCRYPTED:
            refuse_log(self._path, f"entry '{name}' is encrypted", cure="pack the log anew, without a password")
        try:
            content = self._read_zstd(entry) if entry.compress_type == _ZSTD else self._read_with_zipfile(entry)
        except (
            zipfile.BadZipFile,
            OSError,
            EOFError,
            zlib.error,
            struct.error,
            NotImplementedError,
            ValueError,
            lzma.LZMAError,
        ) as error:
            refuse_log(self._path, f"entry '{name}' cannot be unpacked", first_line(error), WHOLE)
        if len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
            longer = "more than " if len(content) > entry.file_size else ""
            found = f"{longer}{min(len(content), entry.file_size):,} bytes, where it says {entry.file_size:,}"
            refuse_log(self._path, f"entry '{name}' differs from its description in the archive", found, WHOLE)
        return content

    def _read_with_zipfile(self, entry: zipfile.ZipInfo) -> bytes:
        with self._zip.open(entry) as file:
            return file.read(entry.file_size + 1)

    def _read_zstd(self, entry: zipfile.ZipInfo) -> bytes:
        import pyarrow

        with self._path.open("rb") as file:
            file.seek(entry.header_offset)
            name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            file.seek(name + extra, 1)
            packed = file.read(entry.compress_size)
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(packed), "zstd") as stream:
            return bytes(stream.read(entry.file_size + 1))
