"""Answers of language models on disk, so that nothing is asked, or paid for, twice."""

import hashlib
import json
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baselines.prompting.models import Answer
from builders.cache import cache_folder


def answer_key(identity: Mapping[str, Any]) -> bytes:
    """Hash what an answer depends on: the model and where it runs, the messages, the parameters."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).digest()


class AnswerStore:
    """Answers by key in one SQLite file of the user's cache folder.

    Each answer is on disk when ``put`` returns, and outlives a killed process. Prompts are not stored, only their
    hashes. Several processes may share the file.
    """

    def __init__(self, folder: Path | None = None) -> None:
        path = (folder or cache_folder()) / "answers.sqlite"
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(path, timeout=60)
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS answers "
            "(key BLOB PRIMARY KEY, text TEXT NOT NULL, tokens_in INTEGER, tokens_out INTEGER) WITHOUT ROWID"
        )

    def __enter__(self) -> "AnswerStore":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Answer]:
        """Look answers up; those that are not there are left out."""
        found: dict[bytes, Answer] = {}
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, text, tokens_in, tokens_out FROM answers WHERE key IN ({marks})"
            found |= {key: Answer(*answer) for key, *answer in self._connection.execute(query, part)}
        return found

    def put(self, key: bytes, answer: Answer) -> None:
        """Keep an answer."""
        with self._connection:
            self._connection.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                (key, answer.text, answer.tokens_in, answer.tokens_out),
            )
