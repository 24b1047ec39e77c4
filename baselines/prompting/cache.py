"""On-disk cache of language model responses, so that no request is sent, or paid for, twice."""

import sqlite3
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import Any

from shiftbench.baselines.prompting.models import Ending, ModelAnswer
from shiftbench.builders.cache import cache_folder, cache_key

_VERSION = 1


def answer_key(identity: Mapping[str, Any]) -> bytes:
    """Hash everything that a response depends on: the model, the messages and the parameters."""
    return bytes.fromhex(cache_key(identity))


class AnswerStore:
    """Responses by key, in one SQLite file in the user's cache folder.

    Responses survive a killed process. Waiting for the disk after each one would take longer than a fast server's
    responses, so those that arrive during a write are written together in the next one. ``flush`` and the end of the
    ``with`` block return when all are on disk. Prompts are stored only as hashes. Several processes may share the file.
    """

    def __init__(self, folder: Path | None = None) -> None:
        path = (folder or cache_folder()) / "answers.sqlite"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60, check_same_thread=False)  # used by one thread at a time
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")  # locks the file, so that only one process migrates it
            # Entries from before version 1 have no ending, and keys that include the server's URL: they cannot be found
            # again.
            if self._connection.execute("PRAGMA user_version").fetchone()[0] < _VERSION:
                self._connection.execute("DROP TABLE IF EXISTS answers")
                self._connection.execute(f"PRAGMA user_version = {_VERSION}")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, text TEXT NOT NULL, tokens_in INTEGER, "
                "tokens_out INTEGER, ending TEXT NOT NULL) WITHOUT ROWID"
            )
        self._waiting: dict[bytes, ModelAnswer] = {}
        self._lock, self._is_writing = Lock(), False
        self._writer, self._written = ThreadPoolExecutor(1), Future[None]()
        self._written.set_result(None)

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.flush()
        finally:
            self._writer.shutdown()
            self._connection.close()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, ModelAnswer]:
        """Read responses by key; keys without a response are omitted."""
        self.flush()
        answers: dict[bytes, ModelAnswer] = {}
        for start in range(0, len(keys), 500):  # SQLite limits the parameters of a query
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, text, tokens_in, tokens_out, ending FROM answers WHERE key IN ({marks})"
            found = self._connection.execute(query, part)
            answers |= {key: ModelAnswer(text, read, wrote, Ending(end)) for key, text, read, wrote, end in found}
        return answers

    def put(self, key: bytes, answer: ModelAnswer) -> None:
        """Add a response and return before it is written; raises the error of an earlier write, such as a full disk."""
        with self._lock:
            self._waiting[key] = answer
            if not self._is_writing:
                self._written.result()
                self._is_writing = True
                self._written = self._writer.submit(self._write)

    def flush(self) -> None:
        """Wait until all responses are on disk; raises the error of an earlier write, such as a full disk."""
        self._written.result()

    def _write(self) -> None:
        """Write the waiting responses, and those that arrive meanwhile."""
        while True:
            with self._lock:
                taken, self._waiting = self._waiting, {}
                self._is_writing = bool(taken)
            if not taken:
                return
            try:
                with self._connection:
                    self._connection.executemany(
                        "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)",
                        [(key, each.text, each.tokens_in, each.tokens_out, each.ending) for key, each in taken.items()],
                    )
            except BaseException:
                self._is_writing = False  # so that the next put raises it
                raise
