"""Active label sampling: choose the texts to label, and estimate accuracy on a domain from few labels.

Texts with low confidence are more informative. Each text is drawn with a known probability, higher where the calibrated
confidence ``c`` is nearer to 1/2, and is weighted by the inverse of this probability (``sampled_accuracy``). The
probabilities affect only the width of the interval; its coverage does not depend on calibration.

Texts of one group (a document, a premise) are drawn together, with the same probability.

The estimate uses the confidences of all texts as a control variate: only the part of correctness that confidence does
not explain is subject to sampling error. Its coefficient lambda is estimated from the sample, so uninformative
confidences make the estimate no worse than without them, and wrong ones do not bias it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import MIN_GROUPS, effective_groups, student, wilson_limits

Floats = NDArray[np.float64]

UNIFORM_SHARE = 0.5
"""Fraction of the budget sampled uniformly. It bounds weights at twice those of uniform sampling: otherwise a few
overconfident errors would dominate the estimate."""
ENOUGH = 20
"""Minimum expected number of errors, and of correct answers, for the normal approximation of a tuned estimate."""


def draw_probabilities(
    confidence: ArrayLike, groups: ArrayLike, budget: int, uniform_share: float = UNIFORM_SHARE
) -> Floats:
    """Compute the probability of drawing each text: ``budget ((1 - u) d_g / sum d + u / n)``, at most 1.

    ``d_g`` is the root of the mean of ``c (1 - c)`` over a group's texts; with one text per group, ``sqrt(c (1 - c))``.
    This is optimal if errors within a group are independent and labelling costs the same for every text.

    Args:
        confidence: calibrated probability that the model's answer is correct, in [0, 1], shape (n,), n > 0.
        groups: group of each text, consecutive codes from 0, shape (n,).
        budget: number of texts to label, 1 to n.
        uniform_share: u in (0, 1]; 1 draws all groups with the same probability.
    Returns: probabilities in (0, 1], shape (n,), equal within a group, summing to the budget. Where a probability is
        capped at 1, the excess is redistributed to the others.
    Raises: ValueError when shapes differ, or a value or the budget is out of range.
    Source: Zrnic and Candes, "Active statistical inference" (2024), batch sampling for a mean (proportional to the
        uncertainty of the error, mixed with uniform sampling); Saerndal, Swensson, Wretman, "Model assisted survey
        sampling" (1992), ch. 12 (the optimal design is proportional to the residual's standard deviation).

    >>> draw_probabilities([0.5, 0.5, 0.98, 0.98], [0, 1, 2, 3], 2).round(3).tolist()
    [0.641, 0.641, 0.359, 0.359]
    """
    sure, owners = _checked(confidence, groups)
    if not 0 < budget <= sure.size:
        raise ValueError(f"the budget must be from 1 to {sure.size} texts, got {budget}")
    if not 0 < uniform_share <= 1:
        raise ValueError(f"the uniform share must lie in (0, 1], got {uniform_share:g}")
    sizes = np.bincount(owners)
    doubt = np.sqrt(np.bincount(owners, weights=sure * (1 - sure)) / sizes)[owners]
    total = float(doubt.sum())
    tilted = doubt / total if total > 0 else np.full(sure.size, 1 / sure.size)
    wanted = (1 - uniform_share) * tilted + uniform_share / sure.size
    return _capped(wanted, budget)


def _capped(wanted: Floats, budget: int) -> Floats:
    """Scale weights to probabilities that sum to the budget, each at most 1."""
    # Capping a probability at 1 raises the others, which may then exceed 1, too.
    certain = np.zeros(wanted.size, dtype=bool)
    shares = np.ones(wanted.size)
    while not certain.all():
        left = budget - int(certain.sum())
        scaled = wanted * (left / wanted[~certain].sum())
        above = ~certain & (scaled >= 1)
        shares[~certain] = scaled[~certain]
        if not above.any():
            break
        certain |= above
        shares[above] = 1.0
    return np.minimum(shares, 1.0)


def draw_groups(probabilities: ArrayLike, groups: ArrayLike, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw whole groups with given inclusion probabilities (systematic sampling in random order).

    A group is drawn if one of the points u, u + 1, ... with random u falls into its interval of the cumulative
    probabilities. Each group has exactly its inclusion probability, and the number of drawn groups is fixed (up to one
    if the probabilities do not sum to an integer). Groups are ordered by size, at random within a size, so the number
    of texts is fixed if all groups have the same size, and close to the budget otherwise.

    Args:
        probabilities: inclusion probability of each text, equal within a group, in (0, 1], shape (n,).
        groups: group of each text, consecutive codes from 0, shape (n,).
        rng: generator for the order and u.
    Returns: mask of the drawn texts, shape (n,).
    Raises: ValueError when shapes differ, a value is out of range, or texts of a group have different probabilities.
    Source: Madow, "On the theory of systematic sampling, II" (1949); random order: Hartley and Rao, "Sampling with
        unequal probabilities and without replacement" (1962).

    >>> int(draw_groups(np.full(10, 0.3), np.arange(10), np.random.default_rng(0)).sum())
    3
    """
    chance, owners = _checked(probabilities, groups)
    of_group = group_values(chance, owners)
    sizes = np.bincount(owners)
    order = np.lexsort((rng.random(sizes.size), sizes))
    # Without rounding, a cumulative sum of 2.9999999 instead of 3 would draw one group too few.
    ends = np.round(np.cumsum(of_group[order]), 9)
    passed = np.floor(ends - rng.random() + 1)
    drawn = np.zeros(sizes.size, dtype=bool)
    drawn[order] = np.diff(passed, prepend=0.0) > 0
    return np.asarray(drawn[owners])


def group_values(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Return the common value of each group's texts, shape (n_groups,); ValueError if they differ within a group."""
    firsts = np.unique(groups, return_index=True)[1]
    shared = values[firsts]
    if not np.allclose(shared[groups], values, rtol=0, atol=1e-9):
        raise ValueError("all texts of a group must have the same probability, because they are sampled together")
    return np.asarray(shared)


def confidence_correlation(confidence: ArrayLike) -> float:
    """Compute the correlation rho of confidence and correctness under perfect calibration.

    Their covariance is then the variance of the confidence: ``rho^2 = Var c / (p (1 - p))``, where p is its mean.

    Args:
        confidence: calibrated, in [0, 1], shape (n,), n > 0.
    Returns: rho in [0, 1]; 0 if all confidences are equal. With labels drawn at random, using the confidences of all
        texts makes the interval ``sqrt(1 - rho^2)`` times as wide as without them.
    Raises: ValueError when a value is out of range.
    Source: Angelopoulos, Duchi, Zrnic, "PPI++: efficient prediction-powered inference" (2023), power tuning.

    >>> round(confidence_correlation([0.6, 0.8, 1.0]), 3)
    0.408
    """
    sure, _ = _checked(confidence, np.arange(np.size(confidence)))
    mean = float(sure.mean())
    most = mean * (1 - mean)
    return float(np.sqrt(sure.var() / most)) if most > 0 else 0.0


def expected_width(confidence: ArrayLike, probabilities: ArrayLike) -> float:
    """Compute the expected interval width relative to a simple random sample of the same size.

    This is the root of the anticipated variance ``sum (1 / pi - 1) c (1 - c) / n^2 + p (1 - p) / n`` divided by that of
    a random sample, ``p (1 - p) / sum pi``, for calibrated confidences and independent texts. With equal probabilities
    and a small sample it is ``sqrt(1 - rho^2)`` (``confidence_correlation``); unequal probabilities gain a little more.

    Args:
        confidence: calibrated, in [0, 1], shape (n,), n > 0.
        probabilities: probability of drawing each text, in (0, 1], same shape.
    Returns: a ratio above 0, below 1 if sampling by confidence helps; 1 if the mean confidence is 0 or 1.
    Raises: ValueError when shapes differ or a value is out of range.
    Source: Isaki and Fuller, "Survey design under the regression superpopulation model" (1982): the anticipated
        variance.

    >>> round(expected_width(np.full(1000, 0.8), np.full(1000, 0.1)), 6)
    1.0
    """
    sure, chance = _checked(confidence, np.arange(np.size(confidence)))[0], np.asarray(probabilities, dtype=np.float64)
    if chance.shape != sure.shape or not np.all((chance > 0) & (chance <= 1)):
        raise ValueError(f"need {sure.size} probabilities in (0, 1], got shape {chance.shape}")
    mean, n = float(sure.mean()), sure.size
    at_random = mean * (1 - mean) / float(chance.sum())
    if at_random == 0:
        return 1.0
    drawn = float(((1 / chance - 1) * sure * (1 - sure)).sum()) / n**2
    return float(np.sqrt((drawn + mean * (1 - mean) / n) / at_random))


def enough_expected(confidence: ArrayLike, n: float) -> bool:
    """Check whether ``n`` texts drawn at random contain ``ENOUGH`` errors and correct answers in expectation.

    Args:
        confidence: calibrated, in [0, 1], shape (n_texts,).
        n: number of groups to draw. Groups rather than texts, because errors may be correlated within a group.

    >>> enough_expected([0.7, 0.9], 100), enough_expected([0.7, 0.9], 99)
    (True, False)
    """
    mean = float(np.mean(np.asarray(confidence, dtype=np.float64)))
    return bool(n * min(mean, 1 - mean) >= ENOUGH - 1e-9)


def _checked(values: ArrayLike, groups: ArrayLike) -> tuple[Floats, NDArray[np.int64]]:
    fractions, owners = np.asarray(values, dtype=np.float64), np.asarray(groups, dtype=np.int64)
    if fractions.ndim != 1 or not fractions.size or owners.shape != fractions.shape:
        raise ValueError(f"values and groups must share a shape (n,), n > 0, got {fractions.shape} and {owners.shape}")
    if not np.all((fractions >= 0) & (fractions <= 1)):
        raise ValueError("confidences and probabilities must lie in [0, 1]; did you pass percent?")
    if owners.min() < 0 or not np.bincount(owners).all():
        raise ValueError("groups must be consecutive codes from 0")
    return fractions, owners


class SampledAccuracy(NamedTuple):
    """Accuracy estimated from a sample.

    Attributes:
        value: the estimate, in [0, 1].
        low, high: ends of its interval, in [0, 1]; NaN with fewer than ``MIN_GROUPS`` drawn groups.
        trust: lambda, the coefficient of the confidences; 0 without them.
        variance: variance of the estimate, over draws from the domain's texts and over samples of these texts.
        random_low, random_high: expected interval from the same number of groups drawn at random; NaN as above.
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
    """Estimate accuracy on a domain from a sample with known inclusion probabilities.

    With weights ``w = 1 / pi``, normalised to sum to 1, the estimate is ``sum w y + lambda (mean_all c - sum w c)``.
    Its variance is the sum of two parts: that of drawing from the domain's texts, ``sum (1 - pi) / pi^2 u_g^2 / N^2``,
    where ``u_g`` is the group's sum of ``y - lambda c`` minus its mean; and that due to the domain's texts being
    themselves a sample, ``sum z_g^2 / pi / N^2``, where ``z_g`` is the group's sum of ``y`` minus the estimate. Lambda
    minimises the first part. The interval is Wilson's with Student's quantile, for the number of independent texts with
    that variance.

    With equal probabilities, this is the PPI++ estimate in which the texts that were not drawn are the unlabelled ones.

    Args:
        correct: whether the model's answer to each drawn text is correct, 0 or 1, shape (n,), n > 0.
        confidence: the model's confidence in each of these answers, shape (n,); calibrated or not.
        probabilities: inclusion probability of each drawn text, in (0, 1], equal within a group, shape (n,).
        groups: group of each drawn text, consecutive codes from 0, shape (n,).
        all_confidences: confidences of all texts of the domain, drawn or not, shape (N,), N >= n.
        trust: lambda. Default: the optimal value; 0 uses the labels only.
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
    right, sure, chance, owners, everyone = _checked_sample(correct, confidence, probabilities, groups, all_confidences)
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
    # Degrees-of-freedom correction: mean and lambda were fitted to the same groups.
    scale = n_groups / max(n_groups - 1 - tuned, 1)
    drawing = scale * float(by_draw @ (off_right - trust * off_sure) ** 2) / texts**2
    around = np.bincount(owners, weights=right - value) ** 2
    variance = drawing + float((1 / pi) @ around) / texts**2
    # m groups drawn at random contain m * texts / (number of groups) texts.
    at_random = float((1 / pi) @ around) * float((1 / pi).sum()) / (n_groups * texts**2)
    ends = _interval(value, variance, weight, owners, level)
    return SampledAccuracy(
        value, *ends, trust, variance, *_interval(value, at_random, np.ones_like(weight), owners, level)
    )


def _interval(
    value: float, variance: float, weight: Floats, groups: NDArray[np.int64], level: float
) -> tuple[float, float]:
    """Compute Wilson's interval for the number of texts implied by ``variance`` (if 0: the effective groups)."""
    n_groups = int(groups.max()) + 1
    if n_groups < MIN_GROUPS:
        return float("nan"), float("nan")
    of_groups = np.bincount(groups, weights=weight)
    effective = float(effective_groups(of_groups))
    n = value * (1 - value) / variance if variance > 0 and 0 < value < 1 else effective
    low, high = wilson_limits(value, student(effective - 1, level) ** 2 / n)
    return float(low), float(high)


def _checked_sample(
    correct: ArrayLike, confidence: ArrayLike, probabilities: ArrayLike, groups: ArrayLike, all_confidences: ArrayLike
) -> tuple[Floats, Floats, Floats, NDArray[np.int64], Floats]:
    right, sure, chance, everyone = (
        np.asarray(each, dtype=np.float64) for each in (correct, confidence, probabilities, all_confidences)
    )
    owners = np.asarray(groups, dtype=np.int64)
    if right.ndim != 1 or not right.size or not right.shape == sure.shape == chance.shape == owners.shape:
        shapes = f"{right.shape}, {sure.shape}, {chance.shape} and {owners.shape}"
        raise ValueError(f"the values of the sampled texts must share a shape (n,), n > 0, got {shapes}")
    if everyone.ndim != 1 or everyone.size < right.size:
        raise ValueError(f"all_confidences must include the {right.size} sampled texts, got {everyone.shape}")
    if not np.isin(right, (0, 1)).all() or not np.all((chance > 0) & (chance <= 1)):
        raise ValueError("correct must be 0 or 1, and probabilities must lie in (0, 1]")
    if not np.all((sure >= 0) & (sure <= 1)) or not np.all((everyone >= 0) & (everyone <= 1)):
        raise ValueError("confidences must lie in [0, 1]; did you pass percent?")
    if owners.min() < 0 or not np.bincount(owners).all():
        raise ValueError("groups must be consecutive codes from 0")
    return right, sure, chance, owners, everyone
