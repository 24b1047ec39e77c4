"""The user's cache folder and its keys: vectors, checksums of files, locations of dataset folders."""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shiftbench.validation.output_files import check_folder
from shiftbench.validation.versions import DataVersion


def cache_folder() -> Path:
    """Return the cache folder; nothing is created.

    Returns: ``SHIFTBENCH_CACHE`` if set, otherwise ``shiftbench`` in the user's cache folder.
    """
    if chosen := os.environ.get("SHIFTBENCH_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shiftbench"


def cache_key(inputs: Mapping[str, Any]) -> str:
    """Return the cache key of a result; all cache keys are computed here.

    A key must change with everything the result depends on. Files are identified by their content or by
    ``shiftbench.builders.checksums.file_state``, programs by a version or by the checksum of their source.

    Args:
        inputs: everything the result depends on, by name, as JSON data; the order of names does not matter.
    Returns: 64 hex digits.
    Raises: TypeError for other data: different objects may have the same text form.

    >>> cache_key({"seed": 0, "kind": "labels"}) == cache_key({"kind": "labels", "seed": 0})
    True
    >>> cache_key({"seed": 0, "kind": "labels"}) == cache_key({"seed": 0, "kind": "texts"})
    False
    """
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def check_cache() -> None:
    """Check that the cache folder is writable, before any work.

    Raises: InvalidInput if it is not. A missing folder is created.
    """
    folder = cache_folder()
    cure = "set SHIFTBENCH_CACHE to a writable folder"
    check_folder(folder, "the cache folder cannot be written", str(folder), cure)


def remember_folder(version: DataVersion, folder: Path) -> None:
    """Record the folder of a dataset version, so that it can be found from a card.

    Args:
        folder: the dataset folder; stored as an absolute path.
    """
    for note in _folder_notes(version):
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(str(folder.resolve()), encoding="utf-8")


def recall_folder(version: DataVersion) -> Path | None:
    """Find the folder of a dataset version recorded by ``remember_folder``.

    Args:
        version: hashes of content and settings; if no folder matches both, the latest one with this content is used.
    Returns: the folder; None if unknown or removed.
    """
    notes = (note for note in _folder_notes(version) if note.is_file())
    folders = (Path(note.read_text(encoding="utf-8")) for note in notes)
    return next((folder for folder in folders if folder.is_dir()), None)


def _folder_notes(version: DataVersion) -> list[Path]:
    names = [f"{version.content}-{version.settings}"] if version.settings else []
    return [cache_folder() / "folders" / name for name in (*names, version.content)]


def remember_model(folder: Path, state: str, digest: str) -> None:
    """Record the hash of a model's files, which takes half a second to compute.

    Args:
        state: a state that changes whenever one of its files does.
        digest: hash of their content, 64 hex digits.
    """
    _write_note(_model_note(folder), f"{state} {digest}")


def recall_model(folder: Path, state: str) -> str | None:
    """Find the hash of a model's files.

    Returns: the hash; None if it is not cached or a file has changed since.
    """
    try:
        known, _, digest = _model_note(folder).read_text(encoding="utf-8").partition(" ")
    except (OSError, UnicodeDecodeError):
        return None
    return digest if known == state and re.fullmatch("[0-9a-f]{64}", digest) else None


def _model_note(folder: Path) -> Path:
    return cache_folder() / "models" / cache_key({"folder": str(folder.resolve())})


def remember_files(folder: Path, checksums: Mapping[str, tuple[list[int], str]]) -> None:
    """Record the checksums of a dataset folder's files, so that opening it again need not read them.

    Args:
        checksums: each file's state and SHA-256, by path inside the folder.
    """
    _write_note(_files_note(folder), json.dumps(checksums))


def recall_files(folder: Path) -> dict[str, tuple[list[int], str]]:
    """Find the cached checksums of a dataset folder's files; each is valid while its file has the recorded state.

    Returns: the argument of ``remember_files``; empty if nothing is cached.
    """
    try:
        content = json.loads(_files_note(folder).read_text(encoding="utf-8"))
        return {str(path): (list(state), str(sha256)) for path, (state, sha256) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # missing or damaged: the files are hashed again


def _files_note(folder: Path) -> Path:
    return cache_folder() / "files" / cache_key({"folder": str(folder.resolve())})


def _write_note(note: Path, text: str) -> None:
    """Write a cache entry; ignore failures, as the result can be recomputed.

    Code that cannot work without the cache checks it first (see ``check_cache``).
    """
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False, encoding="utf-8") as file:
            file.write(text)
        Path(file.name).replace(note)
    except OSError:
        return
