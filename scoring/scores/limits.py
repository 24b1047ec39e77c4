"""Tests of limits fixed in advance: ``shiftbench gate``'s limits per domain, and non-inferiority margins for drops.

Each limit of a gate is tested in both directions. It is *broken* if a test rejects that the limit is kept,
Holm-corrected over all tests of the gate: with 20 domains exactly at the limit, an uncorrected gate would fail most of
the time. It is *kept* if the opposite test rejects that the limit is broken; the claim that all limits are kept is an
intersection-union claim, which needs no correction. Otherwise the test *cannot tell*, and more test texts are needed.
p values invert the intervals shown with the scores: the smallest level at which the one-sided bound excludes the limit.

That no drop exceeds a margin is also an intersection-union claim: every shift's one-sided 95% upper bound must be below
it. With fewer than 5 runs of some source it is about these trained models; with 5 or more also about the recipe.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pydantic

from shiftbench.metrics.precision import exact_p
from shiftbench.metrics.ranking import holm
from shiftbench.scoring.scores.figures import Figure, difference, mean, none_if_nan
from shiftbench.scoring.scores.floors import is_drop_at_floor, ranked_shifts
from shiftbench.scoring.scores.shape import BoundedDrop, NonInferiority, Scores, Shift, TaskScores
from shiftbench.scoring.scores.summary import small_domains
from shiftbench.scoring.scores.values import Cell, Floats, TaskValues
from shiftbench.validation.report import InvalidInput, Problem

AT_CHANCE = "one of its scores is not significantly above chance or always predicting one label"
_LEVEL = 0.90
"""Two-sided level of intervals whose ends are one-sided 95% bounds."""


def add_non_inferiority(scores: Scores, task_values: Mapping[str, TaskValues], margin: float | None) -> Scores:
    """Add to scores whether no drop exceeds a margin.

    Args:
        scores: scores with ``at_floor`` set.
        task_values: by task, the values that they were computed from.
        margin: a fraction in (0, 1); None returns the scores unchanged.

    Returns: the scores, with ``non_inferiority`` in every task.

    Raises: InvalidInput for a margin out of range.
    """
    if margin is None:
        return scores
    refuse_margin(margin)
    tasks = [
        task.model_copy(update={"non_inferiority": _bound_task(task, task_values[task.task], margin)})
        for task in scores.tasks
    ]
    return scores.model_copy(update={"tasks": tuple(tasks)})


def refuse_margin(margin: float) -> None:
    """Raise InvalidInput for a margin that is not in (0, 1)."""
    if not 0 < margin < 1:
        cure = "a margin must be between 0 and 1; 2 points are 0.02 (2 on the command line)"
        raise InvalidInput(Problem("not a valid margin", "margin", f"{margin:g} ({100 * margin:g} points)", cure))


def highest_bound(figure: str, cells: Sequence[Cell], drops: Sequence[Figure], margin: float) -> BoundedDrop:
    """Find the highest upper bound of some drops, and whether it is below the margin.

    Args:
        figure: name of the drops.
        cells: source and target of each drop; empty for a mean.
        drops: at least one.
        margin: a fraction.
    """
    if not all(drop.has_interval for drop in drops):
        reason = next((drop.no_interval for drop in drops if drop.no_interval), None)
        return BoundedDrop(figure=figure, n_shifts=len(cells), margin_holds=None, reason=reason or "no predictions")
    uppers = [drop.limits(_LEVEL)[1] for drop in drops]
    at = int(np.argmax(uppers))
    measured = all(drop.training is not None for drop in drops)
    recipe = max(drop.limits(_LEVEL, recipes=True)[1] for drop in drops) if measured else None
    return BoundedDrop(
        figure=figure,
        n_shifts=len(cells),
        source=cells[at][0] if cells else None,
        target=cells[at][1] if cells else None,
        upper=uppers[at],
        margin_holds=uppers[at] < margin,
        upper_recipe=recipe,
        margin_holds_recipe=None if recipe is None else recipe < margin,
    )


def _bound_task(task: TaskScores, values: TaskValues, margin: float) -> NonInferiority:
    small = small_domains(values.info, values.domains)
    shifts = [
        shift
        for shift in ranked_shifts(task)
        if shift.source in values.info.domains and not small.keys() & {shift.source, shift.target}
    ]
    claims = []
    for name in ("sd", "td"):
        known = [shift for shift in shifts if getattr(shift, name).value is not None]
        if known:
            claims.append(_over_shifts(values, name, known, margin))
    if shifts and task.summary.complete and task.summary.average_drop.value is not None:
        claims.append(_on_average(values, shifts, margin, at_chance=task.summary.at_floor))
    return NonInferiority(margin=margin, claims=tuple(claims))


def _over_shifts(values: TaskValues, name: str, shifts: Sequence[Shift], margin: float) -> BoundedDrop:
    """Find the highest bound of SD or TD over all shifts that have it."""
    if any(is_drop_at_floor(shift, name) for shift in shifts):
        return BoundedDrop(figure=name, n_shifts=len(shifts), margin_holds=None, reason=AT_CHANCE)
    cells = [(shift.source, shift.target) for shift in shifts]
    homes = [(target, target) if name == "td" else (source, source) for source, target in cells]
    score = _scores(values)
    drops = [difference(score(home), score(cell)) for home, cell in zip(homes, cells, strict=True)]
    return highest_bound(name, cells, drops, margin)


def _on_average(values: TaskValues, shifts: Sequence[Shift], margin: float, *, at_chance: bool) -> BoundedDrop:
    """Find the bound of the average drop: mean in-domain score minus mean ST."""
    name, score = "average_drop", _scores(values)
    if at_chance:
        return BoundedDrop(figure=name, n_shifts=len(shifts), margin_holds=None, reason=AT_CHANCE)
    sources = list(dict.fromkeys(shift.source for shift in shifts))
    own = mean([score((source, source)) for source in sources])
    drop = difference(own, mean([score((shift.source, shift.target)) for shift in shifts]))
    return highest_bound(name, (), [drop], margin).model_copy(update={"n_shifts": len(shifts)})


def _scores(values: TaskValues) -> Callable[[Cell], Figure]:
    return lambda cell: values.figure(values.info.metric, cell)


LEVEL = 0.05
"""Maximum probability that a gate fails although every limit is kept."""
LIMITS = ("max_drop", "min_score", "max_regression")
Outcome = Literal["broken", "kept", "cannot tell"]
LimitName = Literal["max_drop", "min_score", "max_regression"]
_SAME = 1e-12
"""Losses up to this count as rounding error."""


class Limits(NamedTuple):
    """The limits of a gate, as fractions; None means no limit."""

    max_drop: float | None = None
    min_score: float | None = None
    max_regression: float | None = None


class LimitTest(pydantic.BaseModel):
    """The test of one limit on one domain; fractions, unrounded.

    ``low`` and ``high`` are the 95% interval shown with the score. A small ``p_broken`` (one-sided) shows that the
    limit is broken, a small ``p_kept`` that it is kept; without a test both are null and ``reason`` states why.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    limit: LimitName
    domain: str
    bound: float
    value: float | None
    low: float | None = None
    high: float | None = None
    p_broken: float | None = None
    p_kept: float | None = None
    reason: str | None = None


class LimitVerdict(LimitTest):
    """A test with its conclusion; ``p_corrected`` is ``p_broken`` after Holm's correction over the gate's tests."""

    p_corrected: float | None
    outcome: Outcome


class GateReport(pydantic.BaseModel):
    """The decision of a gate, as printed by ``shiftbench gate --json``.

    ``home`` are the domains that drops are measured from, empty without a limit on drops; ``left_out`` are domains
    excluded for too few test texts, with their number of texts.
    """

    model_config = pydantic.ConfigDict(frozen=True)

    predictions: str
    baseline: str | None
    data: str
    settings: str | None = None
    task: str
    metric: str
    source: str
    home: tuple[str, ...]
    strict: bool
    verdicts: tuple[LimitVerdict, ...]
    left_out: dict[str, int]

    @property
    def broken(self) -> tuple[LimitVerdict, ...]:
        """Return the limits that are significantly broken."""
        return tuple(each for each in self.verdicts if each.outcome == "broken")

    @property
    def undecided(self) -> tuple[LimitVerdict, ...]:
        """Return the limits on which the test is undecided."""
        return tuple(each for each in self.verdicts if each.outcome == "cannot tell")

    @property
    def passed(self) -> bool:
        """Return whether the gate passes: no limit is broken and, if strict, all (at least one) are shown kept."""
        return not self.broken and not (self.strict and (self.undecided or not self.verdicts))


def refuse_limits(limits: Limits) -> None:
    """Check a gate's limits.

    Args:
        limits: the limits, as fractions.

    Raises: InvalidInput with every problem: no limit is set, or a limit is out of range.
    """
    if all(limit is None for limit in limits):
        what, cure = "a gate needs a limit", "give --max-drop, --min-score or --baseline with --max-regression"
        raise InvalidInput(Problem(what, "gate", cure=cure))
    problems = []
    for name, limit in limits._asdict().items():
        low_enough = limit is None or (limit < 1 and (limit > 0 if name == "min_score" else limit >= 0))
        if not low_enough:
            where, cure = f"--{name.replace('_', '-')}", "give points: 5 means 5 of 100"
            problems.append(Problem("not a valid limit in points", where, f"{100 * limit:g}", cure))
    # A fraction such as 0.8 given as points arrives here as 0.008; no task has so low a limit.
    if limits.min_score is not None and 0 < limits.min_score <= 0.01:
        what, cure = "a minimum score is in points, from 0 to 100", f"did you mean {1e4 * limits.min_score:g}?"
        problems.append(Problem(what, "--min-score", f"{100 * limits.min_score:g}", cure))
    if problems:
        raise InvalidInput(problems)


def decide(tests: Sequence[LimitTest]) -> tuple[LimitVerdict, ...]:
    """Decide each test of one gate, with Holm's correction over all of them.

    Args:
        tests: one per limit and domain.
    Returns: one verdict per test, in order.

    >>> one = LimitTest(limit="max_drop", domain="a", bound=0.05, value=0.09, p_broken=0.03, p_kept=0.97)
    >>> [each.outcome for each in decide([one])], [each.outcome for each in decide([one, one])]
    (['broken'], ['cannot tell', 'cannot tell'])
    """
    corrected = holm([np.nan if test.p_broken is None else test.p_broken for test in tests])
    return tuple(
        LimitVerdict(**test.model_dump(), p_corrected=none_if_nan(p), outcome=_outcome(test, p))
        for test, p in zip(tests, corrected, strict=True)
    )


def _outcome(test: LimitTest, p_corrected: float) -> Outcome:
    if p_corrected < LEVEL:
        return "broken"
    return "kept" if test.p_kept is not None and test.p_kept < LEVEL else "cannot tell"


def score_tests(values: TaskValues, source: str, domains: Sequence[str], limit: float) -> list[LimitTest]:
    """Test on each domain whether the score is at least a limit.

    Args:
        values: the task's scores.
        source: the ``source`` value of the predictions.
        domains: the test domains.
        limit: a fraction in (0, 1).
    """
    return [check_score(values.figure(values.info.metric, (source, domain)), domain, limit) for domain in domains]


def drop_tests(
    values: TaskValues,
    source: str,
    homes: Sequence[str],
    domains: Sequence[str],
    limit: float,
    *,
    at_chance: bool = False,
) -> list[LimitTest]:
    """Test on each domain whether the drop from the in-domain score is at most a limit.

    Args:
        values: the task's scores.
        source: the ``source`` value of the predictions.
        homes: the in-domain test sets, whose scores are averaged.
        domains: the test domains; those in ``homes`` are skipped.
        limit: a fraction in [0, 1).
        at_chance: whether the in-domain score is not shown to be above chance; then a small drop is not informative.
    """
    metric = values.info.metric
    own = mean([values.figure(metric, (source, home)) for home in homes])
    reason = AT_CHANCE if at_chance else None
    away = [domain for domain in domains if domain not in homes]
    drops = {domain: difference(own, values.figure(metric, (source, domain))) for domain in away}
    return [check_above("max_drop", domain, limit, drop, reason) for domain, drop in drops.items()]


def regression_tests(
    old: TaskValues, new: TaskValues, sources: tuple[str, str], domains: Sequence[str], limit: float
) -> list[LimitTest]:
    """Test on each domain whether the old score minus the new one, paired on the same texts, is at most a limit.

    Args:
        old: the baseline's scores of the task.
        new: scores of the predictions to test.
        sources: the ``source`` values of the old and of the new predictions.
        domains: the test domains; both must have predictions there.
        limit: a fraction in [0, 1).
    """
    return [_check_loss(old, new, (sources[0], domain), (sources[1], domain), limit) for domain in domains]


def _check_loss(old: TaskValues, new: TaskValues, before: Cell, after: Cell, limit: float) -> LimitTest:
    metric = new.info.metric
    loss = check_above(
        "max_regression", after[1], limit, difference(old.figure(metric, before), new.figure(metric, after))
    )
    is_same = loss.value is not None and abs(loss.value) < _SAME
    # Equal scores on every text cannot be a loss, even if the texts are too few for an interval.
    if is_same and np.allclose(_text_scores(old, before), _text_scores(new, after)):
        return loss.model_copy(update={"p_broken": 1.0, "p_kept": 0.0, "reason": None})
    return loss


def _text_scores(values: TaskValues, cell: Cell) -> Floats:
    scores = values.targets[cell[1]].outcomes.example_scores
    return np.asarray(scores[values.runs_of(cell)].mean(axis=0))


def check_score(score: Figure, domain: str, limit: float) -> LimitTest:
    """Test whether one domain's score is at least a limit.

    The p value is the larger of the interval's and that of the exact binomial test at the effective n: at a small
    level, such as 5% divided by twenty, Wilson's interval undercovers slightly on the side where scores are skewed.

    Args:
        score: a single score.
        domain: its name.
        limit: a fraction in (0, 1).
    """
    tested = check_above("min_score", domain, limit, score)
    if tested.p_broken is None or tested.p_kept is None:
        return tested
    ((_, only, _),) = score.parts
    exact = exact_p(score.value, only.n, limit)
    # Converted from the normal to Student's distribution, because the exact test treats n as known.
    below, above = (as_student(p, score.df) for p in (exact.below, exact.above))
    return tested.model_copy(update={"p_broken": max(tested.p_broken, below), "p_kept": max(tested.p_kept, above)})


def as_student(p: float, df: float) -> float:
    """Convert a p value computed with known variance to one under Student's distribution."""
    from scipy.special import ndtri, stdtr

    return p if p <= 0 or p >= 1 else float(stdtr(min(df, 1e9), ndtri(p)))


def check_above(name: LimitName, domain: str, limit: float, figure: Figure, reason: str | None = None) -> LimitTest:
    """Test one figure against a limit.

    Args:
        name: the limit's name; a score is broken below it, a drop or a loss above it.
        domain: name of the domain.
        limit: a fraction.
        figure: the tested figure.
        reason: why it is not tested; None to test it.
    """
    reason = reason or (None if figure.has_interval else str(figure.no_interval or "no predictions"))
    value = none_if_nan(figure.value)
    shown = LimitTest(limit=name, domain=domain, bound=limit, value=value, low=figure.low, high=figure.high)
    if reason is not None or value is None:
        return shown.model_copy(update={"reason": reason})
    above = figure.p_above(limit)
    broken, kept = (1 - above, above) if name == "min_score" else (above, 1 - above)
    return shown.model_copy(update={"p_broken": broken, "p_kept": kept})
