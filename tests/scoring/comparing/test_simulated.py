"""Error rates of comparisons on recipes with known truth, from independent generators (``-m long``)."""

import numpy as np
import pytest

from benchmarks.simulated_comparisons import (
    CAUTIOUS,
    FAILING,
    LEVEL,
    NULL,
    POWER,
    Setting,
    Study,
    count_claims,
    draw_study,
)
from tests.oracles.swap_test import swap_test

N_STUDIES = 2000


def swap_p(study: Study, setting: Setting, rng: np.random.Generator) -> float:
    """Run the swap test on a study of single runs, from its answers only."""
    n_groups = int(study.groups.max()) + 1

    def by_group(columns: list[np.ndarray]) -> np.ndarray:
        return np.stack([np.bincount(study.groups, weights=each, minlength=n_groups) for each in columns], axis=1)

    first = study.first
    if setting.first_class is None:
        tables = [by_group([right[0], np.ones(first.size)]) for right in study.right]
        return swap_test(*tables, lambda sums: sums[..., 0] / sums[..., 1], rng)
    tables = [by_group([right[0] & first, first, right[0] & ~first, ~first]) for right in study.right]
    return swap_test(*tables, macro_f1_of_counts, rng)


def macro_f1_of_counts(sums: np.ndarray) -> np.ndarray:
    """Compute macro-F1 from the numbers of correct and all texts of the first class, then of the second."""
    right, gold = sums[..., [0, 2]], sums[..., [1, 3]]
    wrong = gold - right
    return (2 * right / (2 * right + wrong + wrong[..., ::-1])).mean(axis=-1)


def powers(setting: Setting, n_studies: int, seed: int) -> tuple[float, float]:
    """Return how often a true difference is detected: by the package, and by the swap test."""
    rng = np.random.default_rng([seed, *setting.name.encode()])
    found = []
    for _ in range(n_studies):
        study = draw_study(setting, rng)
        found.append((study.p_value(), swap_p(study, setting, rng)))
    ours, swaps = (np.array(found) < LEVEL).mean(axis=0)
    return float(ours), float(swaps)


@pytest.mark.parametrize("setting", [NULL[0], NULL[6], NULL[9], NULL[10]], ids=lambda setting: setting.name)
def test_equal_recipes_are_rarely_told_apart(setting: Setting) -> None:
    found = count_claims(setting, 300, 1)
    assert found.none == 0
    assert 0.015 <= found.claimed <= 0.095  # 5%, and 3.6 Monte Carlo standard errors


def test_runs_taken_for_texts_are_told_apart_too_often() -> None:
    """Check that the simulation can fail: single runs of recipes, ignoring training variance."""
    assert count_claims(Setting("luck", run_sd=(0.02, 0.02)), 150, 1).claimed > 0.2


def test_a_better_recipe_is_found_as_by_the_swap_test() -> None:
    ours, swaps = powers(POWER[0], 200, 2)
    assert ours == pytest.approx(swaps, abs=0.05)
    assert ours > 0.5


@pytest.mark.long
@pytest.mark.parametrize("setting", NULL, ids=lambda setting: setting.name)
def test_equal_recipes(setting: Setting) -> None:
    found = count_claims(setting, N_STUDIES, 1)
    print(f"| {setting.name} | {100 * found.claimed:.1f} |")
    assert 0.03 <= found.claimed <= 0.07
    assert found.none == 0


@pytest.mark.long
@pytest.mark.parametrize("setting", CAUTIOUS, ids=lambda setting: setting.name)
def test_equal_recipes_of_which_little_is_known(setting: Setting) -> None:
    found = count_claims(setting, N_STUDIES, 1)
    print(f"| {setting.name} | {100 * found.claimed:.1f} |")
    assert found.claimed <= 0.07


@pytest.mark.long
@pytest.mark.parametrize("setting", POWER, ids=lambda setting: setting.name)
def test_power_is_that_of_the_swap_test(setting: Setting) -> None:
    ours, swaps = powers(setting, N_STUDIES, 2)
    print(f"| {setting.name} | {100 * ours:.1f} | {100 * swaps:.1f} |")
    few_gold = setting.first_class is not None and setting.first_class * setting.n_groups * setting.size < 20
    # With few gold texts of a class, the few degrees of freedom cost power compared with the swap test.
    assert ours >= swaps - (0.05 if few_gold else 0.03)


@pytest.mark.long
def test_no_test_protects_from_recipes_that_fail_rarely() -> None:
    """Check why failure counts are reported with a claim: the test of means does not detect failures."""
    five, ten, many = (count_claims(setting, N_STUDIES, 1).a_better for setting in FAILING)
    print(f"| called better, 5, 10, 29 runs | {100 * five:.1f} | {100 * ten:.1f} | {100 * many:.1f} |")
    assert min(five, ten) > 0.1
    assert many < ten
