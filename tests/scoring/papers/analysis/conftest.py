"""Scored entries on invented data, and states built from them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.board.analysed import find_results
from shiftbench.scoring.papers.analysis.entries import Analysed, Result
from shiftbench.scoring.scores.score import score_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card, write_card
from shiftbench.validation.predictions import check_predictions
from tests.leaderboard.id_folder import build_id_folder, id_predictions
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors

DOMAINS = ("amber", "blue", "coral")
State = Callable[..., Result]


def scored(folder: DatasetFolder, frame: pl.DataFrame) -> Scores:
    checked = check_predictions(frame, [folder.prediction_task(task) for task in folder.manifest.tasks], "p")
    return score_predictions(checked, folder).scores


@pytest.fixture(scope="session")
def dealt(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return build_dealt_folder(tmp_path_factory.mktemp("analysed") / "dealt", DOMAINS, n_test=72)


@pytest.fixture(scope="session")
def boss(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return build_id_folder(tmp_path_factory.mktemp("analysed") / "boss", None)


def both_tasks(folder: DatasetFolder, errors: float) -> pl.DataFrame:
    """Predict the moods and their placebo."""
    tasks = ("moods", "moods.placebo")
    return pl.concat(labels_with_errors(folder, task, list(folder.task(task).domains), errors) for task in tasks)


@pytest.fixture(scope="session")
def good(dealt: DatasetFolder) -> Scores:
    return scored(dealt, both_tasks(dealt, 0.15))


@pytest.fixture(scope="session")
def partial(dealt: DatasetFolder) -> Scores:
    return scored(dealt, labels_with_errors(dealt, "moods", DOMAINS[:2], 0.3))


@pytest.fixture(scope="session")
def zero_shot(dealt: DatasetFolder) -> Scores:
    return scored(dealt, labels_with_errors(dealt, "moods", ["none"], 0.5))


@pytest.fixture(scope="session")
def id_scores(boss: DatasetFolder) -> Scores:
    return scored(boss, id_predictions(boss, "sa", "amazon"))


def entry(folder: DatasetFolder, scores: Scores, name: str, **facts: Any) -> Analysed:
    card = Card(**{"paradigm": "fine-tuned", "data": folder.content_hash, "name": name, **facts})
    return Analysed(f"{hash((name, *facts.items())) % 2**64:016x}", card, folder, scores)


@pytest.fixture
def state(dealt: DatasetFolder, good: Scores) -> State:
    """Build an entry's result on the moods: a given card, any entry's scores, with modified summary values."""

    def make(name: str = "Model", scores: Scores = good, summary: dict[str, Any] | None = None, **facts: Any) -> Result:
        task = scores.tasks[0]
        task = task.model_copy(update={"summary": task.summary.model_copy(update=summary or {})})
        scores = scores.model_copy(update={"tasks": (task, *scores.tasks[1:])})
        return find_results([entry(dealt, scores, name, **facts)], [dealt])[0]

    return make


def write_entry(folder: DatasetFolder, path: Path, frame: pl.DataFrame, name: str, **facts: Any) -> Path:
    """Write a prediction file and its card."""
    frame.write_parquet(path)
    card = Card(**{"paradigm": "fine-tuned", "data": folder.content_hash, "name": name, **facts})
    write_card(card, path.with_name(f"{path.stem}.card.yaml"))
    return path
