"""Several runs of a model on the same items: variance due to prompts, seeds and items, and robustness of the ranking.

Each log has one prompt. Each epoch of a log counts as a run, as does each further log with the same prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

import numpy as np

from shiftbench.metrics.components import (
    MIN_PROMPTS,
    Component,
    other_prompts_of_each,
    variance_components,
    with_other_prompt,
)
from shiftbench.scoring.scores.shape import Estimate, Record
from shiftbench.scoring.scores.values import Floats

Survival = Literal["yes", "no", "unknown"]


@dataclass(frozen=True)
class RunScores:
    """A model's scores on the items of a comparison.

    Attributes:
        name: the model's name.
        prompts: identities of its prompts, equal between models that were given the same prompt.
        scores: shape (n_items, n_prompts, n_runs).
    """

    name: str
    prompts: Sequence[str]
    scores: Floats


class Spreads(Record):
    """Variance components of the score of one answer, as standard deviations with 95% limits.

    ``prompts`` and ``seeds`` are null if the runs do not vary them; ``rest`` is the residual.
    """

    items: Estimate
    prompts: Estimate | None
    seeds: Estimate | None
    rest: Estimate


class ModelRuns(Record):
    """A model's runs; ``spreads`` is null with only one answer per item."""

    name: str
    n_prompts: int
    n_runs: int
    spreads: Spreads | None


class PairRuns(Record):
    """The predicted difference A minus B with a new prompt of the same kind, on these items.

    ``crossed``: whether both models were given the same prompts. ``low`` and ``high`` are 95% prediction limits, null
    with fewer than 5 prompts. ``survives``: whether the sign of the difference holds with a new prompt, as in
    ``metrics.components.OtherPrompt``. ``spreads`` are those of the difference, null if not crossed.
    """

    a: str
    b: str
    crossed: bool
    n_prompts: int
    low: float | None
    high: float | None
    survives: Survival
    spreads: Spreads | None


class RunReport(Record):
    """Runs of all models, and for each pair whether its order survives another prompt."""

    models: tuple[ModelRuns, ...]
    pairs: tuple[PairRuns, ...]

    def survives(self, order: Sequence[str]) -> Survival:
        """Return whether an order of models (best first) survives another prompt: every adjacent pair must survive."""
        found = {frozenset((pair.a, pair.b)): pair.survives for pair in self.pairs}
        each = [found[frozenset(pair)] for pair in pairwise(order)]
        return "no" if "no" in each else "unknown" if "unknown" in each else "yes"


def compare_runs(models: Sequence[RunScores]) -> RunReport:
    """Decompose the variance over runs, and predict each pair's difference with a new prompt."""
    return RunReport(
        models=tuple(_model(model) for model in models), pairs=tuple(_pair(a, b) for a, b in combinations(models, 2))
    )


def _model(model: RunScores) -> ModelRuns:
    _, n_prompts, n_runs = model.scores.shape
    spreads = _spreads(model.scores) if n_prompts * n_runs > 1 and len(model.scores) > 1 else None
    return ModelRuns(name=model.name, n_prompts=n_prompts, n_runs=n_prompts * n_runs, spreads=spreads)


def _pair(a: RunScores, b: RunScores) -> PairRuns:
    crossed = set(a.prompts) == set(b.prompts)
    spreads = None
    if crossed:
        order = [list(b.prompts).index(prompt) for prompt in a.prompts]
        apart = a.scores.mean(axis=2) - b.scores.mean(axis=2)[:, order]
        errors = apart.std(axis=0, ddof=1) / np.sqrt(len(apart))
        other = with_other_prompt(apart.mean(axis=0), errors)
        if apart.shape[1] > 1:
            spreads = _spreads(apart[:, :, None])
    else:
        other = other_prompts_of_each(a.scores.mean(axis=(0, 2)), b.scores.mean(axis=(0, 2)))
    said: dict[bool | None, Survival] = {True: "yes", False: "no", None: "unknown"}
    return PairRuns(
        a=a.name,
        b=b.name,
        crossed=crossed,
        n_prompts=min(len(a.prompts), len(b.prompts)),
        low=other.low,
        high=other.high,
        survives=said[other.survives],
        spreads=spreads,
    )


def _spreads(scores: Floats) -> Spreads:
    found = variance_components(scores)
    return Spreads(
        items=_sd(found.items),
        prompts=_sd(found.prompts) if found.prompts else None,
        seeds=_sd(found.seeds) if found.seeds else None,
        rest=_sd(found.rest),
    )


def _sd(component: Component) -> Estimate:
    value, low, high = (float(np.sqrt(each)) for each in component)
    return Estimate(value=value, low=low, high=high)


def survival_words(report: RunReport, order: Sequence[str]) -> str:
    """Write whether the ranking survives another prompt, with the reason if this is unknown."""
    answer = report.survives(order)
    fewest = min(model.n_prompts for model in report.models)
    why = ""
    if answer == "unknown" and fewest < MIN_PROMPTS:
        why = f" (a model has only {fewest} prompts; {MIN_PROMPTS} are needed)"
    elif answer == "unknown":
        why = " (it is undecided whether adjacent models would swap with another prompt)"
    elif answer == "no":
        why = " (two prompts rank adjacent models in opposite order)"
    return f"The ranking is stable under another prompt: {answer}{why}"
