"""Planned drops against drawn studies: the engine's own test finds each in about four studies of five.

Texts are drawn with a generator of their own: within a group some texts repeat one draw of the group's, which gives any
score that correlation. A study has as many texts of each class as the test set that was planned for; in the studies of
``REDRAWN`` classes are drawn, too.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy import stats

from shiftbench.metrics.classification import macro_f1
from shiftbench.scoring.scores.figures import Figure, Reason, difference, single
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.plan import Cell, Design, TestSet
from shiftbench.scoring.scores.values import sampled_scores

RARE = (0.1, 0.9)
"""Shares of two classes."""


class Case(NamedTuple):
    """A planned study: one shift, two test sets of equal size."""

    drop: str
    n: int
    recall: float
    discordance: float
    group: int = 1
    icc: float = 0.0
    shares: tuple[float, ...] = (1.0,)
    n_tests: int = 1
    redrawn: bool = False

    @property
    def design(self) -> Design:
        own, other = (self.test_set(name) for name in "AB")
        home = own if self.drop == "SD" else other
        cells = Cell(1.0, home.name, home), Cell(-1.0, "A", other, home)
        return Design(cells, self.recall, self.discordance, 0.0)

    @property
    def gold(self) -> np.ndarray:
        classes = np.repeat(np.arange(len(self.shares)), np.round(np.array(self.shares) * self.n).astype(int))
        return np.random.default_rng(1).permutation(classes)

    def test_set(self, name: str) -> TestSet:
        sizes = np.zeros((len(self.shares), self.n // self.group))
        np.add.at(sizes, (self.gold, np.arange(self.n) // self.group), 1)
        return TestSet(name, sizes, self.icc)


def drawn(case: Case, recalls: tuple[float, float], name: str, rng: np.random.Generator) -> list[Figure]:
    """Simulate a test set and the answers of two models; score each."""
    high, low = recalls
    apart = high - low
    discordance = min(max(case.discordance, apart), apart + 2 * min(low, 1 - high))
    only_high, only_low = (discordance + apart) / 2, (discordance - apart) / 2
    chances = [high - only_high, only_high, only_low, 1 - high - only_low]
    groups = np.arange(case.n) // case.group
    of_group = rng.choice(4, size=groups[-1] + 1, p=chances)[groups]
    kind = np.where(rng.random(case.n) < np.sqrt(case.icc), of_group, rng.choice(4, size=case.n, p=chances))
    right = np.stack([kind <= 1, kind % 2 == 0])
    n_classes = len(case.shares)
    if n_classes == 1:
        outcomes = Outcomes(
            formulas={"accuracy": lambda sums: sums[..., 0] / sums[..., 1]}, micro="accuracy", n_counts=2,
            example_scores=right.astype(float), unparsed=np.zeros(right.shape, dtype=bool), example_metric="accuracy",
            values=np.stack([right, np.ones(right.shape)], axis=-1).astype(float),
        )  # fmt: skip
    else:
        gold = rng.choice(n_classes, size=case.n, p=case.shares) if case.redrawn else case.gold
        predicted = np.where(right, gold, (gold + rng.integers(1, n_classes, size=right.shape)) % n_classes)
        shape = (n_classes, n_classes + 1)
        every = np.ones(n_classes, dtype=bool)
        outcomes = Outcomes(
            formulas={"macro_f1": lambda sums: macro_f1(sums.reshape(*sums.shape[:-1], *shape), every)},
            micro="accuracy", n_counts=n_classes * (n_classes + 1), example_scores=right.astype(float),
            unparsed=np.zeros(right.shape, dtype=bool), example_metric="accuracy",
            cells=gold * (n_classes + 1) + predicted, gold=(gold == np.arange(n_classes)[:, None]).astype(float),
        )  # fmt: skip
    ids = pl.Series(np.arange(case.n).astype(str))
    target = TargetRuns("task", name, ids, groups, [("A", 0), ("B", 0)], outcomes)
    (metric,) = outcomes.formulas
    return [single(sampled_scores(target, [run], metric)[0]) for run in (0, 1)]


def studied(case: Case, n_studies: int) -> tuple[float, float, float]:
    """Plan a case and simulate studies: the planned drop, its power, and the share of studies with an interval."""
    design = case.design
    drop = design.smallest_drop(case.n_tests)
    assert drop is not None
    home, away = (cell.target.answers for cell in design.cells)
    low = away.recall(float(home.score(case.recall)) - drop)
    rng = np.random.default_rng(case.n)
    level = 1 - 0.05 / case.n_tests
    found = with_interval = 0
    for _ in range(n_studies):
        if case.drop == "TD":
            own, cross = drawn(case, (case.recall, low), "B", rng)
        else:
            own, _ = drawn(case, (case.recall, case.recall), "A", rng)
            cross, _ = drawn(case, (low, low), "B", rng)
        figure = difference(own, cross)
        if figure.has_interval:
            with_interval += 1
            found += figure.limits(level)[0] > 0
    return drop, found / n_studies, with_interval / n_studies


ISSUE = [
    Case("SD", 60, 0.95, 0.08),
    Case("TD", 60, 0.95, 0.08),
    Case("SD", 300, 0.8, 0.2),
    Case("TD", 300, 0.8, 0.2),
    Case("SD", 240, 0.8, 0.25, 20, 0.2),
    Case("TD", 240, 0.8, 0.25, 20, 0.2),
    Case("SD", 300, 0.8, 0.2, shares=RARE),
    Case("TD", 300, 0.8, 0.2, shares=RARE),
]
GRID = [
    *(
        Case(drop, n, recall, discordance)
        for n in (60, 300, 3000)
        for recall, discordance in ((0.5, 0.3), (0.8, 0.2), (0.95, 0.08), (0.98, 0.03))
        for drop in ("SD", "TD")
    ),
    *(
        Case(drop, n, recall, 0.2, group, icc)
        for n, group, icc in ((240, 20, 0.0), (240, 20, 0.05), (240, 20, 0.2), (600, 20, 0.1), (300, 3, 0.3))
        for recall in (0.8, 0.95)
        for drop in ("SD", "TD")
    ),
    *(
        Case(drop, n, recall, 0.2, shares=shares)
        for n in (100, 300, 1000)
        for recall in (0.8, 0.9)
        for shares in (RARE, (0.1, 0.45, 0.45))
        for drop in ("SD", "TD")
    ),
    *(Case(drop, 600, 0.8, 0.2, 20, 0.1, (0.3, 0.7)) for drop in ("SD", "TD")),
    *(Case(drop, 300, 0.8, 0.2, n_tests=12) for drop in ("SD", "TD")),
]
REDRAWN = [Case(drop, n, 0.8, 0.2, shares=RARE, redrawn=True) for n in (100, 300, 1000) for drop in ("SD", "TD")]


@pytest.mark.parametrize("case", [ISSUE[0], ISSUE[5], ISSUE[7]])
def test_a_planned_drop_is_found_in_about_four_studies_of_five(case: Case) -> None:
    _, share, _ = studied(case, 300)
    assert share == pytest.approx(0.8, abs=0.11)  # 75 to 90% and the error of 300 studies


@pytest.mark.parametrize("drop", ["SD", "TD"])
def test_a_drop_without_an_interval_is_not_planned(drop: str) -> None:
    few, rare = Case(drop, 80, 0.8, 0.2, 20).design, Case(drop, 40, 0.8, 0.2, shares=RARE).design
    assert (few.no_interval, rare.no_interval) == (Reason.FEW_GROUPS, Reason.RARE_CLASS)
    assert few.smallest_drop() is None
    assert rare.smallest_drop() is None


def test_more_runs_find_smaller_drops_and_a_shared_level_larger_ones() -> None:
    design = Case("SD", 300, 0.8, 0.2).design
    noisy = Design(design.cells, design.recall, design.discordance, 0.03)
    models, few, many = (noisy.smallest_drop(runs=runs) for runs in (0, 5, 50))
    assert models is not None
    assert few is not None
    assert many is not None
    assert models < many < few
    shared = noisy.smallest_drop(n_tests=12)
    assert shared is not None
    assert shared > models


def test_a_drop_of_a_recipe_is_found_in_about_four_studies_of_five() -> None:
    """Check runs by Welch's t test: with this many texts, only runs vary."""
    rng, runs, run_sd = np.random.default_rng(4), 6, 0.02
    design = Case("TD", 1_000_000, 0.8, 0.2).design
    drop = Design(design.cells, 0.8, 0.2, run_sd).smallest_drop(runs=runs)
    assert drop is not None
    own, cross = (rng.normal(mean, run_sd, (4000, runs)) for mean in (drop, 0.0))
    found = stats.ttest_ind(own, cross, axis=1).pvalue < 0.05
    assert float(found.mean()) == pytest.approx(0.8, abs=0.03)


@pytest.mark.long
def test_planned_drops_of_many_designs_are_found_in_about_four_studies_of_five() -> None:
    n_studies, outside = 500, []
    for case in dict.fromkeys([*ISSUE, *GRID, *REDRAWN]):
        drop, share, shown = studied(case, n_studies)
        error = 1.96 * np.sqrt(share * (1 - share) / n_studies)
        limits = f"{100 * (share - error):.1f} to {100 * (share + error):.1f}"
        print(
            f"{case}: {100 * drop:.1f} points, found in {100 * share:.1f}% ({limits}), {100 * shown:.0f}% with interval"
        )
        if not case.redrawn and not 0.75 - error <= share <= 0.90 + error:
            outside.append(case)
    assert not outside
