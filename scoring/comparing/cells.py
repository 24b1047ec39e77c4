"""One task of an entry, cell by cell: its runs' scores, each group's influence on them, and what is at chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.crossed import RunScores, influences
from shiftbench.metrics.depth import depth_weights, effective_size, least_deep
from shiftbench.scoring.scores.floors import Floor, is_at_floor
from shiftbench.scoring.scores.outcomes import Formula, Outcomes, TargetRuns
from shiftbench.scoring.scores.values import Cell, Floats, deepest_of_parts, depth_in, n_train
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, source_parts

Place = tuple[str, str, str]
"""Source, target, and the lambda of a depth weighting; empty for the primary metric on the plain test set."""
DEPTH_LAMBDAS = (0, 50, 90)
"""Percent of the most source-like texts left out, of the Depth F1 that is compared: the board's."""
_NOT_LINEAR = ("macro_f1", "span_f1")
"""Metrics that are not means over texts."""
_POINTS = np.polynomial.legendre.leggauss(3)


@dataclass(frozen=True)
class EntryTask:
    """One task of an entry.

    Attributes:
        folder: the dataset.
        name: the task.
        targets: its runs on each target.
        constant: source, target and seed of runs that predict one thing.
        floors: levels of the test sets that need no skill.
        stands_in: shifts of another entry that this one's runs of the source ``outside`` stand for.
        outside: the source that names no domain; empty where runs stand for their own shifts alone.
    """

    folder: DatasetFolder
    name: str
    targets: Mapping[str, TargetRuns]
    constant: set[tuple[str, str, int]]
    floors: Mapping[str, Floor]
    stands_in: frozenset[Cell] = frozenset()
    outside: str = ""
    _found: dict[Place, RunScores | None] = field(default_factory=dict)
    _counts: dict[Place, Floats] = field(default_factory=dict)
    _seeds: dict[str, set[int]] = field(default_factory=dict)
    _at_floor: dict[tuple[tuple[Place, float], ...], bool] = field(default_factory=dict)
    _depths: dict[Cell, dict[int, Floats]] = field(default_factory=dict)

    @property
    def cells(self) -> set[Cell]:
        """List source and target of everything that was predicted, or that this entry stands in for."""
        if self.stands_in:
            return set(self.stands_in)
        return {(source, target) for target, runs in self.targets.items() for source, _ in runs.runs}

    @property
    def shifts(self) -> set[Cell]:
        """List the ``cells`` whose target is not part of the source."""
        return {(source, target) for source, target in self.cells if target not in source_parts(source)}

    def standing_in(self, other: "EntryTask") -> "EntryTask | None":
        """Return this entry in the other entry's shifts, for an entry that was trained on none of the domains.

        It was trained once and for no source, so on a target it does the same whatever the other one was trained on.

        Args:
            other: the other entry; the two share no shift.
        Returns: the entry whose runs stand for each of the other's shifts whose target it predicted; None where it was
            trained on a domain, or there is no such target.
        """
        sources = {source for source, _ in self.cells}
        if len(sources) != 1 or not sources <= set(OUTSIDE_SOURCES):
            return None
        there = {target for _, target in self.cells}
        stands_in = frozenset(cell for cell in other.shifts if cell[1] in there)
        return replace(self, stands_in=stands_in, outside=sources.pop()) if stands_in else None

    @property
    def metric(self) -> str:
        """Return the primary metric."""
        return self.folder.task(self.name).metric

    def common_seeds(self, source: str) -> set[int]:
        """Return the seeds of a source that are on all of its targets; empty where none is."""
        source = self.outside or source
        if source not in self._seeds:
            self._seeds[source] = self._common_seeds(source)
        return self._seeds[source]

    def _common_seeds(self, source: str) -> set[int]:
        by_target = [{seed for each, seed in runs.runs if each == source} for runs in self.targets.values()]
        there = [seeds for seeds in by_target if seeds]
        return set.intersection(*there) if there else set()

    def run_indices(self, source: str, target: str) -> list[int]:
        """List the runs that count, by seed: those of the common seeds as in scores, or all where there is none."""
        runs, seeds = self.targets[target], self.common_seeds(source)
        return [index for index in runs.of_source(self.outside or source) if not seeds or runs.runs[index][1] in seeds]

    def formula(self, place: Place) -> Formula | None:
        """Return the formula from sums of counts to a score; None where the metric lacks its encoder."""
        outcomes = self.targets[place[1]].outcomes
        metric = outcomes.micro if place[2] else self.metric
        if metric not in outcomes.formulas:
            return None
        if metric not in _NOT_LINEAR:
            return _ratio
        return lambda sums: outcomes.score(metric, sums)

    def counts(self, place: Place) -> Floats:
        """Return the counts of the runs of a place by group, shape (n_groups, n_runs, k)."""
        if place not in self._counts:
            source, target, lambda_ = place
            runs = self.targets[target]
            weights = np.ones(len(runs.ids)) if not lambda_ else self.depth_weightings(source, target)[int(lambda_)]
            metric = runs.outcomes.micro if lambda_ else self.metric
            count = _counts if metric in _NOT_LINEAR else _mean_counts
            parts = [count(runs, index, weights) for index in self.run_indices(source, target)]
            self._counts[place] = np.stack(parts, axis=1)
        return self._counts[place]

    def run_scores(self, place: Place) -> RunScores | None:
        """Return scores and influences of the runs of a place; None where the score is undefined."""
        if place not in self._found:
            finish = self.formula(place)
            scored = None
            if finish is not None:
                counts = self.counts(place)
                scores = finish(counts.sum(axis=0))
                if np.isfinite(scores).all():
                    scored = RunScores(scores[:, None], [influences(counts, finish)])
            self._found[place] = scored
        return self._found[place]

    def depth_weightings(self, source: str, target: str) -> dict[int, Floats]:
        """Return the depth weights of a shift's texts by lambda; empty where it has none."""
        cell = (source, target)
        if cell not in self._depths:
            self._depths[cell] = _depth_weightings(self.folder, self.targets[target], source)
        return self._depths[cell]

    def effective_groups(self, target: str) -> float:
        """Return the effective number of groups of a test set."""
        return effective_size(np.bincount(self.targets[target].groups))

    def is_at_floor(self, weights: Mapping[Place, float]) -> bool:
        """Check whether a weighted mean of scores is not shown to be above the level that needs no skill.

        Args:
            weights: places of one sign that sum to 1.
        Returns: by the lower end of the mean's 95% interval over test texts; True where every run predicts one thing;
            False where a test set has no such level.
        """
        key = tuple(sorted(weights.items()))
        if key not in self._at_floor:
            self._at_floor[key] = self._find_at_floor(weights)
        return self._at_floor[key]

    def _find_at_floor(self, weights: Mapping[Place, float]) -> bool:
        from scipy.special import stdtrit

        if all(self._is_constant(place) for place in weights):
            return True
        targets = [target for _, target, _ in weights]
        if any(target not in self.floors for target in targets):
            return False
        level = sum(weight * self.floors[target].level for (_, target, _), weight in weights.items())
        value = 0.0
        moved: dict[str, Floats] = {}
        for place, weight in weights.items():
            run_scores = self.run_scores(place)
            if run_scores is None:
                return False
            value += weight * float(run_scores.scores.mean())
            here = weight * run_scores.influences[0].mean(axis=1)
            moved[place[1]] = moved[place[1]] + here if place[1] in moved else here
        variance = sum(float((each**2).sum()) for each in moved.values())
        groups = min(self.effective_groups(target) for target in targets)
        reach = stdtrit(groups - 1, 0.975) * np.sqrt(variance) if groups >= 2 else 0.0
        return is_at_floor(value - float(np.nan_to_num(reach)), Floor(level, level))

    def _is_constant(self, place: Place) -> bool:
        source, target, _ = place
        source, runs = self.outside or source, self.targets[target].runs
        return all((source, target, runs[index][1]) in self.constant for index in self.run_indices(source, target))


def path_contributions(a: EntryTask, b: EntryTask, place: Place) -> Floats:
    """Return what each group contributes to the difference of the two run-averaged scores, shape (n_groups,).

    Exchanging the outputs of a group turns its contribution's sign. For means over texts that is exact. Other scores
    are followed along the straight line from B's counts to A's (three Gauss-Legendre points), so that contributions sum
    to the difference itself.
    """
    finish = a.formula(place)
    assert finish is not None
    first, second = a.counts(place), b.counts(place)
    contributions = np.zeros(len(first))
    for run_a, run_b, share in shared_runs(first.shape[1], second.shape[1]):
        apart = first[:, run_a] - second[:, run_b]
        start, whole = second[:, run_b].sum(axis=0), apart.sum(axis=0)
        for node, part in zip(*_POINTS, strict=True):
            slope = _gradient(finish, start + (node + 1) / 2 * whole)
            contributions += share * part / 2 * (apart @ slope)
    return contributions


def shared_runs(n_a: int, n_b: int) -> list[tuple[int, int, float]]:
    """Match the runs of two entries so that all count, each as often as the others of its entry.

    Returns: a run of A, one of B, and the pair's share.

    >>> shared_runs(1, 2), shared_runs(2, 2)
    ([(0, 0, 0.5), (0, 1, 0.5)], [(0, 0, 0.5), (1, 1, 0.5)])
    """
    ends = sorted({*(i * n_b for i in range(1, n_a + 1)), *(j * n_a for j in range(1, n_b + 1))})
    starts = [0, *ends[:-1]]
    whole = n_a * n_b
    return [(start // n_b, start // n_a, (end - start) / whole) for start, end in zip(starts, ends, strict=True)]


def _gradient(finish: Formula, totals: Floats) -> Floats:
    """Compute the slope of a score in each count; 0 where nothing is counted."""
    step = np.diag(1e-4 * totals)
    apart = finish(totals + step) - finish(totals - step)
    return np.divide(apart, 2e-4 * totals, out=np.zeros_like(totals), where=totals > 0)


def _ratio(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _counts(runs: TargetRuns, index: int, weights: Floats) -> Floats:
    return runs.outcomes.by_group(index, runs.groups, weights[None])[:, 0]


def _mean_counts(runs: TargetRuns, index: int, weights: Floats) -> Floats:
    """Sum the texts' weighted scores, and their weights, by group."""
    outcomes: Outcomes = runs.outcomes
    total = np.bincount(runs.groups, weights=weights * outcomes.example_scores[index])
    return np.stack([total, np.bincount(runs.groups, weights=weights)], axis=1)


def _depth_weightings(folder: DatasetFolder, target: TargetRuns, source: str) -> dict[int, Floats]:
    info = folder.task(target.task)
    parts = (source,) if source == info.joined_source else source_parts(source)
    if not folder.has_depth or not parts or target.target in source_parts(source):
        return {}
    if any(n_train(info, part) < 2 for part in parts):
        return {}
    tables = folder.depths(target.task, parts, target.target)
    depth = depth_in(parts, target, tables, folder)
    pooled = folder.deepest_of_pool(target.task, parts) if len(parts) > 1 else None
    deepest = pooled if pooled is not None else deepest_of_parts(parts, target, tables, folder)
    if not (depth < deepest).any():
        return {}
    weights = depth_weights(depth, deepest)
    weightings = {lambda_: weights * least_deep(depth, lambda_) for lambda_ in DEPTH_LAMBDAS}
    return {lambda_: each for lambda_, each in weightings.items() if each.any()}
