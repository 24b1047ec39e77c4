import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from shiftbench.metrics.correlation import (
    LEAST_STATES,
    effective_robustness,
    fit_line,
    id_ood_shape,
    pearson,
    r_squared,
    spearman,
)

X = np.linspace(0.2, 0.9, 15)
VALUES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12)


@settings(max_examples=200, deadline=None)
@given(VALUES)
def test_spearman_and_r_squared_agree_with_scipy(pairs):
    x, y = np.array(pairs, dtype=float).T / 7
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert np.isnan(spearman(x, y))
        assert np.isnan(r_squared(x, y))
        return
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
    assert r_squared(x, y) == pytest.approx(stats.pearsonr(x, y).statistic ** 2, abs=1e-12)


def test_correlations_take_leading_axes():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, (2, 3, 4, 20)).astype(float)
    expected = [[stats.spearmanr(x[i, j], y[i, j]).statistic for j in range(4)] for i in range(3)]
    np.testing.assert_allclose(spearman(x, y), expected, atol=1e-12)
    assert r_squared(x, y[0, 0]).shape == (3, 4)
    assert np.isnan(spearman([1.0], [2.0]))
    assert np.isnan(r_squared([0.1, 0.1, 0.1], [0.1, 0.2, 0.3]))


@pytest.mark.parametrize(
    ("ood", "kind", "boss_type"),
    [
        (0.6 * X + 0.1, "line up", "I"),
        (0.9 - 0.5 * X, "line down", None),
        (0.1 * X + np.maximum(0, X - 0.55), "two lines", "II"),
        (np.maximum(0, X - 0.55), "two lines", "II"),
        (0.3 + np.abs(X - 0.5), "v", "III"),
        (0.8 - np.abs(X - 0.5), "peak", None),
        (0.8 - 0.1 * X - 0.5 * np.maximum(0, X - 0.5), "two lines down", None),
        (np.full(15, 0.7), "none", None),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_shapes_are_told_apart(ood, kind, boss_type, noise):
    wobble = noise * np.random.default_rng(3).normal(size=15)
    shape = id_ood_shape(X, ood + wobble)
    assert (shape.kind, shape.boss_type) == (kind, boss_type)
    if kind != "none":
        assert shape.r2 > 0.98
        np.testing.assert_allclose(shape.predict(X), ood, atol=4 * noise + 1e-9)
    elif noise == 0:
        assert np.isnan(shape.r2)
    else:
        assert shape.r2 == 0


@pytest.mark.parametrize(("slope", "intercept"), [(0.9, -1.5), (1.5, -1.0), (2.0, -2.0)])
def test_a_line_on_logits_is_no_type_two(slope, intercept):
    """Check the curve, which lines and knees fit worse; without it 79 to 100% would be typed II."""
    rng = np.random.default_rng(18)
    kinds = {"I": 0, "II": 0, "straight or knee": 0}
    for n in (10, 20):
        for _ in range(12):
            x = rng.uniform(0.3, 0.95, n)
            y = special.expit(slope * special.logit(x) + intercept)
            shape = id_ood_shape(x, y + 0.005 * rng.normal(size=n))
            kinds[shape.boss_type or "none"] += 1
            without = {name: value for name, value in shape.criterion.items() if name != "one line on logits"}
            kinds["straight or knee"] += min(without, key=without.get) not in ("one line", "constant")
    found, before = (100 * kinds[name] / 24 for name in ("II", "straight or knee"))
    print(f"logit(OOD) = {slope} logit(ID) {intercept:+}: typed II in {found:.0f}%, before in {before:.0f}%")
    assert kinds["I"] >= 22
    assert before >= 75


def test_a_line_on_logits_is_fitted_in_scores():
    y = special.expit(1.4 * special.logit(X) - 0.7)
    shape = id_ood_shape(X, y)
    assert (shape.kind, shape.boss_type, shape.axis) == ("line up", "I", "logit")
    assert shape.slopes == pytest.approx((1.4,), abs=1e-6)
    np.testing.assert_allclose(shape.predict(X), y, atol=1e-9)
    wobbly = y + 0.01 * np.random.default_rng(0).normal(size=15)
    best = optimize.curve_fit(lambda x, a, b: special.expit(a * special.logit(x) + b), X, wobbly, (1, 0))[0]
    assert id_ood_shape(X, wobbly).slopes == pytest.approx(best[:1], abs=1e-4)
    down = id_ood_shape(X, 1 - y)
    assert (down.kind, down.boss_type) == ("line down", None)
    assert id_ood_shape([0.0, *X], [0.0, *y]).criterion["one line on logits"] == np.inf


TYPES = {
    "I": lambda x: 0.6 * x,
    "II": lambda x: 0.3 + 0.1 * x + np.maximum(0, x - 0.6),
    "III": lambda x: 0.4 + np.abs(x - 0.6),
}


def share_typed(type_, n, times, rng):
    """Count the share of curves of a type over n states, with noise a tenth of the OOD range, that get this type."""
    range_ = np.ptp(TYPES[type_](np.linspace(0.3, 0.9, 50)))
    found = 0
    for _ in range(times):
        x = rng.uniform(0.3, 0.9, n)
        found += id_ood_shape(x, TYPES[type_](x) + 0.1 * range_ * rng.normal(size=n)).boss_type == type_
    return found / times


@pytest.mark.parametrize("type_", ["I", "II", "III"])
def test_the_least_number_of_states_finds_a_true_type(type_):
    assert share_typed(type_, LEAST_STATES[type_], 40, np.random.default_rng(3)) >= 0.7


@pytest.mark.long
@pytest.mark.parametrize("type_", ["I", "II", "III"])
def test_types_by_number_of_states(type_):
    rng = np.random.default_rng(18)
    shares = {n: share_typed(type_, n, 400, rng) for n in (5, 6, 8, 10, 11, 15, 16, 20)}
    print(f"type {type_}: " + ", ".join(f"{100 * share:.0f}% of {n}" for n, share in shares.items()))
    least = LEAST_STATES[type_]
    assert shares[least] >= 0.79
    assert all(share < 0.8 for n, share in shares.items() if n < least)


def test_the_knee_is_found_between_states():
    shape = id_ood_shape(X, 0.3 + np.abs(X - 0.513))
    assert shape.knee == pytest.approx(0.513, abs=1e-9)
    assert shape.slopes == pytest.approx((-1, 1), abs=1e-9)
    assert shape.knee_value == pytest.approx(0.3, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(7, 14))
def test_the_knee_is_the_least_squares_one(seed, n):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.choice(30, n, replace=False)) / 30
    y = rng.normal(size=n)

    def residual(knee):
        design = np.stack([np.ones(n), x, np.maximum(x - knee, 0)], axis=1)
        return float(((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2).sum())

    # Each line rests on three states; refine by a bounded search around the best grid point.
    grid = np.linspace(x[2], x[-3], 400)
    values = [residual(knee) for knee in grid]
    near = int(np.argmin(values))
    low, high = grid[max(near - 1, 0)], grid[min(near + 1, 399)]
    fine = optimize.minimize_scalar(residual, bounds=(low, high), method="bounded", options={"xatol": 1e-12})
    shape = id_ood_shape(x, y)
    best = n * np.log(min(fine.fun, *values) / n) + n * 4 * np.log(n) / (n - 6)
    assert shape.criterion["two lines"] <= best + 1e-9


def test_noise_in_a_plateau_is_no_arm_of_a_v():
    rng = np.random.default_rng(6)
    plateau = np.maximum(0, X - 0.5)
    kinds = [id_ood_shape(X, plateau + 0.02 * rng.normal(size=15)).kind for _ in range(40)]
    assert kinds.count("two lines") >= 35


def test_a_noisy_line_seldom_gets_a_knee():
    rng = np.random.default_rng(5)
    knees = {8: 0, 20: 0, 50: 0}
    for n in knees:
        for _ in range(60):
            x = rng.uniform(0.3, 0.9, n)
            knees[n] += len(id_ood_shape(x, 0.5 * x + 0.05 * rng.normal(size=n)).slopes) == 2
    assert max(knees.values()) <= 9


def test_too_few_states_are_stated():
    shape = id_ood_shape([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4])
    assert shape.kind == "too few states"
    assert np.isnan(shape.r2)
    assert np.isnan(shape.predict([0.5])).all()
    assert id_ood_shape([0.1, 0.1, 0.1, 0.2, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5]).kind == "too few states"
    assert id_ood_shape([], []).kind == "too few states"
    six = id_ood_shape(X[:6], np.abs(X[:6] - X[3]))
    assert six.criterion["two lines"] == np.inf


def test_an_exact_fit_takes_the_simplest_description():
    shape = id_ood_shape(X, 0.5 * X)
    assert shape.kind == "line up"
    assert all(np.isfinite(value) for value in shape.criterion.values())


@pytest.mark.parametrize("axis", ["logit", "linear"])
def test_models_on_the_line_have_no_effective_robustness(axis):
    x = np.array([0.5, 0.6, 0.8, 0.9])
    y = special.expit(0.8 * special.logit(x) - 0.4) if axis == "logit" else 0.8 * x - 0.1
    slope, intercept = fit_line(x, y, axis=axis)
    assert (slope, intercept) == pytest.approx((0.8, -0.4 if axis == "logit" else -0.1), abs=1e-12)
    above = effective_robustness(x, y + 0.02, slope=slope, intercept=intercept, axis=axis)
    np.testing.assert_allclose(above, 0.02, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: id_ood_shape([0.1, 0.2], [0.1]), "of equal length"),
        (lambda: id_ood_shape([0.1, np.nan], [0.1, 0.2]), "drop the states"),
        (lambda: spearman([1, 2], [1, 2, 3]), "same last axis"),
        (lambda: r_squared([], []), "n >= 1"),
        (lambda: spearman([1, np.nan], [1, 2]), "drop the shifts"),
        (lambda: fit_line([0.5, 0.5], [0.1, 0.2], axis="linear"), "two distinct ID scores"),
        (lambda: fit_line([0.5, 1.0], [0.1, 0.2], axis="logit"), "id_scores must lie strictly between"),
        (lambda: fit_line([0.5, 0.6], [0.1, 0.2], axis="log"), "axis must be"),
        (
            lambda: effective_robustness([0.5], [60.0], slope=1, intercept=0, axis="linear"),
            "did you pass points",
        ),
        (
            lambda: effective_robustness([0.5], [0.6], slope=np.nan, intercept=0, axis="linear"),
            "the line must be finite",
        ),
    ],
)
def test_malformed_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
