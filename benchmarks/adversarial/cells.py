"""Cells of the stress tests: the data to sample, the statistics to check, and the required success rates.

A cell is one setting, such as "12 groups of 50 texts, correlation 0.2, accuracy 0.9". The ``Iterator[Cell]`` functions
list the cells of a family; the ``Iterator[Drawn]`` functions simulate a cell ``n_draws`` times and check its claims.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.adversarial.engine import (
    Scores,
    accuracy_scores,
    macro_f1_scores,
    run_score,
    sum_limits,
)
from benchmarks.adversarial.generators import Counts, Floats, Labelled, Pair, Recipe, TestSet, drawn_sizes
from shiftbench.metrics.precision import student, wilson_limits
from shiftbench.scoring.scores.figures import Figure, difference, mean, single
from shiftbench.scoring.scores.limits import LEVEL, check_score, decide

LEAST, LEAST_OF_DIFFERENCES, LEAST_OF_GATES = 0.90, 0.93, 0.95
"""Required shares of draws:

for an interval of a score or of a paired difference to cover the truth, or for a gate to pass.
"""
Rng = np.random.Generator
Ends = tuple[Floats, Floats]
Design = tuple[tuple[int, ...], float]
"""Sizes of groups, and the within-group correlation."""


class Drawn(NamedTuple):
    """Results of one statistic over all draws; arrays have shape (n_draws,).

    Attributes:
        figure: name of the statistic.
        is_right: whether the claim was true: the interval covers the truth, or the gate passes. A refused interval
            counts as a miss.
        is_refused: whether the engine returned no interval.
        width: width of each interval; None if the claim is not an interval.
        yardstick: width of the reference interval; None without one.
    """

    figure: str
    is_right: NDArray[np.bool_]
    is_refused: NDArray[np.bool_]
    width: Floats | None = None
    yardstick: Floats | None = None


@dataclass(frozen=True)
class Cell:
    """One simulated setting.

    Attributes:
        family, name: the family of settings and the setting, as in tables.
        measure: maps a number of draws and a generator to the results of each statistic.
        wanted: required share of draws with a true claim; None for a cell without a guarantee, which is only reported.
    """

    family: str
    name: str
    measure: Callable[[int, Rng], Iterable[Drawn]]
    wanted: float | None = LEAST


def coverage(
    figure: str, ends: Ends, truth: float, is_refused: NDArray[np.bool_], yardstick: Floats | None = None
) -> Drawn:
    """Check which intervals cover the truth.

    Args:
        figure: name of the statistic.
        ends: lower and upper limits, shape (n_draws,) each.
        truth: the true value.
        is_refused: draws without an interval, shape (n_draws,).
        yardstick: widths of the reference intervals, shape (n_draws,).
    """
    low, high = ends
    is_right = (low <= truth + 1e-12) & (truth <= high + 1e-12) & ~is_refused
    return Drawn(figure, is_right, is_refused, high - low, yardstick)


def known_ends(value: Floats, p: float, variance: float) -> Ends:
    """Compute Wilson's interval from the true variance of the score: normal quantile, n = p (1 - p) / variance."""
    return wilson_limits(value, 1.959964**2 * variance / (p * (1 - p)))


def of_each(figures: Iterable[Figure], *, recipes: bool = False) -> tuple[Ends, NDArray[np.bool_]]:
    """Return the limits of one figure per draw, and a mask of the draws without an interval, shape (n_draws,) each."""
    rows = [(*each.limits(recipes=recipes), 0.0) if each.has_interval else (0.0, 1.0, 1.0) for each in figures]
    low, high, refused = np.array(rows).T
    return (low, high), refused.astype(bool)


def drawn_scores(test_set: TestSet, n_draws: int, rng: Rng) -> Scores:
    """Simulate a model's accuracy on ``n_draws`` samples of a test set."""
    return accuracy_scores(*test_set.draw(n_draws, rng))


# One score, and the difference of two test sets.


def single_score(test_set: TestSet, n_draws: int, rng: Rng, truth: float | None = None) -> Iterator[Drawn]:
    """Check the interval of one score; the reference interval is computed from the true variance."""
    scores = drawn_scores(test_set, n_draws, rng)
    known = known_ends(scores.value, test_set.p, test_set.variance)
    truth = test_set.truth if truth is None else truth
    yield coverage("score", sum_limits([1.0], [scores]), truth, scores.is_refused, known[1] - known[0])


def score_and_drop(source: TestSet, target: TestSet, n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check the intervals of an in-domain score and of the drop to another test set.

    The reference intervals are computed from the true variances.
    """
    one, other = (drawn_scores(each, n_draws, rng) for each in (source, target))
    low, high = known_ends(one.value, source.p, source.variance)
    target_low, target_high = known_ends(other.value, target.p, target.variance)
    yield coverage("score", sum_limits([1.0], [one]), source.p, one.is_refused, high - low)
    known = np.hypot(one.value - low, target_high - other.value) + np.hypot(high - one.value, other.value - target_low)
    refused = one.is_refused | other.is_refused
    yield coverage("drop", sum_limits([1.0, -1.0], [one, other]), source.p - target.p, refused, known)


def drawn_cells(seed: str, number: int = 200) -> list[Cell]:
    """Sample ``number`` settings at random.

    Ranges: accuracy 0.5 to 0.98, within-group correlation 0 to 0.6, 10 to 200 effective groups with a mean size of 1 to
    50, coefficient of variation of the sizes 0 to 1.
    """
    rng = np.random.default_rng(int(seed, 16))
    sets = []
    for _ in range(number):
        p, alike, spread = rng.uniform(0.5, 0.98), rng.uniform(0, 0.6), rng.uniform(0, 1)
        groups, size = np.exp(rng.uniform(np.log(10), np.log(200))), np.exp(rng.uniform(0, np.log(50)))
        sets.append((TestSet(drawn_sizes(groups, size, spread, rng), p, alike), spread))
    cells = []
    for (test_set, spread), (other, _) in zip(sets, sets[1:] + sets[:1], strict=True):
        size = np.mean(test_set.sizes)
        name = f"p {test_set.p:.3f}, correlation {test_set.alike:.2f}, {test_set.groups:.0f} x {size:.1f}, {spread:.2f}"
        cells.append(Cell(f"drawn by {seed}", name, partial(score_and_drop, test_set, other)))
    return cells


# A task with dissimilar domains. Each is tested with an in-domain model and a model trained on another domain.


def task_of(domains: Sequence[Pair], n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check the intervals of ST on the last domain, of the mean ST, and of the average drop."""
    scores = [pair_scores(domain, n_draws, rng) for domain in domains]
    source, target = ([pair[side] for pair in scores] for side in (0, 1))
    share = 1 / len(domains)
    last = domains[-1]
    st = last.agree * last.both + last.won
    yield coverage("ST on the last domain", sum_limits([1.0], target[-1:]), st, target[-1].is_refused)
    means = [domain.agree * domain.both + domain.won for domain in domains]
    refused = np.any([each.is_refused for each in target], axis=0)
    yield coverage("mean ST", sum_limits([share] * len(domains), target), float(np.mean(means)), refused)
    drops = (difference(mean(_singles(source, draw)), mean(_singles(target, draw))) for draw in range(n_draws))
    ends, refused = of_each(drops)
    yield coverage("average drop", ends, float(np.mean([domain.truth for domain in domains])), refused)


def _singles(scores: Sequence[Scores], draw: int) -> list[Figure]:
    return [single(each.one(draw, number)) for number, each in enumerate(scores)]


def pair_scores(pair: Pair, n_draws: int, rng: Rng) -> tuple[Scores, Scores]:
    """Simulate the accuracies of both models of a pair on the same samples of the test set."""
    tables = pair.draw(n_draws, rng)
    sizes = tables.sum(axis=-1)
    return accuracy_scores(tables[..., 0] + tables[..., 1], sizes), accuracy_scores(
        tables[..., 0] + tables[..., 2], sizes
    )


def unlike_domains() -> Iterator[Cell]:
    """List tasks with three dissimilar domains: two with 300 groups of two texts, and one with other group sizes."""
    others = {"12 x 50, .2": ((50,) * 12, 0.2), "30 x 20, .2": ((20,) * 30, 0.2), "100 x 3, .6": ((3,) * 100, 0.6)}
    others["50 x 40, .05 beside .8"] = ((40,) * 50, 0.05)
    for p in (0.7, 0.9, 0.95):
        lost, won = min(0.1, (1 - p) * 0.8), 0.3 * (1 - p)
        for name, (sizes, alike) in others.items():
            of_pairs = 0.8 if "beside" in name else 0.0
            designs = [((2,) * 300, of_pairs)] * 2 + [(sizes, alike)]
            domains = [Pair(each, (p - won) / (1 - lost - won), lost, won, like) for each, like in designs]
            yield Cell("unlike domains", f"{name}, ST {p:g}", partial(task_of, domains))


# Similar domains, compared with metric version 6.


def beside_version_6(test_set: TestSet, n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check a score's interval; the reference is the interval of metric version 6.

    Version 6 pooled the within-group correlation over the task's domains (here three). Only draws in which at least 5
    groups have an error and 5 have a correct answer are compared.
    """
    drawn = [test_set.draw(n_draws, rng) for _ in range(3)]
    scores = accuracy_scores(*drawn[0])
    right, sizes = (each.astype(np.float64) for each in drawn[0])
    old = version_6_ends(scores.value, pooled_correlation(drawn), sizes)
    enough = ((right < sizes).sum(axis=1) >= 5) & ((right > 0).sum(axis=1) >= 5)
    low, high = sum_limits([1.0], [scores])
    yield coverage(
        "score", (low[enough], high[enough]), test_set.p, scores.is_refused[enough], (old[1] - old[0])[enough]
    )


def pooled_correlation(drawn: Sequence[tuple[Counts, Counts]]) -> Floats:
    """Estimate one within-group correlation for several test sets (ANOVA, weighted by the number of groups minus 1).

    Args:
        drawn: per test set, the numbers of correct answers and of texts, shape (n_draws, n_groups) each.
    Returns: correlations in [0, 1], shape (n_draws,); 0 if the groups of all test sets have one text.
    """
    between = within = np.zeros(len(drawn[0][0]))
    for right, sizes in drawn:
        n, g = sizes.sum(axis=1), sizes.shape[1]
        if n[0] == g:
            continue
        groups = (right**2 / sizes).sum(axis=1)
        inside = (right.sum(axis=1) - groups) / (n - g)
        across = (groups - right.sum(axis=1) ** 2 / n) / (g - 1)
        size = (n - (sizes**2).sum(axis=1) / n) / (g - 1)
        between, within = between + (g - 1) * (across - inside) / size, within + (g - 1) * inside
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(between > 0, between / (between + np.maximum(within, 0.0)), 0.0)


def version_6_ends(value: Floats, correlation: Floats, sizes: Floats) -> Ends:
    """Compute the interval of metric version 6."""
    groups = sizes.sum(axis=1) ** 2 / (sizes**2).sum(axis=1)
    n = 1 / ((1 - correlation) / sizes.sum(axis=1) + correlation / groups)
    return wilson_limits(value, student(groups - 1) ** 2 / n)


def alike_domains() -> Iterator[Cell]:
    """List tasks whose domains have the same within-group correlation: the best case for a pooled estimate."""
    for n_groups, size in ((10, 20), (12, 50), (20, 10), (30, 20), (100, 3), (150, 2), (300, 1)):
        for alike in (0.0, 0.2) if size > 1 else (0.0,):
            for p in (0.7, 0.9):
                name = f"{n_groups} x {size}, correlation {alike:g}, p {p:g}"
                yield Cell("alike domains", name, partial(beside_version_6, TestSet((size,) * n_groups, p, alike)))


# Gates on domains that are all exactly at the limit, so that every failure is a false alarm.


def gate(designs: Sequence[Design], p: float, n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check how often a gate passes if every domain's true score equals the limit.

    Args:
        designs: group sizes and within-group correlation of each domain.
        p: the limit, and the true accuracy on every domain.
        n_draws: number of simulated gates.
        rng: the generator.
    """
    scores = [drawn_scores(TestSet(sizes, p, alike), n_draws, rng) for sizes, alike in designs]
    # Shortcut: Holm's first step rejects nothing unless some domain's bound at LEVEL / k is below the limit, so the
    # other draws pass without running the slow gate.
    bounds = [sum_limits([1.0], [each], 1 - 2 * LEVEL / len(scores))[1] for each in scores]
    is_close = np.any(np.array(bounds) < p, axis=0).tolist()
    passes = [not close or _passes(scores, draw, p) for draw, close in enumerate(is_close)]
    yield Drawn("gate passes", np.array(passes), np.zeros(n_draws, dtype=bool))


def _passes(scores: Sequence[Scores], draw: int, limit: float) -> bool:
    tests = [check_score(single(each.one(draw)), str(number), limit) for number, each in enumerate(scores)]
    return all(each.outcome != "broken" for each in decide(tests))


def gates() -> Iterator[Cell]:
    """List gates on 8 or 20 domains, at limits of 0.7, 0.9 and 0.95."""
    designs: dict[str, list[Design]] = {
        "6 of 150 x 2, 2 of 12 x 50": [((2,) * 150, 0.0)] * 6 + [((50,) * 12, 0.2)] * 2,
        "8 of 300": [((1,) * 300, 0.0)] * 8,
        "20 of 30": [((1,) * 30, 0.0)] * 20,
    }
    for name, domains in designs.items():
        for p in (0.7, 0.9, 0.95):
            yield Cell("gates", f"{name}, limit {p:g}", partial(gate, domains, p), LEAST_OF_GATES)


# Paired differences, few errors, classes, runs, and cases outside the guarantees.


def pair_difference(pair: Pair, n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check the interval of the difference of two models' scores on one test set."""
    one, other = pair_scores(pair, n_draws, rng)
    figures = (difference(single(one.one(draw)), single(other.one(draw))) for draw in range(n_draws))
    ends, refused = of_each(figures)
    yield coverage("difference", ends, pair.truth, refused)


def paired_differences() -> Iterator[Cell]:
    """List pairs of models that differ on 0 to 60 texts, on average."""
    designs = {"300 x 1": (1,) * 300, "150 x 2": (2,) * 150, "30 x 20": (20,) * 30, "12 x 50": (50,) * 12}
    for name, sizes in designs.items():
        n = sum(sizes)
        for lost, won in ((0.0, 0.0), (0.5, 0.5), (3.0, 0.0), (2.0, 1.0), (10.0, 0.0), (5.0, 5.0), (45.0, 15.0)):
            for alike in (0.0, 0.2) if lost + won >= 10 else (0.0,):
                kind = f"{name}, {lost:g} lost and {won:g} won texts expected, correlation {alike:g}"
                pair = Pair(sizes, 0.8, lost / n, won / n, alike)
                yield Cell("paired differences", kind, partial(pair_difference, pair), LEAST_OF_DIFFERENCES)


def few_errors() -> Iterator[Cell]:
    """List accuracies near 0 or 1: the errors, or the correct answers, are in about 1, 2 or 4 groups."""
    designs = {"12 x 50": (50,) * 12, "30 x 20": (20,) * 30, "60 x 5": (5,) * 60, "150 x 2": (2,) * 150}
    designs |= {"30 x 1": (1,) * 30, "300 x 1": (1,) * 300}
    for name, sizes in designs.items():
        for alike in (0.0, 0.2, 0.6) if max(sizes) > 1 else (0.0,):
            # The design effect: correlated errors cluster, so more of them are needed to reach as many groups.
            shares = [errors * (1 + alike * (max(sizes) - 1)) / sum(sizes) for errors in (1, 2, 4)]
            for p in [end for share in shares if 0.005 < share < 0.5 for end in (1 - share, share)]:
                kind = f"{name}, correlation {alike:g}, p {p:.3f}"
                yield Cell("few errors", kind, partial(single_score, TestSet(sizes, p, alike)))


def class_score(drawn: Labelled, n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check the interval of macro-F1."""
    scores = macro_f1_scores(drawn.draw(n_draws, rng))
    yield coverage("macro-F1", sum_limits([1.0], [scores]), drawn.truth, scores.is_refused)


def classes() -> Iterator[Cell]:
    """List balanced and imbalanced class priors, and one class that is too rare for an interval."""
    designs = {"100 x 1": (1,) * 100, "300 x 1": (1,) * 300, "150 x 2": (2,) * 150, "12 x 50": (50,) * 12}
    for name, sizes in designs.items():
        for priors in ((0.5, 0.5), (0.9, 0.1), (0.6, 0.3, 0.1)):
            for p in (0.7, 0.9):
                for alike in (0.0, 0.2) if max(sizes) > 1 else (0.0,):
                    kind = f"{name}, classes {'/'.join(f'{each:g}' for each in priors)}, p {p:g}, correlation {alike:g}"
                    yield Cell("macro-F1", kind, partial(class_score, Labelled(sizes, p, priors, alike)))
    rare = Labelled((1,) * 300, 0.8, (0.99, 0.01))
    yield Cell("macro-F1", "300 x 1, a class of 3 texts or absent: refused", partial(class_score, rare), None)


def recipe(recipes: Sequence[Recipe], n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check an interval that also covers the variation between training runs.

    Args:
        recipes: one, to check its mean score; or two, to check the difference of the same runs' means on two test sets.
        n_draws: number of simulated studies.
        rng: the generator.
    """
    figures = []
    for _ in range(n_draws):
        moves = recipes[0].moves(rng)
        scores = [single(run_score(*each.draw(moves, rng), str(number))) for number, each in enumerate(recipes)]
        figures.append(scores[0] if len(scores) == 1 else difference(*scores))
    ends, refused = of_each(figures, recipes=True)
    truth = recipes[0].truth - (recipes[1].truth if len(recipes) > 1 else 0.0)
    yield coverage("recipe", ends, truth, refused)


def runs() -> Iterator[Cell]:
    """List recipes with 5 and 10 training runs; one in ten runs of the last recipe fails."""
    for n_runs in (5, 10):
        normal = Recipe(200, 0.8, n_runs, 0.02)
        yield Cell("runs", f"{n_runs} runs, sd 2 points", partial(recipe, [normal]))
        pair = [Recipe(200, 0.8, n_runs, 0.02), Recipe(150, 0.7, n_runs, 0.02)]
        yield Cell("runs", f"{n_runs} runs of shared seeds, a drop", partial(recipe, pair))
        collapsing = Recipe(200, 0.8, n_runs, 0.02, collapses=0.1)
        yield Cell("runs", f"{n_runs} runs, one in ten loses 20 points", partial(recipe, [collapsing]), None)


def beyond() -> Iterator[Cell]:
    """List settings with harder or easier large groups, test sets of very different sizes, or undeclared duplicates."""
    sizes = (5, 10, 20, 40, 80) * 10
    tied = TestSet(sizes, 0.8, 0.1, longer_is_harder=0.1)
    name = "50 groups of 5 to 80, longer ones harder"
    yield Cell("size and outcome", f"{name}; truth of texts", partial(single_score, tied))
    of_groups = tied.truth_of_groups
    yield Cell("size and outcome", f"{name}; truth of groups", partial(single_score, tied, truth=of_groups), None)
    easier = TestSet(sizes, 0.8, 0.1, longer_is_harder=-0.1)
    yield Cell("size and outcome", "50 groups of 5 to 80, longer ones easier", partial(single_score, easier))
    big, small = TestSet((1,) * 1000, 0.8), TestSet((1,) * 20, 0.7)
    yield Cell("unlike n", "1,000 texts less 20 texts", partial(score_and_drop, big, small))
    copied = TestSet((3,) * 80, 0.85, 1.0)
    yield Cell("duplicates", "every text three times, in one group", partial(single_score, copied))
    yield Cell("duplicates", "every text three times, in groups of their own", partial(unseen_copies, copied), None)


def unseen_copies(test_set: TestSet, n_draws: int, rng: Rng) -> Iterator[Drawn]:
    """Check a score's interval if every text is repeated and its copies are wrongly declared as separate groups."""
    right, sizes = test_set.draw(n_draws, rng)
    each = np.repeat(right // sizes, sizes[0], axis=1)
    scores = accuracy_scores(each, np.ones_like(each))
    yield coverage("score", sum_limits([1.0], [scores]), test_set.p, scores.is_refused)


def all_cells(seed: str) -> list[Cell]:
    """List the cells of all families; those of the last family are sampled with ``seed`` (hex digits)."""
    families = (unlike_domains, alike_domains, gates, paired_differences, few_errors, classes, runs, beyond)
    return [cell for family in families for cell in family()] + drawn_cells(seed)
