"""An entry, its id, its files and its derived files, which are recomputed if missing, damaged or outdated."""

import hashlib
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

import polars as pl

from shiftbench.leaderboard.store.model_facts import HubFacts
from shiftbench.scoring.scores.score import SCORE_COLUMNS, Scored
from shiftbench.scoring.scores.shape import METRIC_VERSION, Scores
from shiftbench.validation.cards import Card
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.versions import DataVersion

LOCAL_SUBMITTER = "local"
"""Submitter of entries added on the machine itself or over its loopback address."""
ENTRIES, WITHDRAWN, SCORES, RECORDS = "entries", "withdrawn", "scores", "records"
COMPARISONS, INDEX = "comparisons", "index"
"""Folders of a store."""
DERIVED = (SCORES, COMPARISONS)
"""Folders whose content is recomputed if lost."""
Files = Mapping[str, bytes]
"""Contents by path in the store."""
Changes = Mapping[str, bytes | None]
"""Contents by path in the store; None deletes a file or folder."""
CARD, PREDICTIONS, VALIDATION = "card.json", "predictions.parquet", "validation.parquet"
ENTRY_ID = re.compile(r"[0-9a-f]{16}")
RECORD = re.compile(r"[a-z]+-[0-9a-zA-Z-]{1,80}\.(json|bin)")
"""The pattern of a record's name."""
VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,3}", re.ASCII)
"""The pattern of a metric version."""


@dataclass(frozen=True)
class Entry:
    """One accepted submission.

    ``submitted_at`` is in UTC, ISO 8601, to the microsecond (older entries: to the second), since among entries with
    the same predictions the earliest has the row on the board. ``has_validation``: whether it has predictions on
    validation rows. ``hub``: the Hub's facts about its model on that day.
    """

    id: str
    submitter: str
    submitted_at: str
    card: Card
    has_validation: bool = False
    hub: HubFacts | None = None


class SubmissionRecord(NamedTuple):
    """The data for quotas: who submitted an entry, on which UTC day (ISO)."""

    submitter: str
    day: str


def entry_id(submitter: str, card: Card, rows: pl.DataFrame, validation: pl.DataFrame | None = None) -> str:
    """Compute an entry's id, 16 hex digits: a hash of submitter, predictions (sorted rows) and card.

    All digits of confidences and probabilities count. The last ones depend on the processor, the number of threads and
    library versions, so the same model's predictions may have another id if they are computed on another machine.
    """
    digest = hashlib.sha256(json.dumps([submitter, card.as_dict()], sort_keys=True).encode())
    for part in (rows,) if validation is None else (rows, validation):
        for name in part.columns:
            digest.update(json.dumps([name, part[name].to_list()], ensure_ascii=False).encode())
    return digest.hexdigest()[:16]


def check_id(identity: str) -> str:
    """Validate and return an entry's id; InvalidInput if it is malformed, so that no id points outside the store."""
    if not ENTRY_ID.fullmatch(identity):
        raise InvalidInput(Problem("this is not an entry id", "entry", repr(identity[:40]), "ids are 16 hex digits"))
    return identity


def card_path(identity: str) -> str:
    """Return the path of an entry's card in a store."""
    return f"{ENTRIES}/{check_id(identity)}/{CARD}"


def predictions_path(identity: str) -> str:
    """Return the path of an entry's predictions in a store."""
    return f"{ENTRIES}/{check_id(identity)}/{PREDICTIONS}"


def validation_path(identity: str) -> str:
    """Return the path of an entry's predictions on validation rows in a store; most entries have none."""
    return f"{ENTRIES}/{check_id(identity)}/{VALIDATION}"


def stored_rows(checked: pl.DataFrame) -> pl.DataFrame:
    """Return checked predictions in the form in which an entry stores them and its id is computed."""
    return checked.drop("task", "target").sort("source", "seed", "id")


def predictions_bytes(rows: pl.DataFrame) -> bytes:
    """Encode an entry's predictions as Parquet."""
    content = io.BytesIO()
    rows.write_parquet(content)
    return content.getvalue()


def tombstone_path(identity: str) -> str:
    """Return the path of a withdrawn entry's tombstone in a store."""
    return f"{WITHDRAWN}/{check_id(identity)}.json"


def record_path(name: str) -> str:
    """Return the path of a record in a store; InvalidInput for an impossible name."""
    if not RECORD.fullmatch(name):
        raise InvalidInput(Problem("this is not a record's name", "store", repr(name[:80]), "see leaderboard/release"))
    return f"{RECORDS}/{name}"


def now() -> str:
    """Return the current time in the format that entries use."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def entry_bytes(entry: Entry) -> bytes:
    """Encode an entry's card file.

    Returns: JSON in UTF-8.
    """
    content = {
        "id": entry.id,
        "submitter": entry.submitter,
        "submitted_at": entry.submitted_at,
        "card": entry.card.as_dict(),
        **({"validation": True} if entry.has_validation else {}),
        **({"hub": entry.hub.model_dump(exclude_none=True)} if entry.hub else {}),
    }
    return json.dumps(content, indent=2, ensure_ascii=False).encode()


def parse_entry(content: bytes, identity: str) -> Entry:
    """Parse an entry's card file; InvalidInput if it is damaged or another entry's."""
    try:
        read = parse_json(content)
        card, has_validation = Card.model_validate(read["card"]), read.get("validation") is True
        hub = HubFacts.model_validate(read["hub"]) if "hub" in read else None
        entry = Entry(str(read["id"]), str(read["submitter"]), str(read["submitted_at"]), card, has_validation, hub)
        datetime.fromisoformat(entry.submitted_at)
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(identity, type(error).__name__) from error
    if entry.id != identity:
        raise _damaged(identity, f"the card of '{entry.id[:40]}'")
    return entry


def _damaged(identity: str, found: str) -> InvalidInput:
    return InvalidInput(Problem("the entry's card is damaged", identity, found, "submit the file again"))


def parse_submission_record(content: bytes, identity: str) -> SubmissionRecord | None:
    """Parse an entry's submitter and day; None if its card file is damaged or another's, so it counts for nobody."""
    try:
        read = parse_json(content)
        record = SubmissionRecord(str(read["submitter"]), str(read["submitted_at"])[:10])
        return record if read["id"] == identity else None
    except (ValueError, KeyError, TypeError):
        return None


def tombstone_bytes(identity: str) -> bytes:
    """Encode a tombstone with the current time, for an entry that was withdrawn, or whose files were erased."""
    return json.dumps({"id": identity, "withdrawn_at": now()}, indent=2).encode()


def parse_tombstone(content: bytes) -> str:
    """Return when an entry was withdrawn, as ISO 8601; empty if the tombstone is damaged."""
    try:
        return str(parse_json(content)["withdrawn_at"])
    except (ValueError, KeyError, TypeError):
        return ""


class ScoreVersions(NamedTuple):
    """Versions that scores depend on: encoders of depths and of BERTScore (None if unused), and data version."""

    depth_encoder: str | None
    token_encoder: str | None
    version: DataVersion


_MADE_WITH = "made_with"
FORECASTS = ".forecasts.json"
"""Suffix of forecast files."""


def scores_path(identity: str, version: str = METRIC_VERSION) -> str:
    """Return the path of an entry's nested scores in a store."""
    return f"{SCORES}/{version}/{check_id(identity)}.json"


def table_path(identity: str, version: str = METRIC_VERSION) -> str:
    """Return the path of an entry's long table of scores in a store."""
    return f"{SCORES}/{version}/{check_id(identity)}.parquet"


def forecasts_path(identity: str, version: str = METRIC_VERSION) -> str:
    """Return the path of an entry's forecasts in a store."""
    return f"{SCORES}/{version}/{check_id(identity)}{FORECASTS}"


def index_path(name: str) -> str:
    """Return the path of an index's cached table in a store."""
    return f"{SCORES}/{METRIC_VERSION}/{INDEX}/{name}.parquet"


def comparison_path(first: str, other: str) -> str:
    """Return the path of the cached comparison of two entries in a store."""
    return f"{COMPARISONS}/{METRIC_VERSION}/{check_id(first)}--{check_id(other)}.json"


def derived_files(identity: str, scored: Scored) -> Files:
    """Build the files of an entry's scores."""
    scores = scored.scores
    versions = json.dumps([scores.depth_encoder, scores.token_encoder, *scores.version])
    table = io.BytesIO()
    scored.table.write_parquet(table, metadata={_MADE_WITH: versions})
    return {table_path(identity): table.getvalue(), scores_path(identity): scored.scores.model_dump_json().encode()}


def read_scores(content: bytes, versions: ScoreVersions) -> Scores | None:
    """Parse nested scores; None if they are damaged or were computed with other encoders or settings."""
    try:
        scores = Scores.model_validate_json(content)
    except ValueError:
        return None
    return (
        scores if _agree(ScoreVersions(scores.depth_encoder, scores.token_encoder, scores.version), versions) else None
    )


def read_table(content: bytes, versions: ScoreVersions) -> pl.DataFrame | None:
    """Parse a long table; None if it is damaged or was computed with other encoders or settings."""
    try:
        depths, tokens, *version = parse_json(pl.read_parquet_metadata(io.BytesIO(content)).get(_MADE_WITH, "null"))
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, OSError, ValueError, TypeError):
        return None
    # Tables of former versions do not state the data version.
    known = ScoreVersions(depths, tokens, DataVersion(*version[:2]) if version else versions.version)
    return table if _agree(known, versions) and table.schema == SCORE_COLUMNS else None


def _agree(known: ScoreVersions, versions: ScoreVersions) -> bool:
    return known[:2] == versions[:2] and not known.version.difference(versions.version)
