"""How often intervals are right, simulated with a progress bar: what ``shiftbench coverage`` runs."""

import sys
from collections import Counter

import numpy as np
from tqdm import tqdm

from leaderboard.metrics.coverage import KINDS, simulate_coverage

_CHUNK = 20
"""Simulated tasks between two steps of the bar."""


def measure_coverage(n_tasks: int, seed: int) -> dict[str, dict[str, float]]:
    """Simulate the coverage of each kind of interval with a progress bar (see ``leaderboard.metrics.coverage``).

    Args:
        n_tasks: simulated tasks of each kind.
        seed: of all draws.
    Returns: by kind and figure the share of intervals that held the truth, in [0, 1].
    """
    found: dict[str, dict[str, float]] = {}
    for kind in KINDS:
        rng = np.random.default_rng(seed)
        sums: Counter[str] = Counter()
        with tqdm(total=n_tasks, desc=f"simulating, {kind}", unit="task", disable=None, file=sys.stderr) as bar:
            for start in range(0, n_tasks, _CHUNK):
                n = min(_CHUNK, n_tasks - start)
                for figure, share in simulate_coverage(kind, n, rng).items():
                    sums[figure] += n * share  # type: ignore[assignment]
                bar.update(n)
        found[kind] = {figure: total / n_tasks for figure, total in sums.items()}
    return found
