"""Components of variance: beside mean squares in loops, their limits on drawn tables, and what is said of prompts."""

import numpy as np
import pytest

from shiftbench.metrics.components import other_prompts_of_each, variance_components, with_other_prompt


def by_loops(table):
    """Return the components' values from sums of squares, written out."""
    n, k, r = table.shape
    grand = table.mean()
    ss = dict.fromkeys(("items", "prompts", "runs", "both", "rest"), 0.0)
    for i in range(n):
        ss["items"] += k * r * (table[i].mean() - grand) ** 2
    for p in range(k):
        ss["prompts"] += n * r * (table[:, p].mean() - grand) ** 2
        for s in range(r):
            ss["runs"] += n * (table[:, p, s].mean() - table[:, p].mean()) ** 2
        for i in range(n):
            ss["both"] += r * (table[i, p].mean() - table[i].mean() - table[:, p].mean() + grand) ** 2
            for s in range(r):
                left = table[i, p, s] - table[i, p].mean() - table[:, p, s].mean() + table[:, p].mean()
                ss["rest"] += left**2
    df = {"items": n - 1, "prompts": k - 1, "runs": k * (r - 1), "both": (n - 1) * (k - 1)}
    df["rest"] = (n - 1) * k * (r - 1)
    ms = {name: ss[name] / df[name] for name in ss}
    return (
        (ms["items"] - ms["both"]) / (k * r),
        (ms["prompts"] - ms["runs"] - ms["both"] + ms["rest"]) / (n * r),
        (ms["runs"] - ms["rest"]) / n,
        (ms["both"] - ms["rest"]) / r + ms["rest"],
    )


def drawn(rng, n, k, r, prompts=0.5):
    table = rng.normal(size=(n, 1, 1)) + prompts * rng.normal(size=(1, k, 1)) + 0.4 * rng.normal(size=(1, k, r))
    return table + 0.5 * rng.normal(size=(n, k, 1)) + rng.normal(size=(n, k, r))


def test_values_are_those_of_mean_squares():
    table = drawn(np.random.default_rng(0), 30, 4, 3, prompts=2.0)
    found = variance_components(table)
    expected = by_loops(table)
    assert [found.items.value, found.prompts.value, found.seeds.value, found.rest.value] == pytest.approx(expected)


def test_what_is_not_in_the_runs_has_no_component():
    rng = np.random.default_rng(1)
    one_prompt = variance_components(rng.normal(size=(20, 1, 4)))
    assert one_prompt.prompts is None
    assert one_prompt.seeds is not None
    one_run = variance_components(rng.normal(size=(20, 4, 1)))
    assert one_run.seeds is None
    assert one_run.prompts is not None
    with pytest.raises(ValueError, match="answers"):
        variance_components(rng.normal(size=(20, 1, 1)))
    with pytest.raises(ValueError, match="finite"):
        variance_components(np.full((2, 2, 2), np.nan))


def test_three_prompts_leave_the_sd_between_half_and_six_times():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(1, 3, 1)) + 0.01 * rng.normal(size=(4000, 3, 1))
    found = variance_components(table).prompts
    assert np.sqrt(found.low / found.value) == pytest.approx(0.52, abs=0.01)
    assert np.sqrt(found.high / found.value) == pytest.approx(6.28, abs=0.03)


def test_limits_hold_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(3)
    truth = (1.0, 0.25, 0.16, 1.25)
    held = np.zeros(4)
    for _ in range(300):
        found = variance_components(drawn(rng, 60, 5, 2))
        each = (found.items, found.prompts, found.seeds, found.rest)
        held += [one.low <= value <= one.high for one, value in zip(each, truth, strict=True)]
    assert (held / 300 >= 0.91).all()


def test_another_prompt_is_predicted_from_5_on():
    assert with_other_prompt([0.1] * 4, [0.01] * 4) == (None, None, None)
    wide = with_other_prompt([0.3, -0.01, 0.2, 0.25, 0.1], [0.05] * 5)
    assert wide.low < 0 < wide.high
    assert wide.survives is None
    assert with_other_prompt([0.3, -0.3, 0.2, 0.25, 0.1], [0.05] * 5).survives is False
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(2000):
        *seen, other = 0.05 * rng.normal(size=7)
        found = with_other_prompt(seen, [0.001] * 6)
        held += found.low <= other <= found.high
    assert 0.935 <= held / 2000 <= 0.965


def test_prompts_of_each_model_add_up():
    assert other_prompts_of_each([0.5] * 5, [0.4] * 4).survives is None
    assert other_prompts_of_each([0.5] * 5, [0.4] * 6).survives is True
    found = other_prompts_of_each([0.5, 0.6, 0.4, 0.5, 0.5], [0.45, 0.55, 0.35, 0.5, 0.4])
    assert found.low < 0 < found.high
