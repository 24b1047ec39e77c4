"""Verdict on a domain where a model loses score: harder, shifted away from what the model learned, or both.

A model that loses 10 points away from home may have met a harder domain, on which any model would lose them, or one
that its training did not prepare it for. Probes tell the two apart: cheap models that are trained on each domain and
tested on that same domain, so that what they lose between two domains is difficulty alone.

    drop        = SS - ST                of the model, from home to the domain
    difficulty  = mean over probes of IDD = SS_p - TT_p        both in domain
    rest        = drop - difficulty      what difficulty for these probes does not explain

The rest is a difference in differences. It depends on the scale: 10 points at 90 are more log odds than 10 points at
70. So nothing is claimed that does not hold in points and in log odds, and with each probe by itself.

Source: the difference in differences is the standard one (Angrist and Pischke 2009, "Mostly Harmless Econometrics",
sec. 5.2), SD = TD + IDD is the Domain Robustness paper's (sec. 3.2) with IDD taken from the probes.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from math import isnan
from typing import NamedTuple


class Bounded(NamedTuple):
    """A figure and the ends of its 95% interval, in any unit; ends are NaN where it has none."""

    value: float
    low: float
    high: float


class OnScale(NamedTuple):
    """The parts of a drop on one scale.

    Attributes:
        difficulty: mean IDD of the probes.
        rest: the model's drop less ``difficulty``.
        difficulties: IDD of each probe by itself, at least one.
        rests: the model's drop less each probe's IDD, as many.
    """

    difficulty: Bounded
    rest: Bounded
    difficulties: Sequence[float]
    rests: Sequence[float]


class Verdict(StrEnum):
    """The reason why a model loses score on a domain."""

    HARDER = "harder"
    SHIFTED = "shifted"
    BOTH = "both"
    CANNOT_TELL = "cannot tell"


class Reason(StrEnum):
    """The reason why there is no verdict."""

    PROBE_AT_CHANCE = "a probe is not shown to be above chance"
    NO_DROP = "the model is not shown to lose score here"
    NO_INTERVAL = "a score has no interval"
    NOT_SHOWN = "neither difficulty nor a rest is shown on both scales and by both probes"
    TOO_WIDE = "the interval of the rest leaves room for a shift as large as the difficulty"


class Explanation(NamedTuple):
    """A verdict, or the reason why there is none."""

    verdict: Verdict
    reason: Reason | None = None


def difficulty_verdict(drop: Bounded, scales: Mapping[str, OnScale], *, is_probe_at_chance: bool) -> Explanation:
    """Return whether a drop is a matter of difficulty, of shift, or of both.

    *Shifted*: the rest is above 0 on every scale by its interval, and in sign for each probe by itself. *Harder*: so is
    the difficulty. *Both*: both are. Of a harder domain the rest's interval must also end below the difficulty (on the
    first scale): otherwise a shift as large as the difficulty could be in it, and nothing can be told.

    Args:
        drop: the model's drop SS - ST, on the first scale.
        scales: its parts by scale, the first being that of ``drop``.
        is_probe_at_chance: whether a probe is at the level that needs no skill on a domain: it measures no difficulty.
    Returns: the verdict, with the reason where it is 'cannot tell'.
    Raises: ValueError without a scale or a probe.

    >>> raw = OnScale(Bounded(0.01, -0.03, 0.05), Bounded(0.09, 0.04, 0.14), [0.0, 0.02], [0.10, 0.08])
    >>> log_odds = OnScale(Bounded(0.1, -0.2, 0.4), Bounded(0.7, 0.3, 1.1), [0.0, 0.2], [0.8, 0.6])
    >>> difficulty_verdict(Bounded(0.1, 0.05, 0.15), {"raw": raw, "logit": log_odds}, is_probe_at_chance=False).verdict
    <Verdict.SHIFTED: 'shifted'>
    """
    parts = list(scales.values())
    if not parts or any(not part.difficulties or len(part.difficulties) != len(part.rests) for part in parts):
        raise ValueError("a verdict needs at least one scale, and on each the figures of at least one probe")
    refused = _refusal(drop, parts, is_probe_at_chance=is_probe_at_chance)
    if refused is not None:
        return Explanation(Verdict.CANNOT_TELL, refused)
    is_shifted = all(part.rest.low > 0 and min(part.rests) > 0 for part in parts)
    is_harder = all(part.difficulty.low > 0 and min(part.difficulties) > 0 for part in parts)
    if is_shifted:
        return Explanation(Verdict.BOTH if is_harder else Verdict.SHIFTED)
    if not is_harder:
        return Explanation(Verdict.CANNOT_TELL, Reason.NOT_SHOWN)
    if parts[0].rest.high >= parts[0].difficulty.value:
        return Explanation(Verdict.CANNOT_TELL, Reason.TOO_WIDE)
    return Explanation(Verdict.HARDER)


def _refusal(drop: Bounded, parts: Sequence[OnScale], *, is_probe_at_chance: bool) -> Reason | None:
    """Return why there can be no verdict, whatever the parts are."""
    if is_probe_at_chance:
        return Reason.PROBE_AT_CHANCE
    if isnan(sum([drop.low, *(end for part in parts for end in (*part.difficulty, *part.rest))])):
        return Reason.NO_INTERVAL
    return Reason.NO_DROP if drop.low <= 0 else None
