"""Accuracy on a domain from a few labelled texts, helped by the confidences of all texts.

The labelled texts weigh the inverse of their probability of having been drawn; what the model's confidence explains of
being right is known of every text, so that chance in drawing touches the rest alone. How far the confidence is
trusted, lambda, is set by the sample itself: useless confidences make the estimate no worse than without them, and
wrong ones do not bias it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.label_sampling import group_values
from shiftbench.metrics.precision import MIN_GROUPS, student, wilson_limits

Floats = NDArray[np.float64]


class SampledAccuracy(NamedTuple):
    """Accuracy estimated from a sample.

    Attributes:
        value: the estimate, in [0, 1].
        low, high: ends of its interval, in [0, 1]; NaN below ``MIN_GROUPS`` drawn groups.
        trust: lambda, the weight of the confidences; 0 without them.
        variance: of the estimate, over draws and over the texts that the domain happens to have.
        random_low, random_high: the interval that as many groups, drawn at random, would have had; NaN likewise.
    """

    value: float
    low: float
    high: float
    trust: float
    variance: float
    random_low: float
    random_high: float


def sampled_accuracy(
    correct: ArrayLike,
    confidence: ArrayLike,
    probabilities: ArrayLike,
    groups: ArrayLike,
    all_confidences: ArrayLike,
    *,
    trust: float | None = None,
    level: float = 0.95,
) -> SampledAccuracy:
    """Estimate accuracy on a domain from a sample with known probabilities.

    With weights ``w = 1 / pi``, scaled to sum to 1, the estimate is ``sum w y + lambda (mean_all c - sum w c)``. Its
    variance has two parts, summed over groups: of drawing, ``sum (1 - pi) / pi^2 u_g^2 / N^2`` with ``u_g`` the sum
    over a group of ``y - lambda c`` less its mean; and of the domain's texts being a sample themselves,
    ``sum z_g^2 / pi / N^2`` with ``z_g`` the sum of ``y`` less the estimate. Lambda makes the first part least. The
    interval is Wilson's, of as many independent texts as would have that variance, with Student's quantile.

    With equal probabilities it is the estimate of PPI++ whose unlabelled texts are those that were not drawn.

    Args:
        correct: whether the model's answer to each drawn text is right, 0 or 1, shape (n,), n > 0.
        confidence: the model's confidence in each of these answers, shape (n,); calibrated or not.
        probabilities: with which each was drawn, in (0, 1], equal within a group, shape (n,).
        groups: group of each drawn text, codes from 0 without a gap, shape (n,).
        all_confidences: confidences of all texts of the domain, drawn or not, shape (N,), N >= n.
        trust: lambda; by default the best one, 0 for an estimate from the labels alone.
        level: nominal coverage, in (0, 1).
    Raises: ValueError when shapes differ or a value is out of range.
    Source: Angelopoulos, Duchi, Zrnic, "PPI++: efficient prediction-powered inference" (2023), the mean with power
        tuning; Zrnic and Candes, "Active statistical inference" (2024), the mean under sampling probabilities; weights
        that sum to 1 and the variance of a draw of fixed size: Hajek, "Asymptotic theory of rejective sampling" (1964);
        the interval: Korn and Graubard (1998), as in ``precision``.

    >>> found = sampled_accuracy([1] * 30 + [0] * 10, [0.75] * 40, [0.1] * 40, range(40), [0.75] * 400)
    >>> round(found.value, 3), round(found.low, 3), round(found.high, 3)
    (0.75, 0.591, 0.862)
    """
    right, sure, chance, owners, everyone = _checked(correct, confidence, probabilities, groups, all_confidences)
    weight = 1 / chance
    texts = float(weight.sum())
    right_mean, sure_mean = float(weight @ right) / texts, float(weight @ sure) / texts
    pi = group_values(chance, owners)
    off_right, off_sure = (np.bincount(owners, weights=each) for each in (right - right_mean, sure - sure_mean))
    by_draw = (1 - pi) / pi**2
    if trust is None:
        spread = float(by_draw @ off_sure**2)
        trust = float(by_draw @ (off_right * off_sure)) / spread if spread > 0 else 0.0
    value = min(max(right_mean + trust * (float(everyone.mean()) - sure_mean), 0.0), 1.0)
    n_groups, tuned = pi.size, trust != 0
    # Mean and lambda were fitted to the same groups, so the variance is corrected for the fitted parameters.
    scale = n_groups / max(n_groups - 1 - tuned, 1)
    drawing = scale * float(by_draw @ (off_right - trust * off_sure) ** 2) / texts**2
    around = np.bincount(owners, weights=right - value) ** 2
    variance = drawing + float((1 / pi) @ around) / texts**2
    # m groups drawn at random hold m * texts / (number of groups) texts.
    at_random = float((1 / pi) @ around) * float((1 / pi).sum()) / (n_groups * texts**2)
    ends = _interval(value, variance, weight, owners, level)
    return SampledAccuracy(
        value, *ends, trust, variance, *_interval(value, at_random, np.ones_like(weight), owners, level)
    )


def _interval(
    value: float, variance: float, weight: Floats, groups: NDArray[np.int64], level: float
) -> tuple[float, float]:
    """Compute Wilson's interval of as many independent texts as have this variance; without spread, of the groups."""
    n_groups = int(groups.max()) + 1
    if n_groups < MIN_GROUPS:
        return float("nan"), float("nan")
    of_groups = np.bincount(groups, weights=weight)
    effective = float(of_groups.sum() ** 2 / (of_groups @ of_groups))
    n = value * (1 - value) / variance if variance > 0 and 0 < value < 1 else effective
    low, high = wilson_limits(value, student(effective - 1, level) ** 2 / n)
    return float(low), float(high)


def _checked(
    correct: ArrayLike, confidence: ArrayLike, probabilities: ArrayLike, groups: ArrayLike, all_confidences: ArrayLike
) -> tuple[Floats, Floats, Floats, NDArray[np.int64], Floats]:
    right, sure, chance, everyone = (
        np.asarray(each, dtype=np.float64) for each in (correct, confidence, probabilities, all_confidences)
    )
    owners = np.asarray(groups, dtype=np.int64)
    if right.ndim != 1 or not right.size or not right.shape == sure.shape == chance.shape == owners.shape:
        shapes = f"{right.shape}, {sure.shape}, {chance.shape} and {owners.shape}"
        raise ValueError(f"the drawn texts' values must share a shape (n,), n > 0, got {shapes}")
    if everyone.ndim != 1 or everyone.size < right.size:
        raise ValueError(f"all_confidences must hold those of the {right.size} drawn texts, too, got {everyone.shape}")
    if not np.isin(right, (0, 1)).all() or not np.all((chance > 0) & (chance <= 1)):
        raise ValueError("correct must be 0 or 1, and probabilities lie in (0, 1]")
    if not np.all((sure >= 0) & (sure <= 1)) or not np.all((everyone >= 0) & (everyone <= 1)):
        raise ValueError("confidences must lie in [0, 1]; did you pass percent?")
    if owners.min() < 0 or not np.bincount(owners).all():
        raise ValueError("groups must be codes from 0 without a gap")
    return right, sure, chance, owners, everyone
