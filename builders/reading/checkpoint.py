"""What was read of a large file, kept on disk: whole or not at all, and never used for another file or program."""

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
"""Of the text form of an object: that it was made in a function, or its address in memory."""


class State(pydantic.BaseModel):
    """How far a file was read: the end of the last frame that every consumer took."""

    model_config = pydantic.ConfigDict(extra="forbid")

    position: Position = Position()
    n_rows: int = 0
    sha256: str | None = None
    """Of the whole file, once all of it was read."""
    counts: list[list[tuple[int, int, int]]]
    """Rows before and after each step of each consumer."""
    fingerprints: list[Fingerprint | None]
    """Of the rows that each consumer took."""
    parts: list[dict[str, str]]
    """The files with the rows of each consumer, and their checksums."""
    serial: int = 0


class Checkpoint:
    """The folder in which the state of one reading is kept; inside a ``with`` statement it is this process's alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = FileLock(folder.with_name(folder.name + ".lock"))

    def __enter__(self) -> "Checkpoint":
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            log.info("%s: another process reads the same; waiting for it", self.folder)
            self._lock.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def load(self) -> State | None:
        """Read the state; None where there is none. A damaged one is set aside, which is logged."""
        path = self.folder / _STATE
        if not path.is_file():
            self._delete_parts(())
            return None
        try:
            state = State.model_validate_json(path.read_bytes())
            for name, sha256 in (part for parts in state.parts for part in parts.items()):
                if file_sha256(self.folder / name) != sha256:
                    raise ValueError(f"{name} is not as it was written")
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
        """Write the state, whose parts lie in the folder already, and delete parts that it does not list."""
        with replace_file(self.folder / _STATE) as new:
            new.write_text(state.model_dump_json(), encoding="utf-8")
        self._delete_parts(name for parts in state.parts for name in parts)

    def _delete_parts(self, kept: Iterable[str]) -> None:
        """Delete all parts but those of the state: what resumes there writes the others anew."""
        named = {_STATE, *kept}
        for file in self.folder.iterdir() if self.folder.is_dir() else ():
            if file.is_dir():  # what a killed process was writing
                shutil.rmtree(file)
            elif file.name not in named:
                file.unlink()


def checkpoint_key(path: Path, what: Iterable[object]) -> str:
    """Return the key of a reading: the file as it lies there, what is read of it, and the program that reads.

    Args:
        what: readers, steps and options; functions are named, other objects need a text form that identifies them.
    Returns: 64 hex digits, the same in every process.
    Raises: TypeError for what has no such name or text form.
    """
    program = program_sha256()
    return cache_key(
        {"path": str(path.resolve()), "state": file_state(path), "what": [*map(_identity, what)], "program": program}
    )


def _identity(part: object) -> str:
    """Return the text that identifies a part of a reading in every process: no address in memory."""
    text = f"{part.__module__}.{part.__qualname__}" if isinstance(part, FunctionType) else str(part)
    if _PROCESS_ONLY.search(text):
        raise TypeError(f"{text} has no name in another process: use a function of a module, or a dataclass")
    return text


@cache
def program_sha256() -> str:
    """Hash the builders' own files, so that rows which another version of a step took are not used."""
    folder = Path(__file__).parents[1]
    files = sorted(file for file in folder.rglob("*") if file.suffix in {".py", ".csv", ".toml", ".bib"})
    hashes = [f"{file.relative_to(folder)} {file_sha256(file)}" for file in files]
    return hashlib.sha256("\n".join([pl.__version__, *hashes]).encode()).hexdigest()
