"""Forecasts compared with true accuracy, by method: where each fails, and which causes of shift it cannot detect.

Three simulated shifts of known cause show which method detects which cause, with a model that is nearly optimal on the
source.

Texts are represented by points. On the source, three classes have priors of 60, 30 and 10%; 80% of the texts are easy,
and 20% are hard, with classes that are closer together. The model is the source's Bayes classifier with slightly wrong
class means; the error differs between two seeds. In five steps, the target then moves away from the source:

- *label shift*: the class priors are reversed, and p(text | class) stays the same;
- *subpopulation*: the hard texts grow from 20% to nearly all, and p(text | class, kind) stays the same;
- *concept shift*: p(text) stays the same, but up to half of the first class's labels become the second class.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.scoring.forecasting import CONCEPT_SHIFT
from shiftbench.scoring.forecasting.methods import TITLES, chosen_methods
from shiftbench.scoring.forecasting.run import forecast_task
from shiftbench.scoring.forecasting.samples import Sample, TaskSamples, task_samples
from shiftbench.scoring.forecasting.shape import TaskForecast
from shiftbench.scoring.papers.analysis.canvas import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    Key,
    Margins,
    Panel,
    picture,
    value_range,
)
from shiftbench.scoring.papers.analysis.entries import Findings, Result, build_findings, group_by_board, n_entries
from shiftbench.validation.report import InvalidInput
from shiftbench.validation.vocabulary import TaskKind

if TYPE_CHECKING:
    from matplotlib.axes import Axes


CAUSES = ("label shift", "subpopulation", "concept shift")
STEPS = 5
HOME = "home"
_N = 2_000  # texts per domain
_SHARES = np.array([0.6, 0.3, 0.1])  # class priors on the source
_HARD = 0.2  # share of hard texts on the source
# Distances, in standard deviations of a class: of the class means of easy and of hard texts from the origin, between
# easy and hard texts, and of the model's class means from the true ones.
_EASY_FAR, _HARD_FAR = 2.5, 1.0
_KIND_FAR = 6.0
_OFF = 0.1
_SEEDS = (0, 1)
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def known_shifts(seed: int = 0) -> Iterator[tuple[str, TaskSamples]]:
    """Simulate the three tasks: cause and samples, with one target per step."""
    for cause in CAUSES:
        rng = np.random.default_rng([seed, CAUSES.index(cause)])
        means = [far * np.eye(3) for far in (_EASY_FAR, _HARD_FAR)]
        models = [[mean + rng.normal(0, _OFF, mean.shape) for mean in means] for _ in _SEEDS]
        texts = {HOME: _texts(rng, means, _SHARES, _HARD)}
        for step in range(1, STEPS + 1):
            texts[f"step {step}"] = _shifted(rng, means, cause, step / STEPS)
        home, shifts = {}, {}
        for seed_, model in zip(_SEEDS, models, strict=True):
            for name, (points, labels) in texts.items():
                table = _posterior(points, model)
                ids = pl.Series([f"{name} {number}" for number in range(len(points))])
                sample = Sample(ids, table.argmax(axis=1), table, labels)
                if name == HOME:
                    home[HOME, seed_] = sample
                else:
                    shifts[(HOME, seed_), name] = sample
        yield cause, TaskSamples(cause, "accuracy", ("a", "b", "c"), home, shifts)


def _shifted(rng: np.random.Generator, means: list[Floats], cause: str, size: float) -> tuple[Floats, Codes]:
    shares = (1 - size) * _SHARES + size * _SHARES[::-1] if cause == "label shift" else _SHARES
    hard = _HARD + 0.75 * size if cause == "subpopulation" else _HARD
    points, labels = _texts(rng, means, shares, hard)
    if cause == "concept shift":
        labels = np.where((labels == 0) & (rng.random(labels.size) < size / 2), 1, labels)
    return points, labels


def _texts(rng: np.random.Generator, means: list[Floats], shares: Floats, hard: float) -> tuple[Floats, Codes]:
    """Sample points: three coordinates by class, and a fourth that separates hard texts from easy ones."""
    labels, kinds = rng.choice(3, _N, p=shares), (rng.random(_N) < hard).astype(np.int64)
    by_class = np.stack(means)[kinds, labels] + rng.normal(size=(_N, 3))
    by_kind = _KIND_FAR * kinds + rng.normal(size=_N)
    return np.column_stack([by_class, by_kind]), labels


def _posterior(points: Floats, means: list[Floats]) -> Floats:
    """Return p(y|x) under the source, summed over both kinds, shape (n, 3)."""
    table = np.zeros((len(points), 3))
    for kind, (mean, share) in enumerate(zip(means, (1 - _HARD, _HARD), strict=True)):
        squares = ((points[:, None, :3] - mean) ** 2).sum(axis=2) + (points[:, 3:] - _KIND_FAR * kind) ** 2
        table += share * _SHARES * np.exp(-squares / 2)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


BOARDS = "boards"
_COLOURS = {BOARDS: BLUE, **dict(zip(CAUSES, (ORANGE, GREEN, PURPLE), strict=True))}
SCHEMA = pl.Schema(
    {
        "cause": pl.String(), "board": pl.String(), "entry": pl.String(), "source": pl.String(), "target": pl.String(),
        "method": pl.String(), "forecast": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "truth": pl.Float64(),
    }
)  # fmt: skip
"""One method's forecast of one shift, and the true accuracy; means over seeds.

``cause`` is 'boards' for shifts between real domains, otherwise the cause of a simulated shift, whose board and entry
are 'simulated'. Rows by cause, board, entry and shift. ``low`` and ``high`` are null without an interval.
"""


def find_forecasts(results: Sequence[Result]) -> Findings:
    """Forecast the shifts of all entries with readable predictions, and three simulated shifts of known cause.

    Returns: rows of ``SCHEMA``; empty if no entry has a forecast.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    methods = chosen_methods(None)
    for board, mine in group_by_board(results):
        without = 0
        for result in mine:
            made = _forecast(result, methods)
            without += made is None
            rows += [] if made is None else _forecast_rows(BOARDS, board, result.entry, made)
        if without:
            left_out.append(f"{board}: {n_entries(without)} for which no accuracy can be forecast")
    if rows:
        for cause, samples in known_shifts():
            rows += _forecast_rows(cause, "simulated", "simulated", forecast_task(samples, methods))
    return build_findings(rows, left_out, "no entry has predictions of labels in domain and under shift", SCHEMA)


def _forecast(result: Result, methods: Sequence[str]) -> TaskForecast | None:
    """Forecast one entry's task; None if its metric is not accuracy, or without labelled texts of the source domain."""
    name = result.task.task
    # All forecasts are drawn on one axis, so they must be of one metric.
    if result.rows is None or result.folder.task(name).kind is not TaskKind.CLASSIFICATION:
        return None
    predictions = result.rows().filter(pl.col("task") == name)
    try:
        return forecast_task(task_samples(name, predictions, result.folder), methods)
    except InvalidInput:  # zero-shot models have no source domain
        return None


def _forecast_rows(cause: str, board: str, entry: str, made: TaskForecast) -> list[dict[str, Any]]:
    return [
        {"cause": cause, "board": board, "entry": entry, "source": shift.source, "target": shift.target,
         "method": each.method, "forecast": each.value, "low": each.low, "high": each.high, "truth": shift.truth}
        for shift in made.shifts
        for each in shift.forecasts
        if each.value is not None and shift.truth is not None
    ]  # fmt: skip


def draw_forecasts(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a panel per method: forecasts against the truth; perfect forecasts are on the diagonal."""
    ends = value_range([*rows["forecast"], *rows["truth"]])
    by_method = {name: rows.filter(method=name) for name in TITLES}
    panels = [
        Panel(partial(_panel, rows=mine, title=TITLES[name], ends=ends))
        for name, mine in by_method.items()
        if not mine.is_empty()
    ]
    keys = [Key(name, colour, "none", "o") for name, colour in _COLOURS.items() if name in set(rows["cause"])]
    about = (
        f"{CONCEPT_SHIFT} Simulated shifts: class proportions are reversed; a hard kind of text becomes frequent; "
        "labels change their meaning, with the texts unchanged. Titles: mean absolute errors in points, in the "
        "legend's order."
    )
    title = "Accuracy forecast without labels, compared with the true accuracy"
    return picture(
        panels, columns=3, heights=3.0, margins=Margins(top=0.45), title=title, keys=keys, notes=[about, *notes]
    )


def _panel(axis: "Axes", rows: pl.DataFrame, title: str, ends: tuple[float, float]) -> None:
    errors = []
    for cause, colour in _COLOURS.items():
        mine = rows.filter(cause=cause)
        if mine.is_empty():
            errors.append("-")
            continue
        axis.scatter(100 * mine["truth"], 100 * mine["forecast"], s=14, color=colour, alpha=0.6, linewidths=0)
        errors.append(f"{100 * (mine['forecast'] - mine['truth']).abs().to_numpy().mean():.1f}")
    axis.plot(ends, ends, color=GREY, linewidth=0.8)
    axis.set_xlim(ends)
    axis.set_ylim(ends)
    axis.set_xlabel("accuracy, points")
    axis.set_ylabel("forecast, points")
    axis.set_title(f"{title}: {' / '.join(errors)}")
