"""Checksums of files."""

import hashlib
from pathlib import Path


def file_sha256(path: Path) -> str:
    """Hash a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
