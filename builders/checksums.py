"""Checksums of files."""

import hashlib
from pathlib import Path


def file_sha256(path: Path) -> str:
    """Hash a file's bytes.

    Args:
        path: the file; it is read in parts.
    Returns: its SHA-256, 64 hex digits.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
