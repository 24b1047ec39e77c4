"""Scores and comparisons as polars tables: fractions, unrounded; null where a figure is undefined or has no interval.

An estimate takes three columns: its value under its own name, and the ends of its 95% interval over resampled test
texts as ``<name>_low`` and ``<name>_high``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from leaderboard.comparing.files import Comparison, Difference, winner
from leaderboard.scoring.shape import Estimate, Scores

Schema = dict[str, type[pl.DataType]]


def _estimates(*names: str) -> Schema:
    return {f"{name}{end}": pl.Float64 for name in names for end in ("", "_low", "_high")}


_SHIFT: Schema = {"task": pl.String, "source": pl.String, "target": pl.String}
_SHIFT_FIGURES = ("st", "ss", "tt", "sd", "td", "idd")
_SUMMARY_FIGURES = (
    "mean_ss", "highest_ss", "lowest_ss", "mean_st", "highest_st", "lowest_st", "average_drop", "mean_sd", "mean_td",
    "worst_sd", "worst_td", "average_worst_sd", "average_worst_td", "sd_std", "td_std",
)  # fmt: skip
_SUMMARY_NUMBERS = (
    "spearman_st_ss", "spearman_st_tt", "r2_idd_sd", "r2_idd_td", "source_permutation_p", "resolved_share", "unparsed",
)  # fmt: skip
_DEPTH_FIGURES = ("depth_f1", "depth_score", "depth_sd", "depth_td")

SHIFTS: Schema = {
    **_SHIFT,
    "n": pl.Int64,
    "runs": pl.Int64,
    **_estimates(*_SHIFT_FIGURES),
    "scenario": pl.String,
    "resolved": pl.Boolean,
    "unparsed": pl.Float64,
}
"""A row for each task and shift: ``n`` test texts, ``runs`` (seeds), scores, drops, scenario."""
SUMMARY: Schema = {
    "task": pl.String,
    "metric": pl.String,
    "basis": pl.String,
    "complete": pl.Boolean,
    "n_shifts": pl.Int64,
    **_estimates(*_SUMMARY_FIGURES),
    **dict.fromkeys(_SUMMARY_NUMBERS, pl.Float64),
}
"""A row for each task; the columns are the fields of ``leaderboard.scoring.shape.Summary``."""
IN_DOMAIN: Schema = {
    "task": pl.String,
    "domain": pl.String,
    "n": pl.Int64,
    "runs": pl.Int64,
    **_estimates("score"),
    "unparsed": pl.Float64,
}
"""A row for each task and domain that a model was trained and tested on."""
DEPTH: Schema = {**_SHIFT, "lambda": pl.Int64, **_estimates(*_DEPTH_FIGURES), "effective_n": pl.Float64}
"""A row for each task, shift and lambda (percent of the most source-like texts left out); empty without depths."""
ID_OOD: Schema = {"task": pl.String, "source": pl.String, "domain": pl.String, "role": pl.String, **_estimates("score")}
"""A row for each domain (``role``: id or ood) of a task with one training domain."""
MISSING: Schema = {**_SHIFT, "what": pl.String}
"""A row for each thing that was not there to be scored."""
DIFFERENCES: Schema = {
    "a": pl.String,
    "b": pl.String,
    **_SHIFT,
    "n": pl.Int64,
    "runs": pl.Int64,
    "figure": pl.String,
    "a_minus_b": pl.Float64,
    "p": pl.Float64,
    "p_holm": pl.Float64,
    "better": pl.String,
}
"""A row for each pair, shift and figure (ST, SD, TD); ``better`` is null where the corrected p is 0.05 or more."""
MEANS: Schema = {name: dtype for name, dtype in DIFFERENCES.items() if name not in ("n", "runs")}
"""A row for each pair and source of a task with an ID domain: the mean over the targets, which '+' joins."""


def _estimate(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    value, low, high = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _estimates_of(item: Any, names: Iterable[str]) -> dict[str, float | None]:
    return {key: value for name in names for key, value in _estimate(name, getattr(item, name)).items()}


def _shift_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    plain = ("source", "target", "n", "runs", "scenario", "resolved", "unparsed")
    for task in scores.tasks:
        for shift in task.shifts:
            facts = {name: getattr(shift, name) for name in plain}
            yield {"task": task.task, **facts, **_estimates_of(shift, _SHIFT_FIGURES)}


def _summary_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    for task in scores.tasks:
        plain = {name: getattr(task.summary, name) for name in ("basis", "complete", "n_shifts", *_SUMMARY_NUMBERS)}
        figures = _estimates_of(task.summary, _SUMMARY_FIGURES)
        yield {"task": task.task, "metric": task.metric, **plain, **figures}


def _in_domain_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    for task in scores.tasks:
        for own in task.in_domain:
            plain = {name: getattr(own, name) for name in ("domain", "n", "runs", "unparsed")}
            yield {"task": task.task, **plain, **_estimate("score", own.score)}


def _depth_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    for task in scores.tasks:
        for shift in task.shifts:
            for lambda_, n in shift.effective_n.items():
                where = {"task": task.task, "source": shift.source, "target": shift.target, "lambda": int(lambda_)}
                row: dict[str, Any] = {**where, "effective_n": n}
                for name in _DEPTH_FIGURES:
                    row |= _estimate(name, getattr(shift, name).get(lambda_))
                yield row


def _id_ood_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    for task in scores.tasks:
        found = task.id_ood
        for role, domains in (("id", {found.id_domain: found.id}), ("ood", found.ood)) if found else ():
            for domain, score in domains.items():
                where = {"task": task.task, "source": found.source if found else None, "domain": domain, "role": role}
                yield {**where, **_estimate("score", score)}


def _missing_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    return (item.model_dump() for item in scores.missing)


def _difference_rows(pairs: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        for shift in pair.shifts:
            where = {name: getattr(shift, name) for name in (*_SHIFT, "n", "runs")}
            yield from ({**where, **_difference(pair, each)} for each in shift.differences)


def _mean_rows(pairs: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        for mean in pair.means:
            where = {"task": mean.task, "source": mean.source, "target": "+".join(mean.targets)}
            yield {**where, **_difference(pair, mean.difference)}


def _difference(pair: Comparison, each: Difference) -> dict[str, Any]:
    better = {"a": pair.a, "b": pair.b, None: None}[winner(each)]
    found = {"figure": each.figure, "a_minus_b": each.value, "p": each.p, "p_holm": each.p_holm, "better": better}
    return {"a": pair.a, "b": pair.b, **found}


Rows = Callable[[Any], Iterable[dict[str, Any]]]
SCORE_TABLES: Mapping[str, tuple[Schema, Rows]] = {
    "summary": (SUMMARY, _summary_rows),
    "shifts": (SHIFTS, _shift_rows),
    "in_domain": (IN_DOMAIN, _in_domain_rows),
    "depth": (DEPTH, _depth_rows),
    "id_ood": (ID_OOD, _id_ood_rows),
    "missing": (MISSING, _missing_rows),
}
"""The tables of scores: by name, the columns with their types and what makes rows of ``Scores``."""
COMPARISON_TABLES: Mapping[str, tuple[Schema, Rows]] = {
    "shifts": (DIFFERENCES, _difference_rows),
    "means": (MEANS, _mean_rows),
}
"""The tables of a comparison: by name, the columns with their types and what makes rows of ``Comparison``s."""
