"""Coverage of intervals for one more domain: exchangeable with the others, or with larger drops."""

import numpy as np
import pytest

from shiftbench.scoring.forecasting.methods import METHODS
from shiftbench.scoring.forecasting.run import Cell, Grid

SHOWN = ("source-accuracy", "doc", "mean-drop", "cot-corrected")


def grid(rng: np.random.Generator, domains: int) -> Grid:
    """A world of domains with varying difficulty, and method errors shared by all shifts into a domain."""
    names = [f"d{number}" for number in range(domains)]
    ease, home = rng.normal(0, 0.05, domains), rng.normal(0.85, 0.02, domains)
    shared = rng.standard_t(3, domains) * 0.03
    cells = []
    for t, target in enumerate(names):
        for s, source in enumerate(names):
            if s == t:
                continue
            apart = rng.uniform(0.1, 0.5)
            truth = float(np.clip(home[s] - 0.2 * apart + ease[t] + rng.normal(0, 0.01), 0, 1))
            doc = float(np.clip(truth + shared[t] + rng.normal(0, 0.01), 0, 1))
            own: dict[str, float | str] = dict.fromkeys(METHODS, "not here")
            own |= {"source-accuracy": float(home[s]), "doc": doc, "cot": min(doc + 0.05, 1.0)}
            cells.append(Cell(source, target, 500, 1, truth, 0.02, float(home[s]), own))
    return Grid(cells, SHOWN)


@pytest.mark.long
@pytest.mark.parametrize(("domains", "level"), [(5, 0.8), (10, 0.9)])
def test_intervals_hold_for_one_more_domain(domains: int, level: float) -> None:
    rng, n = np.random.default_rng(domains), 600
    held = dict.fromkeys(SHOWN, 0)
    for _ in range(n):
        made = grid(rng, domains)
        found = made.shift(made.cells[0])
        assert found.level == level
        for each in found.forecasts:
            assert each.low is not None
            assert each.high is not None
            assert found.truth is not None
            held[each.method] += each.low <= found.truth <= each.high
    shares = {name: 100 * count / n for name, count in held.items()}
    print(
        f"\n{domains} domains, {100 * level:.0f}%: "
        + ", ".join(f"{name} {share:.1f}" for name, share in shares.items())
    )
    error = 100 * np.sqrt(level * (1 - level) / n)
    for name, share in shares.items():
        # Exact for methods that use only the shift; those that learn from other domains may undercover slightly.
        assert share >= 100 * level - 3 * error - (0 if name in ("source-accuracy", "doc") else 3), name


def unlike_grid(rng: np.random.Generator, lost_more: float) -> Grid:
    """Draw five domains of 500 texts, into which models lose 8 points on average, with a standard deviation of 4 over
    domains and 1 over sources (gamma); into the first one they lose more.
    """
    home = rng.uniform(0.8, 0.9, 5)
    drops = rng.gamma(4, 0.02, 5) + np.array([lost_more, 0, 0, 0, 0])
    cells = []
    for target in range(5):
        for source in set(range(5)) - {target}:
            share = np.clip(home[source] - drops[target] * rng.gamma(64, 1 / 64), 0, 1)
            score, at_home = (rng.binomial(500, [share, home[source]]) / 500).tolist()
            own: dict[str, float | str] = {**dict.fromkeys(METHODS, "not here"), "source-accuracy": at_home}
            cells.append(Cell(f"d{source}", f"d{target}", 500, 1, score, 0.02, at_home, own))
    return Grid(cells, ("mean-drop",))


@pytest.mark.long
def test_intervals_fail_where_the_target_is_unlike_the_domains_that_set_them() -> None:
    n, shares = 2000, {}
    for lost_more in (0.0, 0.05, 0.10, 0.20):
        rng, held = np.random.default_rng(5), 0
        for _ in range(n):
            made = unlike_grid(rng, lost_more)
            found = made.shift(made.cells[0])
            (forecast,) = found.forecasts
            assert found.level == 0.8
            assert None not in (forecast.low, forecast.high, found.truth)
            held += forecast.low <= found.truth <= forecast.high  # type: ignore[operator]
        shares[lost_more] = 100 * held / n
        error = 196 * np.sqrt(held / n * (1 - held / n) / n)
        print(
            f"\n{100 * lost_more:g} points more lost: 80% intervals hold {shares[lost_more]:.1f} +- {error:.1f}%",
            end="",
        )
    assert shares[0.0] > 80 - 3 - 2.7  # the forecast learns from the other domains (see above)
    assert shares[0.10] < 50 < shares[0.05]
