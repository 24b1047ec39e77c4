"""Checkpoints of reading a large file: written atomically, and never reused for another file or program version."""

import hashlib
import logging
import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import FunctionType

import polars as pl
import pydantic
from filelock import FileLock, Timeout

from shiftbench.builders.cache import cache_key
from shiftbench.builders.checksums import file_sha256, file_state
from shiftbench.builders.specs.spec import Fingerprint
from shiftbench.builders.specs.upstream_file import Position
from shiftbench.validation.output_files import replace_file
from shiftbench.validation.report import first_line

log = logging.getLogger(__name__)

_STATE = "state.json"
_PROCESS_ONLY = re.compile(r"<lambda>|<locals>| at 0x[0-9a-fA-F]+>")
"""Matches a repr that is only valid in this process: a local function or a memory address."""


class State(pydantic.BaseModel):
    """Progress of reading a file: the end of the last frame processed by every consumer."""

    model_config = pydantic.ConfigDict(extra="forbid")

    position: Position = Position()
    n_rows: int = 0
    sha256: str | None = None
    """Checksum of the whole file, once it was read completely."""
    counts: list[list[tuple[int, int, int]]]
    """Rows before, after and changed, by step, for each consumer."""
    fingerprints: list[Fingerprint | None]
    """Fingerprints of the rows taken by each consumer."""
    parts: list[dict[str, str]]
    """Files with the rows of each consumer, with their checksums."""
    serial: int = 0


class Checkpoint:
    """The folder with the state of one reading; locked by this process inside a ``with`` statement."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FileLock(folder.with_name(folder.name + ".lock"))

    def __enter__(self) -> "Checkpoint":
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            log.info("%s: another process is reading the same files; waiting for it", self.folder)
            self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def load(self) -> State | None:
        """Read the state; None if there is none. A damaged folder is moved aside, and this is logged."""
        path = self.folder / _STATE
        if not path.is_file():
            self._delete_parts(())
            return None
        try:
            state = State.model_validate_json(path.read_bytes())
            for name, sha256 in (part for parts in state.parts for part in parts.items()):
                if file_sha256(self.folder / name) != sha256:
                    raise ValueError(f"{name} has changed since it was written")
        except (ValueError, OSError) as error:
            aside = self.folder.with_name(self.folder.name + ".damaged")
            shutil.rmtree(aside, ignore_errors=True)
            self.folder.rename(aside)
            reason = first_line(error)
            moved = f"a damaged checkpoint ({reason}) was moved to {aside.name}; reading starts again"
            log.info("%s: %s", self.folder, moved)
            return None
        self._delete_parts(name for parts in state.parts for name in parts)
        return state

    def save(self, state: State) -> None:
        """Write the state, whose parts are already in the folder, and delete other parts."""
        with replace_file(self.folder / _STATE) as new:
            new.write_text(state.model_dump_json(), encoding="utf-8")
        self._delete_parts(name for parts in state.parts for name in parts)

    def _delete_parts(self, kept: Iterable[str]) -> None:
        """Delete all parts except those of the state; resuming writes the others again."""
        named = {_STATE, *kept}
        for file in self.folder.iterdir() if self.folder.is_dir() else ():
            if file.is_dir():  # left by a killed process
                shutil.rmtree(file)
            elif file.name not in named:
                file.unlink()


def checkpoint_key(path: Path, what: Iterable[object]) -> str:
    """Return the cache key of a reading: the file's state, its readers and steps, and the program version.

    Args:
        what: readers, steps and options: functions with a global name, or other objects with an identifying repr.
    Returns: 64 hex digits, the same in every process.
    Raises: TypeError for objects without such a name or repr.
    """
    program = program_sha256()
    return cache_key(
        {"path": str(path.resolve()), "state": file_state(path), "what": [*map(_identity, what)], "program": program}
    )


def _identity(part: object) -> str:
    """Return a text that identifies an object across processes, without memory addresses."""
    text = f"{part.__module__}.{part.__qualname__}" if isinstance(part, FunctionType) else str(part)
    if _PROCESS_ONLY.search(text):
        raise TypeError(f"{text} cannot be identified in another process: use a module-level function or a dataclass")
    return text


@cache
def program_sha256() -> str:
    """Hash the source files of the builders, so that rows read by another version are not reused."""
    folder = Path(__file__).parents[1]
    files = sorted(file for file in folder.rglob("*") if file.suffix in {".py", ".csv", ".toml", ".bib"})
    hashes = [f"{file.relative_to(folder)} {file_sha256(file)}" for file in files]
    return hashlib.sha256("\n".join([pl.__version__, *hashes]).encode()).hexdigest()
