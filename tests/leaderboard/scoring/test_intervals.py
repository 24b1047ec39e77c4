"""Intervals: the same draws everywhere, recomputed here by taking rows again and again."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from builders.building.synthetic_grid import noisy_predictions
from builders.folder.reader import DatasetFolder
from leaderboard.metrics.bootstrap import interval, sampling_spread
from leaderboard.metrics.depth import effective_size
from leaderboard.metrics.resampling import group_weights
from leaderboard.scoring.intervals import Figure, estimates
from leaderboard.scoring.score import Scored, checked_predictions, score_predictions
from leaderboard.scoring.shape import Estimate, Scores


def scored(folder: DatasetFolder, frame: pl.DataFrame, tmp_path: Path, n_draws: int = 200) -> Scored:
    frame.write_parquet(tmp_path / "preds.parquet")
    return score_predictions(checked_predictions(tmp_path / "preds.parquet", folder), folder, n_draws=n_draws)


@pytest.fixture(scope="module")
def predictions(synthetic: DatasetFolder) -> pl.DataFrame:
    return noisy_predictions(synthetic)


@pytest.fixture(scope="module")
def one_run(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(synthetic, predictions, tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def five_runs(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Scores:
    return scored(synthetic, noisy_predictions(synthetic, n_runs=5), tmp_path_factory.mktemp("five")).scores


def drawn_rows(folder: DatasetFolder, target: str, n_draws: int) -> list[np.ndarray]:
    """Row numbers of each replicate, from the weights that task and domain are seeded for."""
    groups = folder.split("nli", target, "test").sort("id")["group"].rank("dense").to_numpy().astype(int) - 1
    rng = np.random.default_rng([0, *f"nli/{target}".encode()])
    weights = group_weights(groups.max() + 1, n_draws, rng).astype(int)
    return [np.repeat(np.arange(len(groups)), row[groups]) for row in weights]


def test_an_interval_of_sd_is_that_of_taking_rows_again(
    synthetic: DatasetFolder, predictions: pl.DataFrame, one_run: Scored
) -> None:
    task = one_run.scores.tasks[0]
    shift = task.shifts[0]
    labels = list(synthetic.task("nli").labels)
    home, away = [], []
    n_groups = np.inf
    for target, found in ((shift.source, home), (shift.target, away)):
        gold = synthetic.split("nli", target, "test").sort("id")
        rows = gold.join(predictions.filter(source=shift.source), on="id", how="left", maintain_order="left")
        names = np.array([labels[code] for code in rows["label"]])
        said = rows["prediction"].to_numpy()
        n_groups = min(n_groups, effective_size(gold["group"].value_counts()["count"].to_numpy()))
        for chosen in [np.arange(len(gold)), *drawn_rows(synthetic, target, 200)]:
            each = f1_score(names[chosen], said[chosen], labels=labels, average=None, zero_division=np.nan)
            found.append(np.nanmean(each))
    drops = np.array(home) - np.array(away)
    low, high = interval(sampling_spread(drops[0], drops[1:], n_groups=n_groups))
    assert shift.sd.value == pytest.approx(drops[0], abs=1e-12)
    assert shift.sd.low == pytest.approx(float(low), abs=1e-9)
    assert shift.sd.high == pytest.approx(float(high), abs=1e-9)


def test_draws_are_the_same_for_every_entry(
    synthetic: DatasetFolder, predictions: pl.DataFrame, one_run: Scored, tmp_path: Path
) -> None:
    part = predictions.filter(pl.col("id").str.starts_with("synthetic/nli/"), source="kitchen")
    alone = scored(synthetic, part, tmp_path).table
    together = one_run.table.filter(task="nli", source="kitchen")
    keys = ["source", "target", "metric"]
    both = alone.drop_nulls("replicates").join(together, on=keys)
    assert len(both) == 4
    assert (both["replicates"] == both["replicates_right"]).all()
    assert set(both["replicates"].list.len()) == {200}


def test_scoring_twice_gives_the_same_intervals(
    synthetic: DatasetFolder, predictions: pl.DataFrame, one_run: Scored, tmp_path: Path
) -> None:
    assert scored(synthetic, predictions.sample(fraction=1, shuffle=True, seed=1), tmp_path).scores == one_run.scores


def test_every_figure_lies_in_its_interval(one_run: Scored) -> None:
    task = one_run.scores.tasks[0]
    estimates = [getattr(shift, name) for shift in task.shifts for name in ("st", "ss", "tt", "sd", "td", "idd")]
    # At lambda 90 three texts are left of 30, and some replicates draw none of them: no interval.
    estimates += [item for shift in task.shifts for item in (shift.depth_f1["0"], shift.depth_td["25"])]
    names = ("mean_ss", "mean_st", "average_drop", "worst_sd", "worst_td")
    estimates += [getattr(task.summary, name) for name in names]
    assert all(_holds(estimate) for estimate in estimates)
    assert not task.summary.total
    assert not any(shift.total for shift in task.shifts)
    assert task.summary.highest_st.low is None


def _holds(estimate: Estimate) -> bool:
    assert None not in (estimate.value, estimate.low, estimate.high)
    return bool(estimate.low <= estimate.value <= estimate.high)  # type: ignore[operator]


def test_five_runs_measure_training_variance(five_runs: Scores) -> None:
    task = five_runs.tasks[0]
    for shift in task.shifts:
        for name in ("st", "sd", "td", "idd"):
            assert shift.total[name].low < getattr(shift, name).value < shift.total[name].high
    widths = [
        [high - low for low, high in ((shift.sd.low, shift.sd.high), (shift.total["sd"].low, shift.total["sd"].high))]
        for shift in task.shifts
    ]
    sampling, total = np.mean(widths, axis=0)
    # These runs err independently of each other, so averaging five of them leaves little of the runs in the mean.
    assert total > 0.9 * sampling
    assert set(task.summary.total) == {"mean_ss", "mean_st", "average_drop", "mean_sd", "mean_td"}
    assert all(set(item.total) == {"score"} for item in task.in_domain)


def test_four_runs_do_not(synthetic: DatasetFolder, tmp_path: Path) -> None:
    task = scored(synthetic, noisy_predictions(synthetic, n_runs=4), tmp_path, n_draws=20).scores.tasks[0]
    assert task.shifts[0].st.low is not None
    assert not task.shifts[0].total


def test_scenarios_are_resolved_or_not(one_run: Scored) -> None:
    for task in one_run.scores.tasks:
        for shift in task.shifts:
            assert sum(shift.scenario_support.values()) == pytest.approx(1)
            if shift.resolved:
                assert shift.scenario_support[shift.scenario] > 0.9
        assert task.summary.resolved_share == np.mean([shift.resolved for shift in task.shifts])


def test_worst_drops_by_split_halves_lose_the_winners_curse(synthetic: DatasetFolder, tmp_path: Path) -> None:
    """Where no drop is real, the worst one found is positive; selected and taken on other rows it is not."""
    frame = noisy_predictions(synthetic).filter(pl.col("id").str.contains("/nli/"))
    labels = np.array(synthetic.task("nli").labels)
    guesses = pl.Series(labels[np.random.default_rng(3).integers(3, size=len(frame))])
    summary = scored(synthetic, frame.with_columns(prediction=guesses), tmp_path, n_draws=0).scores.tasks[0].summary
    assert summary.worst_td.value is not None
    assert summary.worst_td_split_half is not None
    assert summary.worst_td_split_half < summary.worst_td.value


def test_no_draws_no_bounds(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path) -> None:
    found = scored(synthetic, predictions, tmp_path, n_draws=0)
    shift = found.scores.tasks[0].shifts[0]
    assert shift.st.value is not None
    assert shift.st.low is None
    assert shift.scenario_support == {}
    assert found.table["replicates"].null_count() == len(found.table)


def test_one_group_says_nothing_about_groups(
    synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path
) -> None:
    """A test set of one document has a score and no interval."""

    class OneGroup(DatasetFolder):
        def test(self, task: str, subset: str = "all", columns: Sequence[str] | None = None) -> pl.DataFrame:
            rows = super().test(task, subset, columns)
            if "group" not in rows.columns:
                return rows
            alone = pl.col("domain") == "harbour"
            return rows.with_columns(group=pl.when(alone).then(pl.lit("g")).otherwise("group"))

    folder = OneGroup(synthetic.path, synthetic.manifest)
    task = scored(folder, predictions, tmp_path, n_draws=20).scores.tasks[0]
    shifts = {(shift.source, shift.target): shift for shift in task.shifts}
    into, elsewhere = shifts["kitchen", "harbour"], shifts["kitchen", "orchard"]
    assert into.st.value is not None
    assert into.st.low is None
    assert into.sd.low is None
    assert elsewhere.sd.low is not None


def test_a_few_undefined_replicates_do_no_harm_and_many_leave_no_interval() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.01, 1001)
    few, many = values.copy(), values.copy()
    few[[3, 500]] = np.nan
    many[5:40] = np.nan
    found = estimates({name: Figure(array, 50) for name, array in (("all", values), ("few", few), ("many", many))})
    assert found["few"].low == pytest.approx(found["all"].low, abs=0.002)
    assert found["few"].high == pytest.approx(found["all"].high, abs=0.002)
    assert (found["many"].value, found["many"].low) == (found["all"].value, None)
