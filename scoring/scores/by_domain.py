"""One model's scores by domain: which differences are shown, how far domains lie apart, and the parts of drops."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from shiftbench.metrics.mover import p_of_interval
from shiftbench.scoring.scores.intervals import Figure, detectable_drop, difference, estimate, mean, weighted_sum
from shiftbench.scoring.scores.precision import Precision
from shiftbench.scoring.scores.replicates import N_DRAWS, TaskValues, task_values

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.comparison import holm
from shiftbench.scoring.scores.confidence_shape import ConfidenceFigures
from shiftbench.scoring.scores.difficulty import TwoScores, explain_drop
from shiftbench.scoring.scores.domain_shape import (
    Confusion,
    DomainCheck,
    DomainScore,
    DomainSpread,
    ExplainedDomain,
    ProbeScores,
)
from shiftbench.scoring.scores.estimate import Estimate
from shiftbench.scoring.scores.floors import constant_runs, is_at_floor, task_floors
from shiftbench.scoring.scores.shape import Scores
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.validation.vocabulary import ELSEWHERE, TaskKind

N_CONFUSIONS = 3
"""Pairs of labels that are listed of each domain."""


@dataclass(frozen=True)
class ProbePredictions:
    """A probe's predictions on each domain that it was trained on.

    Attributes:
        name: the probe, as readers know it.
        n_train: texts that it was trained on, the same number on each domain.
        predictions: columns domain, id and prediction: all test rows of each of its domains.
    """

    name: str
    n_train: int
    predictions: pl.DataFrame


@dataclass(frozen=True)
class Probes:
    """The probes, and the domains without one, with the reason."""

    found: Sequence[ProbePredictions]
    without: Mapping[str, str]


def check_domains(
    model: str,
    scores: Scores,
    predictions: pl.DataFrame,
    folder: DatasetFolder,
    home: str | None,
    probes: Probes | None = None,
    titles: Mapping[str, str] | None = None,
    n_draws: int = N_DRAWS,
) -> DomainCheck:
    """Compute scores by domain, drops and verdicts from one model's predictions.

    Args:
        model: what the model is called.
        scores: the scores of its predictions, one task's.
        predictions: those, rows as ``shiftbench.validation.predictions.CHECKED_PREDICTIONS`` has them; ``source`` is
            ``home`` or ``elsewhere``.
        folder: the dataset.
        home: the domain that the model was trained on; None where it was trained elsewhere.
        probes: what the probes predicted; None without probes.
        titles: what own data calls its domains, by their names; the check names them so.
        n_draws: replicates behind the intervals.
    """
    check = _Check(model, scores, predictions, folder, home, probes or Probes((), {}), n_draws).run()
    return _with_titles(check, titles or {})


class _Check:
    def __init__(
        self,
        model: str,
        scores: Scores,
        predictions: pl.DataFrame,
        folder: DatasetFolder,
        home: str | None,
        probes: Probes,
        n_draws: int,
    ) -> None:
        (self.scores,) = scores.tasks
        self.model, self.predictions, self.folder, self.home = model, predictions, folder, home
        self.name, self.probes, self.n_draws = self.scores.task, probes, n_draws
        self.values = self._values(predictions)
        self.info, self.source = self.values.info, home or ELSEWHERE
        self.precision = Precision(self.values)
        self.small = small_domains(self.info, self.values.domains)
        self.counted = [domain for domain in self.values.domains if domain not in self.small]

    def _values(self, predictions: pl.DataFrame) -> TaskValues:
        plain = predictions.drop("probabilities", "confidence", strict=False)
        return task_values(self.name, plain, self.folder, n_draws=self.n_draws)

    def run(self) -> DomainCheck:
        tested = self._tested_scores()
        figures = [self.figures[domain] for domain in self.counted]
        is_known = bool(figures) and not any(np.isnan(figure.values[0]) for figure in figures)
        return DomainCheck(
            model=self.model,
            task=self.name,
            metric=self.info.metric,
            home=self.home,
            min_texts=self.info.min_texts or 0,
            few_texts=self.small,
            domains=tuple(self._domain(domain, tested) for domain in self.values.domains),
            mean=estimate(mean(figures)) if is_known else None,
            mean_drop=self._mean_drop() if is_known else None,
            spread=_spread(dict(zip(self.counted, figures, strict=True))) if is_known and len(figures) > 1 else None,
            probes=tuple(self._probe(probe) for probe in self.probes.found),
            explained=tuple(self._explain_drops()),
            without_probe=dict(self.probes.without),
        )

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Return the model's score on each domain."""
        metric = self.info.metric
        return {domain: self.precision.figure(metric, (self.source, domain)) for domain in self.values.domains}

    def _mean_drop(self) -> Estimate | None:
        away = [self.figures[domain] for domain in self.counted if domain != self.home]
        if self.home not in self.counted or not away:
            return None
        return estimate(difference(self.figures[str(self.home)], mean(away)))

    def _tested_scores(self) -> dict[str, tuple[Figure, float]]:
        """Return the figure tested on each domain that counts, with its corrected p value."""
        tested: dict[str, Figure] = {}
        if self.home in self.counted:
            at_home = self.figures[str(self.home)]
            away = [domain for domain in self.counted if domain != self.home]
            tested = {domain: difference(at_home, self.figures[domain]) for domain in away}
        elif len(self.counted) > 1:
            others = -1 / (len(self.counted) - 1)
            weights = np.full((len(self.counted),) * 2, others)
            np.fill_diagonal(weights, 1.0)
            every = [self.figures[domain] for domain in self.counted]
            tested = {name: weighted_sum(every, list(row)) for name, row in zip(self.counted, weights, strict=True)}
        p_values = [_p_value(figure) for figure in tested.values()]
        # With two domains, each against the rest is the same test, so one is enough.
        is_one = self.home not in self.counted and len(tested) == 2
        corrected = p_values if is_one else holm(p_values).tolist()
        return {domain: (figure, p) for (domain, figure), p in zip(tested.items(), corrected, strict=True)}

    def _domain(self, domain: str, tested: Mapping[str, tuple[Figure, float]]) -> DomainScore:
        figure, p = tested.get(domain, (None, float("nan")))
        smallest = detectable_drop(figure, n_tests=len(tested)) if figure else None
        return DomainScore(
            domain=domain,
            n=self.values.rows[self.source, domain],
            has_few_texts=domain in self.small,
            score=estimate(self.figures[domain]),
            floor=self.scores.floors.get(domain),
            at_floor=domain in self._at_floor,
            unparsed=float(self.precision.mean("unparsed", (self.source, domain))[0]),
            difference=estimate(figure) if figure else None,
            p=None if np.isnan(p) else p,
            detectable=smallest.models_corrected if smallest else None,
            confidence=self._confidences.get(domain),
            confusions=self._confusions(domain),
        )

    @cached_property
    def _at_floor(self) -> set[str]:
        low = {own.domain for own in self.scores.in_domain if own.at_floor}
        return low | {shift.target for shift in self.scores.shifts if "st" in shift.at_floor}

    @cached_property
    def _confidences(self) -> dict[str, ConfidenceFigures]:
        confidence = self.scores.confidence
        if confidence is None:
            return {}
        shifts = {shift.target: shift.figures for shift in confidence.shifts}
        return shifts | {own.domain: own.figures for own in confidence.in_domain}

    def _confusions(self, domain: str) -> tuple[Confusion, ...]:
        if self.info.kind is not TaskKind.CLASSIFICATION:
            return ()
        gold = self._gold_labels.filter(domain=domain).join(
            self.predictions.select("id", "prediction"), on="id", how="inner"
        )
        wrong = gold.filter(pl.col("label") != pl.col("prediction")).group_by("label", "prediction").len()
        most = wrong.sort("len", "label", "prediction", descending=[True, False, False]).head(N_CONFUSIONS)
        return tuple(Confusion(gold=label, predicted=said, n=n) for label, said, n in most.iter_rows())

    @cached_property
    def _gold_labels(self) -> pl.DataFrame:
        """Return the test rows' labels by name: id, domain, label."""
        rows = self.folder.test(self.name, columns=["id", "domain", "label"])
        names = dict(enumerate(self.info.labels))
        return rows.with_columns(pl.col("label").replace_strict(names, return_dtype=pl.String))

    @cached_property
    def _score_probes(self) -> dict[str, tuple[dict[str, Figure], set[str]]]:
        """Score each probe on its domains, and find the domains on which it is at chance."""
        scored = {}
        floors = task_floors(self.folder, self.name) if self.probes.found else {}
        for probe in self.probes.found:
            rows = probe.predictions.select(
                "id", "prediction", source="domain", target="domain", task=pl.lit(self.name), seed=pl.lit(0, pl.Int64)
            )
            constant = {target for _, target, _ in constant_runs(rows, self.info.kind)}
            values = self._values(rows)
            precision = Precision(values)
            figures = {domain: precision.figure(self.info.metric, (domain, domain)) for domain, _ in values.rows}
            low = {
                domain
                for domain, figure in figures.items()
                if is_at_floor(
                    float(figure.values[0]) if figure.low is None else figure.low,
                    floors.get(domain),
                    constant=domain in constant,
                )
            }
            scored[probe.name] = (figures, low)
        return scored

    def _probe(self, probe: ProbePredictions) -> ProbeScores:
        figures, low = self._score_probes[probe.name]
        return ProbeScores(
            name=probe.name,
            n_train=probe.n_train,
            scores={domain: estimate(figure) for domain, figure in figures.items()},
            reference_td={
                domain: estimate(difference(figure, self.figures[domain])) for domain, figure in figures.items()
            },
            at_floor=tuple(sorted(low)),
        )

    def _explain_drops(self) -> list[ExplainedDomain]:
        """Split the drop from home to each domain that all probes were trained on; nothing without a home."""
        home = self.home
        if home not in self.counted or not self.probes.found:
            return []
        trained = set.intersection(*(set(figures) for figures, _ in self._score_probes.values()))
        away = [domain for domain in self.counted if domain != home and {domain, home} <= trained]
        return [self._explained_domain(str(home), domain) for domain in away]

    def _explained_domain(self, home: str, domain: str) -> ExplainedDomain:
        model = TwoScores(self.figures[home], self.figures[domain])
        probes = {name: TwoScores(figures[home], figures[domain]) for name, (figures, _) in self._score_probes.items()}
        is_low = any(low & {home, domain} for _, low in self._score_probes.values())
        explained = explain_drop(model, probes, is_probe_at_chance=is_low)
        reason = explained.explanation.reason
        return ExplainedDomain(
            domain=domain,
            drop=estimate(explained.drop),
            difficulty=estimate(explained.difficulty),
            rest=estimate(explained.rest),
            difficulties={name: estimate(figure) for name, figure in explained.difficulties.items()},
            verdict=explained.explanation.verdict.value,
            reason=reason.value if reason else None,
        )


def _with_titles(check: DomainCheck, titles: Mapping[str, str]) -> DomainCheck:
    """Return a check in which domains are shown by their titles."""

    def titled(name: str) -> str:
        return titles.get(name, name)

    def keyed(by_domain: Mapping[str, Any]) -> dict[str, Any]:
        return {titled(name): value for name, value in by_domain.items()}

    spread, probes = check.spread, check.probes
    return check.model_copy(
        update={
            "home": check.home and titled(check.home),
            "few_texts": keyed(check.few_texts),
            "domains": tuple(each.model_copy(update={"domain": titled(each.domain)}) for each in check.domains),
            "explained": tuple(each.model_copy(update={"domain": titled(each.domain)}) for each in check.explained),
            "without_probe": keyed(check.without_probe),
            "spread": spread
            and spread.model_copy(update={"highest": titled(spread.highest), "lowest": titled(spread.lowest)}),
            "probes": tuple(
                probe.model_copy(
                    update={
                        "scores": keyed(probe.scores),
                        "reference_td": keyed(probe.reference_td),
                        "at_floor": tuple(map(titled, probe.at_floor)),
                    }
                )
                for probe in probes
            ),
        }
    )


def _p_value(figure: Figure) -> float:
    if figure.low is None or figure.high is None:
        return float("nan")
    return p_of_interval(float(figure.values[0]), figure.low, figure.high, figure.effective_groups - 1)


def _spread(figures: Mapping[str, Figure]) -> DomainSpread:
    """Describe how far domains lie apart; chance is the mean of the scores' squared standard errors."""
    from scipy.special import stdtrit

    values = {domain: float(figure.values[0]) for domain, figure in figures.items()}
    highest, lowest = (choose(values, key=lambda domain: values[domain]) for choose in (max, min))
    observed = float(np.std(list(values.values()), ddof=1))
    errors = [
        (figure.high - figure.low) / 2 / float(stdtrit(figure.effective_groups - 1, 0.975))
        for figure in figures.values()
        if figure.low is not None and figure.high is not None
    ]
    chance = float(np.mean(np.square(errors))) if len(errors) == len(figures) else None
    return DomainSpread(
        highest=highest,
        lowest=lowest,
        range=values[highest] - values[lowest],
        observed=observed,
        by_chance=None if chance is None else float(np.sqrt(chance)),
        beyond_chance=None if chance is None else float(np.sqrt(max(observed**2 - chance, 0.0))),
    )
