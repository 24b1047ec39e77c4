"""Scores and comparisons as polars tables: fractions, unrounded; null if a score is undefined or has no interval.

An estimate has three columns: its value under its own name, and the ends of its 95% interval over test texts in
``<name>_low`` and ``<name>_high``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from shiftbench.metrics.precision import MIN_RUNS
from shiftbench.scoring.comparing.shape import TRAINED_MODELS, Comparison, Difference, winner
from shiftbench.scoring.scores.shape import ConfidenceFigures, Detectable, Estimate, Scores, TaskScores, WithoutRepeats

Schema = dict[str, type[pl.DataType]]


def _estimates(*names: str) -> Schema:
    return {f"{name}{end}": pl.Float64 for name in names for end in ("", "_low", "_high")}


def _detectable(*names: str) -> Schema:
    return {f"{name}_{end}": pl.Float64 for name in names for end in _DETECTABLE.values()}


_DETECTABLE = {
    "models": "detectable",
    "models_corrected": "detectable_corrected",
    "recipe": "detectable_recipe",
    "recipe_corrected": "detectable_recipe_corrected",
}
_SHIFT: Schema = {"task": pl.String, "source": pl.String, "target": pl.String}
_SHIFT_FIGURES = ("st", "ss", "tt", "sd", "td", "idd")
_SUMMARY_FIGURES = (
    "mean_ss", "highest_ss", "lowest_ss", "mean_st", "highest_st", "lowest_st", "average_drop", "mean_sd", "mean_td",
    "worst_sd", "worst_td", "average_worst_sd", "average_worst_td", "sd_std", "td_std", "depth_slope",
)  # fmt: skip
_SUMMARY_NUMBERS = (
    "spearman_st_ss", "spearman_st_tt", "r2_idd_sd", "r2_idd_td", "resolved_share", "unparsed",
    "worst_sd_posterior", "worst_td_posterior",
)  # fmt: skip
_DEPTH_FIGURES = ("depth_f1", "depth_score", "depth_sd", "depth_td")
_CONFIDENCE_FIGURES = tuple(ConfidenceFigures.model_fields)
_LABEL_SHIFT_FIGURES = ("adjusted", "label_shift", "rest")

SHIFTS: Schema = {
    **_SHIFT,
    "n": pl.Int64,
    "runs": pl.Int64,
    **_estimates(*_SHIFT_FIGURES),
    "scenario": pl.String,
    "resolved": pl.Boolean,
    "unparsed": pl.Float64,
    **_detectable("sd", "td"),
    **_estimates("sd_unrepeated", "td_unrepeated"),
}
"""One row per task and shift: ``n`` test texts, ``runs`` (seeds), scores, drops, scenario.

``sd_detectable`` is the smallest true SD that a test at the 5% level detects with 80% power, for these trained models;
``_corrected`` corrects for testing all shifts, ``_recipe`` includes other training runs (null if not measured).
``_unrepeated`` drops exclude test texts that repeat a training text of their domain (null if there are none, or if an
older dataset folder does not list them).
"""
SUMMARY: Schema = {
    "task": pl.String,
    "metric": pl.String,
    "basis": pl.String,
    "complete": pl.Boolean,
    "at_floor": pl.Boolean,
    "n_shifts": pl.Int64,
    **_estimates(*_SUMMARY_FIGURES),
    **dict.fromkeys(_SUMMARY_NUMBERS, pl.Float64),
    **_detectable("average_drop"),
    **_estimates("average_drop_unrepeated"),
    **_estimates("next_domain_st", "next_domain_drop"),
    **_estimates("home_advantage_raw", "home_advantage_log", "home_advantage_logit"),
    "home_advantage": pl.String,
}
"""One row per task; the columns are the fields of ``shiftbench.scoring.scores.shape.Summary``.

The ends of ``next_domain_st`` and ``next_domain_drop`` are prediction intervals for one more target domain. The columns
``home_advantage...`` and ``worst_..._posterior`` are null from metric version 7 on, and are removed in 0.4.
"""
IN_DOMAIN: Schema = {
    "task": pl.String,
    "domain": pl.String,
    "n": pl.Int64,
    "runs": pl.Int64,
    **_estimates("score"),
    "unparsed": pl.Float64,
}
"""One row per task and domain that a model was trained and tested on."""
DEPTH: Schema = {**_SHIFT, "lambda": pl.Int64, **_estimates(*_DEPTH_FIGURES), "effective_n": pl.Float64}
"""One row per task, shift and lambda (percent of the most source-like texts excluded); empty without depths."""
ID_OOD: Schema = {"task": pl.String, "source": pl.String, "domain": pl.String, "role": pl.String, **_estimates("score")}
"""One row per domain (``role``: id or ood) of a task with one training domain."""
CONFIDENCE: Schema = {
    **_SHIFT,
    "where": pl.String,
    **_estimates(*_CONFIDENCE_FIGURES),
    **_estimates(*_LABEL_SHIFT_FIGURES),
    "temperature": pl.Float64,
}
"""By ``where``: ``in_domain``, a row per domain (its source and target); ``out``, a row per shift; ``difference``, out
minus in-domain.

Empty without confidences. The components of TD are in the rows with ``where`` = out.
"""
MISSING: Schema = {**_SHIFT, "what": pl.String}
"""One row per missing prediction, which could therefore not be scored."""
DIFFERENCES: Schema = {
    "a": pl.String,
    "b": pl.String,
    **_SHIFT,
    "n": pl.Int64,
    "runs": pl.Int64,
    "figure": pl.String,
    "a_minus_b": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_corrected": pl.Float64,
    "better": pl.String,
    "at_floor": pl.String,
    "about": pl.String,
    "runs_needed": pl.Int64,
    "margin": pl.Float64,
    "p_equivalent": pl.Float64,
}
"""One row per pair, shift and score (ST, SD, TD).

``low``, ``high`` and ``p`` are not corrected for multiple tests; ``better`` is null if the corrected p is 0.05 or more;
``at_floor`` lists entries (a, b, both) at chance, whose drops are not compared; ``about`` states what the tests are
about: recipes, or these trained models; ``runs_needed`` is the number of runs per source on either side needed for
claims about recipes, null if they suffice; ``p_equivalent`` tests that the difference is within ``margin`` (both null
without one).
"""
MEANS: Schema = {name: dtype for name, dtype in DIFFERENCES.items() if name not in ("n", "runs")} | {
    "ranked": pl.Boolean
}
"""One row per pair, task and mean over shifts; ``ranked`` marks the mean that the board ranks by.

``source`` is null if models were trained on several; '+' joins the targets.
"""


def _estimate(name: str, estimate: Estimate | None) -> dict[str, float | None]:
    value, low, high = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def _estimates_of(item: Any, names: Iterable[str]) -> dict[str, float | None]:
    return {key: value for name in names for key, value in _estimate(name, getattr(item, name)).items()}


def _detectable_of(detectable: Detectable, names: Iterable[str]) -> dict[str, float | None]:
    return {
        f"{name}_{end}": getattr(detectable[name], key) if name in detectable else None
        for name in names
        for key, end in _DETECTABLE.items()
    }


def _shift_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    plain = ("source", "target", "n", "runs", "scenario", "resolved", "unparsed")
    for task in scores.tasks:
        without = _without_repeats(task)
        unrepeated = {(shift.source, shift.target): shift for shift in without.shifts} if without else {}
        for shift in task.shifts:
            facts: dict[str, Any] = {name: getattr(shift, name) for name in plain}
            for name in ("sd", "td"):
                clean = unrepeated.get((shift.source, shift.target))
                facts |= _estimate(f"{name}_unrepeated", getattr(clean, name) if clean else None)
            finds = _detectable_of(shift.detectable, ("sd", "td"))
            yield {"task": task.task, **facts, **_estimates_of(shift, _SHIFT_FIGURES), **finds}


def _without_repeats(task: TaskScores) -> WithoutRepeats | None:
    return task.near_duplicates.without if task.near_duplicates else None


def _summary_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    for task in scores.tasks:
        plain = {
            name: getattr(task.summary, name)
            for name in ("basis", "complete", "at_floor", "n_shifts", *_SUMMARY_NUMBERS)
        }
        figures: dict[str, Any] = _estimates_of(task.summary, _SUMMARY_FIGURES)
        without = _without_repeats(task)
        figures |= _estimate("average_drop_unrepeated", without.average_drop if without else None)
        expected = task.summary.next_domain
        figures |= _estimate("next_domain_st", expected.st if expected else None)
        figures |= _estimate("next_domain_drop", expected.drop if expected else None)
        yield {
            "task": task.task,
            "metric": task.metric,
            **plain,
            **figures,
            **_detectable_of(task.summary.detectable, ("average_drop",)),
        }


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
        id_ood = task.id_ood
        for role, domains in (("id", {id_ood.id_domain: id_ood.id}), ("ood", id_ood.ood)) if id_ood else ():
            for domain, score in domains.items():
                where = {"task": task.task, "source": id_ood.source if id_ood else None, "domain": domain, "role": role}
                yield {**where, **_estimate("score", score)}


def _confidence_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    for task in scores.tasks:
        confidence = task.confidence
        if confidence is None:
            continue
        for own in confidence.in_domain:
            where = {"task": task.task, "source": own.domain, "target": own.domain, "where": "in_domain"}
            yield {**where, **_estimates_of(own.figures, _CONFIDENCE_FIGURES)}
        for shift in confidence.shifts:
            where = {"task": task.task, "source": shift.source, "target": shift.target}
            row: dict[str, Any] = _estimates_of(shift.figures, _CONFIDENCE_FIGURES)
            if shift.label_shift is not None:
                row |= _estimates_of(shift.label_shift, _LABEL_SHIFT_FIGURES)
                row["temperature"] = shift.label_shift.temperature
            yield {**where, "where": "out", **row}
            if shift.difference is not None:
                yield {**where, "where": "difference", **_estimates_of(shift.difference, _CONFIDENCE_FIGURES)}


def _missing_rows(scores: Scores) -> Iterator[dict[str, Any]]:
    return (item.model_dump() for item in scores.missing)


def _difference_rows(pairs: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        for shift in pair.shifts:
            where = {name: getattr(shift, name) for name in (*_SHIFT, "n", "runs")}
            about = _about(pair, shift.task)
            yield from ({**where, **_difference(pair, each), **about} for each in shift.differences)


def _mean_rows(pairs: Sequence[Comparison]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        for mean in pair.means:
            where = {"task": mean.task, "source": mean.source, "target": "+".join(mean.targets)}
            yield {
                **where,
                **_difference(pair, mean.difference),
                **_about(pair, mean.task),
                "ranked": mean.ranked,
            }


def _about(pair: Comparison, task: str) -> dict[str, Any]:
    tested = next((each for each in pair.tasks if each.task == task), None)
    if tested is None:
        return {"about": TRAINED_MODELS, "runs_needed": MIN_RUNS}
    return {"about": tested.about, "runs_needed": tested.runs_needed}


def _difference(pair: Comparison, each: Difference) -> dict[str, Any]:
    better = {"a": pair.a, "b": pair.b, None: None}[winner(each)]
    within = {"margin": pair.margin, "p_equivalent": each.p_equivalent}
    figures = {"figure": each.figure, "a_minus_b": each.value, "low": each.low, "high": each.high}
    figures |= {"p": each.p, "p_corrected": each.p_corrected}
    return {"a": pair.a, "b": pair.b, **figures, "better": better, "at_floor": each.at_floor, **within}


Rows = Callable[[Any], Iterable[dict[str, Any]]]
SCORE_TABLES: Mapping[str, tuple[Schema, Rows]] = {
    "summary": (SUMMARY, _summary_rows),
    "shifts": (SHIFTS, _shift_rows),
    "in_domain": (IN_DOMAIN, _in_domain_rows),
    "depth": (DEPTH, _depth_rows),
    "id_ood": (ID_OOD, _id_ood_rows),
    "confidence": (CONFIDENCE, _confidence_rows),
    "missing": (MISSING, _missing_rows),
}
"""The tables of scores: by name, the columns with their types, and a function that builds the rows from ``Scores``."""
COMPARISON_TABLES: Mapping[str, tuple[Schema, Rows]] = {
    "shifts": (DIFFERENCES, _difference_rows),
    "means": (MEANS, _mean_rows),
}
"""The tables of a comparison: by name, the columns with their types, and a function that builds the rows."""
