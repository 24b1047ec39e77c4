"""The smallest true drop that a score's test would detect, from the standard error behind its interval alone."""

from collections.abc import Mapping

import numpy as np

from shiftbench.metrics.power import Variance, minimum_detectable
from shiftbench.scoring.scores.intervals import Figure, TotalBounds
from shiftbench.scoring.scores.shape import DetectableDrop


def detectable_drop(drop: Figure, total: TotalBounds | None = None, n_tests: int = 1) -> DetectableDrop | None:
    """Find the smallest true drop that a two-sided test at 5% finds in four studies of five.

    The standard error is half of the interval over Student's quantile, at the interval's own degrees of freedom; the
    drop's own value has no part in it, since a power that is computed from the observed drop is its p value by another
    name (Hoenig & Heisey 2001).

    Args:
        drop: with its 95% test-sampling interval.
        total: its total interval, where training variance was measured.
        n_tests: drops of its kind in the task, which the corrected figures share the level with.
    Returns: fractions; None where the drop has no interval.
    """
    from scipy.special import stdtrit

    if drop.low is None or drop.high is None:
        return None
    se = (drop.high - drop.low) / 2 / float(stdtrit(drop.df, 0.975))
    models = Variance(se**2, drop.df)
    recipe = None
    if total is not None and not np.isnan(total.training_variance):
        recipe = Variance(se**2, drop.df, total.training_variance, total.training_df)
    return smallest_drop(models, recipe, n_tests)


def smallest_drop(models: Variance, recipe: Variance | None, n_tests: int) -> DetectableDrop:
    """Find the smallest detectable drop of two variances, alone and corrected.

    Args:
        models: variance over other test texts.
        recipe: variance over other training runs as well; None where training is not measured.
        n_tests: drops of its kind in the task, which the corrected figures share the level with.
    """
    return DetectableDrop(
        models=_smallest(models, 1),
        models_corrected=_smallest(models, n_tests),
        recipe=_smallest(recipe, 1) if recipe else None,
        recipe_corrected=_smallest(recipe, n_tests) if recipe else None,
    )


def _smallest(variance: Variance, n_tests: int) -> float:
    return float(minimum_detectable(variance.se, variance.dof, n_tests))


def detectable_drops(
    drops: Mapping[str, Figure], totals: Mapping[str, TotalBounds | None] | None = None, n_tests: int = 1
) -> dict[str, DetectableDrop]:
    """Find the smallest detectable drop of each figure that has an interval, by its name (see ``detectable_drop``)."""
    detectable = {name: detectable_drop(drop, (totals or {}).get(name), n_tests) for name, drop in drops.items()}
    return {name: each for name, each in detectable.items() if each is not None}
