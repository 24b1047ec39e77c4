"""Accuracy by domain from sampled and labelled texts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import BaseModel
from rich.console import RenderableType

from shiftbench.builders.building.own_columns import Columns
from shiftbench.builders.building.own_tables import read_tables
from shiftbench.checking.label_draws import DomainDraw, Draw, group_codes, read_draw, read_labels
from shiftbench.checking.label_rows import join_predictions, read_rows
from shiftbench.metrics.label_sampling import ENOUGH, sampled_accuracy
from shiftbench.scoring.reports.numbers import points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.figures import none_if_nan
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

FEW = ENOUGH // 2
"""Minimum errors and correct predictions among the labelled texts; intervals tuned on fewer are marked."""


class SampledScore(BaseModel):
    """Accuracy on one domain.

    Attributes:
        domain: its name in the data.
        n_texts: number of texts in the data that were unlabelled when the sample was drawn.
        n_labelled: number of sampled texts, all labelled.
        n_errors: number of misclassified texts among them, unweighted.
        method: ``ppi++`` or ``wilson``.
        accuracy: a fraction.
        low, high: its 95% interval; None with fewer than 5 groups.
        trust: lambda, the weight of the confidences.
        random_low, random_high: the interval of a random sample of the same size; None with fewer than 5 groups.
        expected_width: expected width, relative to that of a random sample.
        note: caution about the interval; "" if there is none.
    """

    domain: str
    n_texts: int
    n_labelled: int
    n_errors: int
    method: Literal["ppi++", "wilson"]
    accuracy: float
    low: float | None
    high: float | None
    trust: float
    random_low: float | None
    random_high: float | None
    expected_width: float
    note: str = ""


def score_sampled(
    predictions: Path,
    data: Path,
    columns: Columns,
    sampled: Path,
    labels: Sequence[str] = (),
    kind: TaskKind | None = None,
) -> list[SampledScore]:
    """Estimate a model's accuracy on every sampled domain.

    Args:
        predictions: predictions of the model that the sample was drawn for, or of another one.
        data: the file that was sampled.
        columns: roles of its columns, as given for the sample.
        sampled: the labelled sample; its record is next to it.
        labels: further labels that occur neither in the data nor in the predictions.
        kind: kind of task; by default inferred from the file or its columns.
    Raises: InvalidInput listing every problem.
    """
    draw = read_draw(sampled)
    (table,) = read_tables([data])
    rows = read_rows(table, replace(columns, group=draw.group_column), kind)
    unknown = [each for each in draw.probabilities if each not in set(rows.frame["id"])]
    if unknown:
        what, cure = (
            "a sampled text is not in the data",
            f"give the file that {sampled.name} was sampled from with --data",
        )
        raise InvalidInput(Problem(what, str(data), f"no row with id {unknown[0]!r}", cure, column=rows.names["id"]))
    # By now the sampled texts may have labels in the data; these neither calibrate confidences nor exclude texts.
    is_drawn = pl.col("id").is_in(list(draw.probabilities))
    undrawn = replace(rows, frame=rows.frame.with_columns(label=pl.when(~is_drawn).then("label")))
    frame = join_predictions(undrawn, predictions)
    known = sorted({*rows.labels, *frame["prediction"], *labels})
    sample_labels = read_labels(sampled, draw, rows.names, known)
    frame = frame.filter(pl.col("label").is_null())
    return [_score_domain(frame.filter(domain=each.domain), each, draw, sample_labels, data) for each in draw.domains]


def _score_domain(
    frame: pl.DataFrame, domain: DomainDraw, draw: Draw, labels: dict[str, str], data: Path
) -> SampledScore:
    """Estimate the accuracy on one domain."""
    if len(frame) != domain.n_texts:
        what = f"the texts of domain '{domain.domain}' have changed since sampling"
        found = f"{len(frame):,} texts now, {domain.n_texts:,} then"
        raise InvalidInput(Problem(what, str(data), found, "give the file that the texts were sampled from"))
    drawn = frame.filter(pl.col("id").is_in(list(labels)))
    gold = drawn["id"].replace_strict(labels, return_dtype=pl.String)
    correct = (gold == drawn["prediction"]).to_numpy()
    tuned = domain.method == "ppi++"
    estimate = sampled_accuracy(
        correct,
        drawn["confidence"].to_numpy(),
        drawn["id"].replace_strict(draw.probabilities, return_dtype=pl.Float64).to_numpy(),
        group_codes(drawn["group"]),
        frame["confidence"].to_numpy(),
        trust=None if tuned else 0,
    )
    at_random = (none_if_nan(estimate.random_low), none_if_nan(estimate.random_high))
    low, high = (none_if_nan(estimate.low), none_if_nan(estimate.high)) if tuned else at_random
    n_errors = int((~correct).sum())
    few = tuned and min(n_errors, len(drawn) - n_errors) < FEW
    return SampledScore(
        domain=domain.domain,
        n_texts=domain.n_texts,
        n_labelled=len(drawn),
        n_errors=n_errors,
        method=domain.method,
        accuracy=estimate.value,
        low=low,
        high=high,
        trust=estimate.trust,
        random_low=at_random[0],
        random_high=at_random[1],
        expected_width=domain.expected_width,
        note=f"fewer than {FEW} errors or correct predictions: the interval may be too narrow" if few else "",
    )


def sampled_lines(scores: Sequence[SampledScore]) -> Iterator[RenderableType]:
    """Format a table of accuracy by domain, in points, with the interval that a random sample would have."""
    heads = (
        "domain", "labelled", "errors", "accuracy", "95% interval", "at random", "narrower by", "expected", "method",
    )  # fmt: skip
    rows = [
        (
            each.domain,
            f"{each.n_labelled:,} of {each.n_texts:,}",
            str(each.n_errors),
            points(each.accuracy),
            _format_interval(each.low, each.high),
            _format_interval(each.random_low, each.random_high),
            _format_narrowing(each),
            f"{100 * (1 - each.expected_width):.0f}%",
            "PPI++" if each.method == "ppi++" else "Wilson",
        )
        for each in scores
    ]
    yield PlainTable("Accuracy from labelled samples, in points", heads, rows)
    yield from (f"{each.domain}: {each.note}" for each in scores if each.note)


def _format_interval(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{points(low)} to {points(high)}"


def _format_narrowing(each: SampledScore) -> str:
    if each.low is None or each.high is None or each.random_low is None or each.random_high is None:
        return "n/a"
    return f"{100 * (1 - (each.high - each.low) / (each.random_high - each.random_low)):.0f}%"
