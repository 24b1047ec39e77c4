"""Number of texts to label per domain, for a decision about a drop or for a given interval width.

The accuracy of a domain is anticipated from the model's mean confidence, corrected by the overconfidence on labelled
domains. The decision is whether the domain loses a margin or more. The value of a label is the expected reduction in
loss (value of information): high if a few labels suffice for the decision, zero once the decision is certain, and low
if no affordable number of labels suffices.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import student, wilson_limits

Floats = NDArray[np.float64]

PRIOR_SD, _PRIOR_DF = 0.1, 2.0
"""Prior standard deviation of the overconfidence over domains, and its prior degrees of freedom."""
LEAST_SHARE = 0.25
"""Fraction of the budget allocated evenly, so that wrong expectations are noticed."""
_INSIDE = 0.02
"""Minimum distance of an expected accuracy from 0 and 1, so that its variance is positive."""
_STEPS = 50
"""Number of steps in which a budget is allocated, each of at least one label."""


class Anticipated(NamedTuple):
    """Predictive mean and standard deviation of a domain's accuracy, fractions."""

    mean: float
    sd: float


class Limit(NamedTuple):
    """Accuracy threshold of a decision, and its standard error, which does not depend on the labels of the domain."""

    accuracy: float
    error: float


def anticipate(
    confidence: float, known_confidences: ArrayLike, known_scores: ArrayLike, errors: ArrayLike
) -> Anticipated:
    """Predict the accuracy of a domain from its mean confidence and from labelled domains.

    The mean is the confidence minus the mean overconfidence on labelled domains. The variance is that of the
    overconfidence between domains (sampling variance subtracted), combined with a prior standard deviation of 10 points
    that has the weight of two domains, times ``1 + 1 / k`` for a new domain.

    Args:
        confidence: mean calibrated confidence, in [0, 1].
        known_confidences: mean confidences on k labelled domains, shape (k,), k >= 0.
        known_scores: accuracies on them, same shape.
        errors: standard errors of these accuracies, same shape.

    >>> found = anticipate(0.9, [0.9, 0.8, 0.85], [0.8, 0.72, 0.76], [0.01, 0.01, 0.01])
    >>> round(found.mean, 3), round(found.sd, 3)
    (0.81, 0.082)
    """
    off = np.asarray(known_confidences, dtype=np.float64) - np.asarray(known_scores, dtype=np.float64)
    k = off.size
    mean = float(np.clip(confidence - (off.mean() if k else 0.0), _INSIDE, 1 - _INSIDE))
    spread = max(float(off.var(ddof=1)) - float(np.square(errors).mean()), 0.0) if k > 1 else 0.0
    n = max(k - 1, 0)
    variance = (_PRIOR_DF * PRIOR_SD**2 + n * spread) / (_PRIOR_DF + n) * (1 + 1 / k if k else 1)
    return Anticipated(mean, float(np.sqrt(variance)))


def label_value(expected: Anticipated, limit: Limit, texts: ArrayLike, design: float = 1.0) -> Floats:
    """Compute the expected value of labels in a decision at a threshold.

    A domain is accepted if the accuracy estimated from its labels is above the threshold; a wrong decision costs the
    distance of the true accuracy from the threshold. Let ``m`` be the expected accuracy minus the threshold, ``s``
    the standard deviation of the true accuracy, and ``t`` the standard deviation of the estimate minus the threshold.
    Compared with a coin flip, the expected cost decreases by ``m (Phi(m / t) - 1/2) + s^2 / t phi(m / t)``.

    Args:
        expected: predicted accuracy of the domain.
        limit: threshold of the decision.
        texts: numbers of labels, any shape.
        design: design effect (variance relative to independent texts).
    Returns: fractions >= 0, same shape.
    Source: Raiffa and Schlaifer, "Applied statistical decision theory" (1961), ch. 5, two actions with linear loss;
        the decision uses only the labels, as ``check`` does, not the prior.

    >>> label_value(Anticipated(0.8, 0.05), Limit(0.8, 0.0), [0, 100, 10**9]).round(4).tolist()
    [0.0, 0.0156, 0.0199]
    """
    from scipy.special import ndtr

    n = np.asarray(texts, dtype=np.float64)
    ahead = expected.mean - limit.accuracy
    with np.errstate(divide="ignore"):
        noise = design * expected.mean * (1 - expected.mean) / n + limit.error**2
    shown = np.maximum(np.sqrt(expected.sd**2 + noise), 1e-12)
    density = np.exp(-((ahead / shown) ** 2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(ahead * (ndtr(ahead / shown) - 0.5) + expected.sd**2 / shown * density)


def spend_labels(
    sizes: Sequence[int], budget: int, expected: Sequence[Anticipated], limit: Limit, design: float = 1.0
) -> list[int]:
    """Allocate a quarter of a label budget evenly, and the rest to the domains where a label has the highest value.

    Args:
        sizes: number of texts per domain.
        budget: total number of labels, at most the sum of sizes.
        expected: predicted accuracy of each domain.
        limit: threshold of the decision.
        design: design effect (variance relative to independent texts).
    Returns: number of labels per domain.

    >>> near, far = Anticipated(0.8, 0.05), Anticipated(0.95, 0.02)
    >>> spend_labels([500, 500], 200, [near, far], Limit(0.8, 0.0))
    [171, 29]
    """
    shares = share_budget(sizes, max(int(LEAST_SHARE * budget), min(budget, len(sizes))))
    step = max(1, budget // _STEPS)
    left = budget - sum(shares)
    while left > 0:
        best = (0.0, -1, 0)
        for place, size in enumerate(sizes):
            room = min(left, size - shares[place])
            if room > 0:
                # The value is not concave: a few labels may be worthless where many are not. Maximise gain per label.
                more = np.unique(np.minimum(step * 2 ** np.arange(12), room))
                saved = label_value(expected[place], limit, [shares[place], *(shares[place] + more)], design)
                gains = (saved[1:] - saved[0]) / more
                chosen = int(gains.argmax())
                best = max(best, (float(gains[chosen]), place, int(more[chosen])))
        if best[1] < 0:  # no label can change a decision: allocate the rest evenly
            rest = share_budget([size - share for size, share in zip(sizes, shares, strict=True)], left)
            return [share + more for share, more in zip(shares, rest, strict=True)]
        shares[best[1]] += best[2]
        left -= best[2]
    return shares


def share_budget(sizes: Sequence[int], budget: int) -> list[int]:
    """Split a budget evenly over domains; what exceeds the size of a small domain goes to the other domains.

    Args:
        sizes: number of texts per domain.
        budget: total number of labels, at most the sum of sizes.
    Returns: number of labels per domain, in the order of ``sizes``.

    >>> share_budget([10, 100, 100], 111)
    [10, 50, 51]
    """
    shares, left = [0] * len(sizes), budget
    for place, each in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[each] = min(sizes[each], left // (len(sizes) - place))
        left -= shares[each]
    return shares


def expected_interval(accuracy: float, texts: int, design: float = 1.0, level: float = 0.95) -> tuple[float, float]:
    """Compute the expected interval of an accuracy estimated from a number of labels.

    Args:
        accuracy: in (0, 1).
        texts: number of labels.
        design: design effect (variance relative to independent texts).
        level: confidence level, in (0, 1).
    Returns: lower and upper end, in [0, 1].

    >>> [round(end, 3) for end in expected_interval(0.8, 200)]
    [0.739, 0.85]
    """
    n = max(texts / design, 2.0)
    low, high = wilson_limits(accuracy, student(n - 1, level) ** 2 / n)
    return float(low), float(high)


def texts_within(expected: Anticipated, reach: float, most: int, design: float = 1.0) -> int | None:
    """Compute the number of labels needed for an interval of at most a given half-width.

    To be safe, the accuracy is assumed to be one standard deviation nearer to 0.5 than expected.

    Args:
        expected: predicted accuracy of the domain.
        reach: half-width of the interval, above 0.
        most: number of texts of the domain.
        design: design effect (variance relative to independent texts).
    Returns: number of labels; None if all texts are not enough.

    >>> texts_within(Anticipated(0.8, 0.05), 0.05, 1000), texts_within(Anticipated(0.8, 0.05), 0.05, 200)
    (288, None)
    """
    toward = min(expected.sd, abs(expected.mean - 0.5))
    accuracy = expected.mean - toward if expected.mean > 0.5 else expected.mean + toward

    def is_enough(texts: int) -> bool:
        low, high = expected_interval(accuracy, texts, design)
        return high - low <= 2 * reach

    if not is_enough(most):
        return None
    few, enough = 0, most
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if is_enough(middle) else (middle, enough)
    return enough
