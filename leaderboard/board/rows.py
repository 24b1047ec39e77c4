"""An entry's scores as one flat row per task. Scores are fractions; null if undefined.

A score ``f`` has the columns ``f``, ``f.low`` and ``f.high`` (its interval), ``f.no_interval`` (why it has none; null
if it has one) and ``f.placebo`` (the entry's score on the task's placebo); tag scores also have ``f.four``, with the
four rarer types merged.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from shiftbench.leaderboard.store import Entry
from shiftbench.leaderboard.store.model_facts import MODEL_FACTS, model_facts
from shiftbench.metrics.robustness import SCENARIOS
from shiftbench.scoring.reports.pictures.words import summarised
from shiftbench.scoring.scores.coverage import LAMBDAS, is_ranked, unranked_lines
from shiftbench.scoring.scores.shape import OUTSIDE_BASES, Estimate, Scores, TaskScores
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, PLACEBO

GRID_FIGURES = ("mean_ss", "mean_st", "average_drop", "worst_sd", "worst_td", "mean_sd", "mean_td")
ID_FIGURES = ("id_score", "mean_ood", "drop")
FIGURES = (*GRID_FIGURES, *(f"depth_f1_{key}" for key in LAMBDAS), *ID_FIGURES)
PARTS = ("", ".low", ".high", ".placebo", ".four")
"""Suffixes of a score's numeric columns."""
NO_INTERVAL = ".no_interval"
"""Suffix of the column with the reason why a score has no interval."""
SHARES = tuple(name for name in SCENARIOS if name != "Unknown")
"""Scenarios with a share column, ``share.<name>``."""
OOD = "ood."
"""Prefix of the score on one domain that the model was not trained on."""
HOST_NOTE = "host_note"
"""Column added by an index: the host's note on an entry, null without one."""
UNRELEASED = "no round has released its scores"

CARD_LINKS = ("paper_url", "code_url", "model_url", "url")
"""The card's links."""
_TEXTS = (
    "id", "data", "subset", "task", "name", "model", "submitter", "submitted_at", "date", "paradigm", "base_model",
    "family", "model_selection", "extra_data", "basis", "trained_on", "stamp", "licence",
    "released", *CARD_LINKS,
)  # fmt: skip
_COUNTS = ("parameters", "tunable_parameters", "shots", "training_size", "tuning_trials", "n_shifts")
BY_DOMAIN = pl.Struct(
    {
        "domain": pl.String(),
        **{f"{name}{part}": pl.Float64() for name in ("into", "lost", "out_of") for part in ("", ".low", ".high")},
    }
)
"""One domain of an entry's task: ``into``, the mean score on it of models trained on other domains; ``lost``, the mean
target drop there; ``out_of``, the mean score on other domains of models trained on it. Null if undefined."""
SCHEMA = pl.Schema(
    {
        **dict.fromkeys(_TEXTS, pl.String()),
        **dict.fromkeys(_COUNTS, pl.Int64()),
        "cost_usd": pl.Float64(),
        "complete": pl.Boolean(),
        "at_floor": pl.Boolean(),
        "open_weights": pl.Boolean(),
        "missing": pl.List(pl.String),
        **{f"{figure}{part}": pl.Float64() for figure in FIGURES for part in PARTS},
        **{f"{figure}{NO_INTERVAL}": pl.String() for figure in FIGURES},
        **{f"share.{name}": pl.Float64() for name in SHARES},
        "resolved_share": pl.Float64(),
        "unparsed": pl.Float64(),
        "by_domain": pl.List(BY_DOMAIN),
    }
)
"""Columns of a row, one per entry and task; scores on single domains (``ood.<domain>``, with ``PARTS``
and ``NO_INTERVAL``) come after.

Rows are unordered. Never null: ``id``, ``data``, ``subset``, ``task``, ``name``, ``model`` (the card's, else the
name), ``submitter``, ``submitted_at``, ``date``, ``paradigm``, ``basis``, ``stamp`` (versions the row was computed
with, see ``index_cache.stamp``), ``n_shifts``, ``complete`` (see ``is_ranked``), ``missing`` (empty if nothing is
missing) and ``unparsed``. ``at_floor`` marks a mean ST that is not shown to be above the no-skill level: its drops are
uninformative. Other columns are null if the card does not state them, or the score is undefined. Scores and shares
are fractions. ``licence``, ``open_weights``, ``released`` (a day, ISO 8601), ``parameters`` and ``base_model`` are the
card's, else the Hub's (``shiftbench.leaderboard.store.model_facts``).
"""


def rows_frame(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Build the frame of rows."""
    others = sorted({name for row in rows for name in row} - set(SCHEMA))
    single = {name: pl.String() if name.endswith(NO_INTERVAL) else pl.Float64() for name in others}
    return pl.DataFrame(list(rows), schema={**SCHEMA, **single}, orient="row")


def entry_rows(entry: Entry, scores: Scores, stamp: str) -> Iterator[dict[str, Any]]:
    """Build a row for each of an entry's tasks, except placebos."""
    by_name = {task.task: task for task in scores.tasks}
    about = _card_columns(entry, stamp)
    for name, task in by_name.items():
        if not name.endswith(PLACEBO):
            missing = [] if is_ranked(task) else unranked_lines(scores, task)
            yield {**about, **_task_figures(task), **_placebo_figures(by_name.get(name + PLACEBO)), "missing": missing}


def unreleased_rows(entry: Entry, tasks: Iterable[str], stamp: str) -> Iterator[dict[str, Any]]:
    """Build a row without scores for each task of an entry on withheld labels; rounds release the scores."""
    for task in tasks:
        yield {**_card_columns(entry, stamp), "task": task, "complete": False, "missing": [UNRELEASED]}


def _card_columns(entry: Entry, stamp: str) -> dict[str, Any]:
    card, facts = entry.card, model_facts(entry.card, entry.hub)
    return {
        "id": entry.id,
        "data": card.data,
        "subset": card.subset,
        "name": card.name,
        "model": card.model_name,
        "submitter": entry.submitter,
        "submitted_at": entry.submitted_at,
        "date": entry.submitted_at[:10],
        "stamp": stamp,
        **{
            name: getattr(card, name)
            for name in (
                "paradigm", "family", "model_selection", "extra_data", "tunable_parameters", "shots", "training_size",
                "tuning_trials", "cost_usd", *CARD_LINKS,
            )
        },
        **{name: facts[name].value if name in facts else None for name in MODEL_FACTS},
    }  # fmt: skip


def trained_outside() -> pl.Expr:
    """Return a mask of entries whose models were trained on none of the board's domains (drops undefined)."""
    by_source = pl.col("trained_on").fill_null("").is_in(OUTSIDE_SOURCES)
    return by_source | pl.col("basis").fill_null("").is_in(OUTSIDE_BASES.values())


def _task_figures(task: TaskScores) -> dict[str, Any]:
    summary, id_ood = task.summary, task.id_ood
    row: dict[str, Any] = {
        "task": task.task,
        "complete": is_ranked(task),
        "at_floor": summary.at_floor,
        "n_shifts": summary.n_shifts,
        "basis": summary.basis,
        "trained_on": id_ood.source if id_ood else None,
        "resolved_share": summary.resolved_share,
        "unparsed": summary.unparsed,
        **{f"share.{name}": summary.scenario_shares.get(name) for name in SHARES},
        "by_domain": list(_by_domain(task)),
    }
    for name, estimate in _estimates(task).items():
        row |= {name: estimate.value, f"{name}.low": estimate.low, f"{name}.high": estimate.high}
        row[f"{name}{NO_INTERVAL}"] = estimate.no_interval
    if id_ood is not None and id_ood.four_types is not None:
        four = id_ood.four_types
        row |= {"id_score.four": four.id, "mean_ood.four": four.mean_ood}
        row |= {f"{OOD}{domain}.four": value for domain, value in four.ood.items()}
    return row


def _by_domain(task: TaskScores) -> Iterator[dict[str, Any]]:
    """Average a task's shifts over sources by target, and over targets by source.

    Shifts into one target share its test texts, so their half-widths are averaged, which is conservative. Targets have
    separate texts, so half-widths are combined as for independent estimates.
    """
    shifts = summarised(task)
    for domain in dict.fromkeys(name for shift in shifts for name in (shift.source, shift.target)):
        into, out_of = ([each for each in shifts if getattr(each, end) == domain] for end in ("target", "source"))
        if domain not in OUTSIDE_SOURCES and domain in task.domains:
            yield {
                "domain": domain,
                **_mean("into", [shift.st for shift in into], is_shared=True),
                **_mean("lost", [shift.td for shift in into], is_shared=True),
                **_mean("out_of", [shift.st for shift in out_of], is_shared=False),
            }


def _mean(name: str, figures: Sequence[Estimate], *, is_shared: bool) -> dict[str, float | None]:
    values = [each.value for each in figures if each.value is not None]
    if not values or len(values) < len(figures):
        return dict.fromkeys((name, f"{name}.low", f"{name}.high"))
    mean, ends = math.fsum(values) / len(values), []
    for end in ("low", "high"):
        bounds = [getattr(each, end) for each in figures]
        if None in bounds:
            return {name: mean, f"{name}.low": None, f"{name}.high": None}
        off = [abs(bound - value) for bound, value in zip(bounds, values, strict=True)]
        spread = math.fsum(off) if is_shared else math.hypot(*off)
        ends.append(mean + (spread if end == "high" else -spread) / len(values))
    return {name: mean, f"{name}.low": ends[0], f"{name}.high": ends[1]}


def _estimates(task: TaskScores) -> dict[str, Estimate]:
    summary, id_ood = task.summary, task.id_ood
    estimates: dict[str, Estimate] = {name: getattr(summary, name) for name in GRID_FIGURES}
    estimates |= {f"depth_f1_{key}": summary.depth_f1.get(key, Estimate(value=None)) for key in LAMBDAS}
    if id_ood is not None:
        estimates |= {"id_score": id_ood.id, "mean_ood": id_ood.mean_ood, "drop": id_ood.drop}
        estimates |= {f"{OOD}{domain}": score for domain, score in id_ood.ood.items()}
    return estimates


def _placebo_figures(task: TaskScores | None) -> dict[str, float | None]:
    """Return the placebo's scores (without any shift) if it covers every shift; else an empty dict."""
    if task is None or not task.summary.complete:
        return {}
    return {
        f"{name}.placebo": estimate.value for name, estimate in _estimates(task).items() if not name.startswith(OOD)
    }
