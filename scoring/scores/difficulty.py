"""The parts of a model's drop from home: difficulty, measured by probes trained on each domain, and a rest.

The model is meant as it is, probes as recipes: what other train texts would make of them is in the intervals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shiftbench.metrics.difficulty import (
    Bounded,
    Explanation,
    OnScale,
    Reason,
    Verdict,
    agreed,
    difficulty_verdict,
)
from shiftbench.scoring.scores.figures import (
    Figure,
    Scale,
    as_it_is,
    difference,
    mean,
    on_scale,
    weighted_sum,
)

Floats = NDArray[np.float64]
_UNBOUNDED = (-np.inf, np.inf)


class TwoScores(NamedTuple):
    """Scores at home and on another domain: SS and ST of a model; SS and TT of a probe, which has a home in both."""

    home: Figure
    away: Figure


class Levels(NamedTuple):
    """The scores that need no skill, at home and on the domain: what labels drawn at random reach."""

    home: float
    away: float


class Scored(NamedTuple):
    """The scores of a model and its probes on one pair of test sets.

    Attributes:
        model: its scores.
        probes: those of each probe, by its name; at least one, each of at least 5 trainings.
        is_probe_at_chance: whether a probe is not shown to be above the level that needs no skill.
    """

    model: TwoScores
    probes: Mapping[str, TwoScores]
    is_probe_at_chance: bool


@dataclass(frozen=True)
class ExplainedDrop:
    """A drop and its parts, in points, on the domain as it is.

    Attributes:
        drop: SS - ST of the model.
        difficulty: mean IDD of the probes.
        rest: ``drop - difficulty``, a difference in differences.
        difficulties: IDD of each probe, by its name.
        as_is: the verdict on the domain as it is.
        at_home_shares: the verdict at home's class shares; None where they cannot be had.
    """

    drop: Figure
    difficulty: Figure
    rest: Figure
    difficulties: Mapping[str, Figure]
    as_is: Explanation
    at_home_shares: Explanation | None

    @property
    def explanation(self) -> Explanation:
        """Return the verdict that holds both ways."""
        return agreed(self.as_is, self.at_home_shares)


def explain_drop(scored: Scored, at_home_shares: Scored | None, chance: Levels) -> ExplainedDrop:
    """Split a model's drop into difficulty and a rest, and judge it (``metrics.difficulty_verdict``).

    All scores are of the same test texts, so what models share of a text's difficulty is in the intervals (by their
    influences on shared groups).

    Args:
        scored: the scores on the domain as it is.
        at_home_shares: the scores with its texts weighted to home's class shares; None where that cannot be.
        chance: the levels that need no skill.
    """
    model = scored.model._replace(home=as_it_is(scored.model.home), away=as_it_is(scored.model.away))
    difficulties = {name: difference(*probe) for name, probe in scored.probes.items()}
    difficulty = mean(list(difficulties.values()))
    rest = weighted_sum([difference(*model), difficulty], [1.0, -1.0], _UNBOUNDED)
    others = None if at_home_shares is None else _judge(at_home_shares, chance)
    return ExplainedDrop(difference(*model), difficulty, rest, difficulties, _judge(scored, chance), others)


def class_weights(here: Sequence[object], home: Sequence[object]) -> Floats | None:
    """Compute the weights with which a domain's classes have home's shares.

    Args:
        here: gold class of each of the domain's texts, at least one.
        home: those of home.
    Returns: a weight for each of the domain's texts, their mean 1; None where a class of home has no text here.

    >>> weights = class_weights(list("aabb"), list("aaab"))
    >>> None if weights is None else weights.tolist()
    [1.5, 1.5, 0.5, 0.5]
    """
    if set(home) - set(here):
        return None
    names, codes, counts = np.unique(np.asarray(here), return_inverse=True, return_counts=True)
    wanted = np.array([np.count_nonzero(np.asarray(home) == name) for name in names]) / len(home)
    return np.asarray((wanted / (counts / len(here)))[codes], dtype=np.float64)


def _judge(scored: Scored, chance: Levels) -> Explanation:
    model = TwoScores(*map(as_it_is, scored.model))
    if any(probe.home.value <= chance.home or probe.away.value <= chance.away for probe in scored.probes.values()):
        return Explanation(Verdict.CANNOT_TELL, Reason.PROBE_AT_CHANCE)
    if model.home.value <= chance.home:
        return Explanation(Verdict.CANNOT_TELL, Reason.AT_CHANCE)
    of_chance = above(chance.home), above(chance.away)
    scales: dict[str, tuple[Scale | None, Scale | None]] = {
        "raw": (None, None), "logit": (logit, logit), "above chance": of_chance
    }  # fmt: skip
    parts = {name: _on_scale(model, list(scored.probes.values()), scale) for name, scale in scales.items()}
    drop = difference(*model)
    difficulty = mean([difference(*probe) for probe in scored.probes.values()])
    balance = weighted_sum(
        [difficulty, drop], [2.0, -1.0], _UNBOUNDED
    )  # difficulty - rest, as rest = drop - difficulty
    return difficulty_verdict(
        _bounded(drop, recipes=False),
        parts,
        _bounded(balance, recipes=True),
        is_probe_at_chance=scored.is_probe_at_chance,
    )


def _on_scale(model: TwoScores, probes: Sequence[TwoScores], scales: tuple[Scale | None, Scale | None]) -> OnScale:
    drop, *alone = (_drop(scores, scales) for scores in (model, *probes))
    difficulty = weighted_sum(alone, [1 / len(alone)] * len(alone), _UNBOUNDED)
    rest = weighted_sum([drop, difficulty], [1.0, -1.0], _UNBOUNDED)
    difficulties = [each.value for each in alone]
    rests = [drop.value - each for each in difficulties]
    shown = _bounded(rest, recipes=True)
    if drop.value == np.inf:
        shown = _open_rest(model, difficulty, scales)
    return OnScale(_bounded(difficulty, recipes=True), shown, difficulties, rests)


def _open_rest(model: TwoScores, difficulty: Figure, scales: tuple[Scale | None, Scale | None]) -> Bounded:
    """Bound the rest of a model that falls to chance or below, on a scale without a value there.

    Its lower end is that of SS less difficulty, less the upper one of ST: the root of squares would need ST itself.
    """
    of_home, of_away = scales
    assert of_home is not None
    assert of_away is not None
    if model.away.high is None:
        return Bounded(np.inf, np.nan, np.nan)
    others = weighted_sum([on_scale(model.home, of_home), difficulty], [1.0, -1.0], _UNBOUNDED)
    with np.errstate(divide="ignore"):
        highest = float(of_away(np.asarray(model.away.high)))
    return Bounded(np.inf, _bounded(others, recipes=True).low - highest, np.inf)


def _drop(scores: TwoScores, scales: tuple[Scale | None, Scale | None]) -> Figure:
    sides = [figure if scale is None else on_scale(figure, scale) for figure, scale in zip(scores, scales, strict=True)]
    return weighted_sum(sides, [1.0, -1.0], _UNBOUNDED)


def _bounded(figure: Figure, *, recipes: bool) -> Bounded:
    """Return a figure with its interval, over trainings, too, where it is of recipes; without one its ends are NaN."""
    if not figure.has_interval or (recipes and figure.training is None):
        return Bounded(figure.value, np.nan, np.nan)
    return Bounded(figure.value, *figure.limits(recipes=recipes))


def logit(scores: Floats) -> Floats:
    """Convert scores to log odds."""
    return np.log(scores) - np.log1p(-scores)


def above(chance: float) -> Scale:
    """Return the scale of logarithms of score less chance; minus infinity at chance and below."""
    return lambda scores: np.log(np.maximum(scores - chance, 0.0))
