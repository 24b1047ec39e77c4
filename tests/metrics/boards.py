"""Boards whose truth is known: entries that answer grouped texts, written apart from the code that ranks them.

A group's texts are as hard for all entries (beta), each entry finds a group harder or easier than that by itself (beta
again), and its right answers there are binomial. Equal entries have equal chances; others have a higher one throughout.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shiftbench.metrics.ranking import RankedReplicates, run_spread

SHARED, OWN, SCORE = 0.2, 0.1, 0.75
N_DRAWS = 400


@dataclass(frozen=True)
class TestSets:
    """Test sets that a board averages: groups of each, and texts of a group."""

    groups: Sequence[int]
    size: int
    __test__ = False


@dataclass(frozen=True)
class RankSetting:
    """A board: each entry's lead, which is added to its chances, runs an entry, and the spread of runs."""

    leads: Sequence[float]
    tests: TestSets
    runs: int = 1
    run_sd: float = 0.0
    collapsed: float = 0.0


@dataclass(frozen=True)
class Drawn:
    """What one board shows: scores, standard error of the first difference, and what it is ranked by."""

    points: np.ndarray
    error: float
    ranked: RankedReplicates


def beta(mean, correlation, rng):
    mean = np.clip(mean, 1e-6, 1 - 1e-6)
    return rng.beta(mean * (1 / correlation - 1), (1 - mean) * (1 / correlation - 1))


def drawn_board(setting, rng, *, training=True):
    """Simulate one board."""
    leads = np.asarray(setting.leads, dtype=float)
    luck = setting.run_sd * rng.normal(size=(leads.size, setting.runs))
    luck[rng.random(luck.shape) < setting.collapsed] -= 0.3
    runs = np.zeros((leads.size, setting.runs, 1 + N_DRAWS))
    text, over = np.zeros(leads.size), np.zeros(leads.size)
    square, n_sets = 0.0, len(setting.tests.groups)
    for n_groups in setting.tests.groups:
        ease = beta(np.full(n_groups, SCORE), SHARED, rng)
        chance = beta(ease + leads[:, None], OWN, rng)[:, None] + luck[..., None]
        right = rng.binomial(setting.tests.size, np.clip(chance, 0, 1)) / setting.tests.size  # (entries, runs, groups)
        moved = (right - right.mean(axis=-1, keepdims=True)) / np.sqrt(n_groups * (n_groups - 1)) / n_sets
        signs = rng.choice([-1.0, 1.0], size=(n_groups, N_DRAWS))
        point = right.mean(axis=-1, keepdims=True) / n_sets
        runs += np.concatenate([point, point + moved @ signs], axis=-1)
        variance = (moved.mean(axis=1) ** 2).sum(axis=-1)
        text, over = text + variance, over + variance**2 / (n_groups - 1)
        square += ((moved[0] - moved[-1]).mean(axis=0) ** 2).sum()
    known = [run_spread([each]) if training and setting.runs > 1 else (0.0, 0.0) for each in runs]
    spread, per_df = np.array(known).T
    points = runs.mean(axis=1)
    df = np.divide(text**2, over, out=np.full(text.size, float(min(setting.tests.groups)) - 1), where=over > 0)
    ranked = RankedReplicates()
    ranked.add(points[:, 0], points[:, 1:], df=df, training=spread, per_df=per_df)
    return Drawn(points[:, 0], float(np.sqrt(square)), ranked)


@dataclass(frozen=True)
class Found:
    """Shares of boards: equal entries told apart anywhere, an equal entry shut out of the leading set."""

    apart: float
    shut_out: float


def false_separations(setting, n_boards, seed, *, training=True):
    """Count on boards of equal entries how often any are told apart, and how often one is shut out by the leader."""
    rng = np.random.default_rng(seed)
    n = len(setting.leads)
    wrong = np.zeros((n_boards, 2), dtype=bool)
    for row in range(n_boards):
        ranked = drawn_board(setting, rng, training=training).ranked
        best, worst = ranked.intervals()
        wrong[row] = (best > 1).any() or (worst < n).any(), not ranked.leader().tied.all()
    return Found(*wrong.mean(axis=0))


def power(setting, errors, n_boards, seed):
    """Count how often the first entry is told apart from another that it leads by so many standard errors."""
    rng = np.random.default_rng(seed)
    error = np.mean([drawn_board(setting, rng).error for _ in range(20)])
    leads = [errors * error, *setting.leads[1:]]
    ahead = RankSetting(leads, setting.tests, setting.runs, setting.run_sd)
    found = [drawn_board(ahead, rng).ranked.intervals()[1][0] for _ in range(n_boards)]
    return float((len(leads) - np.array(found)).mean() / (len(leads) - 1))


def true_ranks(leads):
    """Return best and worst rank of each entry; entries of one lead share all of theirs."""
    table = np.asarray(leads)
    return 1 + (table[None] > table[:, None]).sum(axis=1), table.size - (table[None] < table[:, None]).sum(axis=1)


def rank_coverage(setting, n_boards, seed, *, training=True):
    """Count the boards on which all intervals hold the true ranks, and the intervals' mean width."""
    rng = np.random.default_rng(seed)
    first, last = true_ranks(setting.leads)
    held, widths = [], []
    for _ in range(n_boards):
        low, high = drawn_board(setting, rng, training=training).ranked.intervals()
        held.append(((low <= first) & (high >= last)).all())
        widths.append((high - low + 1).mean())
    return float(np.mean(held)), float(np.mean(widths))
