"""How often intervals hold for one more domain, where domains are drawn alike and err alike as targets."""

import numpy as np
import pytest

from shiftbench.scoring.forecasting.methods import METHODS
from shiftbench.scoring.forecasting.run import Cell, Grid

SHOWN = ("source-accuracy", "doc", "mean-drop", "nuclear-norm", "divergence", "average")


def grid(rng: np.random.Generator, domains: int) -> Grid:
    """Domains are harder or easier as targets, methods err by a part that all shifts into a domain share."""
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
            own |= {"source-accuracy": float(home[s]), "doc": doc}
            norm = truth + rng.normal(0, 0.02) + shared[t] / 2
            cells.append(Cell(source, target, 500, 1, truth, float(home[s]), norm, apart, own))
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
        # Exact for methods that look at the shift alone; what learns from other domains may lack a little.
        assert share >= 100 * level - 3 * error - (0 if name in ("source-accuracy", "doc") else 3), name
