"""Intervals of many figures at once, from scores whose first entry is the point and the others its replicates."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaderboard.metrics.bootstrap import (
    MIN_RUNS,
    UNRESOLVED,
    Spread,
    interval,
    resolved_scenario,
    sampling_spread,
    scenario_support,
    total_spread,
    worst_interval,
)
from leaderboard.metrics.robustness import SCENARIOS
from leaderboard.scoring.replicates import Floats, TaskValues
from leaderboard.scoring.shape import Estimate

SCORE, DROP = (0.0, 1.0), (-1.0, 1.0)
"""Bounds of a score and of a drop."""
FIGURES = ("st", "ss", "tt", "sd", "td", "idd")
"""Figures of a shift."""
MEANS = ("mean_ss", "mean_st", "average_drop", "mean_sd", "mean_td")
"""Figures of a task that are means over its domains or shifts."""
MAX_UNDEFINED = 0.01
"""Share of replicates that may be undefined; with more a figure has no interval."""
_RUN_DRAWS = 2


class Figure(NamedTuple):
    """A figure with its replicates, shape (1 + n_draws,), and the effective number of groups behind it.

    A replicate may be undefined (NaN): one that draws no weighted text, say.
    """

    values: Floats
    effective_groups: float
    bounds: tuple[float, float] = SCORE


def estimates(figures: Mapping[str, Figure]) -> dict[str, Estimate]:
    """Estimate the test-sampling interval of every figure.

    Args:
        figures: by name; all with the same number of replicates.
    Returns: by name the value with the bounds of its 95% interval, cut to what the figure can be; without replicates,
        or with fewer than 2 groups, no bounds; an undefined value is None.
    """
    found = {name: Estimate(value=known(figure.values[0])) for name, figure in figures.items()}
    ready = [name for name, figure in figures.items() if has_spread(figure)]
    if ready:
        spread = _spread([figures[name] for name in ready])
        bounds = np.array([figures[name].bounds for name in ready]).T
        low, high = (np.clip(ends, *bounds) for ends in interval(spread))
        for name, bottom, top in zip(ready, low, high, strict=True):
            found[name] = Estimate(value=found[name].value, low=known(bottom), high=known(top))
    return found


def worst(drops: Sequence[Figure]) -> Estimate:
    """Give the largest of several drops, with the interval of the largest true one."""
    value = max(float(drop.values[0]) for drop in drops)
    if not all(has_spread(drop) for drop in drops):
        return Estimate(value=value)
    low, high = (float(np.clip(end, *DROP)) for end in worst_interval(_spread(drops)))
    return Estimate(value=value, low=known(low), high=known(high))


def scenario_certainty(sd: Figure, td: Figure) -> tuple[bool, dict[str, float]]:
    """Tell whether a shift's scenario is resolved, and in what share of replicates each scenario holds."""
    if not (has_spread(sd) and has_spread(td)):
        return False, {}
    spreads = [_spread([drop]) for drop in (sd, td)]
    resolved = str(resolved_scenario(*spreads)[0]) != UNRESOLVED
    shares = scenario_support(*spreads)[0]
    names = SCENARIOS[: len(shares)]
    return resolved, {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}


def bounds_of(name: str) -> tuple[float, float]:
    """Give the lowest and highest value that a figure can have."""
    return SCORE if name in ("st", "ss", "tt", "mean_ss", "mean_st") else DROP


def total_intervals(values: TaskValues) -> dict[tuple[str | None, str | None, str], tuple[float, float]]:
    """Bounds of total intervals by source, target and figure, where training variance was measured."""
    domains = [domain for domain in values.domains if (domain, domain) in values.rows]
    if len(domains) < 2:
        return {}
    pairs = [(row, column) for row in range(len(domains)) for column in range(len(domains)) if row != column]
    rows, columns = np.array(pairs).T
    keys: list[tuple[str | None, str | None, str]] = [(domain, domain, "ss") for domain in domains]
    keys += [(domains[row], domains[column], figure) for figure in FIGURES for row, column in pairs]
    # Task figures are those of the whole grid or none.
    whole = len(domains) == len(values.domains)
    keys += [(None, None, name) for name in MEANS] if whole else []

    def statistic(matrix: Floats) -> Floats:
        own = np.diagonal(matrix, axis1=-2, axis2=-1)
        st, ss, tt = matrix[..., rows, columns], own[..., rows], own[..., columns]
        parts = [own, st, ss, tt, ss - st, tt - st, ss - tt]
        if whole:
            mean_ss, mean_st = own.mean(axis=-1), st.mean(axis=-1)
            drop = mean_ss - mean_st
            parts.append(np.stack([mean_ss, mean_st, drop, drop, drop], axis=-1))
        return np.concatenate(parts, axis=-1)

    bounds = total_bounds(values, domains, domains, statistic)
    if bounds is None:
        return {}
    clipped = [np.clip(end, *np.array([bounds_of(key[2]) for key in keys]).T) for end in bounds]
    return {key: (float(low), float(high)) for key, low, high in zip(keys, *clipped, strict=True)}


def total_bounds(
    values: TaskValues, sources: Sequence[str], targets: Sequence[str], statistic: Callable[[Floats], Floats]
) -> tuple[Floats, Floats] | None:
    """Bounds of the total interval of several figures of a task.

    Args:
        values: the task's scores.
        sources: the rows of the score matrix.
        targets: its columns; every score must be there, with one set of at least 5 runs a source.
        statistic: score matrices (..., n_sources, n_targets) -> figures (..., n_figures).
    Returns: lower and upper bounds, shape (n_figures,) each; None where training variance was not measured.
    """
    scores = values.scores.get(values.info.metric, {})
    cells = [[(source, target) for target in targets] for source in sources]
    if not sources or not targets or any(cell not in scores for row in cells for cell in row):
        return None
    if any(len({values.seeds[cell] for cell in row}) > 1 for row in cells):
        return None
    n_groups = min(values.effective_groups[target] for target in targets)
    if n_groups < 2 or min(len(values.seeds[row[0]]) for row in cells) < MIN_RUNS:
        return None
    by_source = [np.stack([scores[cell] for cell in row], axis=-1) for row in cells]  # (n_runs, 1 + n_draws, d)
    if by_source[0].shape[1] == 1:
        return None
    spread = total_spread(
        statistic,
        [table[:, 0] for table in by_source],
        [table[:, 1:].swapaxes(0, 1) for table in by_source],
        n_groups=n_groups,
        rng=np.random.default_rng([_RUN_DRAWS, *values.name.encode()]),
    )
    return interval(spread) if spread is not None else None


def has_spread(figure: Figure) -> bool:
    """Check whether a figure is known, has replicates of at least two groups, and hardly any undefined one.

    Args:
        figure: the figure.
    Returns: whether an interval can be made; at most ``MAX_UNDEFINED`` of the replicates may be NaN.
    """
    if len(figure.values) == 1 or figure.effective_groups < 2 or np.isnan(figure.values[0]):
        return False
    return bool(np.isnan(figure.values).mean() <= MAX_UNDEFINED)


def known(value: float | NDArray[np.float64]) -> float | None:
    """Return a number as a Python float.

    Args:
        value: a number; NaN where it is undefined.
    Returns: the number; None for NaN.
    """
    return None if np.isnan(value) else float(value)


def _spread(figures: Sequence[Figure]) -> Spread:
    table = np.stack([_defined(figure.values) for figure in figures], axis=-1)
    return sampling_spread(table[0], table[1:], n_groups=np.array([figure.effective_groups for figure in figures]))


def _defined(values: Floats) -> Floats:
    """Put the first defined replicates in the place of the few undefined ones."""
    undefined = np.isnan(values)
    if not undefined.any():
        return values
    filled = values.copy()
    filled[undefined] = values[1:][~undefined[1:]][: undefined.sum()]
    return filled
