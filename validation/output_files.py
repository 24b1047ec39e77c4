"""Files that programs write: put in place whole or not at all, and refused before the work where they cannot be.

There is no library in this place: ``atomicwrites`` is archived, and what its author names instead, ``os.replace``, is
what this module calls.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench.validation.report import InvalidInput, Problem

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""Permissions of what only its owner may read, such as withheld labels."""


@contextmanager
def replace_file(path: Path, *, durable: bool = False, scratch: Path | None = None) -> Iterator[Path]:
    """Yield where to write a new file, which takes the place of ``path`` when the block succeeds.

    Whoever reads ``path`` sees the old file or the new one, whole. The new file has the same name, so that its bytes do
    not depend on where it was written, and lies in a folder of its own, which is removed whether the block fails or
    not; a killed process leaves that folder (``.new-*``) behind.

    Args:
        path: the file to be; missing folders are made.
        durable: return only when the file and its name are on disk, so that they survive a loss of power.
        scratch: an existing folder on the same disk that holds the new file until it is whole; default the file's own.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=scratch or path.parent) as temporary:
        new = Path(temporary) / path.name
        yield new
        if durable:
            sync(new)
        new.replace(path)
        if durable:
            sync(path.parent)


@contextmanager
def replace_folder(out: Path) -> Iterator[Path]:
    """Yield a new folder beside ``out``, which takes its place when the block succeeds; before, nobody sees it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as temporary:
        new = Path(temporary) / "new"
        new.mkdir()
        yield new
        old = Path(temporary) / "old"
        try:
            if out.exists():
                out.rename(old)
            new.rename(out)
        except BaseException:
            # The old folder must not vanish with the temporary one.
            if old.exists() and not out.exists():
                old.rename(out)
            raise


def make_private(folder: Path) -> None:
    """Restrict a folder and its files to their owner; a file with a second hard link stays as it is."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(PRIVATE_FOLDER)
        elif path.stat().st_nlink == 1:
            path.chmod(PRIVATE_FILE)


def sync(path: Path) -> None:
    """Write a file's or folder's buffered content to disk, and wait until it is there."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def refuse_unwritable(what: str, where: str, cure: str) -> Iterator[None]:
    """Turn an operating system's refusal in a block that writes into an InvalidInput.

    Args:
        what: what went wrong, such as 'the store cannot be written'.
        where: its path, or the option that named it.
        cure: what to do.
    """
    try:
        yield
    except OSError as error:
        found = error.strerror or str(error)
        raise InvalidInput(Problem(what, where, found, cure)) from error


def check_folder(folder: Path, what: str, where: str, cure: str) -> None:
    """Check that files can be made in a folder, which is made where it is missing; see ``refuse_unwritable``."""
    with refuse_unwritable(what, where, cure):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def check_file(path: Path, where: str) -> None:
    """Check, before any work, that a file can be written; its folder must be there.

    A file that is there already, a device among them, needs no right to make others beside it.

    Args:
        path: the file to be.
        where: the option that named it.
    Raises: InvalidInput when it is a folder, its folder is missing, or it may not be written.
    """
    refuse_folder(path, where)
    if not path.parent.is_dir():
        raise InvalidInput(Problem("there is no such folder", where, str(path.parent), "make it first"))
    what, cure = "the file cannot be written", "name another file"
    if not path.exists():
        check_folder(path.parent, what, where, cure)
    elif not os.access(path, os.W_OK):
        raise InvalidInput(Problem(what, where, str(path), cure))


def refuse_folder(path: Path, where: str) -> None:
    """Raise InvalidInput where a file is to be and a folder is."""
    if path.is_dir():
        raise InvalidInput(Problem("this is a folder", where, str(path), "name a file"))


def check_new_folder(path: Path, where: str) -> None:
    """Check, before any work, that a folder can be made there, or that there is an empty one.

    Args:
        path: the folder to be.
        where: the option that named it.
    Raises: InvalidInput when something is there, or nothing may be written there.
    """
    check_place(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InvalidInput(Problem("the output folder is not empty", where, str(path), "name an empty or a new one"))


def check_place(path: Path) -> None:
    """Check, before any work, that a file or folder can be made there later; missing folders are not made.

    Raises: InvalidInput when the path leads through a file, or nothing may be written there.
    """
    nearest = next(parent for parent in path.absolute().parents if parent.exists())
    if not nearest.is_dir():
        what, cure = "a part of the output path is a file", "choose another folder"
        raise InvalidInput(Problem(what, str(path), str(nearest), cure))
    check_folder(
        nearest, "nothing can be written at the output path", str(path), f"choose another folder than {nearest}"
    )
