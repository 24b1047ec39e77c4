"""Choice of unlabelled texts to label, so that few labels make accuracy as certain as possible.

Texts whose answer the model doubts say more than those it is sure of. A text is drawn with a known probability, larger
where the calibrated confidence ``c`` is nearer to 1/2, and weighs the inverse of it afterwards (``sampled_accuracy``).
The probabilities decide how wide the interval is, never whether it holds: that asks for no calibration.

Texts of one group (a document, a premise) are drawn together, with one probability.

Accuracy on a domain from a few labelled texts, helped by the confidences of all texts.

The labelled texts weigh the inverse of their probability of having been drawn; what the model's confidence explains of
being right is known of every text, so that chance in drawing touches the rest alone. How far the confidence is
trusted, lambda, is set by the sample itself: useless confidences make the estimate no worse than without them, and
wrong ones do not bias it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shiftbench.metrics.precision import MIN_GROUPS, effective_groups, student, wilson_limits

Floats = NDArray[np.float64]

UNIFORM_SHARE = 0.5
"""Share of the budget that is spread evenly, so that no text weighs more than twice what it would at random: errors
that a model is sure of would otherwise count so much that few of them decide."""
ENOUGH = 20
"""Expected errors, and expected hits, below which a normal approximation to a tuned estimate is not trusted."""


def draw_probabilities(
    confidence: ArrayLike, groups: ArrayLike, budget: int, uniform_share: float = UNIFORM_SHARE
) -> Floats:
    """Compute the probability of drawing each text: ``budget ((1 - u) d_g / sum d + u / n)``, at most 1.

    ``d_g`` is the root of the mean of ``c (1 - c)`` over a group's texts: of groups with one text, ``sqrt(c (1 - c))``.
    It is the best choice where errors within a group are independent and a text costs the same wherever it stands.

    Args:
        confidence: calibrated probability that the model's answer is right, in [0, 1], shape (n,), n > 0.
        groups: group of each text, codes from 0 without a gap, shape (n,).
        budget: how many texts to label, 1 to n.
        uniform_share: u in (0, 1]; 1 draws all groups with the same probability.
    Returns: probabilities in (0, 1], shape (n,), equal within a group, summing to the budget. What a probability above
        1 would have had too much is dealt to the others.
    Raises: ValueError when shapes differ, a value is out of range, or the budget is.
    Source: Zrnic and Candes, "Active statistical inference" (2024), batch sampling for a mean (proportional to the
        uncertainty of the error, mixed with uniform sampling); Saerndal, Swensson, Wretman, "Model assisted survey
        sampling" (1992), ch. 12 (the optimal design is proportional to the residual's standard deviation).

    >>> draw_probabilities([0.5, 0.5, 0.98, 0.98], [0, 1, 2, 3], 2).round(3).tolist()
    [0.641, 0.641, 0.359, 0.359]
    """
    sure, owners = _checked(confidence, groups)
    if not 0 < budget <= sure.size:
        raise ValueError(f"the budget must be 1 to {sure.size} texts, got {budget}")
    if not 0 < uniform_share <= 1:
        raise ValueError(f"the uniform share must lie in (0, 1], got {uniform_share:g}")
    sizes = np.bincount(owners)
    doubt = np.sqrt(np.bincount(owners, weights=sure * (1 - sure)) / sizes)[owners]
    total = float(doubt.sum())
    tilted = doubt / total if total > 0 else np.full(sure.size, 1 / sure.size)
    wanted = (1 - uniform_share) * tilted + uniform_share / sure.size
    return _capped(wanted, budget)


def _capped(wanted: Floats, budget: int) -> Floats:
    """Scale shares to sum to the budget, none above 1."""
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
    """Draw whole groups with given probabilities, systematically over a random order.

    The probabilities are laid end to end, and a group is drawn where one of the points u, u + 1, ... falls on it: one
    random number decides, every group has exactly its probability, and the number of groups is fixed (where their
    sum is not whole, up to one). Groups are ordered by size, at random within a size, so that the number of texts is
    fixed, too, where all groups have one size, and near the budget elsewhere.

    Args:
        probabilities: of each text, equal within a group, in (0, 1], shape (n,).
        groups: group of each text, codes from 0 without a gap, shape (n,).
        rng: draws the order and the point.
    Returns: which texts are drawn, shape (n,).
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
    # Sums of many fractions: without rounding, 2.9999999 would draw one group less than 3 do.
    ends = np.round(np.cumsum(of_group[order]), 9)
    passed = np.floor(ends - rng.random() + 1)
    drawn = np.zeros(sizes.size, dtype=bool)
    drawn[order] = np.diff(passed, prepend=0.0) > 0
    return np.asarray(drawn[owners])


def group_values(values: Floats, groups: NDArray[np.int64]) -> Floats:
    """Return the value that all texts of each group share, shape (n_groups,); ValueError where they do not."""
    firsts = np.unique(groups, return_index=True)[1]
    shared = values[firsts]
    if not np.allclose(shared[groups], values, rtol=0, atol=1e-9):
        raise ValueError("texts of one group must have one probability, for they are drawn together")
    return np.asarray(shared)


def confidence_correlation(confidence: ArrayLike) -> float:
    """Compute the correlation rho of confidence and correctness, as it is where confidences are calibrated.

    Then their covariance is the variance of the confidence: ``rho^2 = Var c / (p (1 - p))``, p being its mean.

    Args:
        confidence: calibrated, in [0, 1], shape (n,), n > 0.
    Returns: rho in [0, 1]; 0 where all confidences are equal. An interval from as many labels drawn at random, with
        the confidences of all texts, is ``sqrt(1 - rho^2)`` times as wide as from the labels alone.
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
    """Compute the expected width of an interval, as a multiple of that from as many texts drawn at random.

    The root of the anticipated variance ``sum (1 / pi - 1) c (1 - c) / n^2 + p (1 - p) / n`` over that of a random
    sample, ``p (1 - p) / sum pi``, where confidences are calibrated and texts independent. With equal probabilities and
    a small sample it is ``sqrt(1 - rho^2)`` (``confidence_correlation``); unequal ones gain a little more.

    Args:
        confidence: calibrated, in [0, 1], shape (n,), n > 0.
        probabilities: of drawing each text, in (0, 1], same shape.
    Returns: a multiple above 0, below 1 where drawing by confidence helps; 1 where the confidences leave no doubt.
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
    """Check whether ``ENOUGH`` errors and as many hits are to be expected among ``n`` texts drawn at random.

    Args:
        confidence: calibrated, in [0, 1], shape (n_texts,).
        n: number of groups that will be drawn: texts of a group may all be wrong together.

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
        raise ValueError("groups must be codes from 0 without a gap")
    return fractions, owners


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
