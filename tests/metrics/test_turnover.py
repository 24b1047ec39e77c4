"""Flips and drops without any shift, and what a placebo shows of them (``pytest -m long -s``)."""

import pytest

from tests.metrics.turnover import Domains, mean_drops, mean_turnover

FLIPS = [
    Domains("no shift"),
    Domains("no shift, 4 times the train texts", n_train=240),
    Domains("slight shift", shift=0.5),
    Domains("shift", shift=1.2),
]
DROPS = [
    Domains("none"),
    Domains("10% near-duplicates", near_duplicates=0.1),
    Domains("30% near-duplicates", near_duplicates=0.3),
]


def test_models_of_two_samples_of_one_domain_flip_many_texts_and_none_beyond_the_placebo() -> None:
    found = mean_turnover(FLIPS[0], 40, 1)
    assert found["beyond seeds"] > 0.15
    assert found["beyond placebo"] == pytest.approx(0, abs=0.015)
    assert mean_turnover(FLIPS[3], 20, 1)["beyond placebo"] > 0.025


def test_near_duplicates_make_a_drop_that_the_placebo_hides() -> None:
    found = mean_drops(DROPS[2], 20, 1)
    assert found["real"] > 0.08
    assert found["placebo"] < 0.5 * found["real"]
    assert mean_drops(DROPS[0], 20, 1)["real"] == pytest.approx(0, abs=0.02)


@pytest.mark.long
def test_tables_without_a_shift() -> None:
    print("\n| domains | flips | of the placebo | beyond seeds | beyond the placebo |")
    print("|---|---:|---:|---:|---:|")
    for setting in FLIPS:
        found = mean_turnover(setting, 200, 1)
        print(f"| {setting.name} | {' | '.join(f'{100 * part:.1f}' for part in found.values())} |")
        if not setting.shift:
            assert abs(found["beyond placebo"]) < 0.005
    print("\n| near-duplicates, no shift | TD | of the placebo |")
    print("|---|---:|---:|")
    for setting in DROPS:
        drops = mean_drops(setting, 200, 1)
        print(f"| {setting.name} | {100 * drops['real']:.1f} | {100 * drops['placebo']:.1f} |")
