"""One task of an entry: its scores by cell with their precision, and which of them are at chance."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.depth import depth_weights, least_deep
from shiftbench.scoring.scores.figures import UNKNOWN, Figure, single, weighted_sum
from shiftbench.scoring.scores.floors import Floor, is_at_floor
from shiftbench.scoring.scores.outcomes import TargetRuns
from shiftbench.scoring.scores.values import Cell, Floats, deepest_of_parts, depth_in, n_train, sampled_scores
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, source_parts

ScoreKey = tuple[str, str, str]
"""Key of a score: source, target, and the lambda of a depth weighting (``""``: the unweighted primary metric)."""
DEPTH_LAMBDAS = (0, 50, 90)
"""Percentages of the most source-like texts excluded from the compared Depth F1, as on the board."""


@dataclass(frozen=True)
class EntryTask:
    """One task of an entry.

    Attributes:
        folder: the dataset.
        name: the task.
        targets: the entry's runs, by target.
        constant: (source, target, seed) of each run that is a constant predictor.
        floors: no-skill levels of the test sets.
        stands_in: another entry's shifts, on which this entry is compared although it was trained on no domain; empty
            if it is compared on its own shifts.
        outside: this entry's source value (not a domain) if ``stands_in`` is set, otherwise ``""``.
        recipe: identity of the entry's recipe; entries with the same source have different ones.
    """

    folder: DatasetFolder
    name: str
    targets: Mapping[str, TargetRuns]
    constant: set[tuple[str, str, int]]
    floors: Mapping[str, Floor]
    stands_in: frozenset[Cell] = frozenset()
    outside: str = ""
    recipe: object = field(default_factory=object)
    _scores: dict[ScoreKey, Figure] = field(default_factory=dict)
    _figures: dict[tuple[tuple[ScoreKey, float], ...], Figure] = field(default_factory=dict)
    _seeds: dict[str, set[int]] = field(default_factory=dict)
    _at_floor: dict[tuple[tuple[ScoreKey, float], ...], bool] = field(default_factory=dict)
    _depths: dict[Cell, dict[int, Floats]] = field(default_factory=dict)

    @property
    def cells(self) -> set[Cell]:
        """List source and target of all predictions, or of the shifts in ``stands_in``."""
        if self.stands_in:
            return set(self.stands_in)
        return {(source, target) for target, runs in self.targets.items() for source, _ in runs.runs}

    @property
    def shifts(self) -> set[Cell]:
        """List the ``cells`` whose target is not part of the source."""
        return {(source, target) for source, target in self.cells if target not in source_parts(source)}

    def standing_in(self, other: "EntryTask") -> "EntryTask | None":
        """Return a copy of this entry that has the other entry's shifts, if it was trained on none of the domains.

        Its score on a target is the same for every source, so it can be compared with the other entry's score for each
        source.

        Args:
            other: the other entry; the two share no shift.

        Returns: a copy whose shifts are the other entry's shifts into targets that this entry predicted; None if this
            entry was trained on a domain, or if there is no such shift.
        """
        sources = {source for source, _ in self.cells}
        if len(sources) != 1 or not sources <= set(OUTSIDE_SOURCES):
            return None
        there = {target for _, target in self.cells}
        stands_in = frozenset(cell for cell in other.shifts if cell[1] in there)
        if not stands_in:
            return None
        return replace(self, stands_in=stands_in, outside=sources.pop(), _figures={}, _at_floor={})

    def with_depths_of(self, other: "EntryTask") -> "EntryTask":
        """Return a copy that shares another entry's cache of depth weights, which depend only on the test texts."""
        return replace(self, _depths=other._depths)

    @property
    def metric(self) -> str:
        """Return the primary metric."""
        return self.folder.task(self.name).metric

    def common_seeds(self, source: str) -> set[int]:
        """Return the seeds of a source that are available on all of its targets; empty if there are none."""
        source = self.outside or source
        if source not in self._seeds:
            self._seeds[source] = self._common_seeds(source)
        return self._seeds[source]

    def _common_seeds(self, source: str) -> set[int]:
        by_target = [{seed for each, seed in runs.runs if each == source} for runs in self.targets.values()]
        there = [seeds for seeds in by_target if seeds]
        return set.intersection(*there) if there else set()

    def run_indices(self, source: str, target: str) -> list[int]:
        """List the indices of the runs to average, by seed: those with common seeds, or all without common seeds."""
        runs, seeds = self.targets[target], self.common_seeds(source)
        return [index for index in runs.of_source(self.outside or source) if not seeds or runs.runs[index][1] in seeds]

    def score(self, place: ScoreKey) -> Figure:
        """Return a score averaged over runs; unknown if the metric's encoder is missing.

        Scores are cached for all figures and comparisons. An entry trained on no domain has one score per target.
        """
        source, target, lambda_ = place
        key = (self.outside or source, target, lambda_)
        if key not in self._scores:
            weightings = self._weightings(source, target) if lambda_ else {"": None}
            self._scores.update(self._sample(key[0], target, weightings))
        return self._scores[key]

    def _weightings(self, source: str, target: str) -> dict[str, Floats | None]:
        return {str(lambda_): weights for lambda_, weights in self.depth_weightings(source, target).items()}

    def _sample(self, source: str, target: str, weightings: Mapping[str, Floats | None]) -> dict[ScoreKey, Figure]:
        """Score a cell under several weightings of one metric."""
        runs = self.targets[target]
        metric = self.metric if "" in weightings else runs.outcomes.micro
        if metric not in runs.outcomes.formulas:
            return {(source, target, lambda_): UNKNOWN for lambda_ in weightings}
        rows = np.stack([np.ones(len(runs.ids)) if each is None else each for each in weightings.values()])
        scores = sampled_scores(runs, self.run_indices(source, target), metric, rows, self.recipe)
        return {(source, target, lambda_): single(score) for lambda_, score in zip(weightings, scores, strict=True)}

    def figure(self, weights: Mapping[ScoreKey, float]) -> Figure:
        """Return a weighted sum of scores.

        Args:
            weights: weight of each score.
        """
        key = tuple(weights.items())
        if key not in self._figures:
            self._figures[key] = weighted_sum([self.score(place) for place in weights], list(weights.values()))
        return self._figures[key]

    def depth_weightings(self, source: str, target: str) -> dict[int, Floats]:
        """Return the depth weights of a shift's texts by lambda; empty without depths."""
        cell = (source, target)
        if cell not in self._depths:
            self._depths[cell] = _depth_weightings(self.folder, self.targets[target], source)
        return self._depths[cell]

    def is_at_floor(self, weights: Mapping[ScoreKey, float]) -> bool:
        """Check whether a weighted mean of scores is not shown to be above the no-skill level.

        Args:
            weights: weight of each score, non-negative, with sum 1.

        Returns: whether the lower end of the mean's 95% interval over test texts (the mean itself without an interval)
            is at or below that level; True if every run is a constant predictor; False if a test set has no such level.
        """
        key = tuple(sorted(weights.items()))
        if key not in self._at_floor:
            self._at_floor[key] = self._find_at_floor(weights)
        return self._at_floor[key]

    def _find_at_floor(self, weights: Mapping[ScoreKey, float]) -> bool:
        if all(self._is_constant(place) for place in weights):
            return True
        if any(target not in self.floors for _, target, _ in weights):
            return False
        level = sum(weight * self.floors[target].level for (_, target, _), weight in weights.items())
        mean = self.figure(weights)
        return mean.is_known and is_at_floor(mean.value if mean.low is None else mean.low, Floor(level, level))

    def _is_constant(self, place: ScoreKey) -> bool:
        source, target, _ = place
        source, runs = self.outside or source, self.targets[target].runs
        return all((source, target, runs[index][1]) in self.constant for index in self.run_indices(source, target))


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
