"""A sequential test for a drop of scores below a reference, valid at any stopping time (an e-process).

Under the null hypothesis that later periods have a mean of at least ``m``, ``1 + s w (m - x)`` is a bet with stake
``s`` on a group's mean ``x`` (``w`` is its size divided by the largest group's). Its expectation is at most 1, and so
is that of the product over a period's groups, even if their means differ, as long as the mean over the period's texts
is ``m`` or more (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting"; for unequal
groups by the inequality of arithmetic and geometric means). Each group is one bet. If periods vary around ``m`` with
standard deviation ``a``, the expectation grows by at most the factor ``exp((s sum w)^2 a^2 / 2)``, by which the product
is divided. Bets with several stakes and starting times are mixed with weights that sum to 1, so under the null the
mixture ever reaches 20 with a probability of at most 1/20 (Ville 1939).

The reference's true mean is unknown. Bets that it is *above* ``m`` are therefore made on the reference's groups in the
same way, and the two products of bets are multiplied. If ``m`` is the reference's true mean, both products are fair
bets, so the minimum of their product over all ``m`` is a valid e-value. A small reference therefore limits the
evidence.

``a`` is estimated from the scatter of the reference's periods around their mean and, at each look (analysis), from the
scatter of the later periods seen so far around their own mean; it is widened when periods are few. The guarantee is
only as good as that estimate; ``python -m benchmarks time`` counts false alarms.
"""

from typing import NamedTuple

import numpy as np

from shiftbench.metrics.over_time import Groups, PeriodMeans, between_variance, period_means, variance_of_texts
from shiftbench.metrics.precision import Floats

ALARM = 20.0
"""Evidence that raises an alarm: without a drop, reached in at most 5% of series of any length."""
ASSUMED_JITTER = 0.02
"""Standard deviation between periods assumed when there are too few periods to estimate it."""
_SURE = 0.95
"""Quantile of Student's t used to widen the estimated standard deviation when periods are few."""
_DROPS, _WEIGHTS, _CASH = (0.03, 0.06), (0.45, 0.45), 0.1
"""Drops for which the stakes are optimal (fractions), mixture weights of these bets, and the weight that is not bet."""
_ERRORS = (1.5, 3.0)
"""Deviations for which the stakes on the reference are optimal, in standard errors of the reference's mean."""
_HALF = 1.5
"""Number of looks (analyses) in which bets with half of the mixture weight start."""
_MOST = 0.75
"""Maximum fraction of the wealth that a single group can lose."""
_GRID = np.linspace(-8.0, 5.0, 105)
"""Grid of null means ``m``: offsets from the reference's mean, in standard errors of that mean."""


class Evidence(NamedTuple):
    """Evidence that scores fell below the reference.

    Attributes:
        values: e-value at each look, shape (..., n_looks). ``ALARM`` or more raises an alarm, which stands even if
            later values are lower.
        allowance: standard deviation between periods allowed for at each look, a fraction, shape (..., n_looks).
    """

    values: Floats
    allowance: Floats


def drop_evidence(reference: Groups, later: Groups) -> Evidence:
    """Compute the evidence that the mean over texts fell below the reference's, after each later period.

    Args:
        reference: groups of the reference's periods, at least one; same leading axes as ``later``.
        later: groups of the later periods in chronological order, at least one.
    Returns: the evidence, an e-process: 1 / (its largest value so far) is a valid p value at any look.
    Raises: ValueError if a mean is outside [0, 1] or a period has no group.
    Source: see the module docstring; power and level in ``docs/why/evidence.md``.

    >>> year = Groups(*(np.full((10, 1), each) for each in (10.0, 0.9, 30.0)))
    >>> fallen = Groups(*(np.full((4, 1), each) for each in (10.0, 0.7, 30.0)))
    >>> bool(drop_evidence(year, fallen).values[-1] > ALARM), bool(drop_evidence(year, year).values.max() > ALARM)
    (True, False)
    """
    for each in (reference, later):
        if not (each.counts.sum(axis=-1) > 0).all() or (each.means < 0).any() or (each.means > 1).any():
            raise ValueError("every period needs a group, and means must lie in [0, 1]")
    before, after = period_means(reference), period_means(later)
    seen = [PeriodMeans(*(each[..., :look] for each in after)) for look in range(after.means.shape[-1])]
    allowed = np.stack([_jitter(before, each) for each in seen], axis=-1)
    weights = reference.counts * reference.sizes
    # Half an error and half a correct answer are added, so that the mean is never 0 or 1.
    middle = ((weights * reference.means).sum(axis=(-1, -2)) + 0.5) / (weights.sum(axis=(-1, -2)) + 1)
    own, largest = _in_largest(reference)
    spread = variance_of_texts(reference).sum(axis=-1) / largest**2
    totals = (own.counts * own.sizes).sum(axis=-1)
    jitter = (totals**2).sum(axis=-1) * allowed[..., 0] ** 2
    se = np.sqrt(middle * (1 - middle) * spread + jitter) / totals.sum(axis=-1)
    nulls = np.clip(middle[..., None] + se[..., None] * _GRID, 1e-3, 1 - 1e-3)  # (..., n_nulls)
    deviations = np.sqrt(nulls * (1 - nulls) * spread[..., None] + jitter[..., None])
    on_reference = [np.full(nulls.shape, np.log(_CASH))]
    for errors, weight in zip(_ERRORS, _WEIGHTS, strict=True):
        stakes = np.minimum(errors / deviations, _MOST / nulls)
        won = [_log_wealth(_period(own, at), -nulls, stakes, allowed[..., 0]) for at in range(totals.shape[-1])]
        on_reference.append(np.log(weight) + np.sum(won, axis=0))
    log_reference = np.asarray(np.logaddexp.reduce(on_reference))
    bets = np.full((len(_DROPS), *nulls.shape), -np.inf)
    values = []
    for look in range(later.counts.shape[-2]):
        here = Groups(*(each[..., look : look + 1, :] for each in later))
        groups, largest = _in_largest(here)
        total = (groups.counts * groups.sizes).sum(axis=(-1, -2))
        noise = nulls * (1 - nulls) * (variance_of_texts(here)[..., 0] / largest**2)[..., None]
        noise = noise + ((total * allowed[..., look]) ** 2)[..., None]
        # Weight of the bets that start at this look, and of those that start later: over all looks they sum to 1.
        start, left = np.log(_HALF / ((look + 1 + _HALF) * (look + _HALF))), _HALF / (look + 1 + _HALF)
        for number, drop in enumerate(_DROPS):
            stakes = np.minimum(drop * total[..., None] / noise, _MOST / (1 - nulls))
            gained = _log_wealth(_period(groups, 0), nulls, stakes, allowed[..., look])
            bets[number] = gained + np.logaddexp(bets[number], start)
        mixed = np.logaddexp.reduce(bets + np.log(_WEIGHTS).reshape(-1, *[1] * nulls.ndim), axis=0)
        of_later = np.logaddexp(mixed, np.log(_CASH * (1 - left) + left))
        # The cap keeps overwhelming evidence finite.
        values.append(np.exp(np.minimum((of_later + log_reference).min(axis=-1), 500.0)))
    return Evidence(np.stack(values, axis=-1), allowed)


def _jitter(before: PeriodMeans, after: PeriodMeans) -> Floats:
    """Estimate the standard deviation between periods, with one mean for each of the two series; shape (...).

    The estimated variance is that for which the standardised squared residuals sum to their degrees of freedom times
    the squared ratio of the normal to Student's 95% quantile. With few periods this ratio is small, which raises the
    estimate.

    Args:
        before: the reference's periods, at least one.
        after: later periods, possibly none.
    """
    from scipy.special import ndtri, stdtrit

    n_before, n_after = before.means.shape[-1], after.means.shape[-1]
    freedom = n_before - 1 + max(n_after - 1, 0)
    if freedom == 0:
        return np.full(before.means.shape[:-1], ASSUMED_JITTER)
    design = np.zeros((n_before + n_after, 2 if n_after else 1))
    design[:n_before, 0] = design[n_before:, -1] = 1.0
    values, variances = (np.concatenate(each, axis=-1) for each in zip(before, after, strict=True))
    target = freedom * float(ndtri(_SURE) / stdtrit(freedom, _SURE)) ** 2
    return np.sqrt(between_variance(values, variances, design, target))


def _in_largest(groups: Groups) -> tuple[Groups, Floats]:
    """Return groups with sizes divided by the largest group's size, and that size, shape (...)."""
    largest = np.where(groups.counts > 0, groups.sizes, 0.0).max(axis=(-1, -2))
    return groups._replace(sizes=groups.sizes / largest[..., None, None]), largest


def _period(groups: Groups, at: int) -> Groups:
    return Groups(*(each[..., at, :] for each in groups))


def _log_wealth(groups: Groups, nulls: Floats, stakes: Floats, jitter: Floats) -> Floats:
    """Return the log wealth of bets on one period's groups, minus the correction for variation between periods.

    Args:
        groups: groups of a period, sizes relative to the largest one's, shape (..., n_kinds).
        nulls: null means, shape (..., n_nulls). Positive: bet that the true mean is below the null mean; negative: bet
            that it is above the absolute value.
        stakes: at least 0, same shape.
        jitter: standard deviation of the period's mean, shape (...).
    """
    gains = nulls[..., None] - np.sign(nulls[..., None]) * groups.means[..., None, :]
    logs = np.log1p(stakes[..., None] * groups.sizes[..., None, :] * gains)
    total = (groups.counts * groups.sizes).sum(axis=-1)
    return np.asarray(
        (groups.counts[..., None, :] * logs).sum(axis=-1) - (stakes * (total * jitter)[..., None]) ** 2 / 2
    )
