"""Entries whose truth is known, for tests of what is claimed of models: runs of a recipe on groups of texts.

Written apart from ``shiftbench.metrics.coverage``: whether a text is predicted right is a coin whose
chance depends on the group, the text and the run (probit). Every run of a recipe differs by a normal amount, as large
as makes its score's standard deviation two points; a share of runs may collapse to one label.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from shiftbench.metrics.comparison import flip_signs, holm, swap_test
from shiftbench.metrics.crossed import RunScores, SourcePair, crossed_test, influences
from shiftbench.metrics.multiplicity import pass_on, step_down

GROUP_SD, TEXT_SD = 0.7, 0.7


def ratio(sums):
    return sums[..., 0] / sums[..., 1]


def macro_f1(sums):
    """Compute macro-F1 from four counts: right and all of the first class, right and all of the second."""
    right, gold = sums[..., [0, 2]], sums[..., [1, 3]]
    wrong = gold - right
    return (2 * right / (2 * right + wrong + wrong[..., ::-1])).mean(axis=-1)


@dataclass(frozen=True)
class Setting:
    """A simulated test: groups of ``size`` texts, runs of A and of B, and the spread of runs."""

    name: str
    runs: tuple[int, int]
    n_groups: int = 600
    size: int = 3
    run_sd: float = 0.02
    collapsed: float = 0.0
    statistic: str = "ST"
    score: str = "accuracy"


class Texts:
    """One test set that all models predict."""

    def __init__(self, n_groups, size, rng):
        self.group = np.repeat(np.arange(n_groups), size)
        ease = GROUP_SD * rng.normal(size=n_groups)[self.group] + TEXT_SD * rng.normal(size=self.group.size)
        self.ease, self.n_groups = ease, n_groups
        self.first = rng.random(self.group.size) < 0.5  # the class

    def counts(self, effects, collapsed, score, rng):
        """Count by group the right answers of runs with these latent effects, shape (n_groups, n_runs, k)."""
        chance = ndtr(np.asarray(effects)[:, None] + self.ease)
        right = rng.random(chance.shape) < chance
        right[collapsed] = self.first
        columns = [right, np.ones_like(right)]
        if score == "macro-F1":
            columns = [right & self.first, np.broadcast_to(self.first, right.shape)]
            columns += [right & ~self.first, np.broadcast_to(~self.first, right.shape)]
        table = np.stack(columns, axis=-1).astype(float)
        return np.add.reduceat(table, np.arange(0, self.group.size, self.group.size // self.n_groups), axis=1).swapaxes(
            0, 1
        )


LATENT_SD = np.sqrt(1 + GROUP_SD**2 + TEXT_SD**2)


def effect_of(score):
    """Return the latent effect whose expected accuracy is a score."""
    return LATENT_SD * ndtri(score)


def drawn_runs(score, n, setting, rng, n_cells=1):
    """Draw latent effects of n runs on ``n_cells`` cells, half of it shared, shape (n, n_cells); which collapsed."""
    slope = np.exp(-0.5 * ndtri(score) ** 2) / np.sqrt(2 * np.pi) / LATENT_SD
    shared, own = rng.normal(size=(n, 1)), rng.normal(size=(n, n_cells))
    apart = own if n_cells == 1 else np.sqrt(0.5) * (shared + own)
    return effect_of(score) + setting.run_sd / slope * apart, rng.random(n) < setting.collapsed


def finish_of(setting):
    return macro_f1 if setting.score == "macro-F1" else ratio


def run_scores(tables, finish):
    scores = np.stack([finish(table.sum(axis=0)) for table in tables], axis=-1)
    return RunScores(scores, [influences(table, finish) for table in tables])


def p_values(setting, rng, score=0.75, ahead=0.0, n_swaps=999):
    """Compute p of the swap test and of the t test on crossed components, of two entries on the same texts."""
    finish = finish_of(setting)
    # ST is one cell; TD = TT - ST has two, by models of two sources on one test set.
    n_sources = 1 if setting.statistic == "ST" else 2
    texts = Texts(setting.n_groups, setting.size, rng)
    tables = []
    for side, n in enumerate(setting.runs):
        parts = []
        for source in range(n_sources):
            effects, collapsed = drawn_runs(score + (ahead if side == 0 and source == 0 else 0.0), n, setting, rng)
            parts.append(texts.counts(effects[:, 0], collapsed, setting.score, rng))
        tables.append(parts)
    signs = [1.0] if n_sources == 1 else [-1.0, 1.0]
    pairs = [
        SourcePair(run_scores([a], finish), run_scores([b], finish), [0], np.array([[sign]]))
        for a, b, sign in zip(*tables, signs, strict=True)
    ]
    t_test = crossed_test(pairs, [setting.n_groups]).p_value[0] if min(setting.runs) > 1 else np.nan
    n = min(setting.runs)
    flat = [np.concatenate([part[:, :n].reshape(setting.n_groups, -1) for part in parts], axis=1) for parts in tables]
    k = tables[0][0].shape[-1]
    weights = np.repeat(signs, n) / n

    def statistic(sums):
        return finish(sums.reshape(*sums.shape[:-1], -1, k)) @ weights

    swap = float(swap_test([flat[0]], [flat[1]], statistic, rng, n_swaps=n_swaps).p_value)
    return swap, float(t_test)


def type_one(settings: Sequence[Setting], n_tasks: int, seed: int, n_swaps: int = 999):
    """Count the share of p below .05 by setting, of two entries of one recipe: swap test, t on crossed components."""
    rng = np.random.default_rng(seed)
    found = {}
    for setting in settings:
        drawn = np.array([p_values(setting, rng, n_swaps=n_swaps) for _ in range(n_tasks)])
        found[setting.name] = np.where(np.isnan(drawn).all(axis=0), np.nan, (drawn < 0.05).mean(axis=0))
    return found


def family(n_tasks, seed, *, shifts=20, effect=0.0, n_groups=300, n_swaps=999):
    """Count claims about a mean and its shifts: by Holm over all, and by the graphical procedure with max-t.

    Returns: share of comparisons that claim anything, and that claim something of the mean: before, after; and the mean
        number of shifts claimed: before, after.
    """
    rng = np.random.default_rng(seed)
    counted = np.zeros((n_tasks, 3, 2))
    for task in range(n_tasks):
        shared = rng.normal(size=(n_groups, 1))
        single = effect + np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=(n_groups, shifts))
        every = np.hstack([single.mean(axis=1, keepdims=True), single]) / n_groups
        drawn = np.abs(flip_signs(every, n_swaps, rng))
        observed = np.abs(every.sum(axis=0))
        p = (1 + (drawn >= observed).sum(axis=0)) / (1 + n_swaps)
        scale = drawn.std(axis=0)
        others = step_down((observed / scale)[1:], (drawn / scale)[:, 1:])
        after = pass_on(float(p[0]), others)
        for way, corrected in enumerate((holm(p), np.append(after.main, after.others))):
            claimed = corrected < 0.05
            counted[task, :, way] = claimed.any(), claimed[0], claimed[1:].sum()
    return counted.mean(axis=0)
