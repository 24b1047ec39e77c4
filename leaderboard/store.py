"""The store: accepted entries, each an immutable folder, with scores derived beside them.

    ROOT/entries/<id>/card.json          who, when, and the card
    ROOT/entries/<id>/predictions.parquet
    ROOT/scores/<metric version>/<id>.parquet   the long table of scores, with replicates
    ROOT/scores/<metric version>/<id>.json      the nested scores; both are made again when missing

An entry's id is a hash of submitter, card and predictions: the same file sent twice is the same entry.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from builders.folder import DatasetFolder
from leaderboard.scores import METRIC_VERSION, Scores
from leaderboard.scoring import Scored, checked_predictions, encoder_name, score_predictions, token_encoder
from leaderboard.summary import depth_encoder_name
from validation.cards import Card
from validation.report import InvalidInput, Problem

LOCAL_SUBMITTER = "local"
"""Submitter of entries added on the machine itself or over its loopback address."""


@dataclass(frozen=True)
class Entry:
    """One accepted submission."""

    id: str
    submitter: str
    submitted_at: str
    card: Card


class Store:
    """Entries under a local folder. Reading never changes them; a half-written entry is never seen."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)

    def submit(
        self, predictions: Path, card: Card, folders: Sequence[DatasetFolder], submitter: str = LOCAL_SUBMITTER
    ) -> tuple[Entry, bool]:
        """Check and score a prediction file, and keep it.

        Args:
            predictions: the file.
            card: its card; ``card.data`` says which dataset it is for.
            folders: the datasets this store has at hand.
            submitter: who sends it.
        Returns: the entry, and whether it is new (False when the same file was sent before).
        Raises: InvalidInput with every problem; nothing is stored then.
        """
        folder = folder_of(card, folders)
        frame = checked_predictions(predictions, folder, card.subset)
        _refuse_candidates_alone(frame, folder, predictions)
        rows = frame.drop("task", "target").sort("source", "seed", "id")
        identity = _entry_id(submitter, card, rows)
        if (self._entry_path(identity) / "card.json").is_file():
            return self.entry(identity), False
        scored = score_predictions(frame, folder, card.subset, encoder=token_encoder(folder))
        entry = Entry(identity, submitter, datetime.now(UTC).isoformat(timespec="seconds"), card)
        self._write_scores(identity, scored)
        self._write_entry(entry, rows)
        return entry, True

    def entries(self) -> list[Entry]:
        """List the entries, oldest first."""
        folders = (self.root / "entries").glob("*/card.json")
        return sorted(
            (self.entry(path.parent.name) for path in folders), key=lambda entry: (entry.submitted_at, entry.id)
        )

    def entry(self, identity: str) -> Entry:
        """Read one entry; InvalidInput when there is none of that id."""
        path = self._entry_path(identity) / "card.json"
        if not path.is_file():
            raise InvalidInput(
                Problem("the store has no such entry", str(self.root), f"'{identity}'", "see the board for ids")
            )
        content = json.loads(path.read_text(encoding="utf-8"))
        card = Card.model_validate(content["card"])
        return Entry(content["id"], content["submitter"], content["submitted_at"], card)

    def predictions(self, entry: Entry) -> Path:
        """Give the path of an entry's prediction file."""
        return self._entry_path(entry.id) / "predictions.parquet"

    def scores(self, entry: Entry, folder: DatasetFolder) -> Scores:
        """Give an entry's scores: from the derived file, or computed again.

        They are computed again where the file is missing or damaged, or was made with other encoders than the folder
        and this machine have now: the content hash is of rows alone.
        """
        encoder = token_encoder(folder)
        kept = self._kept_scores(entry.id)
        made_with = (depth_encoder_name(folder), encoder_name(encoder))
        if kept is not None and (kept.depth_encoder, kept.token_encoder) == made_with:
            return kept
        frame = checked_predictions(self.predictions(entry), folder, entry.card.subset)
        scored = score_predictions(frame, folder, entry.card.subset, encoder=encoder)
        self._write_scores(entry.id, scored)
        return scored.scores

    def _kept_scores(self, identity: str) -> Scores | None:
        path = self._scores_path(identity)
        try:
            return Scores.model_validate_json(path.read_bytes()) if path.is_file() else None
        except ValueError:
            return None  # scores are derived: damaged ones are made again

    def _entry_path(self, identity: str) -> Path:
        if not identity.isalnum():
            raise InvalidInput(Problem("this is no entry id", "entry", repr(identity), "ids are 16 hex digits"))
        return self.root / "entries" / identity

    def _scores_path(self, identity: str) -> Path:
        return self.root / "scores" / METRIC_VERSION / f"{identity}.json"

    def _write_entry(self, entry: Entry, rows: pl.DataFrame) -> None:
        parent = self.root / "entries"
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=self.root) as temporary:
            new = Path(temporary) / entry.id
            new.mkdir()
            rows.write_parquet(new / "predictions.parquet")
            content = {
                "id": entry.id,
                "submitter": entry.submitter,
                "submitted_at": entry.submitted_at,
                "card": entry.card.as_dict(),
            }
            (new / "card.json").write_text(json.dumps(content, indent=2, ensure_ascii=False), encoding="utf-8")
            for path in (new / "predictions.parquet", new / "card.json", new):
                _sync(path)
            try:
                new.rename(parent / entry.id)
            except OSError:
                # The same file sent twice at the same moment: the other one has just landed, and is this entry.
                if not (parent / entry.id / "card.json").is_file():
                    raise
            _sync(parent)

    def _write_scores(self, identity: str, scored: Scored) -> None:
        nested = self._scores_path(identity)
        nested.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=nested.parent) as temporary:
            table, scores = Path(temporary) / "table", Path(temporary) / "scores"
            scored.table.write_parquet(table)
            scores.write_text(scored.scores.model_dump_json(), encoding="utf-8")
            table.replace(nested.with_suffix(".parquet"))
            scores.replace(nested)


def folder_of(card: Card, folders: Sequence[DatasetFolder]) -> DatasetFolder:
    """Find the dataset that a card's predictions are for; InvalidInput names both versions when it is not there."""
    same = [folder for folder in folders if folder.content_hash == card.data]
    if same:  # of a public and a gold folder, which have one hash, the one that can be scored with
        return min(same, key=lambda folder: folder.manifest.withholds_labels)
    here = ", ".join(f"{folder.manifest.benchmark} {folder.content_hash[:12]}" for folder in folders) or "none"
    cure = f"the datasets here are {here}; predict on one of these, or build the same version"
    raise InvalidInput(
        Problem(
            "the predictions were made for another version of the data", "card", card.data[:12], cure, column="data"
        )
    )


def _entry_id(submitter: str, card: Card, rows: pl.DataFrame) -> str:
    digest = hashlib.sha256(json.dumps([submitter, card.as_dict()], sort_keys=True).encode())
    for name in rows.columns:
        digest.update(json.dumps([name, rows[name].to_list()], ensure_ascii=False).encode())
    return digest.hexdigest()[:16]


def _sync(path: Path) -> None:
    """Make a file or folder durable: accepted is said only after this."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refuse_candidates_alone(predictions: pl.DataFrame, folder: DatasetFolder, file: Path) -> None:
    """Refuse a file that no board would show: candidate data sets serve ``shiftbench protocol`` alone."""
    tasks = predictions["task"].unique().sort().to_list()
    if all(folder.task(task).candidates_for is not None for task in tasks):
        what = "no board would show this: its predictions are for candidate data sets alone"
        cure = "give the file to 'shiftbench protocol', or predict the task that they are candidates for, too"
        raise InvalidInput(Problem(what, str(file), ", ".join(tasks), cure))
