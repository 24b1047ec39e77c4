"""Hashes of a dataset folder: of its content, whatever the bytes of its files, and of these files."""

import hashlib
import hmac
import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.folder.manifest import DATA_FOLDERS, FORMAT_VERSION, TaskInfo
from shiftbench.builders.stored_rows import Rows, in_memory

_HASHED_AT_ONCE = 10_000


def data_files_sha256(folder: Path) -> dict[str, str]:
    """Hash the files of rows, depths and ids in a dataset folder.

    Returns: SHA-256 by path inside the folder, sorted by path.
    """
    paths = sorted(path for name in DATA_FOLDERS for path in (folder / name).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in paths}


def rows_sha256(frame: Rows, columns: Iterable[str]) -> str:
    """Hash rows by content, in id order, whatever the file's bytes.

    Args:
        frame: rows with distinct ids, in any order.
        columns: what is hashed beside ``id``, in this order.
    Returns: a SHA-256, 64 hex digits.

    >>> import polars as pl
    >>> a = pl.DataFrame({"id": ["x", "y"], "text": ["1", "2"]})
    >>> rows_sha256(a, ["text"]) == rows_sha256(a.reverse(), ["text"])
    True
    """
    digest, encoder = hashlib.sha256(), msgspec.json.Encoder()
    columns = ("id", *columns)
    in_order = frame if frame["id"].is_sorted() else in_memory(frame).sort("id")
    # As one list a line, in the bytes of json.dumps(row, ensure_ascii=False, separators=(",", ":")). The hash of one
    # part is computed while the next is encoded.
    with ThreadPoolExecutor(1) as pool:
        hashed = None
        for part in in_order.iter_slices(_HASHED_AT_ONCE):
            lines = encoder.encode_lines(part.select(columns).rows())
            if hashed is not None:
                hashed.result()
            hashed = pool.submit(digest.update, lines)
    return digest.hexdigest()


def labels_sha256(frame: Rows, gold: str, key: str | None) -> str:
    """Hash ids and gold of rows.

    Args:
        frame: rows with ``id`` and the gold column, in any order.
        gold: name of the gold column.
        key: makes a keyed hash, so that nobody without the key can find labels by trying; None: a plain hash.
    Returns: 64 hex digits.
    """
    plain = rows_sha256(frame, [gold])
    return plain if key is None else hmac.new(key.encode(), plain.encode(), hashlib.sha256).hexdigest()


def content_hash(tasks: dict[str, TaskInfo], benchmark: str) -> str:
    """Hash a folder's content: every split of every domain, inputs and labels, and the label names.

    Args:
        tasks: facts by task name. Withheld domains count like the others, so a published folder has the hash of the
            one that it was taken from.
    Returns: a SHA-256, 64 hex digits.
    """
    content = {
        name: {
            "labels": task.labels,
            "splits": {
                f"{domain}/{split}": [facts.inputs_sha256, facts.labels_sha256]
                for domain, domain_facts in (task.domains | task.withheld).items()
                for split, facts in domain_facts.splits.items()
            },
        }
        for name, task in tasks.items()
    }
    canonical = json.dumps([FORMAT_VERSION, benchmark, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
