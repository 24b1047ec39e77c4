"""The derived files of a store. Missing, damaged or outdated ones are made again."""

import io
import json

import polars as pl

from shiftbench.leaderboard.store.entries import COMPARISONS, SCORES, check_id
from shiftbench.leaderboard.store.local import Files
from shiftbench.scoring.scores.score import SCORE_COLUMNS, Scored
from shiftbench.scoring.scores.shape import METRIC_VERSION, Scores
from shiftbench.validation.json_text import parse_json

MadeWith = tuple[str | None, str | None]
"""Encoders of the depths and of BERTScore's tokens; None where there was none."""
_MADE_WITH = "made_with"
FORECASTS = ".forecasts.json"
"""What the names of forecasts' files end in."""


def scores_path(identity: str, version: str = METRIC_VERSION) -> str:
    """Return the path of an entry's nested scores in a store.

    Args:
        identity: the entry's id.
        version: the metric version.
    Returns: a path below the store's root, with slashes.
    """
    return f"{SCORES}/{version}/{check_id(identity)}.json"


def table_path(identity: str, version: str = METRIC_VERSION) -> str:
    """Return the path of an entry's long table of scores in a store.

    Args:
        identity: the entry's id.
        version: the metric version.
    Returns: a path below the store's root, with slashes.
    """
    return f"{SCORES}/{version}/{check_id(identity)}.parquet"


def forecasts_path(identity: str) -> str:
    """Return the place of an entry's forecasts in a store."""
    return f"{SCORES}/{METRIC_VERSION}/{check_id(identity)}{FORECASTS}"


def index_path(name: str) -> str:
    """Return the path in a store of a table that an index keeps."""
    return f"{SCORES}/{METRIC_VERSION}/index/{name}.parquet"


def comparison_path(first: str, other: str) -> str:
    """Return the path in a store of the comparison of an entry with another one."""
    return f"{COMPARISONS}/{METRIC_VERSION}/{check_id(first)}--{check_id(other)}.json"


def derived_files(identity: str, scored: Scored) -> Files:
    """Build the files of an entry's scores."""
    made_with = json.dumps([scored.scores.depth_encoder, scored.scores.token_encoder])
    table = io.BytesIO()
    scored.table.write_parquet(table, metadata={_MADE_WITH: made_with})
    return {
        table_path(identity): table.getvalue(),
        scores_path(identity): scored.scores.model_dump_json().encode(),
    }


def read_scores(content: bytes, made_with: MadeWith) -> Scores | None:
    """Read nested scores; None when they are damaged or were made with other encoders."""
    try:
        scores = Scores.model_validate_json(content)
    except ValueError:
        return None
    return scores if (scores.depth_encoder, scores.token_encoder) == made_with else None


def read_table(content: bytes, made_with: MadeWith) -> pl.DataFrame | None:
    """Read a long table; None when it is damaged or was made with other encoders."""
    try:
        known = parse_json(pl.read_parquet_metadata(io.BytesIO(content)).get(_MADE_WITH, "null"))
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return None
    return table if known == list(made_with) and table.schema == SCORE_COLUMNS else None
