"""Verdicts on simulated domains whose difficulty and shift are known (``difficult_domains``)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.metrics.difficulty import Reason, Verdict
from shiftbench.scoring.scores.difficulty import (
    ExplainedDrop,
    Floats,
    Levels,
    Scored,
    TwoScores,
    class_weights,
    explain_drop,
)
from shiftbench.scoring.scores.figures import Figure, Runs, Score, runs_of_other_texts, single
from shiftbench.scoring.scores.floors import floor_of
from shiftbench.scoring.scores.outcomes import TargetRuns, outcomes
from shiftbench.scoring.scores.values import sampled_scores
from shiftbench.validation.vocabulary import TaskKind
from tests.scoring.scores.difficult_domains import (
    BOTH,
    CLASS_SHARES,
    HARDER,
    SHIFTED,
    STRONGER,
    Texts,
    World,
    draw,
    with_luck,
)

INFO = TaskInfo(
    title="", kind=TaskKind.CLASSIFICATION, inputs=("text",), labels=("no", "yes"), metric="", domains={}, subsets={}
)


def scored(texts: Texts, domain: str, model: str, metric: str, weights: Floats | None = None) -> Figure:
    gold, runs = pl.DataFrame({"label": texts.gold}), texts.predicted[model]
    said = pl.Series(runs.reshape(-1)).replace_strict(dict(enumerate(INFO.labels)), return_dtype=pl.String)
    ids, groups = pl.Series(range(len(gold))), np.arange(len(gold))
    numbered = [(domain, number) for number in range(len(runs))]
    target = TargetRuns("", domain, ids, groups, numbered, outcomes(INFO, gold, gold, said, None))
    rows = None if weights is None else weights[None]
    figure = single(sampled_scores(target, range(len(runs)), metric, rows)[0])
    return figure if model == "model" else runs_of_other_texts(figure, 1.0)


def explained(home: Texts, away: Texts, metric: str) -> ExplainedDrop:
    weights = class_weights(away.gold.tolist(), home.gold.tolist())
    at_home = {model: scored(home, "home", model, metric) for model in home.predicted}
    floors = [floor_of(INFO.kind, metric, pl.DataFrame({"label": texts.gold})) for texts in (home, away)]
    levels = [floor.level for floor in floors if floor]

    def compared(weights: Floats | None) -> Scored:
        everyone = {
            model: TwoScores(figure, scored(away, "away", model, metric, weights)) for model, figure in at_home.items()
        }
        model = everyone.pop("model")
        level = levels[1] if weights is None else levels[0]
        low = any((probe.home.low or 0) <= levels[0] or (probe.away.low or 0) <= level for probe in everyone.values())
        return Scored(model, everyone, low)

    chance = Levels(*(floor.chance for floor in floors if floor))
    return explain_drop(compared(None), None if weights is None else compared(weights), chance)


def verdicts(world: World, n_seeds: int, metric: str = "macro_f1") -> Counter[Verdict]:
    """Count the verdicts over draws of a world."""
    rngs = (np.random.default_rng([7, seed]) for seed in range(n_seeds))
    return Counter(explained(*draw(world, rng), metric).explanation.verdict for rng in rngs)


def wrong(found: Counter[Verdict], *right: Verdict) -> int:
    return found.total() - found[Verdict.CANNOT_TELL] - sum(found[verdict] for verdict in right)
