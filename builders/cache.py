"""The user's cache folder: encoder vectors, hashes of models, and where dataset folders were built on this machine."""

import hashlib
import os
import re
import tempfile
from pathlib import Path

from validation.output_files import check_folder


def cache_folder() -> Path:
    """Return the cache folder; nothing is created.

    Returns: ``SHIFTBENCH_CACHE`` where set, else ``shiftbench`` in the user's cache folder.
    """
    if chosen := os.environ.get("SHIFTBENCH_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shiftbench"


def check_cache() -> None:
    """Raise InvalidInput where the cache folder cannot be written, before any work.

    Raises: InvalidInput naming the folder; it is created where it was missing.
    """
    folder = cache_folder()
    cure = "set SHIFTBENCH_CACHE to a folder that can be written"
    check_folder(folder, "the cache folder cannot be written", str(folder), cure)


def remember_folder(content_hash: str, folder: Path) -> None:
    """Record where the dataset with a content hash lies, so that a card alone leads to it.

    Args:
        content_hash: of the dataset, 64 hex digits.
        folder: where it lies; noted as an absolute path.
    """
    note = cache_folder() / "folders" / content_hash
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(str(folder.resolve()), encoding="utf-8")


def recall_folder(content_hash: str) -> Path | None:
    """Find where a dataset was built.

    Args:
        content_hash: of the dataset, 64 hex digits.
    Returns: the folder; None when that is not known or it is no longer there.
    """
    note = cache_folder() / "folders" / content_hash
    folder = Path(note.read_text(encoding="utf-8")) if note.is_file() else None
    return folder if folder is not None and folder.is_dir() else None


def remember_model(folder: Path, state: str, digest: str) -> None:
    """Record the hash of a model's files, which takes half a second to compute.

    Args:
        folder: of the model.
        state: changes whenever one of its files does.
        digest: of their content, 64 hex digits.
    """
    note = _model_note(folder)
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False, encoding="utf-8") as file:
            file.write(f"{state} {digest}")
        Path(file.name).replace(note)
    except OSError:
        return  # the hash is computed again; code that must write into the cache reports the failure


def recall_model(folder: Path, state: str) -> str | None:
    """Find the hash of a model's files.

    Args:
        folder: of the model.
        state: of its files now.
    Returns: the hash; None when it was not noted, or a file has changed since.
    """
    try:
        known, _, digest = _model_note(folder).read_text(encoding="utf-8").partition(" ")
    except (OSError, UnicodeDecodeError):
        return None
    return digest if known == state and re.fullmatch("[0-9a-f]{64}", digest) else None


def _model_note(folder: Path) -> Path:
    return cache_folder() / "models" / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()
