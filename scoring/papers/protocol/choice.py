"""A selection from candidates and the ID model's scores: decisions with margins, intervals, selection frequencies.

``DatasetChoice`` is the output of ``shiftbench study protocol --json``, a stable format for other programs. Scores,
drops, margins and similarities are fractions, unrounded; null if undefined or not measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pydantic

from shiftbench.scoring.papers.protocol.rule import (
    UNFIT,
    Candidate,
    OodVerdict,
    choose_id,
    explain,
    frequencies,
    may_be_ood,
)
from shiftbench.scoring.scores.figures import Figure, difference, estimates
from shiftbench.scoring.scores.shape import Estimate
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

Basis = Literal["reported", "data"]

N_DRAWS = 10_000
"""Number of normal draws of the scores for the frequencies."""


class _Shape(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class MeanWords(_Shape):
    """Mean length of an input field in words; null without rows."""

    train: float | None
    test: float | None


class Decision(_Shape):
    """A candidate, its facts, and whether it is selected. ``domain`` is the candidate's name in the dataset folder."""

    name: str
    domain: str | None
    text_sources: tuple[str, ...]
    breadth: int
    challenge: bool
    made_from: str | None
    train: int
    test: int
    n_classes: int | None
    smallest_class: int | None = pydantic.Field(description="Train rows of the smallest class")
    smallest_class_is_bound: bool = pydantic.Field(description="Whether 'smallest_class' is only an upper bound")
    words: dict[str, MeanWords] = pydantic.Field(description="By input field")
    similarity: float | None = pydantic.Field(description="Cosine of its centroid with the ID's")
    score: Estimate | None = pydantic.Field(description="The ID model's score on its test rows")
    drop: Estimate | None = pydantic.Field(description="The ID model's score on the ID data set minus 'score'")
    could_be_id: bool
    id_reason: str = pydantic.Field(description="Why the rule selects it as the ID, or not")
    chosen: bool = pydantic.Field(description="Whether it is selected as an OOD data set")
    reason: str | None = pydantic.Field(description="Why it is OOD, or not; null without scores")
    rival: str | None = pydantic.Field(description="The data set that was chosen instead of it, or would replace it")
    margin: Estimate | None = pydantic.Field(description="Score difference to the rival")
    frequency: float | None = pydantic.Field(
        description="Proportion of resamples of the scores in which it is chosen as OOD"
    )


class DatasetChoice(_Shape):
    """A task's ID and OOD data sets; ``id`` is null if no candidate is eligible, ``ood`` without scores."""

    task: str
    metric: str
    basis: Basis
    model: str | None
    encoder: str | None
    id: str | None
    id_by_rule: str | None
    n_ood: int
    ood: tuple[str, ...] | None
    candidates: tuple[Decision, ...]
    similarity: dict[str, dict[str, float]]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """Facts about a candidate other than its scores; ``task`` and ``domain`` identify it in the dataset folder."""

    candidate: Candidate
    test: int
    words: Mapping[str, MeanWords]
    smallest_is_bound: bool = False
    task: str | None = None
    domain: str | None = None

    @property
    def name(self) -> str:
        """Return the candidate's name."""
        return self.candidate.name


@dataclass(frozen=True)
class Probe:
    """An ID model's scores by candidate, each with its precision; candidates may be absent."""

    id_name: str
    model: str
    scores: Mapping[str, Figure]


@dataclass(frozen=True)
class Study:
    """The candidates of a task. ``similarity`` is by pair of names, and empty if not measured."""

    task: str
    metric: str
    basis: Basis
    facts: Sequence[Facts]
    similarity: Mapping[tuple[str, str], float] = field(default_factory=dict)
    encoder: str | None = None
    probe: Probe | None = None
    notes: tuple[str, ...] = ()

    @property
    def candidates(self) -> list[Candidate]:
        """List the candidates."""
        return [facts.candidate for facts in self.facts]

    def find_name(self, text: str) -> str:
        """Return a candidate's name, given its name or domain; InvalidInput if there is none."""
        names = {facts.domain: facts.name for facts in self.facts if facts.domain} | {
            facts.name: facts.name for facts in self.facts
        }
        if text not in names:
            cure = did_you_mean(text, list(names))
            raise InvalidInput(Problem(f"task '{self.task}' has no such candidate", "--id", f"'{text}'", cure))
        return names[text]


def choose(study: Study, id_name: str | None, n_ood: int) -> DatasetChoice:
    """Select OOD data sets for an ID, and explain the decision on every candidate.

    Args:
        study: the candidates; its probe, if any, is a model trained on the ID.
        id_name: the ID; None if there is none, and then no OOD data set is selected.
        n_ood: number of data sets to select.
    """
    rule_id, reasons = choose_id(study.candidates)
    probe = study.probe if id_name is not None else None
    scores = dict(probe.scores) if probe else {}
    verdicts: dict[str, OodVerdict] = {}
    shares: dict[str, float] = {}
    if probe and id_name is not None:
        points = [scores[name].value if name in scores else np.nan for name in _candidate_names(study)]
        verdicts = explain(study.candidates, points, id_name, n_ood)
        shares = _frequencies(study, scores, id_name, n_ood)
    figures = estimates(_all_figures(scores, id_name, verdicts))
    decisions = [
        _decision(
            facts,
            reasons[facts.name],
            verdicts.get(facts.name),
            figures,
            shares.get(facts.name),
            study.similarity.get((id_name or "", facts.name)),
        )
        for facts in study.facts
    ]
    return DatasetChoice(
        task=study.task,
        metric=study.metric,
        basis=study.basis,
        model=probe.model if probe else None,
        encoder=study.encoder,
        id=id_name,
        id_by_rule=rule_id,
        n_ood=n_ood,
        ood=tuple(decision.name for decision in decisions if decision.chosen) if probe else None,
        candidates=tuple(decisions),
        similarity=_similarity_rows(study.similarity),
        notes=(*study.notes, *_shortage(decisions, probe, n_ood)),
    )


def _candidate_names(study: Study) -> list[str]:
    return [facts.name for facts in study.facts]


def _all_figures(
    scores: Mapping[str, Figure], id_name: str | None, verdicts: Mapping[str, OodVerdict]
) -> dict[str, Figure]:
    """Return every score, drop and margin, by kind and name."""
    figures = {f"score {name}": figure for name, figure in scores.items()}
    if id_name is not None and id_name in scores:
        figures |= {
            f"drop {name}": difference(scores[id_name], figure) for name, figure in scores.items() if name != id_name
        }
    for name, verdict in verdicts.items():
        if verdict.rival is not None:
            pair = (scores[verdict.rival], scores[name])
            figures[f"margin {name}"] = difference(*(pair if verdict.chosen else pair[::-1]))
    return figures


def _frequencies(study: Study, scores: Mapping[str, Figure], id_name: str, n_ood: int) -> dict[str, float]:
    """Return how often each candidate is selected over normal draws of the scores; empty if a score has no interval."""
    free = may_be_ood(study.candidates, id_name)
    names = _candidate_names(study)
    running = [name for name, may in zip(names, free, strict=True) if may and name in scores]
    if not running or not all(scores[name].has_interval for name in running):
        return {}
    table = np.full((N_DRAWS, len(names)), np.nan)
    for column, name in enumerate(names):
        if name in running:
            # Seeded by name, so that a data set's draws do not depend on the other candidates.
            rng = np.random.default_rng([*f"{study.task}/{name}".encode()])
            table[:, column] = rng.normal(scores[name].value, scores[name].se, N_DRAWS).clip(0, 1)
    shares = frequencies(study.candidates, table, id_name, n_ood)
    return {name: float(share) for name, share in zip(names, shares, strict=True) if name in running}


def _similarity_rows(similarity: Mapping[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    rows: dict[str, dict[str, float]] = {}
    for (a, b), value in similarity.items():
        rows.setdefault(a, {})[b] = value
    return rows


def _decision(
    facts: Facts,
    id_reason: str,
    verdict: OodVerdict | None,
    figures: Mapping[str, Estimate],
    share: float | None,
    similarity: float | None,
) -> Decision:
    candidate = facts.candidate
    return Decision(
        name=candidate.name,
        domain=facts.domain,
        text_sources=candidate.text_sources,
        breadth=candidate.breadth,
        challenge=candidate.challenge,
        made_from=candidate.made_from,
        train=candidate.train,
        test=facts.test,
        n_classes=candidate.n_classes,
        smallest_class=candidate.smallest_class,
        smallest_class_is_bound=facts.smallest_is_bound,
        words=dict(facts.words),
        similarity=similarity,
        score=figures.get(f"score {candidate.name}"),
        drop=figures.get(f"drop {candidate.name}"),
        could_be_id=id_reason not in UNFIT,
        id_reason=id_reason,
        chosen=verdict.chosen if verdict else False,
        reason=verdict.reason if verdict else None,
        rival=verdict.rival if verdict else None,
        margin=figures.get(f"margin {candidate.name}"),
        frequency=share,
    )


def _shortage(decisions: Sequence[Decision], probe: Probe | None, n_ood: int) -> list[str]:
    n = sum(decision.chosen for decision in decisions)
    if probe is None or n == n_ood:
        return []
    return [f"Only {n} of {n_ood} OOD data sets: no other candidate has a score and a distinct text source."]
