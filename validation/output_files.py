"""Atomic output files and folders, and early checks that they can be written.

No library is used: ``atomicwrites`` is archived, and its author recommends ``os.replace``, as used here.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench.validation.report import InvalidInput, Problem

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""Permissions of folders and files that only their owner may read, such as withheld labels."""


@contextmanager
def replace_file(path: Path, *, durable: bool = False, scratch: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path to write to, which replaces ``path`` atomically when the block succeeds.

    Readers of ``path`` see either the complete old file or the complete new one. The temporary file is in
    a temporary folder and has the same name as ``path``, because its content may depend on the name. The folder
    (``.new-*``) is removed even if the block fails; only a killed process leaves it behind.

    Args:
        path: the file to write; missing folders are created.
        durable: sync file and folder to disk before returning, so that they survive a power loss.
        scratch: an existing folder on the same disk for the temporary file. Default: the folder of ``path``.
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
    """Yield a temporary folder, which replaces ``out`` when the block succeeds.

    Args:
        out: the folder to write; missing parents are created. It is unchanged if the block fails.
    """
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
            # Restore the old folder, or it would be removed with the temporary one.
            if old.exists() and not out.exists():
                old.rename(out)
            raise


def make_private(folder: Path) -> None:
    """Restrict a folder and its files to their owner, except files with further hard links.

    A hard-linked file is shared with another folder (the public half of a build), where its permissions would change,
    too.

    Args:
        folder: the folder, with all of its sub-folders.
    """
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(PRIVATE_FOLDER)
        elif path.stat().st_nlink == 1:
            path.chmod(PRIVATE_FILE)


def sync(path: Path) -> None:
    """Flush a file or folder to disk (fsync)."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def refuse_unwritable(what: str, where: str, cure: str) -> Iterator[None]:
    """Convert an OSError in the block to InvalidInput.

    Args:
        what: the problem, such as 'the store cannot be written'.
        where: the path, or the option that gave it.
        cure: suggested fix.
    """
    try:
        yield
    except OSError as error:
        found = error.strerror or str(error)
        raise InvalidInput(Problem(what, where, found, cure)) from error


def check_folder(folder: Path, what: str, where: str, cure: str) -> None:
    """Check that files can be created in a folder, which is created if missing.

    Args:
        folder: the folder.
        what: the problem to report, as for ``refuse_unwritable``.
        where: the path, or the option that gave it.
        cure: suggested fix.
    Raises: InvalidInput if the folder or a file in it cannot be created.
    """
    with refuse_unwritable(what, where, cure):
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()


def check_file(path: Path, where: str) -> None:
    """Check, before any work, that a file can be written; its folder must exist.

    An existing file (or device) only needs to be writable itself; its folder need not be.

    Args:
        path: the file to write.
        where: the option that gave it.
    Raises: InvalidInput when it is a folder, its folder is missing, or it is not writable.
    """
    refuse_folder(path, where)
    if not path.parent.is_dir():
        raise InvalidInput(Problem("there is no such folder", where, str(path.parent), "create it first"))
    what, cure = "the file cannot be written", "choose another file"
    if not path.exists():
        check_folder(path.parent, what, where, cure)
    elif not os.access(path, os.W_OK):
        raise InvalidInput(Problem(what, where, str(path), cure))


def refuse_folder(path: Path, where: str) -> None:
    """Raise InvalidInput if the path of an output file is a folder.

    Args:
        path: the path.
        where: the option that gave it.
    """
    if path.is_dir():
        raise InvalidInput(Problem("this is a folder", where, str(path), "give the path of a file"))


def check_new_folder(path: Path, where: str) -> None:
    """Check, before any work, that a folder can be created, or exists and is empty.

    Args:
        path: the output folder.
        where: the option that gave it.
    Raises: InvalidInput when the path is a file or a non-empty folder, or is not writable.
    """
    check_output_path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InvalidInput(
            Problem("the output folder is not empty", where, str(path), "choose an empty or a new folder")
        )


def check_output_path(path: Path) -> None:
    """Check, before any work, that a file or folder can be created at a path; missing folders are not created.

    Args:
        path: the path.
    Raises: InvalidInput when a parent of the path is a file, or the path is not writable.
    """
    nearest = next(parent for parent in path.absolute().parents if parent.exists())
    if not nearest.is_dir():
        what, cure = "a part of the output path is a file", "choose another folder"
        raise InvalidInput(Problem(what, str(path), str(nearest), cure))
    check_folder(nearest, "nothing can be written at the output path", str(path), f"choose a folder outside {nearest}")
