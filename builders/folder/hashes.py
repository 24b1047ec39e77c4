"""Hashes of a dataset folder: of its content (independent of file bytes), its settings, and its files."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import polars as pl

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.folder.manifest import DATA_FOLDERS, FORMAT_VERSION, EncoderFacts, TaskInfo
from shiftbench.builders.stored_rows import Rows, in_memory, slices_of
from shiftbench.validation.versions import HALF

_HASHED_AT_ONCE = 10_000
_SETTINGS_VERSION = 1
"""Part of every settings hash: raise it when ``settings_hash`` covers other settings."""


def data_files_sha256(folder: Path) -> dict[str, str]:
    """Hash the files of rows, depths and ids in a dataset folder.

    Returns: SHA-256 by path inside the folder, sorted by path.
    """
    paths = sorted(path for name in DATA_FOLDERS for path in (folder / name).rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in paths}


def rows_sha256(frame: Rows, columns: Iterable[str]) -> str:
    """Hash rows by content, in id order, independent of file bytes.

    Args:
        frame: rows with distinct ids, in any order.
        columns: columns hashed in addition to ``id``, in this order.
    Returns: a SHA-256, 64 hex digits.

    >>> import polars as pl
    >>> a = pl.DataFrame({"id": ["x", "y"], "text": ["1", "2"]})
    >>> rows_sha256(a, ["text"]) == rows_sha256(a.reverse(), ["text"])
    True
    """
    digest, encoder = hashlib.sha256(), msgspec.json.Encoder()
    columns = ("id", *columns)
    in_order = frame if frame["id"].is_sorted() else in_memory(frame).sort("id")
    # One JSON list per line, as json.dumps(row, ensure_ascii=False, separators=(",", ":")). Each part is hashed while
    # the next is encoded.
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
        key: HMAC key, so that labels cannot be recovered by brute force without it; None: a plain hash.
    Returns: 64 hex digits.
    """
    plain = rows_sha256(frame, [gold])
    return plain if key is None else hmac.new(key.encode(), plain.encode(), hashlib.sha256).hexdigest()


def content_hash(tasks: dict[str, TaskInfo], benchmark: str) -> str:
    """Hash a folder's content: inputs and labels of every split of every domain, and the label names.

    Args:
        tasks: facts by task name. Withheld domains are included, so a published copy has the same hash as the original.
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


def groups_sha256(frame: Rows, inputs: Sequence[str]) -> str:
    """Hash the partition of rows into groups, independent of group names and row order.

    Rows with equal inputs are interchangeable, because their ids depend on the names of groups.

    Args:
        frame: rows with distinct ids, ``group`` and the inputs.
        inputs: names of the input columns.
    Returns: 64 hex digits.

    >>> a = pl.DataFrame({"id": ["x", "y", "z"], "group": ["g", "g", "h"], "text": ["1", "2", "3"]})
    >>> renamed = a.with_columns(pl.col("group").replace({"g": "k", "h": "a"})).reverse()
    >>> groups_sha256(a, ["text"]) == groups_sha256(renamed, ["text"])
    True
    >>> groups_sha256(a, ["text"]) == groups_sha256(a.with_columns(group="id"), ["text"])
    False
    """
    # Polars' hashes are only valid within this process; here they only identify rows with equal inputs.
    rows = pl.concat(part.select("id", "group", text=part.select(inputs).hash_rows()) for part in slices_of(frame))
    named = rows.with_columns(pl.col("id").min().over("text")).sort("id")
    groups = named.group_by("group").agg("id")["id"].list.join("\n").sort()
    return hashlib.sha256("\n\n".join(groups).encode()).hexdigest()


def ids_sha256(ids: pl.Series) -> str:
    """Hash a list of ids, in any order; 64 hex digits."""
    return hashlib.sha256("\n".join(ids.sort()).encode()).hexdigest()


def settings_hash(tasks: Mapping[str, TaskInfo], encoder: EncoderFacts | None) -> str | None:
    """Hash the settings of a folder: everything that affects scores besides the content.

    These are, for each task, its kind and metric, the groups of test rows (``groups_sha256``), the ids of its subsets,
    such as few-shot ones, ``min_texts``, the ID domain, the task for which it lists candidates, label folds and the
    pairing (name and sizes); and the encoder of the depths. Labels and rows are in the content hash. Titles, notes,
    sources, counts and a pairing's reported Q do not affect scores.

    Args:
        tasks: facts by task name; withheld domains and subsets are included, as in the content hash.
        encoder: the encoder of the depths; None without depths.
    Returns: 64 hex digits: 32 for the tasks, then 32 for the encoder. Predictions do not depend on the encoder, so
        only the first half must match a card (see ``shiftbench.validation.versions``). None for older folders, which
        record no groups.
    """
    tests = {
        name: {
            domain: facts.splits["test"].groups_sha256
            for domain, facts in (task.domains | task.withheld).items()
            if "test" in facts.splits
        }
        for name, task in tasks.items()
    }
    if None in {sha256 for groups in tests.values() for sha256 in groups.values()}:
        return None
    of_tasks = {
        name: [
            task.kind.value,
            task.metric,
            tests[name],
            task.subset_hashes,
            task.min_texts,
            task.id_domain,
            task.candidates_for,
            task.label_folds,
            task.pairing and [task.pairing.name, task.pairing.source_rows, task.pairing.target_rows],
        ]
        for name, task in tasks.items()
    }
    of_encoder = encoder and [encoder.id, encoder.revision, encoder.dimensions]
    return _half_digest(of_tasks) + _half_digest(of_encoder)


def _half_digest(settings: object) -> str:
    canonical = json.dumps([_SETTINGS_VERSION, settings], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:HALF]
