"""Scores and intervals of simulated test sets: vectorised over draws, or one draw at a time with the package's code.

The vectorised version repeats what ``values.sampled_scores`` and ``Figure.limits`` do, with a leading axis of draws;
tests check that both versions agree on simulated data of every kind.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.adversarial.generators import Counts, Floats
from shiftbench.metrics.classification import accuracy, macro_f1
from shiftbench.metrics.precision import (
    MIN_GROUPS,
    Formula,
    class_df,
    class_size,
    effective_groups,
    effective_n,
    group_influences,
    satterthwaite,
    slopes,
    student,
    wilson_limits,
)
from shiftbench.scoring.scores.figures import Reason, Score
from shiftbench.scoring.scores.outcomes import Outcomes, TargetRuns
from shiftbench.scoring.scores.values import sampled_scores

_USUAL = 1.959964
"""The normal quantile of 95% intervals."""


class Scores(NamedTuple):
    """One score of a test set in each of many draws; a vectorised ``figures.Score``.

    Attributes:
        value, n, df, groups: score, effective n, degrees of freedom, effective groups; shape (n_draws,) each.
        is_refused: whether the score has no interval, shape (n_draws,).
        influences, right: influence on the score and share of correct texts, per group; shape (n_draws, n_groups).
    """

    value: Floats
    n: Floats
    df: Floats
    groups: Floats
    is_refused: NDArray[np.bool_]
    influences: Floats
    right: Floats

    def one(self, draw: int, test_set: object = "drawn") -> Score:
        """Return the score of the draw with this index."""
        reason = Reason.FEW_GROUPS if self.is_refused[draw] else None
        return Score(
            float(self.value[draw]),
            float(self.n[draw]),
            float(self.df[draw]),
            test_set,
            self.influences[draw],
            self.right[draw],
            float(self.groups[draw]),
            reason,
        )


def accuracy_scores(right: Counts, sizes: Counts) -> Scores:
    """Compute the accuracy of each draw, with what its interval needs.

    Args:
        right: number of correct answers per group, shape (n_draws, n_groups).
        sizes: number of texts per group, same shape.
    """
    hits, texts = right.astype(np.float64), sizes.astype(np.float64)
    total = texts.sum(axis=1, keepdims=True)
    value = hits.sum(axis=1) / total[:, 0]
    moved = (hits - value[:, None] * texts) / total
    groups = effective_groups(texts)
    held = np.minimum(effective_groups(hits), effective_groups(texts - hits))
    by_group = group_influences(moved, np.arange(texts.shape[1]), texts)
    n = effective_n(value, (by_group**2).sum(axis=1), value * (1 - value) / total[:, 0], groups, held)
    return Scores(value, n, groups - 1, groups, groups < MIN_GROUPS, by_group, hits / total)


def macro_f1_scores(tables: Counts) -> Scores:
    """Compute the macro-F1 of each draw, with what its interval needs.

    Args:
        tables: confusion counts per group, gold then predicted, shape (n_draws, n_groups, k, k).
    """
    n_draws, n_groups, k, _ = tables.shape
    counts = np.concatenate([tables, np.zeros((n_draws, n_groups, k, 1))], axis=-1).reshape(n_draws, n_groups, -1)
    totals = counts.sum(axis=1)
    value = _formula(k)(totals)
    slope = slopes(_formula(k), totals)
    texts = counts.sum(axis=-1)
    total = texts.sum(axis=1, keepdims=True)
    gold = tables.sum(axis=-1).swapaxes(1, 2).astype(np.float64)  # (n_draws, k, n_groups)
    hits = np.diagonal(tables, axis1=2, axis2=3).swapaxes(1, 2).astype(np.float64)
    by_group = group_influences((counts * slope[:, None]).sum(axis=-1), np.arange(n_groups), texts)
    groups, by_class = effective_groups(texts), effective_groups(gold)
    held = np.minimum(effective_groups(hits), effective_groups(gold - hits)).min(axis=1)
    is_refused = (groups < MIN_GROUPS) | (by_class.min(axis=1) < MIN_GROUPS)
    usable = np.where(is_refused[:, None], MIN_GROUPS, by_class)
    variance, least = (by_group**2).sum(axis=1), (totals * slope**2).sum(axis=1)
    n = effective_n(value, variance, least, class_size(usable), held)
    df = np.minimum(groups - 1, class_df(usable))
    return Scores(value, n, df, groups, is_refused, by_group, hits.sum(axis=1) / total)


def _formula(k: int) -> Formula:
    return lambda sums: macro_f1(sums.reshape(*sums.shape[:-1], k, k + 1), np.ones(k, dtype=bool))


def sum_limits(weights: Sequence[float], scores: Sequence[Scores], level: float = 0.95) -> tuple[Floats, Floats]:
    """Compute confidence limits of a weighted sum of scores on different test sets (square-and-add).

    Args:
        weights: one weight per test set; for a drop 1 and -1.
        scores: the scores, in the same order.
        level: confidence level.
    Returns: lower and upper limits, shape (n_draws,) each.
    """
    w = np.array(weights)
    value, n, df = (np.stack([getattr(each, name) for each in scores], axis=-1) for name in ("value", "n", "df"))
    low, high = wilson_limits(value, _USUAL**2 / n)
    freedom = satterthwaite((w * (high - low) / (2 * _USUAL)) ** 2, df)
    low, high = wilson_limits(value, student(freedom, level)[:, None] ** 2 / n)
    down = np.where(w > 0, w * (value - low), w * (high - value))
    up = np.where(w > 0, w * (high - value), w * (value - low))
    least = 0.0 if w.min() > 0 else -1.0
    middle = value @ w
    return (
        np.maximum(middle - np.sqrt((down**2).sum(axis=-1)), least),
        np.minimum(middle + np.sqrt((up**2).sum(axis=-1)), 1.0),
    )


def arrange(cells: Counts, k: int, groups: Counts, name: str = "drawn") -> TargetRuns:
    """Convert the predictions of one draw to the format of a scored submission.

    Args:
        cells: the code ``gold * (k + 1) + predicted`` of each run and text, shape (n_runs, n).
        k: number of classes.
        groups: group codes of the texts, shape (n,).
        name: name of the test set.
    """
    gold, predicted = np.divmod(cells, k + 1)
    drawn = Outcomes(
        formulas={
            "accuracy": lambda sums: accuracy(sums.reshape(*sums.shape[:-1], k, k + 1)),
            "macro_f1": _formula(k),
        },
        micro="accuracy",
        n_counts=k * (k + 1),
        example_scores=(gold == predicted).astype(np.float64),
        unparsed=np.zeros(cells.shape, dtype=bool),
        cells=cells,
        example_metric="accuracy",
        gold=(gold[0] == np.arange(k)[:, None]).astype(np.float64),
    )
    ids = pl.Series("id", range(groups.size)).cast(pl.String)
    return TargetRuns("drawn", name, ids, groups, [("recipe", seed) for seed in range(len(cells))], drawn)


def run_score(right: Counts, groups: Counts, name: str) -> Score:
    """Compute the mean accuracy over runs with the package's own code.

    Args:
        right: whether each run is correct on each text, shape (n_runs, n).
        groups: group codes of the texts, shape (n,).
        name: name of the test set.
    """
    target = arrange(1 - right, 2, groups, name)
    return sampled_scores(target, range(len(right)), "accuracy")[0]


def texts_of(tables: Counts) -> tuple[Counts, Counts]:
    """Expand a table of counts into one element per text.

    Args:
        tables: number of texts of each group (row) and kind (column), shape (n_groups, n_kinds).
    Returns: kinds and groups of the texts, shape (n_texts,) each.
    """
    n_groups, kinds = tables.shape
    flat = tables.ravel()
    return np.repeat(np.tile(np.arange(kinds), n_groups), flat), np.repeat(np.arange(n_groups), tables.sum(axis=1))
