"""Shifts of known drops, and two rules that call their scenario resolved: the joint region, and two intervals."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from shiftbench.metrics.mover import combined_interval
from shiftbench.metrics.resolution import UNRESOLVED, resolved_scenario
from shiftbench.metrics.wilson import relative_square, wilson_interval

from shiftbench.metrics.robustness import scenario

Floats = NDArray[np.float64]


class Drop(NamedTuple):
    """True scores of a shift; ``alike`` is the share of target texts that are as easy for both models."""

    name: str
    ss: float
    tt: float
    st: float
    alike: float = 0.5
    n: int = 400


def _right(rng: np.random.Generator, setting: Drop) -> tuple[Floats, Floats, Floats]:
    """Draw which texts are right: SS on texts of its own, TT and ST on the same ones."""
    ease = rng.random(setting.n)
    other = np.where(rng.random(setting.n) < setting.alike, ease, rng.random(setting.n))
    return (
        (rng.random(setting.n) < setting.ss).astype(float),
        (ease < setting.tt).astype(float),
        (other < setting.st).astype(float),
    )


def _ends(one: Floats, other: Floats, correlation: float) -> tuple[float, float]:
    points = [one.mean(), other.mean()]
    bounds = [wilson_interval(point, relative_square(one.size, one.size - 1)) for point in points]
    lows, highs = zip(*bounds, strict=True)
    together = np.array([[1.0, correlation], [correlation, 1.0]])
    return combined_interval([1, -1], points, lows, highs, together)


def _correlation(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 and other.std() > 0 else 0.0


def _in_one_quadrant(ss: Floats, tt: Floats, st: Floats, level: float = 0.95) -> bool:
    """Return whether Hotelling's joint region of (SD, TD) touches neither axis: the rule of metric version 4."""
    df = ss.size - 1
    radius = np.sqrt(df / (df - 1) * 2 * stats.f(2, df - 1).ppf(level))
    sd_error = np.sqrt((ss.var() + st.var()) / df)
    td_error = (tt - st).std() / np.sqrt(df)
    return bool(abs(ss.mean() - st.mean()) > radius * sd_error and abs(tt.mean() - st.mean()) > radius * td_error)


def resolved_shares(setting: Drop, n_tasks: int, seed: int) -> dict[str, tuple[float, float]]:
    """Count how often a scenario is resolved, and how often wrongly, by rule: shares of tasks.

    A scenario is wrong when a true drop has another sign, or is 0.
    """
    rng = np.random.default_rng([seed, *setting.name.encode()])
    truth = scenario([setting.ss - setting.st], [setting.tt - setting.st])[0]
    found: dict[str, list[str]] = {"joint region": [], "two intervals": []}
    for _ in range(n_tasks):
        ss, tt, st = _right(rng, setting)
        named = scenario([ss.mean() - st.mean()], [tt.mean() - st.mean()])[0]
        found["joint region"].append(named if _in_one_quadrant(ss, tt, st) else UNRESOLVED)
        ends = _ends(ss, st, 0.0), _ends(tt, st, _correlation(tt, st))
        found["two intervals"].append(str(resolved_scenario(*ends)))
    return {
        rule: (
            float(np.mean([name != UNRESOLVED for name in names])),
            float(np.mean([name not in (UNRESOLVED, truth) for name in names])),
        )
        for rule, names in found.items()
    }
