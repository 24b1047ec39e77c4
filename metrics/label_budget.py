"""How many texts of each domain to label: where a decision hangs, or until an interval is as narrow as wanted.

What labels will show is anticipated from the model's confidences, less what labelled domains show them to be too sure
by. The decision is whether a domain loses a margin or more. A label is worth the loss of score that it saves on
average: much where few labels decide, nothing more where they have decided, and little where no affordable number will.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import student, wilson_limits

Floats = NDArray[np.float64]

PRIOR_SD, _PRIOR_DF = 0.1, 2.0
"""How far domains are off before any labelled one shows it, and how many labelled ones that assumption counts as."""
LEAST_SHARE = 0.25
"""Share of the budget that is spread evenly, so that a wrong expectation shows."""
_INSIDE = 0.02
_STEPS = 50


class Anticipated(NamedTuple):
    """Accuracy that a domain may turn out to have: mean and standard deviation, fractions."""

    mean: float
    sd: float


class Limit(NamedTuple):
    """Accuracy at which a decision turns, and its standard error, which labels of the domain do not lessen."""

    accuracy: float
    error: float


def anticipate(
    confidence: float, known_confidences: ArrayLike, known_scores: ArrayLike, errors: ArrayLike
) -> Anticipated:
    """Anticipate the accuracy of a domain from its mean confidence and from labelled domains.

    The mean is the confidence less the mean by which labelled domains fell short of theirs. The variance is that of
    these shortfalls over domains (what test texts alone give taken off), with a prior of 10 points that counts as two
    domains, times ``1 + 1 / k`` for one more domain.

    Args:
        confidence: mean calibrated confidence, in [0, 1].
        known_confidences: those of k labelled domains, shape (k,), k >= 0.
        known_scores: their accuracies, same shape.
        errors: standard errors of these, same shape.

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
    """Compute the loss of score that a number of labels saves on average in a decision at a limit.

    A domain is accepted where its labels, by themselves, show an accuracy above the limit; a wrong decision costs what
    the accuracy is on the wrong side by. With ``m`` the expected accuracy less the limit, ``s`` its standard deviation
    and ``t`` that of what labels show, the saving against a coin is ``m (Phi(m / t) - 1/2) + s^2 / t phi(m / t)``.

    Args:
        expected: accuracy of the domain.
        limit: where the decision turns.
        texts: numbers of labels, any shape.
        design: variance as a multiple of that of independent texts.
    Returns: fractions >= 0, same shape.
    Source: Raiffa and Schlaifer, "Applied statistical decision theory" (1961), ch. 5, two actions with linear loss;
        decided by the labels alone, as ``check`` decides, and not by what was expected before.

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
    """Spend a budget where labels save most, a quarter of it evenly.

    Args:
        sizes: texts of each domain.
        budget: labels in all, at most the sum of sizes.
        expected: accuracy of each domain.
        limit: where the decision turns.
        design: variance as a multiple of that of independent texts.
    Returns: labels of each domain.

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
                # Few labels may save nothing where many save much: the best gain for each label counts.
                more = np.unique(np.minimum(step * 2 ** np.arange(12), room))
                saved = label_value(expected[place], limit, [shares[place], *(shares[place] + more)], design)
                gains = (saved[1:] - saved[0]) / more
                chosen = int(gains.argmax())
                best = max(best, (float(gains[chosen]), place, int(more[chosen])))
        if best[1] < 0:  # no label turns any decision: the rest is spread
            rest = share_budget([size - share for size, share in zip(sizes, shares, strict=True)], left)
            return [share + more for share, more in zip(shares, rest, strict=True)]
        shares[best[1]] += best[2]
        left -= best[2]
    return shares


def share_budget(sizes: Sequence[int], budget: int) -> list[int]:
    """Split a budget evenly; what one domain has no texts for goes to the others.

    >>> share_budget([10, 100, 100], 111)
    [10, 50, 51]
    """
    shares, left = [0] * len(sizes), budget
    for place, each in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        shares[each] = min(sizes[each], left // (len(sizes) - place))
        left -= shares[each]
    return shares


def expected_interval(accuracy: float, texts: int, design: float = 1.0, level: float = 0.95) -> tuple[float, float]:
    """Compute the interval that so many labels will give, if so many are right.

    Args:
        accuracy: in (0, 1).
        texts: labels.
        design: variance as a multiple of that of independent texts.
        level: of the interval, in (0, 1).

    >>> [round(end, 3) for end in expected_interval(0.8, 200)]
    [0.739, 0.85]
    """
    n = max(texts / design, 2.0)
    low, high = wilson_limits(accuracy, student(n - 1, level) ** 2 / n)
    return float(low), float(high)


def texts_within(expected: Anticipated, reach: float, most: int, design: float = 1.0) -> int | None:
    """Compute how many labels give an interval that reaches so far to either side, at most.

    They are enough where the accuracy is a standard deviation nearer to one half than expected.

    Args:
        expected: accuracy of the domain.
        reach: half of the width, above 0.
        most: texts of the domain.
        design: variance as a multiple of that of independent texts.
    Returns: labels; None where all texts are too few.

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
