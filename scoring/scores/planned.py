"""A drop that is planned: the smallest true one that the engine's own test finds in four studies of five.

A study is a ``Figure`` of the scores that test sets of these sizes are expected to give. The study that has less luck
than 80% of studies lies Student's quantile of standard errors below the truth, its scores and the texts on which its
models differ where they are on average in such a study. The smallest drop is the one at which the lower limit of that
study just leaves 0, so all rules of the engine (Wilson's shape, known variances, degrees of freedom, least variance of
a paired difference) have their part in it, at the drop that is looked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from shiftbench.metrics.depth import effective_size
from shiftbench.metrics.power import LEVEL, POWER, Answers, Floats, expected_design_effect, groups_with
from shiftbench.metrics.precision import (
    MIN_GROUPS,
    class_df,
    class_size,
    effective_n,
    satterthwaite,
    student,
)
from shiftbench.scoring.scores.figures import DROP, Figure, Part, Reason, Score, Training

_ACCURACY = 1e-5
"""Within which a smallest drop is found."""
_ENOUGH = 200
"""Groups on which models differ above which more of them change nothing."""


@dataclass(frozen=True)
class TestSet:
    """A test set before there are predictions.

    Attributes:
        name: of its domain.
        class_sizes: texts of each class in each group, shape (n_classes, n_groups); one class where the score is a mean
            over texts.
        icc: correlation of scores within a group, in [0, 1].
        scale: how many times as many groups of the same sizes there are.
    """

    __test__ = False  # no test class of pytest

    name: str
    class_sizes: Floats
    icc: float
    scale: float = 1.0

    @cached_property
    def n(self) -> float:
        """Return the number of texts."""
        return float(self.class_sizes.sum()) * self.scale

    @cached_property
    def groups(self) -> float:
        """Return the effective number of groups."""
        return effective_size(self.class_sizes.sum(axis=0)) * self.scale

    @cached_property
    def class_groups(self) -> list[float]:
        """Return the effective number of each class's gold groups."""
        return [effective_size(sizes) * self.scale for sizes in self.class_sizes]

    @cached_property
    def answers(self) -> Answers:
        """Return what models answer on it."""
        return Answers(tuple((self.class_sizes.sum(axis=1) / self.class_sizes.sum()).tolist()))

    @cached_property
    def no_interval(self) -> Reason | None:
        """Return why scores on it have no interval."""
        if self.groups < MIN_GROUPS:
            return Reason.FEW_GROUPS
        return Reason.RARE_CLASS if min(self.class_groups) < MIN_GROUPS else None

    @cached_property
    def true_design_effect(self) -> float:
        """Return by how much the groups raise the variance of a score."""
        return 1 + (self.n / self.groups - 1) * self.icc

    @cached_property
    def seen_design_effect(self) -> float:
        """Return by how much a study is expected to find that they raise it."""
        return expected_design_effect(self.n / self.groups, self.groups, self.icc) * self.groups / (self.groups - 1)

    def of_size(self, texts: float) -> "TestSet":
        """Return a test set of so many texts whose groups are as large."""
        return TestSet(self.name, self.class_sizes, self.icc, texts / float(self.class_sizes.sum()))

    def n_groups_with(self, probability: float) -> float:
        """Return how many groups are expected to hold a text of a kind that has a probability."""
        return self.scale * groups_with(probability, self.class_sizes.sum(axis=0), self.icc)

    def holding(self, recall: float) -> float:
        """Return how many groups are expected to hold the errors, or right answers, of the class with the fewest."""
        kinds = (recall, 1 - recall)
        return self.scale * min(groups_with(kind, sizes, self.icc) for sizes in self.class_sizes for kind in kinds)

    def score(self, recall: float, influences: Floats, right: Floats) -> Score:
        """Build the score that a study is expected to have which sees a recall.

        Args:
            recall: in [0, 1].
            influences: of groups, as far as scores on this test set go together.
            right: where its texts differ from those of other scores.
        """
        value = float(self.answers.score(recall))
        if self.no_interval:
            return Score(value, 1.0, 1.0, self.name, influences, right, self.groups, self.no_interval)
        least = self.answers.variance(recall) / self.n
        variance, size = least * self.seen_design_effect, class_size(self.class_groups)
        n = float(effective_n(value, variance, least, size, self.holding(recall)))
        df = min(self.groups - 1, float(class_df(self.class_groups)))
        return Score(value, n, df, self.name, influences, right, self.groups)


class Cell(NamedTuple):
    """A score in a planned drop.

    Attributes:
        weight: in the drop; above 0 for scores at home, below for the others.
        source: the domain that its model is trained on.
        target: what it is scored on.
        home: the test set of the score that it drops from; None for a score at home.
    """

    weight: float
    source: str
    target: TestSet
    home: TestSet | None = None


@dataclass(frozen=True)
class Design:
    """A drop, and what is assumed of the models.

    Attributes:
        cells: the scores that it is made of.
        recall: of models at home, in [0, 1].
        discordance: share of texts that one of two models has right and the other wrong; never less than the drop.
        run_sd: standard deviation of a score over training runs.
    """

    cells: tuple[Cell, ...]
    recall: float
    discordance: float
    run_sd: float

    def of_size(self, texts: float) -> "Design":
        """Return the design with so many texts on every test set."""
        return replace(self, cells=tuple(cell._replace(target=cell.target.of_size(texts)) for cell in self.cells))

    @property
    def no_interval(self) -> Reason | None:
        """Return why the drop has no interval."""
        return next((cell.target.no_interval for cell in self.cells if cell.target.no_interval), None)

    def smallest_drop(self, n_tests: int = 1, runs: int = 0) -> float | None:
        """Find the smallest true drop that is found in four studies of five.

        Args:
            n_tests: drops that the level of 5% is shared by.
            runs: training runs of each source; 0 takes the models as they are.
        Returns: a fraction; None where there is no interval, or even the largest drop is not found.
        """
        from scipy.optimize import brentq

        homes = [cell.home or cell.target for cell in self.cells]
        largest = min(float(home.answers.score(self.recall)) for home in homes)
        if self.no_interval or not self.finds(largest, n_tests, runs):
            return None
        return float(brentq(self._lower_limit, 0.0, largest, args=(n_tests, runs), xtol=_ACCURACY))

    def finds(self, drop: float, n_tests: int = 1, runs: int = 0) -> bool:
        """Return whether at least four studies of five find a true drop (see ``smallest_drop``)."""
        return not self.no_interval and self._lower_limit(drop, n_tests, runs) > 0

    def _lower_limit(self, drop: float, n_tests: int, runs: int) -> float:
        """Return the lower limit in the study that has less luck than 80% of studies."""
        weights = np.array([cell.weight for cell in self.cells])
        recalls = self._recalls([0.0 if cell.home is None else drop for cell in self.cells])
        joint = self._covariances(recalls, recalls)
        spread = joint @ weights
        if runs:
            spread += self.run_sd**2 / runs * weights
        se = float(np.sqrt(weights @ spread))
        if se == 0:
            return drop
        seen = self._values(recalls) - self._quantile(runs) * spread / se
        recalls_seen = [cell.target.answers.recall(value) for cell, value in zip(self.cells, seen, strict=True)]
        study = self._figure(recalls, recalls_seen, runs)
        return study.limits(1 - LEVEL / n_tests, recipes=runs > 0)[0]

    def _quantile(self, runs: int) -> float:
        """Return how many standard errors of luck 80% of studies exceed; a drop hardly changes it."""
        if runs not in self._quantiles:
            recalls = self._recalls([0.0] * len(self.cells))
            without = self._figure(recalls, recalls, runs)
            df = without.total_df if runs else without.df
            self._quantiles[runs] = float(student(df, 2 * POWER - 1))
        return self._quantiles[runs]

    @cached_property
    def _quantiles(self) -> dict[int, float]:
        return {}

    def _recalls(self, drops: Sequence[float]) -> list[float]:
        return [
            self.recall
            if cell.home is None
            else cell.target.answers.recall(float(cell.home.answers.score(self.recall)) - drop)
            for cell, drop in zip(self.cells, drops, strict=True)
        ]

    def _values(self, recalls: Sequence[float]) -> Floats:
        return np.array(
            [float(cell.target.answers.score(each)) for cell, each in zip(self.cells, recalls, strict=True)]
        )

    def _discordance(self, true: tuple[float, float], seen: tuple[float, float]) -> float:
        """Return the share of texts that two models differ on, in a study that sees other recalls than true."""
        apart, apart_seen = true[0] - true[1], seen[0] - seen[1]
        share = min(max(self.discordance, abs(apart)), abs(apart) + 2 * min(*true, 1 - true[0], 1 - true[1]))
        if share > apart**2:  # the mean of what is discordant, given the difference that is seen
            share -= (apart - apart_seen) * apart * (1 - share) / (share - apart**2)
        return min(max(share, abs(apart_seen)), abs(apart_seen) + 2 * min(*seen, 1 - seen[0], 1 - seen[1]))

    def _covariances(self, true: Sequence[float], seen: Sequence[float]) -> Floats:
        """Return the covariance of scores over test texts, shape (k, k), in a study that sees such recalls."""
        joint = np.zeros((len(self.cells),) * 2)
        for row, cell in enumerate(self.cells):
            target = cell.target
            for column, other in enumerate(self.cells[: row + 1]):
                if other.target.name != target.name:
                    continue
                if row == column:
                    moved = target.answers.variance(seen[row])
                else:
                    share = self._discordance((true[row], true[column]), (seen[row], seen[column]))
                    moved = target.answers.covariance(seen[row], seen[column], share)
                joint[row, column] = joint[column, row] = moved / target.n * target.true_design_effect
        return joint

    def _figure(self, true: Sequence[float], seen: Sequence[float], runs: int) -> "_Study":
        """Build the figure of a study that sees such recalls."""
        joint = self._covariances(true, seen)
        lengths = np.sqrt(np.diag(joint))
        unit = joint / np.where(lengths > 0, lengths, 1.0) / np.where(lengths > 0, lengths, 1.0)[:, None]
        values, vectors = np.linalg.eigh(unit)
        influences = vectors * np.sqrt(np.maximum(values, 0.0))
        parts = []
        for row, cell in enumerate(self.cells):
            n_apart = self._n_groups_apart(row, true, seen)
            right = np.full(n_apart, 1.0 if cell.home is None else 0.0)
            parts.append(Part(cell.weight, cell.target.score(seen[row], influences[row], right)))
        return _Study(tuple(parts), DROP, self._training(runs) if runs else None)

    def _n_groups_apart(self, row: int, true: Sequence[float], seen: Sequence[float]) -> int:
        """Return on how many groups of a score's test set models are expected to differ, at most what is enough."""
        target = self.cells[row].target
        rows = [each for each, cell in enumerate(self.cells) if cell.target.name == target.name]
        if len(rows) == 1:
            return 0
        at_home, other = rows[0], rows[-1]
        share = self._discordance((true[at_home], true[other]), (seen[at_home], seen[other]))
        return min(round(target.n_groups_with(share)), _ENOUGH)

    def _training(self, runs: int) -> Training:
        by_source: dict[str, float] = {}
        for cell in self.cells:
            by_source[cell.source] = by_source.get(cell.source, 0.0) + self.run_sd**2 * cell.weight**2 / runs
        variances = list(by_source.values())
        return Training(sum(variances), float(satterthwaite(variances, [runs - 1.0] * len(variances))))


@dataclass(frozen=True)
class _Study(Figure):
    """A figure whose variance over training runs is assumed."""

    assumed: Training | None = None

    @property
    def training(self) -> Training | None:
        return self.assumed

    @property
    def total_df(self) -> float:
        return self._total_df
