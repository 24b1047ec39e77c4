"""Checksums of files, and file states that reveal changes without reading the file."""

import hashlib
from collections.abc import Iterable
from pathlib import Path


def file_sha256(path: Path) -> str:
    """Hash the bytes of the file at ``path``.

    Returns: its SHA-256, 64 hex digits.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def file_state(path: Path) -> list[int]:
    """Return a file's inode, size, mtime and ctime (ns), which change whenever the file does.

    The ctime cannot be set back, so it reveals a file replaced by one of the same size and mtime.

    Args:
        path: the file; links are followed.
    Returns: integers, as JSON data for ``shiftbench.builders.cache.cache_key``.
    """
    facts = path.stat()
    return [facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns]


def folder_state(folder: Path, paths: Iterable[Path] | None = None) -> dict[str, list[int]]:
    """Return the states of files below a folder.

    Args:
        paths: the files; all by default.
    Returns: the states, by path inside the folder, with slashes.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file()) if paths is None else paths
    return {path.relative_to(folder).as_posix(): file_state(path) for path in files}
