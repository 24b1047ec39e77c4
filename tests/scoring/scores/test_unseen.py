"""Drops on domains not known to be in the pretraining data, against hand-computed means."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.controls import seen_domains, unseen_drops
from shiftbench.scoring.scores.score import Scored, checked_predictions, score_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card
from tests.leaderboard.shapes import build_dealt_folder, labels_with_errors

DOMAINS = ["books", "films", "games", "tools"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> DatasetFolder:
    return build_dealt_folder(tmp_path_factory.mktemp("dealt") / "folder", DOMAINS, n_test=120)


@pytest.fixture(scope="module")
def scored(folder: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return score(folder, labels_with_errors(folder, "moods", DOMAINS, 0.2, range(2)), tmp_path_factory.mktemp("p"))


def score(folder: DatasetFolder, frame: pl.DataFrame, place: Path) -> Scored:
    frame.write_parquet(place / "p.parquet")
    return score_predictions(checked_predictions(place / "p.parquet", folder), folder)


def card(*domains: str) -> Card:
    return Card(name="m", paradigm="fine-tuned", data="0" * 64, pretraining_domains=domains)


def test_domains_are_known_by_name_or_with_their_task() -> None:
    assert seen_domains(card("Books", "moods.games", "sa.films", "the web"), "moods", DOMAINS) == ("books", "games")


def test_means_are_over_the_shifts_between_other_domains(folder: DatasetFolder, scored: Scored) -> None:
    task = scored.scores.tasks[0]
    found = unseen_drops(scored.table, card("books"), folder, task)
    assert found is not None
    chosen = [shift for shift in task.shifts if "books" not in (shift.source, shift.target)]
    assert (found.n_shifts, found.n_all, found.seen) == (6, 12, ("books",))
    for name in ("st", "sd", "td"):
        by_hand = np.mean([getattr(shift, name).value for shift in chosen])
        estimate = getattr(found, name)
        assert estimate.value == pytest.approx(by_hand)
        assert estimate.low < estimate.value < estimate.high
    assert found.sd.value == pytest.approx(found.td.value), "equal on a whole grid of the others"
    # With fewer texts, intervals are wider than the whole task's, but of the same order.
    whole = task.summary.mean_st
    assert whole.high is not None
    assert whole.low is not None
    assert 1 < (found.st.high - found.st.low) / (whole.high - whole.low) < 2  # type: ignore[operator]


def test_all_shifts_give_the_whole_tasks_figures(folder: DatasetFolder, scored: Scored) -> None:
    """Check that with a seen domain without scores no shift is excluded, so that both computations agree."""
    task = scored.scores.tasks[0]
    everything = task.model_copy(update={"domains": (*task.domains, "elsewhere")})
    found = unseen_drops(scored.table, card("elsewhere"), folder, everything)
    assert found is not None
    assert found.st.value == pytest.approx(task.summary.mean_st.value)
    assert found.st.low == pytest.approx(task.summary.mean_st.low, abs=0.004)
    assert found.td.high == pytest.approx(task.summary.average_drop.high, abs=0.008)


def test_nothing_is_said_where_the_card_names_no_domain_or_all(folder: DatasetFolder, scored: Scored) -> None:
    task = scored.scores.tasks[0]
    assert unseen_drops(scored.table, card(), folder, task) is None
    assert unseen_drops(scored.table, card("the web"), folder, task) is None
    assert unseen_drops(scored.table, card(*DOMAINS[:3]), folder, task) is None


def test_without_homes_there_is_st_alone(folder: DatasetFolder, tmp_path: Path) -> None:
    frame = labels_with_errors(folder, "moods", ["films"], 0.2).filter(~pl.col("id").str.contains("/films/"))
    found_scores = score(folder, frame, tmp_path)
    found = unseen_drops(found_scores.table, card("books"), folder, found_scores.scores.tasks[0])
    assert found is not None
    assert found.n_shifts == 2
    assert found.st.value is not None
    assert (found.sd.value, found.td.value) == (None, None)


def test_shifts_without_a_score_are_left_out(folder: DatasetFolder, scored: Scored) -> None:
    content = scored.scores.model_dump()
    for shift in content["tasks"][0]["shifts"]:
        if shift["target"] == "tools":
            shift["st"] = {"value": None, "low": None, "high": None}
    task = Scores.model_validate(content).tasks[0]
    found = unseen_drops(scored.table, card("books"), folder, task)
    assert found is not None
    assert found.n_shifts == 4
