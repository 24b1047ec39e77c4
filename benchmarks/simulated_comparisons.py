"""Simulated studies that compare two training recipes with a known true difference, to measure error rates.

Whether a text is predicted correctly is random, with a probability that depends on the group, the text and the run
(probit). Runs of a recipe differ by a normal or t-distributed amount, or fail occasionally. The data are sampled with
code of this module only; just the significance test is the package's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import RenderableType
from scipy.special import ndtr, ndtri

from shiftbench.metrics.classification import macro_f1
from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.figures import DROP, Figure, single, weighted_sum
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.values import sampled_scores
from shiftbench.validation.progress import progress

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEVEL = 0.05
_GROUP_SD, _TEXT_SD = 0.7, 0.7
"""Standard deviations of the difficulty of groups and of texts, on the probit scale; that of a prediction's noise is
1."""
_LATENT_SD = float(np.sqrt(1 + _GROUP_SD**2 + _TEXT_SD**2))


@dataclass(frozen=True)
class Setting:
    """A kind of study.

    Attributes:
        name: its name.
        runs: number of runs of A and of B.
        n_groups: number of groups in a test set.
        size: texts per group.
        score: expected accuracy of both.
        ahead: accuracy of A minus that of B.
        run_sd: standard deviations of A's and B's runs, in accuracy; 0: runs do not differ.
        heavy: whether runs differ by Student's t with 3 degrees of freedom.
        shared_seeds: whether run k of A and run k of B have the same deviation from their recipes.
        failing: share of A's runs that lose ``lost``; the others are better, so that the means are equal.
        lost: loss of a failing run.
        figure: ``ST`` of one test set, ``TD`` (one test set, two sources) or ``mean ST`` over four.
        first_class: share of the first of two classes, with macro-F1 as the score; None: accuracy.
        differ: expected number of texts on which B differs from A, in either direction equally often; None: B is
            sampled like A.
    """

    name: str
    runs: tuple[int, int] = (1, 1)
    n_groups: int = 300
    size: int = 3
    score: float = 0.75
    ahead: float = 0.0
    run_sd: tuple[float, float] = (0.0, 0.0)
    heavy: bool = False
    shared_seeds: bool = False
    failing: float = 0.0
    lost: float = 0.2
    figure: str = "ST"
    first_class: float | None = None
    differ: float | None = None


@dataclass(frozen=True)
class Study:
    """One simulated study.

    Attributes:
        difference: A minus B.
        right: whether the runs of A, and of B, are correct on each text of the first test set, shape (n_runs, n) each.
        groups: group codes of these texts, shape (n,).
        first: whether each of these texts has the first of the two classes, shape (n,).
    """

    difference: Figure
    right: tuple[Bools, Bools]
    groups: NDArray[np.int64]
    first: Bools

    def p_value(self) -> float:
        """Return the p value of the difference."""
        recipes = min(len(each) for each in self.right) >= MIN_RUNS
        return self.difference.p_value(recipes=recipes)


_SPREAD = (0.02, 0.02)
NULL = [
    Setting("single runs, 300 groups of 3"),
    Setting("single runs, 30 groups of 20", n_groups=30, size=20),
    Setting("single runs, macro-F1, a class of 5%", first_class=0.05),
    Setting("single runs, TD", figure="TD"),
    Setting("single runs, mean ST over 4", figure="mean ST", n_groups=100),
    Setting("single runs, score .97", score=0.97),
    Setting("5 runs, normal", (5, 5), run_sd=_SPREAD),
    Setting("10 runs, normal", (10, 10), run_sd=_SPREAD),
    Setting("5 runs, t with 3 df", (5, 5), run_sd=_SPREAD, heavy=True),
    Setting("10 runs, t with 3 df", (10, 10), run_sd=_SPREAD, heavy=True),
    Setting("5 and 10 runs, sd 1 and 4 points", (5, 10), run_sd=(0.01, 0.04)),
    Setting("10 and 5 runs, sd 1 and 4 points", (10, 5), run_sd=(0.01, 0.04)),
    Setting("5 runs, TD", (5, 5), run_sd=_SPREAD, figure="TD"),
    Setting("5 runs, macro-F1", (5, 5), run_sd=_SPREAD, first_class=0.3),
    Setting("10 runs that hardly differ", (10, 10), run_sd=(0.002, 0.002)),
]
"""Settings with equally good recipes, whose predictions differ on at least 25 groups of texts."""
CAUTIOUS = [
    Setting("10 runs, shared seeds", (10, 10), run_sd=_SPREAD, shared_seeds=True),
    *(
        Setting(f"{n} texts of 600 differ (expected)", n_groups=600, size=1, differ=float(n))
        for n in (1, 3, 10)
    ),
]  # fmt: skip
"""Settings with equally good recipes, but few differing texts, or shared seeds that make differences smaller."""
FAILING = [Setting(f"{n} runs each", (n, n), n_groups=600, run_sd=_SPREAD, failing=0.1) for n in (5, 10, 29)]
"""Settings in which one run in ten of A loses 20 points, and A's other runs compensate for it; B never fails."""
POWER = [
    Setting("300 groups of 3", ahead=0.05),
    Setting("50 groups of 10", n_groups=50, size=10, ahead=0.07),
    Setting("500 texts, score .95", n_groups=500, size=1, score=0.93, ahead=0.03),
    Setting("600 texts, macro-F1", n_groups=600, size=1, first_class=0.4, ahead=0.07),
    Setting("150 texts, macro-F1, 15 of a class", n_groups=150, size=1, first_class=0.1, ahead=0.14),
]
"""Settings in which A is better; single runs."""


def draw_study(setting: Setting, rng: np.random.Generator) -> Study:
    """Sample the test sets, the runs and their predictions of one study."""
    sources, n_sets = (("t", "s"), 1) if setting.figure == "TD" else (("s",), 4 if setting.figure == "mean ST" else 1)
    groups = np.repeat(np.arange(setting.n_groups), setting.size)
    levels = {source: _run_levels(setting, rng, source == sources[0]) for source in sources}
    figures: list[Figure] = []
    weights: list[float] = []
    shown: tuple[tuple[Bools, Bools], Bools] | None = None
    for number in range(n_sets):
        ease = _GROUP_SD * rng.normal(size=setting.n_groups)[groups] + _TEXT_SD * rng.normal(size=groups.size)
        first = rng.random(groups.size) < (0.5 if setting.first_class is None else setting.first_class)
        for source in sources:
            right = _answers(levels[source], ease, setting, rng)
            shown = shown or (right, first)
            for side, sign in ((0, 1.0), (1, -1.0)):
                figures.append(_score(right[side], groups, first, setting, f"{number}", source, side))
                weights.append(sign * (-1.0 if source == "s" and len(sources) > 1 else 1.0) / n_sets)
    assert shown is not None
    return Study(weighted_sum(figures, weights, DROP), shown[0], groups, shown[1])


def _run_levels(setting: Setting, rng: np.random.Generator, is_first: bool) -> list[Floats]:
    """Sample the expected score of each run of A and of B."""
    shapes = [
        rng.standard_t(3, size=n) / np.sqrt(3) if setting.heavy else rng.normal(size=n) for n in setting.runs
    ]  # fmt: skip
    if setting.shared_seeds:
        shapes[1] = shapes[0][: setting.runs[1]]
    levels = [setting.score + sd * shape for sd, shape in zip(setting.run_sd, shapes, strict=True)]
    if is_first:
        levels[0] = levels[0] + setting.ahead
    if setting.failing:
        failed = rng.random(setting.runs[0]) < setting.failing
        levels[0] = levels[0] + setting.lost * (setting.failing - failed)
    return [np.clip(each, 0.02, 0.98) for each in levels]


def _answers(levels: Sequence[Floats], ease: Floats, setting: Setting, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Sample whether the runs of A, and of B, predict each text correctly, shape (n_runs, n) each."""
    first, second = (
        rng.random((each.size, ease.size)) < ndtr(_LATENT_SD * ndtri(each)[:, None] + ease) for each in levels
    )
    if setting.differ is not None:
        # On 2 * differ texts, in expectation, both recipes flip coins: they differ on half of these, equally often in
        # either direction.
        coin = rng.random(ease.size) < 2 * setting.differ / ease.size
        first = np.where(coin, rng.random(first.shape) < 0.5, first)
        second = np.where(coin, rng.random(first.shape) < 0.5, first)
    return first, second


def _score(
    right: Bools, groups: NDArray[np.int64], first: Bools, setting: Setting, test_set: str, source: str, side: int
) -> Figure:
    n_runs, n = right.shape
    gold = np.stack([first, ~first]).astype(np.float64)
    if setting.first_class is None:
        values = np.stack([right, np.ones_like(right)], axis=-1).astype(np.float64)
        outcomes = Outcomes(
            {"accuracy": _ratio}, "accuracy", 2, right.astype(np.float64), ~right & False, values=values,
            example_metric="accuracy",
        )  # fmt: skip
    else:
        classes = np.where(first, 0, 1)
        cells = classes * 3 + np.where(right, classes, 1 - classes)
        outcomes = Outcomes(
            {"macro_f1": _macro_f1}, "accuracy", 6, right.astype(np.float64), ~right & False, cells=cells, gold=gold,
            example_metric="accuracy",
        )  # fmt: skip
    runs = [(source, seed) for seed in range(n_runs)]
    target = TargetRuns("task", test_set, pl.Series(range(n)), groups, runs, outcomes)
    metric = "accuracy" if setting.first_class is None else "macro_f1"
    (score,) = sampled_scores(target, range(n_runs), metric, recipe=side)
    return single(score)


def _ratio(sums: Floats) -> Floats:
    return np.asarray(sums[..., 0] / sums[..., 1])


def _macro_f1(sums: Floats) -> Floats:
    return macro_f1(sums.reshape(*sums.shape[:-1], 2, 3), np.array([True, True]))


@dataclass(frozen=True)
class Claims:
    """How often studies of a setting claim a difference.

    Attributes:
        setting: its name.
        n: number of studies.
        claimed: share with p below 0.05.
        a_better: share claiming that A is better.
        none: share without an interval.
    """

    setting: str
    n: int
    claimed: float
    a_better: float
    none: float

    @property
    def limits(self) -> tuple[float, float]:
        """Return the 95% Monte Carlo limits of ``claimed``."""
        error = 1.96 * np.sqrt(self.claimed * (1 - self.claimed) / self.n)
        return self.claimed - error, self.claimed + error


def count_claims(setting: Setting, n_studies: int, seed: int, step: Callable[[], object] = lambda: None) -> Claims:
    """Count how often studies of a setting claim a difference.

    Args:
        setting: the kind of study.
        n_studies: number of studies, at least 1.
        seed: seed of all draws.
        step: called after each study.
    """
    rng = np.random.default_rng([seed, *setting.name.encode()])
    found = np.zeros((n_studies, 2))
    for row in found:
        study = draw_study(setting, rng)
        row[:] = study.p_value(), study.difference.value
        step()
    claimed = found[:, 0] < LEVEL
    none = np.isnan(found[:, 0]).mean()
    return Claims(
        setting.name, n_studies, float(claimed.mean()), float((claimed & (found[:, 1] > 0)).mean()), float(none)
    )


def claim_lines(n_studies: int, seed: int) -> Iterator[RenderableType]:
    """Simulate all settings, and yield a table for each kind of setting.

    Args:
        n_studies: studies per setting.
        seed: seed of all draws.
    """
    kinds = [
        ("Equal recipes: % of studies that claim a difference", NULL),
        ("Equal recipes, little information: % of studies that claim a difference", CAUTIOUS),
        ("A better than B: % of studies that claim a difference", POWER),
        (
            "Equal means, but one run of A in ten loses 20 points: % of studies that claim a difference",
            FAILING,
        ),
    ]
    for title, settings in kinds:
        with progress(desc="simulating comparisons", unit="study") as bar:
            every = [count_claims(setting, n_studies, seed, partial(bar.update)) for setting in settings]
        rows = [
            (each.setting, f"{100 * each.claimed:.1f}", _points(each.limits), f"{100 * each.a_better:.1f}")
            for each in every
        ]
        heads = ("setting", "claimed", "95% Monte Carlo limits", "claimed: A better")
        yield PlainTable(f"{title}, {n_studies:,} per row", heads, rows)


def _points(limits: tuple[float, float]) -> str:
    return f"{100 * max(limits[0], 0):.1f} to {100 * limits[1]:.1f}"
