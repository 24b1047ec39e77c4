"""The parts of a model's drop from home: difficulty, measured by probes trained on each domain, and a rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from shiftbench.scoring.scores.intervals import Figure, weighted_sum

from shiftbench.metrics.difficulty import Bounded, Explanation, OnScale, difficulty_verdict
from shiftbench.metrics.in_domain_advantage import Scale

SCALES: tuple[Scale, ...] = ("raw", "logit")
"""The scales that a verdict must hold on; the first one is shown."""


class TwoScores(NamedTuple):
    """Scores at home and on another domain: SS and ST of a model; SS and TT of a probe, which has a home in both."""

    home: Figure
    away: Figure


@dataclass(frozen=True)
class ExplainedDrop:
    """A drop and its parts, in points.

    Attributes:
        drop: SS - ST of the model.
        difficulty: mean IDD of the probes.
        rest: ``drop - difficulty``, a difference in differences.
        difficulties: IDD of each probe, by its name.
        explanation: the verdict.
    """

    drop: Figure
    difficulty: Figure
    rest: Figure
    difficulties: Mapping[str, Figure]
    explanation: Explanation


def explain_drop(model: TwoScores, probes: Mapping[str, TwoScores], *, is_probe_at_chance: bool) -> ExplainedDrop:
    """Split a model's drop into difficulty and a rest, and judge it (``metrics.difficulty_verdict``).

    All scores are of the same test texts with the same replicates, so what models share of a text's difficulty is in
    the intervals (paired over test groups).

    Args:
        model: its scores at home and on the domain.
        probes: those of each probe, by its name; at least one.
        is_probe_at_chance: whether one of these is not shown to be above the level that needs no skill.
    """
    scales: dict[str, OnScale] = {scale: _on_scale(model, probes, scale) for scale in SCALES}
    difficulties = {name: weighted_sum([*probe], [1.0, -1.0]) for name, probe in probes.items()}
    drop = weighted_sum([*model], [1.0, -1.0])
    difficulty, rest = _mean_parts(model, probes, "raw")
    explanation = difficulty_verdict(_bounded(drop), scales, is_probe_at_chance=is_probe_at_chance)
    return ExplainedDrop(drop, difficulty, rest, difficulties, explanation)


def _mean_parts(model: TwoScores, probes: Mapping[str, TwoScores], scale: Scale) -> tuple[Figure, Figure]:
    """Return the mean difficulty and the rest on a scale."""
    figures = [figure for probe in probes.values() for figure in probe]
    idd = [sign / len(probes) for _ in probes for sign in (1.0, -1.0)]
    rest = weighted_sum([*model, *figures], [1.0, -1.0, *(-weight for weight in idd)], scale)
    return weighted_sum(figures, idd, scale), rest


def _on_scale(model: TwoScores, probes: Mapping[str, TwoScores], scale: Scale) -> OnScale:
    difficulty, rest = _mean_parts(model, probes, scale)
    alone = [_mean_parts(model, {name: probe}, scale) for name, probe in probes.items()]
    difficulties, rests = ([float(part.values[0]) for part in parts] for parts in zip(*alone, strict=True))
    return OnScale(_bounded(difficulty), _bounded(rest), difficulties, rests)


def _bounded(figure: Figure) -> Bounded:
    low, high = (np.nan if end is None else end for end in (figure.low, figure.high))
    return Bounded(float(figure.values[0]), low, high)
