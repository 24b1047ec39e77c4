"""A sequential alarm: did scores fall below those of a reference? It may be asked at any look, and as often as wanted.

For a mean ``m`` that later periods are not below, ``1 + s w (m - x)`` is a bet at stake ``s`` on a group's mean ``x``
(``w`` its size over the largest one's): its expectation is at most 1, and so is that of the product over a period's
groups, whatever their own means, as long as the mean over the period's texts is ``m`` or more (Waudby-Smith and Ramdas
2024, "Estimating means of bounded random variables by betting"; of unlike groups by the inequality of the means). The
texts of a group are one bet. Periods that jitter around ``m`` with a standard deviation ``a`` multiply it by at most
``exp((s sum w)^2 a^2 / 2)``, which the product is divided by. Bets at several stakes, and from every look on, are mixed
with weights that sum to 1, so the mixture reaches 20 in at most one of 20 endless histories (Ville 1939).

Nobody knows the reference's own mean. Bets that it lies *above* ``m`` are made on the reference's groups in the same
way, and multiplied: for the true mean of the reference both factors are fair, whatever it is, so the smallest product
over all ``m`` is evidence. Its price is that a small reference limits the evidence.

The allowance ``a`` is estimated from the scatter of the periods before the look, the reference's around their mean and
later ones around theirs, wider the fewer they are. So the guarantee is as good as that estimate; ``python -m benchmarks
time`` counts alarms.
"""

from typing import NamedTuple

import numpy as np

from shiftbench.metrics.over_time import Groups, PeriodMeans, between_variance, period_means, variance_of_texts
from shiftbench.metrics.precision import Floats

ALARM = 20.0
"""Evidence from which there is an alarm: reached without a drop in at most 5% of histories, however long."""
ASSUMED_JITTER = 0.02
"""Allowance where fewer than two periods of a kind are there to show the jitter."""
_SURE = 0.95
"""Quantile of Student's t that makes up for few periods in the estimate of their jitter."""
_DROPS, _WEIGHTS, _CASH = (0.03, 0.06), (0.45, 0.45), 0.1
"""Drops that stakes are best for, as fractions; weights of these bets; the share that is never bet."""
_ERRORS = (1.5, 3.0)
"""The same of bets on the reference, in its standard errors."""
_HALF = 1.5
"""Looks after which half of the weight of later starts is spent."""
_MOST = 0.75
"""Share of the wealth that a group can take at most."""
_GRID = np.linspace(-8.0, 5.0, 105)
"""Means that are tried, in standard errors of the reference from its mean."""


class Evidence(NamedTuple):
    """Evidence that scores fell below the reference.

    Attributes:
        values: at each look, shape (..., n_looks); ``ALARM`` or more is an alarm. It may fall again: an alarm stays.
        allowance: jitter that each look allows for, a standard deviation as a fraction, shape (..., n_looks).
    """

    values: Floats
    allowance: Floats


def drop_evidence(reference: Groups, later: Groups) -> Evidence:
    """Compute the evidence that the mean over texts fell below the reference's, after each later period.

    Args:
        reference: groups of the reference's periods, at least one; leading axes as those of ``later``.
        later: groups of the periods after it, in the order in which they came, at least one.
    Returns: the evidence; an e-process, of which 1 / (its largest value so far) is a p value at any look.
    Raises: ValueError where a mean is outside [0, 1] or a period has no group.
    Source: as of this module; power and level in ``docs/why/evidence.md``.

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
        start, left = np.log(_HALF / ((look + 1 + _HALF) * (look + _HALF))), _HALF / (look + 1 + _HALF)
        for number, drop in enumerate(_DROPS):
            stakes = np.minimum(drop * total[..., None] / noise, _MOST / (1 - nulls))
            gained = _log_wealth(_period(groups, 0), nulls, stakes, allowed[..., look])
            bets[number] = gained + np.logaddexp(bets[number], start)
        mixed = np.logaddexp.reduce(bets + np.log(_WEIGHTS).reshape(-1, *[1] * nulls.ndim), axis=0)
        of_later = np.logaddexp(mixed, np.log(_CASH * (1 - left) + left))
        values.append(np.exp(np.minimum((of_later + log_reference).min(axis=-1), 500.0)))
    return Evidence(np.stack(values, axis=-1), allowed)


def _jitter(before: PeriodMeans, after: PeriodMeans) -> Floats:
    """Estimate the standard deviation between periods, around one mean before and another one after; shape (...).

    Squared residuals are set to fewer than their degrees of freedom, by as much as Student's 95% quantile is wider than
    the normal one: few periods hardly show how much they jitter.

    Args:
        before: the reference's periods, at least one.
        after: later periods, none or more.
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
    """Return groups with sizes as shares of the largest one's, and that one's size, shape (...)."""
    largest = np.where(groups.counts > 0, groups.sizes, 0.0).max(axis=(-1, -2))
    return groups._replace(sizes=groups.sizes / largest[..., None, None]), largest


def _period(groups: Groups, at: int) -> Groups:
    return Groups(*(each[..., at, :] for each in groups))


def _log_wealth(groups: Groups, nulls: Floats, stakes: Floats, jitter: Floats) -> Floats:
    """Return the logarithm of what bets on one period's groups made, less what its jitter may have.

    Args:
        groups: of a period, sizes in shares of the largest one's, shape (..., n_kinds).
        nulls: the means that are bet against: below them, or, with a minus, above; shape (..., n_nulls).
        stakes: at least 0, same shape.
        jitter: standard deviation of the period's mean, shape (...).
    """
    gains = nulls[..., None] - np.sign(nulls[..., None]) * groups.means[..., None, :]
    logs = np.log1p(stakes[..., None] * groups.sizes[..., None, :] * gains)
    total = (groups.counts * groups.sizes).sum(axis=-1)
    return np.asarray(
        (groups.counts[..., None, :] * logs).sum(axis=-1) - (stakes * (total * jitter)[..., None]) ** 2 / 2
    )
