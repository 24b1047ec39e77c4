"""TOST: entries that differ by the margin are declared equivalent in at most 5% of studies."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from benchmarks.simulated_comparisons import Setting, draw_study
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.comparing.words import about_lines
from shiftbench.validation.report import InvalidInput
from tests.scoring.comparing.test_recipes import constant, runs

MARGIN = 0.06


def equivalent(setting: Setting, n_studies: int, *, recipes: bool) -> float:
    """Return the share of studies in which the difference is declared smaller than the margin."""
    rng = np.random.default_rng(3)
    p_values = [draw_study(setting, rng).difference.p_within(MARGIN, recipes=recipes) for _ in range(n_studies)]
    return float(np.mean(np.array(p_values) < 0.05))


@pytest.mark.parametrize(("n_runs", "run_sd"), [(1, 0.0), (5, 0.01)])
def test_a_difference_as_large_as_the_margin_is_called_equivalent_in_one_study_of_twenty(
    n_runs: int, run_sd: float
) -> None:
    setting = Setting("margin", (n_runs, n_runs), 1_000, 1, score=0.6, ahead=MARGIN, run_sd=(run_sd, run_sd))
    assert equivalent(setting, 400, recipes=n_runs >= 5) == pytest.approx(0.05, abs=0.033)


def test_a_single_run_cannot_speak_of_recipes() -> None:
    """Check why five runs are required: without training variance, recipes are declared equivalent too often."""
    setting = Setting("margin", (1, 1), 1_000, 1, score=0.6, ahead=MARGIN, run_sd=(0.04, 0.04))
    assert equivalent(setting, 200, recipes=False) > 0.1


def compared(folder: DatasetFolder, root: Path, margin: float | None, *frames: pl.DataFrame) -> Comparison:
    paths = [root / f"{name}.parquet" for name in "ab"]
    for path, frame in zip(paths, frames, strict=True):
        frame.write_parquet(path)
    entrants = [Entrant(path, folder, name=path.stem) for path in paths]
    return compare_entrants(*entrants, margin=margin)


@pytest.mark.parametrize("n_runs", [5, 1])
def test_two_files_of_one_recipe_are_within_a_wide_margin(
    n_runs: int, synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    frames = [runs(synthetic, 0.1, n_runs, seed=seed) for seed in (0, 1)]
    pair = compared(synthetic, tmp_path, 0.5, *frames)
    every = [each for shift in pair.shifts for each in shift.differences]
    every += [mean.difference for mean in pair.means]
    assert pair.margin == 0.5
    refused = [each for each in every if each.no_interval]
    assert {each.figure for each in refused} <= {"DF1@90"}, "few groups weigh anything there"
    assert all(each.p_equivalent is not None and each.p_equivalent < 0.05 for each in every if each not in refused)
    assert about_lines([pair])[-1] == wording
    assert Comparison.model_validate_json(pair.model_dump_json()) == pair


@pytest.mark.parametrize(
    ("trials", "said"),
    [((12, 1), "'a' 12 trials, 'b' 1 trial"), ((None, 3), "'a' not stated, 'b' 3 trials"), ((4, 4), "")],
)
def test_unequal_tuning_is_flagged(
    trials: tuple[int | None, int | None], said: str, synthetic: DatasetFolder, tmp_path: Path
) -> None:
    entrants = []
    for name, n in zip("ab", trials, strict=True):
        runs(synthetic, 0.1, 1).write_parquet(tmp_path / f"{name}.parquet")
        entrants.append(Entrant(tmp_path / f"{name}.parquet", synthetic, name=name, tuning_trials=n))
    pair = compare_entrants(*entrants)
    assert (pair.tuning_trials_a, pair.tuning_trials_b) == trials
    flagged = [line for line in about_lines([pair]) if line.startswith("unequal tuning")]
    assert len(flagged) == bool(said)
    assert all(said in line for line in flagged)


def test_a_narrow_margin_is_not_shown_and_chance_is_not_tested(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    pair = compared(synthetic, tmp_path, 0.001, runs(synthetic, 0.1, 1), constant(synthetic))
    drops = [each for shift in pair.shifts for each in shift.differences if each.figure != "ST"]
    assert {each.p_equivalent for each in drops} == {None}
    assert about_lines([pair])[-1] == wording


def test_without_a_margin_nothing_is_tested_and_points_are_refused(synthetic: DatasetFolder, tmp_path: Path) -> None:
    frames = runs(synthetic, 0.1, 1), runs(synthetic, 0.1, 1, seed=1)
    pair = compared(synthetic, tmp_path, None, *frames)
    assert {each.p_equivalent for shift in pair.shifts for each in shift.differences} == {None}
    assert not any("margin" in line for line in about_lines([pair]))
    old = json.loads(pair.model_dump_json())
    del old["margin"]
    assert Comparison.model_validate(old) == pair
    with pytest.raises(InvalidInput, match="between 0 and 1"):
        compared(synthetic, tmp_path, 2.0, *frames)
