"""Error rates of claims about models: entries of known truth, before and after (``pytest -m long -s``)."""

import numpy as np
import pytest

from tests.metrics.claims import Setting, family, type_one

N_TASKS = 2000

GAUSSIAN = [
    Setting("5 runs", (5, 5)),
    Setting("10 runs", (10, 10)),
    Setting("5 and 10 runs", (5, 10)),
    Setting("5 runs, TD", (5, 5), statistic="TD"),
    Setting("5 runs, macro-F1", (5, 5), score="macro-F1"),
    Setting("5 runs, 30 groups of 20", (5, 5), n_groups=30, size=20),
    Setting("10 runs that hardly differ", (10, 10), run_sd=0.002),
]
COLLAPSED = [
    Setting("5 runs, a tenth collapsed", (5, 5), collapsed=0.1),
    Setting("10 runs, a tenth collapsed", (10, 10), collapsed=0.1),
]
BEFORE = [Setting("1 run", (1, 1)), Setting("3 runs", (3, 3))]


def test_recipes_do_not_differ_by_their_runs() -> None:
    (before, after) = type_one([Setting("5", (5, 5), n_groups=200)], 150, 1, n_swaps=99)["5"]
    assert before > 0.2  # the swap test takes training for a difference
    assert after <= 0.09


def test_a_recipe_that_is_better_is_found() -> None:
    rng = np.random.default_rng(2)
    from tests.metrics.claims import p_values

    setting = Setting("10", (10, 10), n_groups=200)
    found = [p_values(setting, rng, ahead=0.05, n_swaps=9)[1] for _ in range(40)]
    assert np.mean(np.array(found) < 0.05) > 0.9


def test_a_comparison_without_a_difference_claims_little_and_the_ranked_mean_is_found_first() -> None:
    nothing, something = family(150, 5, n_swaps=199), family(60, 6, effect=0.13, n_swaps=499)
    assert nothing[0, 1] <= 0.1
    assert something[1, 1] >= something[1, 0]
    assert something[1, 1] > 0.5


@pytest.mark.long
def test_type_one_errors_of_recipes() -> None:
    print("\nentries of one recipe, share of p < .05 in 2,000: swap test (before), t on crossed components (after)")
    for settings, low, high in ((GAUSSIAN, 0.03, 0.07), (COLLAPSED, 0.0, 0.07), (BEFORE, None, None)):
        for name, (before, after) in type_one(settings, N_TASKS, 1, n_swaps=99).items():
            print(
                f"| {name} | {100 * before:.1f} | {100 * after:.1f} |"
                if low is not None
                else f"| {name} | {100 * before:.1f} | - |"
            )
            if low is not None:
                assert low <= after <= high, name


@pytest.mark.long
def test_claims_of_a_whole_comparison() -> None:
    print(
        "\na mean and 20 shifts: any claim, the mean claimed, shifts claimed; Holm over all (before), graphical (after)"
    )
    for effect in (0.0, 0.08, 0.13):
        found = family(N_TASKS, 3, effect=effect)
        cells = " | ".join(f"{100 * a:.1f} | {100 * b:.1f}" for a, b in found[:2])
        print(f"| {effect:g} | {cells} | {found[2, 0]:.2f} | {found[2, 1]:.2f} |")
        if effect == 0:
            assert found[0, 1] <= 0.065
        else:
            assert found[1, 1] > found[1, 0]
