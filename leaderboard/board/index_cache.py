"""Cached tables of an index, stored with the scores, so that a server starts without reading every entry again.

    rows        the rows of all entries
    replicates  the replicates of the ranked score, by id and task
    intervals   the intervals of ranks, by board

All can be recomputed: tables that are missing, damaged or have another schema are rebuilt.
"""

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.ranks import INTERVALS, Replicates
from shiftbench.leaderboard.board.rows import OOD, rows_frame
from shiftbench.leaderboard.store import Store
from shiftbench.scoring.scores.score import N_STORED, token_encoder
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.scoring.scores.summary import depth_encoder_name, encoder_name

ROWS_VERSION = 8
"""Version of the rows: increase it when the same scores would produce other rows."""
Key = tuple[str, str]
"""An entry and one of its tasks."""
BoardKey = tuple[str, str, str]
"""Content hash, subset and task."""
_BOARD = ("data", "subset", "task")
_INTERVALS = pl.Schema({**dict.fromkeys(_BOARD, pl.String()), **INTERVALS})
"""Rank intervals of all boards, in board order; nullable as in ``INTERVALS``."""
_FACTS = ("df", "training", "per_df", "n_runs")
_REPLICATES = pl.Schema(
    {
        **dict.fromkeys(("id", "task"), pl.String()),
        "replicates": pl.Array(pl.Float32, 1 + N_STORED),
        "df": pl.Float64(),
        "training": pl.Float64(),
        "per_df": pl.Float64(),
        "n_runs": pl.Int64(),
    }
)
"""Ranked score of an entry and task (see ``shiftbench.leaderboard.board.ranks.Replicates``); no nulls."""


def stamp(folder: DatasetFolder) -> str:
    """Format the version stamp of a dataset's rows: rows with another stamp are recomputed."""
    rule = "public" if folder.has_public_labels else "rounds"
    parts = [ROWS_VERSION, METRIC_VERSION, depth_encoder_name(folder), encoder_name(token_encoder(folder)), rule]
    if folder.version.settings is not None:
        parts.append(folder.version.settings)
    return json.dumps(parts, separators=(",", ":"))


def add_versions(rows: pl.DataFrame) -> pl.DataFrame:
    """Add columns with the versions that rows were computed with: metric version and encoders; null without a stamp."""
    names = ("metric_version", "depth_encoder", "token_encoder")
    parts = [pl.col("stamp").str.json_path_match(f"$[{n}]").alias(name) for n, name in enumerate(names, start=1)]
    return rows.with_columns(parts)


def read_rows(store: Store) -> pl.DataFrame:
    """Read the cached rows (``rows.SCHEMA``); an empty frame if there are none, or if their schema differs."""
    try:
        rows = pl.read_parquet(store.index_file("rows"))
    except (OSError, pl.exceptions.PolarsError):
        return rows_frame([])
    known = {name: dtype for name, dtype in rows.schema.items() if not name.startswith(OOD)}
    return rows if known == rows_frame([]).schema else rows_frame([])


def read_replicates(store: Store) -> dict[Key, Replicates]:
    """Read the cached replicates; empty if there are none, or if their schema differs."""
    try:
        frame = pl.read_parquet(store.index_file("replicates"))
    except (OSError, pl.exceptions.PolarsError):
        return {}
    if frame.schema != _REPLICATES:
        return {}
    keys = zip(frame["id"], frame["task"], strict=True)
    facts = zip(frame["replicates"].to_numpy(), *(frame[name] for name in _FACTS), strict=True)
    return {key: Replicates(*each) for key, each in zip(keys, facts, strict=True)}


def read_intervals(store: Store) -> dict[BoardKey, pl.DataFrame]:
    """Read the cached intervals of ranks by board; empty if there are none, or if their schema differs."""
    try:
        frame = pl.read_parquet(store.index_file("intervals"))
    except (OSError, pl.exceptions.PolarsError):
        return {}
    if frame.schema != _INTERVALS:
        return {}
    parts = frame.partition_by(*_BOARD, as_dict=True)
    return {(str(data), str(subset), str(task)): part.drop(_BOARD) for (data, subset, task), part in parts.items()}


def write(
    store: Store, rows: pl.DataFrame, replicates: dict[Key, Replicates], intervals: Mapping[BoardKey, pl.DataFrame]
) -> None:
    """Write rows, replicates and intervals; InvalidInput if the store cannot be written."""
    every = list(replicates.values())
    drawn = np.stack([each.values for each in every]) if every else np.empty((0, 1 + N_STORED), np.float32)
    columns: dict[str, Any] = {
        "id": [key[0] for key in replicates],
        "task": [key[1] for key in replicates],
        "replicates": drawn,
        **{name: [getattr(each, name) for each in every] for name in _FACTS},
    }
    ranked = [
        part.select(*(pl.lit(value).alias(name) for name, value in zip(_BOARD, key, strict=True)), *INTERVALS)
        for key, part in intervals.items()
    ]
    frames = {
        "rows": rows,
        "replicates": pl.DataFrame(columns, schema=_REPLICATES),
        "intervals": pl.concat([pl.DataFrame(schema=_INTERVALS), *ranked]),
    }
    # Replicates are noise: compression would take time and save nothing.
    store.cache_index({name: _parquet(frame, packed=name == "rows") for name, frame in frames.items()})


def _parquet(frame: pl.DataFrame, *, packed: bool) -> bytes:
    content = io.BytesIO()
    frame.write_parquet(content, compression="lz4" if packed else "uncompressed")
    return content.getvalue()
