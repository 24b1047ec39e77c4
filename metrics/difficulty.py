"""Verdict on a domain where a model's score drops: harder, shifted, or both.

A model that loses 10 points outside its source domain may have met a harder domain, on which any model scores lower, or
one that its training did not prepare it for. Probes separate the two: cheap models trained and tested on the same
domain, whose score differences between domains are due to difficulty only.

    drop        = SS - ST                of the model, from its source to the domain
    difficulty  = mean over probes of IDD = SS_p - TT_p        both in-domain
    rest        = drop - difficulty      not explained by difficulty for these probes

The rest is a difference in differences. It depends on the scale: 10 points at 90 are more log odds than 10 points at
70, and label noise or unanswerable texts remove a fraction of each model's margin over chance, hence more points from a
strong model than from a weak one. A verdict therefore must hold in points, in log odds and in logarithms of score minus
chance, with each probe separately, and under the source's class proportions.

Source: the difference in differences is the standard one (Angrist and Pischke 2009, "Mostly Harmless Econometrics",
sec. 5.2), SD = TD + IDD is the Domain Robustness paper's (sec. 3.2) with IDD taken from the probes.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import isnan
from typing import NamedTuple


class Bounded(NamedTuple):
    """An estimate with its 95% interval, in the unit of its scale; ends may be infinite, and are NaN if unknown."""

    value: float
    low: float
    high: float


class OnScale(NamedTuple):
    """The parts of a drop on one scale, such as points or log odds.

    Attributes:
        difficulty: mean IDD of the probes.
        rest: the model's drop minus ``difficulty``.
        difficulties: IDD of each probe, at least one.
        rests: the model's drop minus the IDD of each probe, same length.
    """

    difficulty: Bounded
    rest: Bounded
    difficulties: Sequence[float]
    rests: Sequence[float]


class Verdict(StrEnum):
    """The reason why a model scores lower on a domain."""

    HARDER = "harder"
    SHIFTED = "shifted"
    BOTH = "both"
    CANNOT_TELL = "cannot tell"


class Reason(StrEnum):
    """The reason why there is no verdict."""

    PROBE_AT_CHANCE = "a probe is not shown to be above chance"
    AT_CHANCE = "the model's in-domain score is at chance"
    NO_DROP = "no significant drop on this domain"
    NO_INTERVAL = "a score has no interval"
    NOT_SHOWN = "neither difficulty nor the rest of the drop is significant on all three scales with both probes"
    REST_AS_LARGE = "the domain is harder, but an equally large shift is not excluded"
    DIFFICULTY_AS_LARGE = "the domain is shifted, but equally large difficulty is not excluded"
    CLASS_SHARES = "the verdict changes under the source's class prior"
    NO_CLASS_SHARES = "a class of the source has too few texts here to compare under the source's class prior"


class Explanation(NamedTuple):
    """A verdict, or the reason why there is none."""

    verdict: Verdict
    reason: Reason | None = None


def difficulty_verdict(
    drop: Bounded, scales: Mapping[str, OnScale], balance: Bounded, *, is_probe_at_chance: bool
) -> Explanation:
    """Return whether a drop is due to difficulty, to shift, or to both.

    *Shifted*: on every scale the interval of the rest is above 0, and the rest is positive for each probe. *Harder*:
    the same for the difficulty. *Both*: both conditions hold. If only one condition holds, the interval of difficulty
    minus rest must also show that this part is the larger one; otherwise the other could be as large, and the
    verdict is 'cannot tell'.

    Args:
        drop: the model's drop SS - ST, on the first scale.
        scales: its parts by scale; the first scale is that of ``drop``.
        balance: difficulty minus rest, on the first scale.
        is_probe_at_chance: whether a probe is at chance level on a domain, so that it cannot measure difficulty.
    Returns: the verdict, with a reason if it is 'cannot tell'.
    Raises: ValueError without a scale or a probe.

    >>> raw = OnScale(Bounded(0.01, -0.03, 0.05), Bounded(0.09, 0.04, 0.14), [0.0, 0.02], [0.10, 0.08])
    >>> log_odds = OnScale(Bounded(0.1, -0.2, 0.4), Bounded(0.7, 0.3, 1.1), [0.0, 0.2], [0.8, 0.6])
    >>> drop, balance, scales = Bounded(0.1, 0.05, 0.15), Bounded(-0.08, -0.15, -0.01), {"raw": raw, "logit": log_odds}
    >>> difficulty_verdict(drop, scales, balance, is_probe_at_chance=False).verdict
    <Verdict.SHIFTED: 'shifted'>
    """
    parts = list(scales.values())
    if not parts or any(not part.difficulties or len(part.difficulties) != len(part.rests) for part in parts):
        raise ValueError("a verdict needs at least one scale, each with the scores of at least one probe")
    refused = _refusal(drop, parts, balance, is_probe_at_chance=is_probe_at_chance)
    if refused is not None:
        return Explanation(Verdict.CANNOT_TELL, refused)
    is_shifted = all(part.rest.low > 0 and min(part.rests) > 0 for part in parts)
    is_harder = all(part.difficulty.low > 0 and min(part.difficulties) > 0 for part in parts)
    if is_shifted and is_harder:
        return Explanation(Verdict.BOTH)
    if not is_shifted and not is_harder:
        return Explanation(Verdict.CANNOT_TELL, Reason.NOT_SHOWN)
    if is_harder and balance.low <= 0:
        return Explanation(Verdict.CANNOT_TELL, Reason.REST_AS_LARGE)
    if is_shifted and balance.high >= 0:
        return Explanation(Verdict.CANNOT_TELL, Reason.DIFFICULTY_AS_LARGE)
    return Explanation(Verdict.HARDER if is_harder else Verdict.SHIFTED)


def agreed(found: Explanation, at_home_shares: Explanation | None) -> Explanation:
    """Return the verdict if it is the same under the source's class prior; otherwise 'cannot tell'.

    Args:
        found: verdict on the domain as observed.
        at_home_shares: verdict after reweighting the domain's classes to the source's class prior; None if it cannot be
            computed.
    Returns: ``found``, or 'cannot tell' with the reason.
    """
    if found.verdict is Verdict.CANNOT_TELL:
        return found
    if at_home_shares is None:
        return Explanation(Verdict.CANNOT_TELL, Reason.NO_CLASS_SHARES)
    is_same = found.verdict is at_home_shares.verdict
    return found if is_same else Explanation(Verdict.CANNOT_TELL, Reason.CLASS_SHARES)


def _refusal(drop: Bounded, parts: Sequence[OnScale], balance: Bounded, *, is_probe_at_chance: bool) -> Reason | None:
    """Return the reason that rules out any verdict (probe at chance, missing interval, no drop), or None."""
    if is_probe_at_chance:
        return Reason.PROBE_AT_CHANCE
    if any(map(isnan, (drop.low, *balance, *(end for part in parts for end in (*part.difficulty, *part.rest))))):
        return Reason.NO_INTERVAL
    return Reason.NO_DROP if drop.low <= 0 else None
