"""Home advantage of scored files: the average drop on three scales, claimed only where all of them show it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.in_domain_advantage import home_advantage
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Summary, TaskScores


def scored(folder: DatasetFolder, frame: pl.DataFrame, tmp_path: Path, n_draws: int = 100) -> TaskScores:
    frame.filter(pl.col("id").str.contains("/nli/")).write_parquet(tmp_path / "a.parquet")
    return score_file(tmp_path / "a.parquet", folder, n_draws=n_draws).tasks[0]


@pytest.fixture(scope="module")
def task(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> TaskScores:
    return scored(synthetic, noisy_predictions(synthetic), tmp_path_factory.mktemp("home"))


def matrix_of(task: TaskScores) -> np.ndarray:
    cells = {(shift.source, shift.target): shift.st.value for shift in task.shifts}
    cells |= {(item.domain, item.domain): item.score.value for item in task.in_domain}
    return np.array([[cells[source, target] for target in task.domains] for source in task.domains])


def test_three_scales_of_one_matrix(task: TaskScores) -> None:
    found = task.summary.home_advantage
    assert found is not None
    assert found.raw.mean == task.summary.average_drop
    for scale in ("raw", "log", "logit"):
        expected = home_advantage(matrix_of(task), scale)  # type: ignore[arg-type]
        here = getattr(found, scale)
        assert here.mean.value == pytest.approx(float(expected.mean), abs=1e-12)
        assert [item.value for item in here.by_domain.values()] == pytest.approx(expected.by_domain.tolist())
        assert list(here.by_domain) == list(task.domains)
        assert here.mean.low < here.mean.value < here.mean.high
        assert here.total is None
    raw = found.raw
    # The mean is known better than any one domain's.
    assert raw.mean.high - raw.mean.low < min(item.high - item.low for item in raw.by_domain.values())  # type: ignore[operator]


def test_five_runs_have_total_intervals_and_models_that_guess_nothing_to_claim(
    synthetic: DatasetFolder, tmp_path: Path
) -> None:
    found = scored(synthetic, noisy_predictions(synthetic, n_runs=5), tmp_path, n_draws=20).summary.home_advantage
    assert found is not None
    for scale in (found.raw, found.log, found.logit):
        assert scale.total is not None
        assert scale.total.low <= scale.mean.low + 1e-12  # type: ignore[operator]
        assert scale.total.high >= scale.mean.high - 1e-12  # type: ignore[operator]
    rows = noisy_predictions(synthetic)
    labels = np.array(synthetic.task("nli").labels)
    guesses = pl.Series(labels[np.random.default_rng(3).integers(3, size=len(rows))])
    (tmp_path / "guess").mkdir()
    task = scored(synthetic, rows.with_columns(prediction=guesses), tmp_path / "guess", 50)
    assert task.summary.home_advantage is not None
    assert task.summary.home_advantage.claimed is None


def test_perfect_models_have_no_logarithm_of_their_odds(synthetic: DatasetFolder, tmp_path: Path) -> None:
    gold = pl.concat([synthetic.split("nli", domain, "test") for domain in synthetic.task("nli").domains])
    names = dict(enumerate(synthetic.task("nli").labels))
    right = gold.select("id", prediction=pl.col("label").replace_strict(names, return_dtype=pl.String))
    frame = pl.concat(
        [right.with_columns(source=pl.lit(source), seed=pl.lit(0)) for source in synthetic.task("nli").domains]
    )
    found = scored(synthetic, frame.select("source", "id", "prediction", "seed"), tmp_path, 20).summary.home_advantage
    assert found is not None
    assert (found.raw.mean.value, found.claimed) == (0, None)
    assert (found.logit.mean.value, found.logit.mean.no_interval) == (
        None, "a score of 0 or 1 has no logarithm or logit",
    )  # fmt: skip


def test_a_missing_cell_leaves_no_home_advantage(synthetic: DatasetFolder, tmp_path: Path) -> None:
    rows = noisy_predictions(synthetic)
    alone = rows.filter(pl.col("source") == "kitchen")
    assert scored(synthetic, alone, tmp_path, 0).summary.home_advantage is None


def test_scores_with_the_retired_p_value_are_read(task: TaskScores) -> None:
    content = json.loads(task.summary.model_dump_json())
    del content["home_advantage"]
    older = Summary.model_validate_json(json.dumps(content | {"source_permutation_p": 0.04}))
    assert older.home_advantage is None
    assert older.mean_st == task.summary.mean_st
    path = Path("tests/compatibility/written_by_0_1_0/scores.json")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert "source_permutation_p" in kept["tasks"][0]["summary"]
