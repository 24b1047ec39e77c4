"""Variance components of a score: items, prompts, seeds and residual, each with an interval.

The input is a table with the score (or the difference between two models) of every item, prompt and run. Items and
prompts are crossed; runs (seeds) are nested in prompts and shared by all items. Components are estimated from mean
squares; their intervals are modified large-sample limits, which remain valid with the few degrees of freedom of
prompts.

Sources: Searle, Casella and McCulloch, "Variance Components" (1992); Ting, Burdick, Graybill, Jeyaratnam and Lu,
"Confidence intervals on linear combinations of variance components that are unrestricted in sign" (1990).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import satterthwaite

Floats = NDArray[np.float64]

MIN_PROMPTS = 5
"""Minimum number of prompts to predict a difference with a new prompt.

With 3 prompts, the true standard deviation is 0.5 to 6 times its estimate.
"""


class Component(NamedTuple):
    """A variance component, at least 0, with its confidence limits."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Components:
    """Variance components of the score of one answer.

    Attributes:
        items: variance between items.
        prompts: variance between prompts; with one run per prompt it includes the variance between runs. None with
            fewer than 2 prompts.
        seeds: variance between runs of a prompt; None with one run per prompt.
        rest: residual variance of an item in one prompt and run.
    """

    items: Component
    prompts: Component | None
    seeds: Component | None
    rest: Component


class _Square(NamedTuple):
    """A mean square and its degrees of freedom."""

    value: float
    df: int


def variance_components(scores: ArrayLike, level: float = 0.95) -> Components:
    """Split the variance of scores into items, prompts, runs and residual.

    Args:
        scores: shape (n_items, n_prompts, n_runs), finite, at least 2 items and 2 answers per item.
        level: confidence level of the limits, in (0, 1).
    Returns: the components.
    Raises: ValueError when shapes do not fit or a score is not finite.

    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(200, 1, 1)) + 0.5 * rng.normal(size=(1, 12, 1)) + rng.normal(size=(200, 12, 2))
    >>> found = variance_components(table)
    >>> found.items.low < 1 < found.items.high, found.prompts.low < 0.25 < found.prompts.high
    (True, True)
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 3 or not np.all(np.isfinite(table)):
        raise ValueError(f"scores must be finite, of shape (n_items, n_prompts, n_runs), got {table.shape}")
    n, k, r = table.shape
    if n < 2 or k * r < 2:
        raise ValueError(f"variance components need at least 2 items and 2 answers per item, got {n} and {k * r}")
    grand = table.mean()
    item = table.mean(axis=(1, 2)) - grand
    prompt = table.mean(axis=(0, 2)) - grand
    run = table.mean(axis=0) - grand - prompt[:, None]
    both = table.mean(axis=2) - grand - item[:, None] - prompt
    rest = table - table.mean(axis=2)[:, :, None] - run
    squares = {
        "items": _Square(k * r * float((item**2).sum()) / (n - 1), n - 1),
        "prompts": _Square(n * r * float((prompt**2).sum()) / max(k - 1, 1), k - 1),
        "runs": _Square(n * float((run**2).sum()) / max(k * (r - 1), 1), k * (r - 1)),
        "both": _Square(r * float((both**2).sum()) / max((n - 1) * (k - 1), 1), (n - 1) * (k - 1)),
        "rest": _Square(float((rest**2).sum()) / max((n - 1) * k * (r - 1), 1), (n - 1) * k * (r - 1)),
    }
    within = squares["both"] if k > 1 else squares["rest"]
    items = _limits([(1 / (k * r), squares["items"])], [(1 / (k * r), within)], level)
    prompts = seeds = None
    if r > 1:
        seeds = _limits([(1 / n, squares["runs"])], [(1 / n, squares["rest"])], level)
    if k > 1 and r > 1:
        share = 1 / (n * r)
        plus, less = (
            [(share, squares["prompts"]), (share, squares["rest"])],
            [(share, squares["runs"]), (share, within)],
        )
        prompts = _limits(plus, less, level)
    elif k > 1:
        prompts = _limits([(1 / n, squares["prompts"])], [(1 / n, within)], level)
    if k > 1 and r > 1:  # residual of an answer: the item-by-prompt interaction plus the error of a single run
        left = _limits([(1 / r, within), (1 - 1 / r, squares["rest"])], [], level)
    else:
        left = _limits([(1.0, within)], [], level)
    return Components(items, prompts, seeds, left)


def _limits(plus: list[tuple[float, _Square]], less: list[tuple[float, _Square]], level: float) -> Component:
    """Compute modified large-sample limits of a weighted sum of mean squares (``plus`` minus ``less``), at least 0."""
    parts = [(share * square.value, square.df) for share, square in plus if square.df > 0]
    taken = [(share * square.value, square.df) for share, square in less if square.df > 0]
    value = sum(part for part, _ in parts) - sum(part for part, _ in taken)
    reach = {}
    for side in ("low", "high"):
        grow, shrink = ("low", "high") if side == "low" else ("high", "low")
        squares = sum((_share(df, grow, level) * part) ** 2 for part, df in parts)
        squares += sum((_share(df, shrink, level) * part) ** 2 for part, df in taken)
        for part, df in parts:
            for other, other_df in taken:
                squares += _cross(df, other_df, side, level) * part * other
        reach[side] = float(np.sqrt(max(squares, 0.0)))
    return Component(max(value, 0.0), max(value - reach["low"], 0.0), max(value + reach["high"], 0.0))


def _share(df: float, side: str, level: float) -> float:
    """Return the relative distance from a mean square to its lower or upper chi-square limit."""
    from scipy.special import chdtri

    alpha = (1 - level) / 2
    if side == "low":
        return float(1 - df / chdtri(df, alpha))
    return float(df / chdtri(df, 1 - alpha) - 1)


def _cross(df: float, other: float, side: str, level: float) -> float:
    """Return the cross term of two mean squares in the limits of their difference (exact at difference 0)."""
    from scipy.special import fdtri

    alpha = (1 - level) / 2
    if side == "low":
        f = float(fdtri(df, other, 1 - alpha))
        return float(((f - 1) ** 2 - (_share(df, "low", level) * f) ** 2 - _share(other, "high", level) ** 2) / f)
    f = float(fdtri(df, other, alpha))
    return float(((1 - f) ** 2 - (_share(df, "high", level) * f) ** 2 - _share(other, "low", level) ** 2) / f)


class OtherPrompt(NamedTuple):
    """Prediction interval for the difference between two models with a new prompt; None with too few prompts.

    ``survives`` states whether the sign of the difference holds with a new prompt. It is None if undecided: too few
    prompts, or an interval that contains 0 although no two prompts significantly contradict each other.
    """

    low: float | None
    high: float | None
    survives: bool | None


def with_other_prompt(differences: ArrayLike, errors: ArrayLike, level: float = 0.95) -> OtherPrompt:
    """Predict the difference between two models on these items with a new prompt of the same kind.

    Args:
        differences: mean difference with each prompt, shape (n_prompts,), finite.
        errors: standard error of each over items, shape (n_prompts,).
        level: level of the prediction interval, in (0, 1).
    Returns: the interval. ``survives`` is False if two prompts have significant differences of opposite sign
        (Bonferroni over prompts), otherwise True if the interval excludes 0, otherwise None.

    >>> with_other_prompt([0.10, 0.11, 0.09, 0.10, 0.12], [0.01] * 5).survives
    True
    >>> with_other_prompt([0.10, -0.11, 0.09, 0.10, 0.12], [0.01] * 5).survives
    False
    >>> with_other_prompt([0.10, 0.11, 0.09], [0.01] * 3)
    OtherPrompt(low=None, high=None, survives=None)
    """
    from scipy.special import ndtri, stdtrit

    each, se = np.asarray(differences, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    k = each.size
    if k < MIN_PROMPTS:
        return OtherPrompt(None, None, None)
    reach = float(stdtrit(k - 1, 0.5 + level / 2) * each.std(ddof=1) * np.sqrt(1 + 1 / k))
    low, high = float(each.mean() - reach), float(each.mean() + reach)
    clear = np.abs(each) > -float(ndtri((1 - level) / 2 / k)) * se
    survives = True if low > 0 or high < 0 else None
    if np.any(clear & (each > 0)) and np.any(clear & (each < 0)):
        survives = False
    return OtherPrompt(low, high, survives)


def other_prompts_of_each(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> OtherPrompt:
    """Predict the difference between two models that were given different prompts, with a new prompt for each.

    Args:
        a: mean score of the first model with each of its prompts, finite.
        b: the same for the second model; the numbers of prompts may differ.
        level: level of the prediction interval, in (0, 1).
    Returns: as ``with_other_prompt``; ``survives`` is never False because the prompts are not paired.

    >>> other_prompts_of_each([0.80, 0.81, 0.79, 0.80, 0.82], [0.50, 0.52, 0.51, 0.50, 0.49]).survives
    True
    """
    from scipy.special import stdtrit

    each = [np.asarray(scores, dtype=np.float64) for scores in (a, b)]
    if min(scores.size for scores in each) < MIN_PROMPTS:
        return OtherPrompt(None, None, None)
    variances = [float(scores.var(ddof=1) * (1 + 1 / scores.size)) for scores in each]
    df = float(satterthwaite(variances, [scores.size - 1.0 for scores in each])) if sum(variances) else np.inf
    reach = float(stdtrit(min(df, 1e9), 0.5 + level / 2) * np.sqrt(sum(variances)))
    middle = float(each[0].mean() - each[1].mean())
    low, high = middle - reach, middle + reach
    return OtherPrompt(low, high, True if low > 0 or high < 0 else None)
