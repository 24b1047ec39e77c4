"""Claims about recipes of which some runs fail: no test over runs that did not fail can see the others."""

import numpy as np
import polars as pl
import pytest

from shiftbench.scoring.scores.figures import Figure, difference, single
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.values import sampled_scores

N_TEXTS, RUN_SD, LOST = 600, 0.02, 0.20


def two_recipes(failing: float, n_runs: int, rng: np.random.Generator) -> Figure:
    """Draw the difference of two recipes that are right on 80% of texts on average.

    Of the first a share of the runs loses 20 points, so that its other runs are better than those of the second. A
    text is right where its place is below the run's chance; half of the places are shared by all runs.
    """
    usual = 0.8 + failing * LOST
    lost = LOST * (rng.random(n_runs) < failing)
    chances = np.concatenate([usual - lost, np.full(n_runs, 0.8)]) + RUN_SD * rng.normal(size=2 * n_runs)
    shape = (2 * n_runs, N_TEXTS)
    places = np.where(rng.random(shape) < 0.5, rng.random(N_TEXTS), rng.random(shape))
    right = (places < chances[:, None]).astype(np.float64)
    outcomes = Outcomes(
        formulas={"accuracy": lambda sums: sums[..., 0] / sums.sum(axis=-1)}, micro="accuracy", n_counts=2,
        example_scores=right, unparsed=np.zeros(shape, dtype=bool), example_metric="accuracy",
        values=np.stack([right, 1 - right], axis=-1),
    )  # fmt: skip
    names = [(recipe, run) for recipe in ("first", "second") for run in range(n_runs)]
    target = TargetRuns("drawn", "there", pl.Series(range(N_TEXTS)), np.arange(N_TEXTS), names, outcomes)
    sides = [sampled_scores(target, target.of_source(recipe), "accuracy")[0] for recipe in ("first", "second")]
    return difference(*map(single, sides))


def called_better(failing: float, n_runs: int, n_studies: int) -> float:
    """Compute the share of studies in which the first recipe is called better."""
    rng = np.random.default_rng(n_runs)
    studies = (two_recipes(failing, n_runs, rng) for _ in range(n_studies))
    return float(np.mean([study.limits(recipes=True)[0] > 0 for study in studies]))


def test_of_equal_recipes_none_is_called_better_where_no_run_fails() -> None:
    assert called_better(0.0, 5, 200) <= 0.06  # 2.5% promised


@pytest.mark.long
def test_a_recipe_whose_failures_are_not_among_the_runs_is_called_better() -> None:
    n = 2000
    for n_runs in (5, 10):
        for failing in (0.0, 0.1):
            share = called_better(failing, n_runs, n)
            error = 1.96 * np.sqrt(share * (1 - share) / n)
            setting = f"{n_runs} runs, {failing:.0%} lose 20 points"
            print(f"\n{setting}: called better in {100 * share:.1f} +- {100 * error:.1f}%", end="")
            assert share > 0.06 if failing else share < 0.035
