"""One model's scores by domain: significant differences, spread between domains, and decomposition of drops.

A drop from the source domain is split into difficulty, measured by probes (cheap models trained on each domain), and a
rest. Intervals treat the model as fixed, but include the probes' variance over resampled training texts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.metrics.difficulty import (
    Bounded,
    Explanation,
    OnScale,
    Reason,
    Verdict,
    agreed,
    difficulty_verdict,
)
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.scores.figures import (
    Figure,
    Scale,
    add_training_text_variance,
    detectable_drop,
    difference,
    estimate,
    mean,
    on_scale,
    weighted_sum,
    with_model_fixed,
)
from shiftbench.scoring.scores.floors import Floor, constant_runs, is_at_floor, task_floors
from shiftbench.scoring.scores.next_steps import MARGIN, Domain, Step, next_steps
from shiftbench.scoring.scores.outcomes import TargetRuns
from shiftbench.scoring.scores.shape import (
    ConfidenceFigures,
    Confusion,
    DomainCheck,
    DomainScore,
    DomainSpread,
    Estimate,
    ExplainedDomain,
    NextStep,
    OverTime,
    ProbeScores,
    Scores,
    SlicesFound,
)
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.scoring.scores.values import Floats, TaskValues, task_values
from shiftbench.validation.vocabulary import ELSEWHERE, TaskKind

_UNBOUNDED = (-np.inf, np.inf)


class TwoScores(NamedTuple):
    """Scores on the source domain and on another: SS and ST of a model; SS and TT (both in-domain) of a probe."""

    home: Figure
    away: Figure


class Levels(NamedTuple):
    """No-skill scores on the source domain and on the other one: the expected score of random labels."""

    home: float
    away: float


class Scored(NamedTuple):
    """The scores of a model and of the probes on one pair of test sets.

    Attributes:
        model: the model's scores.
        probes: scores of each probe, by name; at least one probe, each trained at least 5 times.
        is_probe_at_chance: whether some probe is not shown to score above the no-skill level.
    """

    model: TwoScores
    probes: Mapping[str, TwoScores]
    is_probe_at_chance: bool


@dataclass(frozen=True)
class ExplainedDrop:
    """A drop and its parts, as fractions, on the domain's unweighted texts.

    Attributes:
        drop: SS - ST of the model.
        difficulty: mean IDD of the probes.
        rest: ``drop - difficulty``, a difference in differences.
        difficulties: IDD of each probe, by its name.
        as_is: the verdict on the unweighted texts.
        at_home_shares: the verdict with texts reweighted to the source's class prior; None if they cannot be.
    """

    drop: Figure
    difficulty: Figure
    rest: Figure
    difficulties: Mapping[str, Figure]
    as_is: Explanation
    at_home_shares: Explanation | None

    @property
    def explanation(self) -> Explanation:
        """Return the verdict on which the unweighted and the reweighted texts agree."""
        return agreed(self.as_is, self.at_home_shares)


def explain_drop(scored: Scored, at_home_shares: Scored | None, chance: Levels) -> ExplainedDrop:
    """Split a model's drop into difficulty and a rest, with a verdict (``metrics.difficulty_verdict``).

    All scores are on the same test texts, so the intervals account for texts that are difficult for all models: scores
    are correlated through their influences on common groups.

    Args:
        scored: the scores on the domain's unweighted texts.
        at_home_shares: the scores with its texts reweighted to the source's class prior; None if they cannot be.
        chance: the no-skill levels.
    """
    model = TwoScores(*map(with_model_fixed, scored.model))
    difficulties = {name: difference(*probe) for name, probe in scored.probes.items()}
    difficulty = mean(list(difficulties.values()))
    rest = weighted_sum([difference(*model), difficulty], [1.0, -1.0], _UNBOUNDED)
    others = None if at_home_shares is None else _judge(at_home_shares, chance)
    return ExplainedDrop(difference(*model), difficulty, rest, difficulties, _judge(scored, chance), others)


def class_weights(here: Sequence[object], home: Sequence[object]) -> Floats | None:
    """Compute text weights that give a domain the source's class prior.

    Args:
        here: gold class of each of the domain's texts, at least one.
        home: gold class of each of the source domain's test texts.
    Returns: a weight for each of the domain's texts, with mean 1; None if the domain lacks a class of the source.

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
    model = TwoScores(*map(with_model_fixed, scored.model))
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
    """Bound the rest for a model whose score falls to chance or below, where the scale is infinite.

    The rest's lower end is the lower limit of SS - difficulty, minus ST's upper limit. The two limits are subtracted
    directly, because ST is infinite on the scale and has no half-width that could be added in quadrature.
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
    """Return a figure with its interval, with training variance if ``recipes``; NaN ends without an interval."""
    if not figure.has_interval or (recipes and figure.training is None):
        return Bounded(figure.value, np.nan, np.nan)
    return Bounded(figure.value, *figure.limits(recipes=recipes))


def logit(scores: Floats) -> Floats:
    """Convert scores to log odds."""
    return np.log(scores) - np.log1p(-scores)


def above(chance: float) -> Scale:
    """Return the scale log(score - chance); minus infinity at chance and below."""
    return lambda scores: np.log(np.maximum(scores - chance, 0.0))


_MOST = 0.8
"""A gold label is doubted if more than this share of the probes' runs predict the same wrong label as the model."""
N_CONFUSIONS = 3
"""Number of confused label pairs listed per domain."""


@dataclass(frozen=True)
class ProbePredictions:
    """A probe's predictions on each domain that it was trained on, several times.

    Attributes:
        name: the probe's display name.
        n_train: number of training texts, the same on each domain, sampled with replacement.
        predictions: columns domain, seed, id and prediction: all test rows of each domain, for each run trained on it.
        n_texts: by domain, the number of texts that the training texts were sampled from.
    """

    name: str
    n_train: int
    predictions: pl.DataFrame
    n_texts: Mapping[str, int]


@dataclass(frozen=True)
class Probes:
    """The available probes, and the domains without one, each with the reason."""

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
    margin: float = MARGIN,
    unlabelled: Sequence[str] = (),
    follow: Callable[[Mapping[str, TargetRuns]], OverTime | None] | None = None,
    find: Callable[[Mapping[str, TargetRuns]], SlicesFound] | None = None,
) -> DomainCheck:
    """Compute scores by domain, drops and verdicts from one model's predictions.

    Args:
        model: the model's display name.
        scores: the scores of its predictions on one task.
        predictions: its predictions, with the columns of ``shiftbench.validation.predictions.CHECKED_PREDICTIONS``;
            ``source`` is ``home`` or ``elsewhere``.
        folder: the dataset.
        home: the domain that the model was trained on; None if it was trained on none of the domains.
        probes: what the probes predicted; None without probes.
        titles: the user's domain names, by internal name; the check shows these.
        margin: loss below which a domain is accepted, a fraction above 0, fixed in advance.
        unlabelled: domains without labels, which get a next step too.
        follow: function that tests scores over time, if domains are periods; called with the runs on the domains that
            have enough texts. None without periods.
        find: function that discovers slices, called with the runs on all domains; None to search for none.

    Returns: the check; domains have their titles.
    """
    own = _Check(model, scores, predictions, folder, home, probes or Probes((), {}), margin, unlabelled)
    check = _rename_domains(own.run(), titles or {})
    if follow is not None:
        counted = {domain: own.values.targets[domain] for domain in own.counted}
        check = check.model_copy(update={"over_time": follow(counted)})
    if find is not None:
        check = check.model_copy(update={"slices": find(own.values.targets)})
    return check


class _Check:
    def __init__(
        self,
        model: str,
        scores: Scores,
        predictions: pl.DataFrame,
        folder: DatasetFolder,
        home: str | None,
        probes: Probes,
        margin: float,
        unlabelled: Sequence[str],
    ) -> None:
        (self.scores,) = scores.tasks
        self.margin, self.unlabelled = margin, unlabelled
        self.model, self.predictions, self.folder, self.home = model, predictions, folder, home
        self.name, self.probes = self.scores.task, probes
        self.values = self._values(predictions)
        self.info, self.source = self.values.info, home or ELSEWHERE
        self.small = small_domains(self.info, self.values.domains)
        self.counted = [domain for domain in self.values.domains if domain not in self.small]

    def _values(self, predictions: pl.DataFrame) -> TaskValues:
        plain = predictions.drop("probabilities", "confidence", strict=False)
        return task_values(self.name, plain, self.folder)

    def run(self) -> DomainCheck:
        tested = self._tested_scores()
        figures = [self.figures[domain] for domain in self.counted]
        is_known = bool(figures) and all(figure.is_known for figure in figures)
        explained = tuple(self._explain_drops())
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
            explained=explained,
            without_probe=dict(self.probes.without),
            margin=self.margin,
            steps=self._next_steps(tested, explained),
        )

    def _next_steps(
        self, tested: Mapping[str, tuple[Figure, float]], explained: Sequence[ExplainedDomain]
    ) -> tuple[NextStep, ...]:
        """Choose the next step for each domain except the source."""
        known = {}
        for domain in self.values.domains:
            figure, p = tested.get(domain, (None, float("nan")))
            # Without a source domain the tested figure is the score minus the others' mean.
            lost = figure if figure is None or self.home in self.counted else weighted_sum([figure], [-1.0])
            n_texts = self.values.rows[self.source, domain]
            known[domain] = Domain(self.figures[domain], n_texts, lost, p, domain in self._at_floor)
        home, doubted = known.pop(str(self.home), None), self._doubted_labels()
        steps = next_steps(
            known,
            margin=self.margin,
            min_texts=self.info.min_texts or 0,
            home=home,
            unlabelled=self.unlabelled,
            harder={each.domain for each in explained if each.verdict == "harder"},
            doubted=doubted,
        )
        return tuple(
            each.model_copy(update={"rows": doubted[each.domain]}) if each.step == Step.LOOK else each for each in steps
        )

    def _doubted_labels(self) -> dict[str, tuple[str, ...]]:
        """Return the ids of the model's errors that most probe runs repeat, if these are most of a domain's errors."""
        doubted = {}
        for domain in self.counted if self.probes.found else ():
            wrong = self._gold_labels.filter(domain=domain).join(
                self.predictions.select("id", "prediction"), on="id", how="inner"
            ).filter(pl.col("label") != pl.col("prediction"))  # fmt: skip
            if wrong.is_empty():
                continue
            answers = pl.concat([each.predictions.filter(domain=domain) for each in self.probes.found])
            agreeing = answers.join(wrong.select("id", wrong="prediction"), on="id", how="inner").group_by("id").agg(
                share=(pl.col("prediction") == pl.col("wrong")).mean()
            )  # fmt: skip
            ids = agreeing.filter(pl.col("share") > _MOST)["id"].sort()
            if len(ids) > len(wrong) / 2:
                doubted[domain] = tuple(ids)
        return doubted

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Return the model's score on each domain."""
        metric = self.info.metric
        return {domain: self.values.figure(metric, (self.source, domain)) for domain in self.values.domains}

    def _mean_drop(self) -> Estimate | None:
        away = [self.figures[domain] for domain in self.counted if domain != self.home]
        if self.home not in self.counted or not away:
            return None
        return estimate(difference(self.figures[str(self.home)], mean(away)))

    def _tested_scores(self) -> dict[str, tuple[Figure, float]]:
        """Return the tested figure and its Holm-corrected p value, for each domain with enough texts."""
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
        p_values = [figure.p_value() for figure in tested.values()]
        # With two domains, comparing either one with the rest is the same test, so it counts once.
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
            unparsed=self.values.mean("unparsed", (self.source, domain)),
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
        """Return the test rows' label names, with columns id, domain and label."""
        rows = self.folder.test(self.name, columns=["id", "domain", "label"])
        names = dict(enumerate(self.info.labels))
        return rows.with_columns(pl.col("label").replace_strict(names, return_dtype=pl.String))

    @cached_property
    def _floors(self) -> dict[str, Floor]:
        return task_floors(self.folder, self.name)

    @cached_property
    def _scored_probes(self) -> dict[str, "_Probe"]:
        scored = {}
        for probe in self.probes.found:
            rows = probe.predictions.select(
                "id", "prediction", "seed", source="domain", target="domain", task=pl.lit(self.name)
            )
            constant = {target for _, target, _ in constant_runs(rows, self.info.kind)}
            scored[probe.name] = _Probe(probe, self._values(rows), self._floors, constant)
        return scored

    def _probe(self, probe: ProbePredictions) -> ProbeScores:
        scored = self._scored_probes[probe.name]
        return ProbeScores(
            name=probe.name,
            n_train=probe.n_train,
            scores={domain: estimate(figure) for domain, figure in scored.figures.items()},
            reference_td={
                domain: estimate(difference(figure, self.figures[domain])) for domain, figure in scored.figures.items()
            },
            at_floor=tuple(sorted(domain for domain in scored.figures if scored.is_at_floor(domain))),
        )

    def _explain_drops(self) -> list[ExplainedDomain]:
        """Decompose the drop on each target into difficulty and rest, where all probes were trained on the target.

        Empty without a source domain.
        """
        home = self.home
        if home not in self.counted or not self.probes.found:
            return []
        trained = set.intersection(*(set(probe.figures) for probe in self._scored_probes.values()))
        away = [domain for domain in self.counted if domain != home and {domain, home} <= trained]
        return [self._explained_domain(str(home), domain) for domain in away]

    def _explained_domain(self, home: str, domain: str) -> ExplainedDomain:
        weights = class_weights(self._labels_of(domain), self._labels_of(home))
        chance = Levels(self._floors[home].chance, self._floors[domain].chance)
        at_home_shares = None if weights is None else self._scored(home, domain, weights)
        found = explain_drop(self._scored(home, domain), at_home_shares, chance)
        verdict, reason = found.explanation
        other = found.at_home_shares
        return ExplainedDomain(
            domain=domain,
            drop=estimate(found.drop),
            difficulty=estimate(found.difficulty, recipes=True),
            rest=estimate(found.rest, recipes=True),
            difficulties={name: estimate(figure, recipes=True) for name, figure in found.difficulties.items()},
            verdict=verdict.value,
            reason=reason and reason.value,
            as_is=found.as_is.verdict.value,
            at_home_shares=other and other.verdict.value,
            at_home_shares_reason=other and other.reason and other.reason.value,
        )

    def _scored(self, home: str, domain: str, weights: Floats | None = None) -> Scored:
        """Return the model's and the probes' scores on the source and on a domain, the latter optionally weighted."""
        away = self.figures[domain] if weights is None else self.values.weighted((self.source, domain), weights)
        probes = self._scored_probes
        scores = {name: TwoScores(probe.figures[home], probe.on(domain, weights)) for name, probe in probes.items()}
        level = self._floors[domain if weights is None else home].level
        is_low = any(
            probe.is_at_floor(home) or _lower_end(scores[name].away) <= level or domain in probe.constant
            for name, probe in probes.items()
        )
        return Scored(TwoScores(self.figures[home], away), scores, is_low)

    def _labels_of(self, domain: str) -> list[str]:
        """List the gold labels of a domain's texts, in order of their ids."""
        return self._gold_labels.filter(domain=domain).sort("id")["label"].to_list()


class _Probe:
    """A probe's in-domain scores."""

    def __init__(
        self, probe: ProbePredictions, values: TaskValues, floors: Mapping[str, Floor], constant: set[str]
    ) -> None:
        self.probe, self.values, self.floors, self.constant = probe, values, floors, constant
        self.figures = {domain: self.on(domain) for domain, _ in values.rows}

    def on(self, domain: str, weights: Floats | None = None) -> Figure:
        """Return its (weighted) score on a domain, including the variance over resampled training texts."""
        cell = (domain, domain)
        figure = self.values.figure(self.values.info.metric, cell) if weights is None else (
            self.values.weighted(cell, weights)
        )  # fmt: skip
        return add_training_text_variance(figure, self.probe.n_train / self.probe.n_texts[domain])

    def is_at_floor(self, domain: str) -> bool:
        """Return whether the probe's score on a domain is not significantly above chance."""
        end = _lower_end(self.figures[domain])
        return is_at_floor(end, self.floors.get(domain), constant=domain in self.constant)


def _lower_end(figure: Figure) -> float:
    return figure.value if figure.low is None else figure.low


def _rename_domains(check: DomainCheck, titles: Mapping[str, str]) -> DomainCheck:
    """Return a check with domains renamed to their titles."""

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
            "steps": tuple(each.model_copy(update={"domain": titled(each.domain)}) for each in check.steps),
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


def _spread(figures: Mapping[str, Figure]) -> DomainSpread:
    """Describe the spread between domains; the chance variance is the mean squared standard error of the scores."""
    values = {domain: figure.value for domain, figure in figures.items()}
    highest, lowest = (choose(values, key=lambda domain: values[domain]) for choose in (max, min))
    observed = float(np.std(list(values.values()), ddof=1))
    errors = [figure.se for figure in figures.values() if figure.has_interval]
    chance = float(np.mean(np.square(errors))) if len(errors) == len(figures) else None
    return DomainSpread(
        highest=highest,
        lowest=lowest,
        range=values[highest] - values[lowest],
        observed=observed,
        by_chance=None if chance is None else float(np.sqrt(chance)),
        beyond_chance=None if chance is None else float(np.sqrt(max(observed**2 - chance, 0.0))),
    )
