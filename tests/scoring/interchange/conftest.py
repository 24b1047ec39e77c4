"""Entries to export, and the schemas of Every Eval Ever."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft7Validator

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.interchange.shared_entry import SharedEntry
from shiftbench.scoring.scores.score import checked_predictions, score_predictions
from shiftbench.validation.cards import Card
from tests.leaderboard.conftest import Filled

SCHEMAS = Path(__file__).parent / "every_eval_ever_0.3.0"


def schema(name: str) -> Any:
    return Draft7Validator(json.loads((SCHEMAS / name).read_text()))


def shared_entry(folder: DatasetFolder, predictions: pl.DataFrame, **facts: Any) -> SharedEntry:
    """Return an entry to export; ``facts`` are card fields."""
    card = Card(**{"name": "A model", "paradigm": "fine-tuned", "data": folder.content_hash, **facts})
    scores = score_predictions(predictions, folder).scores
    return SharedEntry(scores, card, folder.manifest, dataset="org/data", model="lab/model")


@pytest.fixture(scope="session")
def good(filled: Filled) -> SharedEntry:
    """The entry of a complete grid on one task."""
    frame = checked_predictions(filled.files["good"], filled.folder)
    return shared_entry(filled.folder, frame, share_predictions=True)
