"""Planning of sample sizes and expected accuracies per domain, from the labelled domains."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from shiftbench.metrics.label_budget import (
    Anticipated,
    Limit,
    anticipate,
    share_budget,
    spend_labels,
    texts_within,
)
from shiftbench.metrics.precision import sum_by_group
from shiftbench.validation.report import InvalidInput, Problem, plural

LEAST_IN_DOMAIN = 30
"""Minimum labelled texts of a domain for estimating its overconfidence."""
Floats = NDArray[np.float64]


class LabelPlan(BaseModel):
    """The plan of a sample.

    Attributes:
        shortfalls: mean calibrated confidence minus accuracy, for each labelled domain except the source.
        reference: the source domain if it has labels, otherwise a name for the mean accuracy of the labelled domains;
            None without labelled domains.
        limit: accuracy threshold of the decision: reference accuracy minus margin; None without labelled domains.
        margin: drop from which a domain is not accepted, a fraction.
        within: target half-width of intervals, a fraction; None if a budget was given.
        design: design effect: variance of an accuracy relative to that of independent texts.
        correlation: correlation of confidence and correctness within labelled domains; None without labelled domains.
    """

    model_config = ConfigDict(extra="forbid")
    shortfalls: dict[str, float]
    reference: str | None
    limit: float | None
    margin: float
    within: float | None
    design: float
    correlation: float | None


class DomainPlan(NamedTuple):
    """A domain without labels: its rows, the number to sample, and the expected accuracy."""

    rows: pl.DataFrame
    texts: int
    expected: Anticipated


class _Known(NamedTuple):
    """A labelled domain: mean confidence, accuracy, its standard error, and that error if texts were independent."""

    domain: str
    confidence: float
    accuracy: float
    error: float
    error_alone: float


def plan_labels(
    frame: pl.DataFrame, unlabelled: pl.DataFrame, *, budget: int | None, within: float | None, margin: float
) -> tuple[list[DomainPlan], LabelPlan]:
    """Plan how many texts to label.

    Args:
        frame: all rows with predictions: columns ``domain``, ``label`` (null without), ``prediction``, ``confidence``
            (calibrated), ``group`` and ``source``.
        unlabelled: rows that may be sampled.
        budget: total number of labels, allocated where the decision is least certain.
        within: instead of a budget, the target half-width of each domain's interval, a fraction.
        margin: drop from the source domain (or else the mean of the labelled domains) from which a domain is not
            accepted.
    Returns: the number of texts to label and the expected accuracy for each domain, and the plan as a whole.
    Raises: InvalidInput if the budget is too small or too large.
    """
    known = _known_domains(frame.filter(pl.col("label").is_not_null()))
    parts = unlabelled.partition_by("domain", maintain_order=True)
    source = frame["source"][0]
    others = [each for each in known if each.domain != source]
    columns = [
        [each.confidence for each in others],
        [each.accuracy for each in others],
        [each.error for each in others],
    ]
    expected = [anticipate(float(part["confidence"].to_numpy().mean()), *columns) for part in parts]
    at_source = next((each for each in known if each.domain == source), None)
    reference, limit = None, None
    if at_source is not None:
        reference, limit = at_source.domain, Limit(at_source.accuracy - margin, at_source.error)
    elif len(known) > 1:
        mean = float(np.mean([each.accuracy for each in known]))
        error = float(np.sqrt(np.square([each.error for each in known]).sum())) / len(known)
        reference, limit = f"the mean of {len(known)} labelled domains", Limit(mean - margin, error)
    design = _design(known, unlabelled)
    sizes = [len(part) for part in parts]
    if budget is not None:
        if not len(parts) <= budget <= sum(sizes):
            what = "the budget is too small or too large"
            cure = f"give {len(parts):,} (one per domain) to {sum(sizes):,} (all texts without a label)"
            raise InvalidInput(Problem(what, "--budget", f"{budget:,}", cure))
        shares = share_budget(sizes, budget) if limit is None else spend_labels(sizes, budget, expected, limit, design)
    else:
        assert within is not None
        needed = [texts_within(each, within, size, design) for each, size in zip(expected, sizes, strict=True)]
        shares = [size if n is None else n for n, size in zip(needed, sizes, strict=True)]
    plan = LabelPlan(
        shortfalls={each.domain: each.confidence - each.accuracy for each in others},
        reference=reference, limit=None if limit is None else limit.accuracy, margin=margin, within=within,
        design=design, correlation=_correlation(frame, [each.domain for each in known]),
    )  # fmt: skip
    return [DomainPlan(*each) for each in zip(parts, shares, expected, strict=True)], plan


def _known_domains(labelled: pl.DataFrame) -> list[_Known]:
    """List the domains with enough labels."""
    found = []
    for part in labelled.partition_by("domain", maintain_order=True):
        if len(part) < LEAST_IN_DOMAIN:
            continue
        right = (part["label"] == part["prediction"]).cast(pl.Float64).to_numpy()
        groups = (part["group"].rank("dense").to_numpy() - 1).astype(np.int64)
        sums = sum_by_group((right - right.mean())[None], groups)[0]
        # Cluster-robust: sums over groups, because outcomes may be correlated within a group.
        error = float(np.sqrt((sums**2).sum() * sums.size / max(sums.size - 1, 1))) / right.size
        alone = float(np.sqrt(right.var(ddof=1) / right.size))
        confidence = float(part["confidence"].to_numpy().mean())
        found.append(_Known(part["domain"][0], confidence, float(right.mean()), error, alone))
    return found


def _design(known: Sequence[_Known], unlabelled: pl.DataFrame) -> float:
    """Return the design effect: the variance of an accuracy relative to that of independent texts.

    Estimated from the labelled domains; without any, texts of a group are assumed to be perfectly correlated.
    """
    alone = sum(each.error_alone**2 for each in known)
    if alone > 0:
        return max(1.0, sum(each.error**2 for each in known) / alone)
    return len(unlabelled) / unlabelled.select("domain", "group").n_unique()


def _correlation(frame: pl.DataFrame, domains: Sequence[str]) -> float | None:
    """Return the correlation of confidence and correctness within the labelled domains."""
    rows = frame.filter(pl.col("label").is_not_null() & pl.col("domain").is_in(domains))
    if rows.is_empty():
        return None
    right = (pl.col("label") == pl.col("prediction")).cast(pl.Float64)
    within = rows.select(
        right=right - right.mean().over("domain"),
        sure=pl.col("confidence") - pl.col("confidence").mean().over("domain"),
    )
    spreads = [float(within[name].to_numpy().std()) for name in ("right", "sure")]
    return float((within["right"] * within["sure"]).mean()) / (spreads[0] * spreads[1]) if min(spreads) > 0 else 0.0  # type: ignore[arg-type]


def shift_mean(confidence: Floats, mean: float) -> Floats:
    """Shift all confidences by the same logit offset, so that they have the given mean; 0 and 1 do not change.

    >>> shift_mean(np.array([0.6, 0.8, 1.0]), 0.7).round(3).tolist()
    [0.431, 0.669, 1.0]
    """
    odds = np.log(np.clip(confidence, 1e-9, 1 - 1e-9) / (1 - np.clip(confidence, 1e-9, 1 - 1e-9)))
    free = (confidence > 0) & (confidence < 1)

    def moved(offset: float) -> Floats:
        return np.where(free, 1 / (1 + np.exp(-(odds + offset))), confidence)

    # The mean rises with the offset, so bisection finds it.
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if moved(middle).mean() < mean else (low, middle)
    return np.asarray(moved((low + high) / 2))


def plan_lines(plan: LabelPlan, n_domains: int) -> Iterator[str]:
    """Format sentences on how the expected accuracies were obtained, and how the labels are allocated."""
    off = list(plan.shortfalls.values())
    if not off:
        yield (
            "Expected accuracy: the mean confidence ± 10 points, because no labelled domain shows how far off it is."
        )
    else:
        mean = 100 * sum(off) / len(off)
        each_off = ", ".join(f"{name} {100 * each:+.1f}" for name, each in plan.shortfalls.items())
        yield (
            f"Expected accuracy: the mean confidence {'minus' if mean >= 0 else 'plus'} {abs(mean):.1f} points, by "
            f"which it is too {'high' if mean >= 0 else 'low'} on {plural(len(off), 'labelled domain')} ({each_off})."
        )
    if plan.within is not None:
        yield (
            f"Enough labels for an interval of ±{100 * plan.within:g} points, even if accuracy is one standard "
            "deviation nearer to 50 than expected."
        )
    elif n_domains > 1 and plan.reference is None:
        yield "Labels are allocated evenly, because no labelled domain gives a reference score."
    elif n_domains > 1 and plan.limit is not None:
        yield (
            f"Labels go to the domains for which it is most uncertain whether they lose {100 * plan.margin:g} points "
            f"or more compared with {plan.reference} (below {100 * plan.limit:.1f}); a quarter is allocated evenly."
        )
