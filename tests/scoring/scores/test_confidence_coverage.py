"""Coverage of the 95% intervals of confidence metrics, on data from independent generators."""

from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shiftbench.metrics.calibration import MIN_BIN_GROUPS, N_BINS
from shiftbench.metrics.classification import macro_f1
from shiftbench.metrics.priors import fit_temperature
from shiftbench.scoring.scores.calibration import BOUNDS, Parts, TargetConfidence
from shiftbench.scoring.scores.figures import Figure, single
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.values import sampled_scores

Floats = NDArray[np.float64]


class World(NamedTuple):
    """A model and its test set; texts in a group of ten share half of their outcome variance and a mean confidence."""

    right: float
    n: int
    size: int
    too_sure: float

    def draw(self, rng: np.random.Generator, n_groups: int) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Sample confidences, probabilities of being correct, and latent outcomes, each of shape (n_groups, size)."""
        shape = (n_groups, self.size)
        common = rng.random((n_groups, 1)) if self.size > 1 else 0.5
        place = (0.5 * common + 0.5 * rng.random(shape)) if self.size > 1 else rng.random(shape)
        chance = 1 - 2 * (1 - self.right) * place
        fate = np.where(rng.random((n_groups, 1)) < 0.3 * (self.size > 1), rng.random((n_groups, 1)), rng.random(shape))
        return chance + self.too_sure * (1 - chance), chance, fate < chance


WORLDS = [
    World(0.7, 60, 1, 0.5),
    World(0.7, 300, 1, 0.0),
    World(0.8, 300, 1, 0.5),
    World(0.9, 60, 1, 0.0),
    World(0.9, 300, 1, 0.0),
    World(0.95, 60, 1, 0.5),
    World(0.95, 300, 1, 0.0),
    World(0.99, 60, 1, 0.0),
    World(0.99, 300, 1, 0.5),
    World(0.7, 300, 10, 0.5),
    World(0.9, 300, 10, 0.0),
    World(0.95, 300, 10, 0.5),
    World(0.95, 1200, 10, 0.0),
]
OF_ERRORS = {"calibration_error", "failure_auroc", "excess_aurc"}
"""Metrics without an interval if there are few errors."""


def true_figures(world: World) -> dict[str, float]:
    """Compute the population values of the metrics from the probabilities of being correct."""
    sure, chance, _ = world.draw(np.random.default_rng(0), 800_000 // world.size)
    order = np.argsort(-sure.ravel())
    sure, chance = sure.ravel()[order], chance.ravel()[order]
    wrong = 1 - chance
    n_bins = max(1, min(N_BINS, world.n // world.size // MIN_BIN_GROUPS))
    gaps = [part.mean() for part in np.array_split(sure - chance, n_bins)]
    answered = np.arange(1, sure.size + 1)
    risk = wrong.mean()
    # For each correct text, the share of wrong ones with lower confidence.
    below = 1 - np.cumsum(wrong) / wrong.sum()
    return {
        "overconfidence": float((sure - chance).mean()),
        "calibration_error": float(np.mean(np.square(gaps))),
        "brier": float((sure**2 - 2 * sure * chance + chance).mean()),
        "failure_auroc": float(chance @ below / chance.sum()),
        "excess_aurc": float((np.cumsum(wrong) / answered).mean() - risk - (1 - risk) * np.log(1 - risk)),
    }


def arranged_runs(
    labels: NDArray[np.int64], predicted: NDArray[np.int64], groups: NDArray[np.int64], n_classes: int
) -> TargetRuns:
    """Arrange predictions (n_runs, n) as scoring does."""
    k = n_classes + 1

    def table(sums: Floats) -> Floats:
        return sums.reshape(*sums.shape[:-1], n_classes, k)

    outcomes = Outcomes(
        formulas={
            "accuracy": lambda sums: np.trace(table(sums)[..., :-1], axis1=-2, axis2=-1) / sums.sum(axis=-1),
            "macro_f1": lambda sums: macro_f1(table(sums), np.ones(n_classes, dtype=bool)),
        },
        micro="accuracy",
        n_counts=n_classes * k,
        example_scores=(predicted == labels).astype(np.float64),
        unparsed=predicted == n_classes,
        cells=labels * k + predicted,
        example_metric="accuracy",
        gold=(labels == np.arange(n_classes)[:, None]).astype(np.float64),
    )
    runs = [(name, 0) for name in ("home", "own")[: len(predicted)]]
    return TargetRuns("task", "there", pl.Series(range(labels.size)), groups, runs, outcomes)


def figures_of(world: World, rng: np.random.Generator) -> dict[str, Figure]:
    n_groups = world.n // world.size
    sure, _, right = world.draw(rng, n_groups)
    labels, wrong = np.zeros(world.n, dtype=np.int64), (~right).reshape(1, -1).astype(np.int64)
    target = arranged_runs(labels, wrong, np.repeat(np.arange(n_groups), world.size), 2)
    return TargetConfidence(target, labels, wrong, sure.reshape(1, -1), None, np.arange(3)).figures([0])


class Hits(NamedTuple):
    """Simulated values of a metric: how many there are, have an interval, and have one that covers the truth."""

    n: int
    printed: int
    covered: int

    @property
    def share(self) -> float:
        """Return the share of intervals that cover the truth."""
        return self.covered / self.printed if self.printed else float("nan")

    def __str__(self) -> str:
        error = 196 * np.sqrt(self.share * (1 - self.share) / max(self.printed, 1))
        counted = 100 * self.covered / self.n
        return (
            f"{100 * self.share:5.1f} ±{error:3.1f}, {counted:5.1f} with none {100 * (1 - self.printed / self.n):3.0f}%"
        )


def count_hits(world: World, n_draws: int, seed: int) -> dict[str, Hits]:
    rng, truth = np.random.default_rng([seed, world.n]), true_figures(world)
    printed, covered = dict.fromkeys(BOUNDS, 0), dict.fromkeys(BOUNDS, 0)
    for _ in range(n_draws):
        for name, figure in figures_of(world, rng).items():
            if figure.low is not None and figure.high is not None:
                printed[name] += 1
                covered[name] += figure.low <= truth[name] <= figure.high
    return {name: Hits(n_draws, printed[name], covered[name]) for name in BOUNDS}


SHARES = (0.5, 0.9)
"""Prior of the first class on the source, and on the target."""


def posterior(x: Floats, share: float, sharp: float) -> Floats:
    """Compute p(y|x) of two normal classes 2 apart, the first with a share of the texts, then sharpen it."""
    log_odds = sharp * (np.log(share / (1 - share)) - 2 * x)
    first = 1 / (1 + np.exp(-log_odds))
    return np.stack([first, 1 - first], axis=-1)


def split(n: int, views: int, metric: str, rng: np.random.Generator) -> Parts:
    """Split a drop due to label shift only; two models see each text through a shared view or through separate ones."""
    home, there = ((rng.random(n) > share).astype(np.int64) for share in SHARES)
    temperature = fit_temperature(posterior(rng.normal(2.0 * home - 1), SHARES[0], 2.0), home)
    seen = np.broadcast_to(rng.normal(2.0 * there - 1, size=(views, n)), (2, n))
    tables = np.stack([posterior(x, share, 2.0) for x, share in zip(seen, SHARES, strict=True)])
    predicted = tables.argmax(axis=-1)
    target = arranged_runs(there, predicted, np.arange(n), 2)
    confidence = TargetConfidence(target, there, predicted, tables.max(axis=-1), tables, np.arange(3))
    adjusted = confidence.adjusted([0], np.array([SHARES[0], 1 - SHARES[0]]), [temperature])
    st, tt = (single(sampled_scores(target, [run], metric)[0]) for run in range(2))
    return Parts(st, single(sampled_scores(adjusted, [0], metric)[0]), tt, temperature)


def count_rests(n: int, views: int, metric: str, n_draws: int) -> Hits:
    rng = np.random.default_rng([n, views])
    rests = [split(n, views, metric, rng).rest for _ in range(n_draws)]
    ends = [(rest.low, rest.high) for rest in rests if rest.low is not None and rest.high is not None]
    return Hits(n_draws, len(ends), sum(low <= 0 <= high for low, high in ends))


@pytest.mark.parametrize("world", [World(0.8, 60, 1, 0.5), World(0.95, 300, 1, 0.0)])
def test_intervals_hold_the_truth_in_a_few_worlds(world: World) -> None:
    for name, hits in count_hits(world, 400, 2).items():
        assert hits.share > 0.92, name
        assert hits.printed > 395


def test_few_errors_leave_what_they_decide_without_an_interval() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        figures = figures_of(World(0.99, 60, 1, 0.0), rng)
        assert {name for name, figure in figures.items() if not figure.has_interval} == OF_ERRORS
        for name in OF_ERRORS - {"failure_auroc"}:  # which is undefined without errors
            assert figures[name].no_interval
        assert figures["overconfidence"].limits()[1] > figures["overconfidence"].value + 0.01


def test_the_brier_score_of_two_classes_is_twice_that_of_the_confidence() -> None:
    rng = np.random.default_rng(4)
    sure, wrong = 0.5 + 0.5 * rng.random((1, 90)), (rng.random((1, 90)) < 0.2).astype(np.int64)
    labels, table = np.zeros(90, dtype=np.int64), np.stack([sure, 1 - sure], axis=-1)
    table = np.where(wrong[..., None] == 1, table[..., ::-1], table)
    target = arranged_runs(labels, wrong, np.arange(90) // 2, 2)
    one, both = (
        TargetConfidence(target, labels, wrong, sure, given, np.arange(3)).figures([0])["brier"]
        for given in (None, table)
    )
    assert (both.value, *both.limits()) == pytest.approx([2 * one.value, *(2 * end for end in one.limits())])


def test_no_rest_is_found_where_class_shares_alone_change() -> None:
    assert count_rests(300, 2, "accuracy", 300).share > 0.92


@pytest.mark.long
def test_intervals_hold_the_truth() -> None:
    """Coverage among intervals, then with those that are missing counted as misses, and their share."""
    print(f"\nright, texts, group, too sure: {', '.join(BOUNDS)}")
    shares: dict[str, list[float]] = {name: [] for name in BOUNDS}
    for world in WORLDS:
        found = count_hits(world, 2_000, 1)
        print(*world, "|", " | ".join(str(found[name]) for name in BOUNDS), flush=True)
        for name, hits in found.items():
            assert name in OF_ERRORS or hits.printed == hits.n
            if hits.printed > 200:
                assert hits.share > 0.9, (world, name)
                shares[name].append(hits.share)
    for name, found_shares in shares.items():
        assert 0.94 < np.mean(found_shares) < 0.98, name


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "views", "metric"), [(60, 2, "accuracy"), (300, 1, "accuracy"), (300, 2, "macro_f1"), (1200, 2, "macro_f1")]
)
def test_no_rest_is_left_of_pure_label_shift(n: int, views: int, metric: str) -> None:
    hits = count_rests(n, views, metric, 2_000)
    print(f"\nrest of pure label shift {SHARES}, {n} texts, {views} views, {metric}: {hits}")
    assert hits.printed > 0.98 * hits.n
    assert hits.share > 0.93
