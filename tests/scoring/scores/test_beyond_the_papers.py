"""Scores other than drops: flips, drops under a fixed prior, a reference's TT."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.score import score_file
from shiftbench.scoring.scores.shape import Scores


@pytest.fixture(scope="module")
def predictions(synthetic: DatasetFolder) -> pl.DataFrame:
    return noisy_predictions(synthetic, n_runs=2)


def scored(folder: DatasetFolder, frame: pl.DataFrame, tmp_path: Path, reference: pl.DataFrame | None = None) -> Scores:
    frame.write_parquet(tmp_path / "a.parquet")
    if reference is not None:
        reference.write_parquet(tmp_path / "b.parquet")
    other = tmp_path / "b.parquet" if reference is not None else None
    return score_file(tmp_path / "a.parquet", folder, reference=other)


@pytest.fixture(scope="module")
def scores(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Scores:
    return scored(synthetic, predictions, tmp_path_factory.mktemp("scores"))


def test_flips_balance_to_the_drop_of_accuracy(
    synthetic: DatasetFolder, predictions: pl.DataFrame, scores: Scores
) -> None:
    names = dict(enumerate(synthetic.task("nli").labels))
    for shift in scores.tasks[0].shifts[:4]:
        gold = synthetic.split("nli", shift.target, "test").sort("id")
        right = gold["label"].replace_strict(names)

        def correct(source: str, seed: int, gold: pl.DataFrame = gold, right: pl.Series = right) -> np.ndarray:
            rows = gold.join(predictions.filter(source=source, seed=seed), on="id", maintain_order="left")
            return (rows["prediction"] == right).to_numpy()

        home = [correct(shift.target, seed) for seed in (0, 1)]
        away = [correct(shift.source, seed) for seed in (0, 1)]
        loss = np.mean([(tt & ~st).mean() for tt in home for st in away])
        gain = np.mean([(~tt & st).mean() for tt in home for st in away])
        assert shift.flips is not None
        assert shift.flips.loss == pytest.approx(loss, abs=1e-12)
        assert shift.flips.gain == pytest.approx(gain, abs=1e-12)
        assert shift.flips.loss - shift.flips.gain == pytest.approx(np.mean(home) - np.mean(away), abs=1e-12)
        assert shift.flips.churn_in_domain == pytest.approx((home[0] != home[1]).mean(), abs=1e-12)
        assert shift.flips.churn_cross_domain == pytest.approx((away[0] != away[1]).mean(), abs=1e-12)


def test_prior_fixed_against_weighted_rows(synthetic: DatasetFolder, predictions: pl.DataFrame, scores: Scores) -> None:
    labels = list(synthetic.task("nli").labels)
    shift = scores.tasks[0].shifts[0]
    gold = synthetic.split("nli", shift.target, "test")
    shares = gold["label"].value_counts().sort("label")["count"].to_numpy()
    weights = (1.0 / shares)[gold["label"].to_numpy()]
    names = [labels[code] for code in gold["label"]]
    each = [
        f1_score(
            names,
            gold.join(predictions.filter(source=shift.source, seed=seed), on="id", maintain_order="left")["prediction"],
            labels=labels,
            average="macro",
            sample_weight=weights,
        )
        for seed in (0, 1)
    ]
    fixed = shift.prior_fixed
    assert fixed is not None
    assert fixed.st == pytest.approx(np.mean(each), abs=1e-12)
    assert fixed.sd == pytest.approx(fixed.ss - fixed.st, abs=1e-12)  # type: ignore[operator]
    assert fixed.td == pytest.approx(fixed.tt - fixed.st, abs=1e-12)  # type: ignore[operator]


def test_a_reference_gives_a_td_where_the_entry_has_none(
    synthetic: DatasetFolder, predictions: pl.DataFrame, scores: Scores, tmp_path: Path
) -> None:
    away = predictions.filter(source="kitchen")
    alone = scored(synthetic, away, tmp_path, reference=predictions)
    full = {(shift.source, shift.target): shift for shift in scores.tasks[0].shifts}
    for shift in alone.tasks[0].shifts:
        assert shift.tt.value is None
        assert shift.td.value is None
        assert shift.reference_td is not None
        expected = full[shift.source, shift.target].td
        assert shift.reference_td.value == pytest.approx(expected.value)
        # Intervals pool the test sets' properties over all of a task's models.
        assert shift.reference_td.low == pytest.approx(expected.low, abs=0.02)
        assert shift.reference_td.high == pytest.approx(expected.high, abs=0.02)
    assert alone.tasks[0].summary.worst_td.value is None
    assert all(shift.reference_td is None for shift in scored(synthetic, away, tmp_path).tasks[0].shifts)
    # Where the entry has a TT of its own, the reference is not used.
    assert all(shift.reference_td is None for shift in scored(synthetic, predictions, tmp_path, away).tasks[0].shifts)
