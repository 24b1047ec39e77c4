"""Intervals of scored files, compared with bootstrap intervals."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import f1_score

from shiftbench.builders.building.synthetic import build_synthetic
from shiftbench.builders.building.synthetic_grid import noisy_predictions
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.scores.figures import Reason
from shiftbench.scoring.scores.score import N_STORED, Scored, checked_predictions, score_predictions
from shiftbench.scoring.scores.shape import Estimate, Scores
from shiftbench.scoring.scores.values import task_values
from tests.close_figures import assert_close


def scored(folder: DatasetFolder, frame: pl.DataFrame, tmp_path: Path) -> Scored:
    frame.write_parquet(tmp_path / "preds.parquet")
    return score_predictions(checked_predictions(tmp_path / "preds.parquet", folder), folder)


@pytest.fixture(scope="module")
def predictions(synthetic: DatasetFolder) -> pl.DataFrame:
    return noisy_predictions(synthetic)


@pytest.fixture(scope="module")
def one_run(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Scored:
    return scored(synthetic, predictions, tmp_path_factory.mktemp("one"))


@pytest.fixture(scope="module")
def five_runs(synthetic: DatasetFolder, tmp_path_factory: pytest.TempPathFactory) -> Scores:
    return scored(synthetic, noisy_predictions(synthetic, n_runs=5), tmp_path_factory.mktemp("five")).scores


def test_a_wide_test_set_has_the_interval_that_drawing_groups_again_gives(tmp_path: Path) -> None:
    """Check agreement with a bootstrap of groups, away from 0 and 1 and with many groups."""
    build_synthetic(tmp_path / "many", encoder=None, n_train=10, n_test=900)
    folder = DatasetFolder.open(tmp_path / "many")
    frame = noisy_predictions(folder).filter(pl.col("id").str.contains("/nli/"))
    task = scored(folder, frame, tmp_path).scores.tasks[0]
    labels, rng = list(folder.task("nli").labels), np.random.default_rng(8)
    for shift in task.shifts[:3]:
        gold = folder.split("nli", shift.target, "test").sort("id")
        rows = gold.join(frame.filter(source=shift.source), on="id", how="left", maintain_order="left")
        said = rows["prediction"].replace_strict(labels, list(range(len(labels))), default=-1).to_numpy()
        right = rows["label"].to_numpy()
        members = [np.flatnonzero(codes) for codes in _by_group(rows["group"])]
        drawn = []
        for _ in range(200):
            chosen = np.concatenate([members[group] for group in rng.integers(len(members), size=len(members))])
            drawn.append(f1_score(right[chosen], said[chosen], labels=[0, 1, 2], average="macro"))
        assert shift.st.high - shift.st.low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.15)


def _by_group(groups: pl.Series) -> np.ndarray:
    codes = groups.rank("dense").to_numpy().astype(int) - 1
    return codes == np.arange(codes.max() + 1)[:, None]


def test_an_interval_of_sd_is_made_of_the_scores_own(one_run: Scored) -> None:
    """Check that source and target have independent test sets, so that the half-widths add in quadrature."""
    for shift in one_run.scores.tasks[0].shifts:
        down = np.hypot(shift.ss.value - shift.ss.low, shift.st.high - shift.st.value)
        up = np.hypot(shift.ss.high - shift.ss.value, shift.st.value - shift.st.low)
        # Degrees of freedom add up, so each half-width is slightly shorter than on its own.
        assert shift.sd.value - shift.sd.low == pytest.approx(down, rel=0.05)
        assert shift.sd.high - shift.sd.value == pytest.approx(up, rel=0.05)


def test_a_mean_over_one_source_has_its_cells_own_interval(
    synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path
) -> None:
    alone = predictions.filter(pl.col("id").str.contains("/nli/"), source="kitchen")
    task = scored(synthetic, alone, tmp_path).scores.tasks[0]
    assert task.summary.mean_ss == task.in_domain[0].score
    assert task.summary.mean_ss.low is not None


def test_a_worst_drop_is_held_all_at_once_and_so_wider(one_run: Scored) -> None:
    task = one_run.scores.tasks[0]
    own = max(task.shifts, key=lambda shift: shift.sd.value).sd
    worst_sd = task.summary.worst_sd
    assert worst_sd.value == own.value
    assert worst_sd.high - worst_sd.low > 1.2 * (own.high - own.low)


def test_draws_are_the_same_for_every_entry(
    synthetic: DatasetFolder, predictions: pl.DataFrame, one_run: Scored, tmp_path: Path
) -> None:
    part = predictions.filter(pl.col("id").str.starts_with("synthetic/nli/"), source="kitchen")
    alone = scored(synthetic, part, tmp_path).table
    together = one_run.table.filter(task="nli", source="kitchen")
    keys = ["source", "target", "metric"]
    both = alone.drop_nulls("replicates").join(together, on=keys)
    assert len(both) == 4
    assert_close(both["replicates_right"].to_list(), both["replicates"].to_list(), 1e-6)  # stored in single precision
    assert set(both["replicates"].list.len()) == {N_STORED}


def test_scoring_twice_gives_the_same_intervals(
    synthetic: DatasetFolder, predictions: pl.DataFrame, one_run: Scored, tmp_path: Path
) -> None:
    shuffled = predictions.sample(fraction=1, shuffle=True, seed=1)
    assert_close(scored(synthetic, shuffled, tmp_path).scores, one_run.scores)


def test_every_figure_lies_in_its_interval(one_run: Scored) -> None:
    task = one_run.scores.tasks[0]
    estimates = [getattr(shift, name) for shift in task.shifts for name in ("st", "ss", "tt", "sd", "td", "idd")]
    # At lambda 90 six of 60 texts remain, too few for any interval.
    estimates += [item for shift in task.shifts for item in (shift.depth_f1["0"], shift.depth_f1["25"])]
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
    task = scored(synthetic, noisy_predictions(synthetic, n_runs=4), tmp_path).scores.tasks[0]
    assert task.shifts[0].st.low is not None
    assert not task.shifts[0].total


def test_scenarios_are_resolved_where_both_drops_leave_out_zero(one_run: Scored) -> None:
    for task in one_run.scores.tasks:
        for shift in task.shifts:
            clear = all(drop.low > 0 or drop.high < 0 for drop in (shift.sd, shift.td))
            assert shift.resolved == clear
        assert task.summary.resolved_share == pytest.approx(np.mean([shift.resolved for shift in task.shifts]))


def test_replicates_vary_as_the_groups_do(synthetic: DatasetFolder, predictions: pl.DataFrame, one_run: Scored) -> None:
    target = pl.col("id").str.split("/").list.get(2)
    frame = predictions.filter(pl.col("id").str.contains("/nli/")).with_columns(target=target, seed=pl.lit(0, pl.Int64))
    values = task_values("nli", frame.with_columns(task=pl.lit("nli")), synthetic)
    rows = one_run.table.drop_nulls("replicates").filter(task="nli")
    assert len(rows) == 16
    for row in rows.iter_rows(named=True):
        moved = values.run_influences((row["source"], row["target"]))
        assert np.mean(row["replicates"]) == pytest.approx(row["value"], abs=0.01)
        assert np.std(row["replicates"]) == pytest.approx(np.sqrt((moved**2).sum()), rel=0.15)


@pytest.mark.parametrize("n_groups", [1, 3])
def test_few_groups_give_no_interval_and_no_replicates(
    synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path, n_groups: int
) -> None:
    """Check that a test set of three documents has a score and no interval, and no rank interval either."""

    class FewGroups(DatasetFolder):
        def test(self, task: str, subset: str = "all", columns: Sequence[str] | None = None) -> pl.DataFrame:
            rows = super().test(task, subset, columns)
            if "group" not in rows.columns:
                return rows
            number = pl.int_range(pl.len()) % n_groups
            return rows.with_columns(
                group=pl.when(pl.col("domain") == "harbour").then(number.cast(pl.String)).otherwise("group")
            )

    folder = FewGroups(synthetic.path, synthetic.manifest)
    found = scored(folder, predictions, tmp_path)
    task = found.scores.tasks[0]
    shifts = {(shift.source, shift.target): shift for shift in task.shifts}
    into, elsewhere = shifts["kitchen", "harbour"], shifts["kitchen", "orchard"]
    assert into.st.value is not None
    for figure in (into.st, into.sd, into.td, task.summary.mean_st, task.summary.worst_sd):
        assert (figure.low, figure.high) == (None, None)
        assert figure.no_interval == Reason.FEW_GROUPS
    assert (elsewhere.sd.low is None, elsewhere.sd.no_interval) == (False, None)
    assert found.table.filter(task="nli", target="harbour", metric="macro_f1")["replicates"].null_count() == 4
    assert not into.resolved


def test_a_rare_class_gives_no_interval(synthetic: DatasetFolder, predictions: pl.DataFrame, tmp_path: Path) -> None:
    class OneRareClass(DatasetFolder):
        def _few(self, rows: pl.DataFrame) -> pl.DataFrame:
            rare = (pl.col("label") == 2).cum_sum().over("domain") > 3
            return rows.with_columns(label=pl.when((pl.col("label") == 2) & rare).then(0).otherwise("label"))

        def test(self, task: str, subset: str = "all", columns: Sequence[str] | None = None) -> pl.DataFrame:
            rows = super().test(task, subset, columns)
            return self._few(rows) if "label" in rows.columns and task == "nli" else rows

    found = scored(OneRareClass(synthetic.path, synthetic.manifest), predictions, tmp_path)
    nli, sa = found.scores.tasks
    shift = nli.shifts[0]
    assert shift.st.low is None
    assert shift.st.no_interval == Reason.RARE_CLASS
    # Depth F1 is a mean over texts, whatever their classes.
    assert shift.depth_f1["0"].low is not None
    assert sa.shifts[0].st.low is not None


def test_scores_without_reasons_are_read_as_before(one_run: Scored) -> None:
    """Check that scores of metric version 4, which had no ``no_interval``, can be read."""
    without = json.loads(one_run.scores.model_dump_json(), object_hook=_without_reasons)
    assert Scores.model_validate(without).tasks[0].shifts[0].st == one_run.scores.tasks[0].shifts[0].st


def _without_reasons(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name != "no_interval"}
