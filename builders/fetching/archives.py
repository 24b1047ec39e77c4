"""Unpack members of archives; names in an archive can never cause a write outside the target folder."""

import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from shiftbench.builders.fetching.transfer import RefusedError
from shiftbench.validation.report import first_line

_SHOWN = 12
_BLOCK = 1 << 20
_DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""Errors raised for damaged, encrypted (RuntimeError) or unsupported archives."""


def unpack_members(archive: Path, members: Mapping[str, str], folder: Path) -> None:
    """Write members of a zip or tar (also gz, bz2, xz) into a folder; on errors, the caller must delete it.

    Args:
        members: names of members, by target path below ``folder``. A name that ends in a slash is a folder with all its
            content; a star matches any part of a name, and the matching files are concatenated in the archive's order.
    Raises: RefusedError if the file is not an archive, is damaged, or lacks a member (the message lists its content).
    """
    left = dict(members)
    names: list[str] = []
    try:
        for name, content in _iterate_members(archive):
            names.append(name)
            for place, member in members.items():
                out = _find_out(folder / place, member, name)
                if out is not None:
                    out.parent.mkdir(parents=True, exist_ok=True)
                    with content() as stream, out.open("ab" if "*" in member else "wb") as file:
                        shutil.copyfileobj(stream, file)
                    left.pop(place, None)
    except _DAMAGE as error:
        raise RefusedError(f"a damaged archive ({first_line(error)})") from error
    if left:
        wanted = ", ".join(f"'{member}'" for member in left.values())
        raise RefusedError(f"an archive without {wanted}; it contains {_list_names(names)}")


def _iterate_members(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """Yield the name of each file in an archive and a function that opens it, valid until the next iteration."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16):
                    yield info.filename, partial(opened.open, info)
    elif tarfile.is_tarfile(archive):
        with tarfile.open(archive) as tar:
            for member in tar:
                if member.isreg():
                    yield member.name.removeprefix("./"), partial(_open_member, tar, member)
            while tar.fileobj is not None and tar.fileobj.read(_BLOCK):  # verifies the checksum of a .gz
                pass
    else:
        raise RefusedError("neither a zip nor a tar")


def _open_member(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(member)
    if stream is None:
        raise RefusedError(f"an archive in which '{member.name}' is not a file")
    return stream


def _find_out(new: Path, member: str, name: str) -> Path | None:
    """Return the output path of a file in an archive: ``new`` or a path below it; None if it is not needed."""
    if name == member or (fnmatchcase(name, member) and name.count("/") == member.count("/")):
        return new
    inside = PurePosixPath(name.removeprefix(member))
    below = member.endswith("/") and name.startswith(member) and not inside.is_absolute() and ".." not in inside.parts
    return new / inside if below else None


def _list_names(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(f"'{name}'" for name in names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "") or "nothing"
