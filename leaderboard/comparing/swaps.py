"""Swap tests of many statistics of one task at once: every swap of a domain's test set serves all runs on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leaderboard.metrics.comparison import SEPARATE_GROUPS, swap_test
from leaderboard.scoring.outcomes import Outcomes
from leaderboard.scoring.replicates import Cell, Floats, TargetRuns

Statistic = Sequence[tuple[Cell, int, float]]
"""A weighted sum of mean scores: of the first so many runs of a source on a target, and the weight."""
Tested = tuple[float, float]
"""A minus B, and its p value; NaN where there is none."""


@dataclass(frozen=True)
class SharedRuns:
    """What two entries, A and B, predicted of one task, by target.

    Attributes:
        task, metric: the task and what it is scored with.
        a, b: each entry's runs.
    """

    task: str
    metric: str
    a: Mapping[str, TargetRuns]
    b: Mapping[str, TargetRuns]

    def n_shared(self, cell: Cell) -> int:
        """Count the runs of a source on a target that both entries have."""
        source, target = cell
        return min(len(entry[target].of_source(source)) if target in entry else 0 for entry in (self.a, self.b))

    def test(self, sets: Sequence[Sequence[Statistic]], n_swaps: int, seed: int) -> list[list[Tested]]:
        """Test statistics by exchanging A's and B's output on random groups.

        Args:
            sets: statistics that are tested together; a p value does not depend on the other sets.
            n_swaps: random swaps of each test set, the same for all statistics.
            seed: with the names of task and target, the seed of the swaps.
        Returns: a test of each statistic; NaN where it has a score of no runs.
        """
        # Where groups are drawn together, swaps depend on all that is tested at once.
        separate = all(_n_groups(runs) <= SEPARATE_GROUPS for runs in self.a.values())
        together = [list(sets)] if separate else [[each] for each in sets]
        return [found for some in together for found in self._test(some, n_swaps, seed)]

    def _test(self, sets: Sequence[Sequence[Statistic]], n_swaps: int, seed: int) -> list[list[Tested]]:
        statistics = [statistic for each in sets for statistic in each]
        cells = sorted({cell for statistic in statistics for cell, n, _ in statistic if n}, key=lambda cell: cell[::-1])
        if not cells:
            return [[(np.nan, np.nan)] * len(each) for each in sets]
        columns = [(cell, run) for cell in cells for run in range(self.n_shared(cell))]
        weights = _weights(statistics, columns)
        targets = list(dict.fromkeys(target for _, target in cells))

        def finish(*totals: Floats) -> Floats:
            by_target = zip(targets, totals, strict=True)
            scores = [_scores(total, self.metric, self.a[target].outcomes) for target, total in by_target]
            return _weighted_sums(np.concatenate(scores, axis=-1), weights)

        tables = [[_group_table(entry[target], columns) for target in targets] for entry in (self.a, self.b)]
        rngs = [np.random.default_rng([seed, *f"{self.task}/{target}".encode()]) for target in targets]
        result = swap_test(tables[0], tables[1], finish, rngs, n_swaps=n_swaps)
        found = iter(zip(result.difference.tolist(), result.p_value.tolist(), strict=True))
        return [[next(found) for _ in each] for each in sets]


def _n_groups(runs: TargetRuns) -> int:
    return int(runs.groups.max()) + 1


def _weights(statistics: Sequence[Statistic], columns: Sequence[tuple[Cell, int]]) -> Floats:
    """Weight of each run's score in each statistic, shape (n_columns, n_statistics); NaN for a mean of no runs."""
    weights = np.zeros((len(columns), len(statistics)))
    for number, statistic in enumerate(statistics):
        for cell, n, weight in statistic:
            first = columns.index((cell, 0)) if n else 0
            weights[first : first + n, number] += weight / max(n, 1)
        if not all(n for _, n, _ in statistic):
            weights[:, number] = np.nan
    return weights


def _weighted_sums(scores: Floats, weights: Floats) -> Floats:
    """Scores (..., n_columns) times weights; NaN where a score that counts is NaN."""
    missing = np.isnan(scores)
    if not missing.any():
        return np.asarray(scores @ weights)
    sums = np.where(missing, 0.0, scores) @ weights
    sums[missing.astype(float) @ (weights != 0) > 0] = np.nan
    return np.asarray(sums)


def _scores(totals: Floats, metric: str, outcomes: Outcomes) -> Floats:
    """Score of each run whose columns a table holds, shape (..., n_runs); NaN where the metric is not there."""
    counts = totals.reshape(*totals.shape[:-1], -1, outcomes.n_counts)
    if metric not in outcomes.formulas:
        return np.full(counts.shape[:-1], np.nan)
    return outcomes.score(metric, counts)


def _group_table(runs: TargetRuns, columns: Sequence[tuple[Cell, int]]) -> Floats:
    """Counts by group of the runs on a target that columns name, side by side, shape (n_groups, k)."""
    chosen = [runs.of_source(source)[run] for (source, target), run in columns if target == runs.target]
    return np.concatenate([runs.outcomes.by_group(run, runs.groups)[:, 0] for run in chosen], axis=1)
