"""OOD scores against the ID score, over states of one model: Figures 2-4 of the BOSS paper."""

import textwrap
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.metrics.correlation import LEAST_STATES, IdOodShape, id_ood_shape
from shiftbench.scoring.papers.analysis.canvas import (
    BLACK,
    COLOURS,
    GREY,
    Key,
    Margins,
    Panel,
    picture,
    shorten_name,
    value_range,
)
from shiftbench.scoring.papers.analysis.entries import (
    STATE,
    Findings,
    Result,
    build_findings,
    group_by_board,
    n_entries,
    series_of,
    short_number,
    state_value,
    with_bounds,
)
from shiftbench.scoring.scores.shape import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MEAN_OOD, _CROSS = "mean OOD", "mean ST"
_LINE = 38
"""Number of letters in a line of a panel's title."""
_KINDS = {
    "line up": "one rising line", "line down": "one falling line", "two lines": "two rising lines", "v": "V-shape",
    "peak": "rises, then falls", "two lines down": "two falling lines", "none": "no relation",
}  # fmt: skip
_ABOUT = (
    "Types as in the BOSS paper: I one rising line (in scores or on logits), II two rising lines, III a V. With at "
    f"least {LEAST_STATES['I']} (I), {LEAST_STATES['II']} (II) or {LEAST_STATES['III']} (III) states a true type is "
    "recognised in 80% of cases. Thin lines: 95% intervals."
)
_CRITERIA = ("constant", "one line", "one line on logits", "flat, then a line", "a line, then flat", "two lines")
SCHEMA = pl.Schema(
    {
        "board": pl.String(), "series": pl.String(), "entry": pl.String(), **dict.fromkeys(STATE, pl.Int64()),
        "ood": pl.String(), "id_score": pl.Float64(), "id_low": pl.Float64(), "id_high": pl.Float64(),
        "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(), "interval": pl.String(),
        "expected": pl.Float64(), "shape": pl.String(), "boss_type": pl.String(), "axis": pl.String(),
        "states": pl.Int64(), "least_states": pl.Int64(), "r2": pl.Float64(),
        "slope": pl.Float64(), "slope_after_knee": pl.Float64(), "knee": pl.Float64(), "anchor": pl.Float64(),
        "value_at_anchor": pl.Float64(), **{f"criterion: {name}": pl.Float64() for name in _CRITERIA},
    }
)  # fmt: skip
"""A model state's ID score and its score on one OOD domain (or the OOD mean); then the shape fitted to all states.

Rows by board, series, OOD domain and state. The keys of ``STATE`` are null if the card does not state them, interval
ends and ``interval`` if no interval is known, ``expected`` and the columns on the shape if the fitted shape has no such
value (``shiftbench.metrics.correlation.IdOodShape``). ``axis`` is ``logit`` if the line, and hence ``slope``, is on
logits.
``least_states``: the number of states needed to detect this type with 80% power if it is the true one; null without a
type.
"""


def find_states(results: Sequence[Result]) -> Findings:
    """Compute each state's OOD scores and their mean, its ID score, and the shape of the relation.

    A benchmark without an ID domain has one pair of scores: mean ST and mean SS. States with a missing shift are
    excluded from means. The shape is chosen by ``id_ood_shape``; with too few states nothing is fitted.

    Returns: rows of ``SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    left_out = []
    for board, mine in group_by_board(results):
        trained = [result for result in mine if result.task.summary.mean_ss.value is not None]
        by_model = {name: states for name, states in series_of(trained, STATE).items() if len(states) > 1}
        alone = len(trained) - sum(map(len, by_model.values()))
        if alone:
            left_out.append(
                f"{board}: {n_entries(alone)} skipped: no other card differs only in size, training data, shots or step"
            )
        for name, states in by_model.items():
            away = dict.fromkeys(where for result in states for where in _ood_with_id(result))
            for where in away:
                rows += _state_rows(board, name, where, [result for result in states if where in _ood_with_id(result)])
    return build_findings(
        rows,
        left_out,
        "no two entries with an in-domain score have cards that differ only in size, training data, shots or step",
        SCHEMA,
    )


def draw_states(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a panel per board, model and OOD domain, with states as marks and the selected shape as a line."""
    sizes = sorted(set(rows["parameters"].drop_nulls()))
    colours = {size: COLOURS[number] for number, size in enumerate(sizes)} if 1 < len(sizes) <= len(COLOURS) else {}
    panels: list[Panel] = []
    alone = True
    for series in rows.partition_by("board", "series", maintain_order=True):
        domains = series.partition_by("ood", maintain_order=True)
        # Several panels of one model get their own rows, single ones are placed side by side.
        starts = not alone or len(domains) > 1
        alone = len(domains) == 1
        panels += [
            Panel(partial(_panel, rows=mine, colours=colours), starts and mine is domains[0]) for mine in domains
        ]
    keys = [Key("chosen shape", BLACK), Key("equal to the in-distribution score", GREY, ":")]
    keys += [Key(f"{short_number(size)} parameters", colour, "none", "o") for size, colour in colours.items()]
    title = "Scores out of distribution (OOD) against the ID score, by states of a model (points)"
    margins = Margins(left=0.5, right=0.1, top=0.8, bottom=0.45)
    return picture(panels, columns=4, heights=3.1, margins=margins, title=title, keys=keys, notes=[_ABOUT, *notes])


def _ood_with_id(result: Result) -> dict[str, tuple[Estimate, Estimate]]:
    """Return pairs of OOD score and ID score by OOD domain; unknown ones are omitted."""
    summary, own = result.task.summary, result.task.id_ood
    if own is not None:
        pairs = {name: (score, own.id) for name, score in own.ood.items()}
        pairs |= {_MEAN_OOD: (own.mean_ood, own.id)} if own.complete else {}
    else:
        pairs = {_CROSS: (summary.mean_st, summary.mean_ss)} if summary.complete else {}
    return {where: pair for where, pair in pairs.items() if pair[0].value is not None and pair[1].value is not None}


def _state_rows(board: str, series: str, where: str, states: Sequence[Result]) -> list[dict[str, Any]]:
    pairs = [_ood_with_id(result)[where] for result in states]
    id_scores = np.array([own.value for _, own in pairs], dtype=np.float64)
    shape = id_ood_shape(id_scores, np.array([away.value for away, _ in pairs], dtype=np.float64))
    expected = shape.predict(id_scores)
    rows = []
    for result, (away, own), fitted in zip(states, pairs, expected, strict=True):
        total = result.task.id_ood.total if result.task.id_ood else result.task.summary.total
        at_home = with_bounds(own, total.get("id") or total.get("mean_ss"))
        key = {_MEAN_OOD: "mean_ood", _CROSS: "mean_st"}.get(where, f"ood.{where}")
        rows.append(
            {"board": board, "series": series, "entry": result.entry,
             **{name: state_value(result, name) for name in STATE}, "ood": where,
             "id_score": at_home["value"], "id_low": at_home["low"], "id_high": at_home["high"],
             **with_bounds(away, total.get(key)), "expected": _if_finite(fitted), "states": len(states),
             **_shape_facts(shape)}
        )  # fmt: skip
    return rows


def _shape_facts(shape: IdOodShape) -> dict[str, Any]:
    slopes = (*shape.slopes, *([None] * (2 - len(shape.slopes))))
    return {
        "shape": shape.kind, "boss_type": shape.boss_type, "axis": shape.axis if shape.slopes else None,
        "least_states": LEAST_STATES[shape.boss_type] if shape.boss_type else None, "r2": _if_finite(shape.r2),
        "slope": slopes[0], "slope_after_knee": slopes[1], "knee": _if_finite(shape.knee),
        "anchor": _if_finite(shape.anchor), "value_at_anchor": _if_finite(shape.knee_value),
        **{f"criterion: {name}": _if_finite(shape.criterion.get(name, np.nan)) for name in _CRITERIA},
    }  # fmt: skip


def _if_finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _panel(axis: "Axes", rows: pl.DataFrame, colours: dict[int, str]) -> None:
    first = rows.row(0, named=True)
    across = value_range([*rows["id_score"], *rows["id_low"], *rows["id_high"]])
    up = value_range([*rows["value"], *rows["low"], *rows["high"]])
    axis.set_xlim(across)
    axis.set_ylim(up)
    axis.axline((0, 0), slope=1, color=GREY, linestyle=":", linewidth=1)
    for row in rows.iter_rows(named=True):
        _state(axis, row, colours.get(row["parameters"], COLOURS[0]))
    if first["anchor"] is not None:
        _shape(axis, first, 100 * rows["id_score"].to_numpy())
    axis.set_xlabel("mean SS" if first["ood"] == _CROSS else "ID score")
    where = first["ood"] if first["ood"] in (_CROSS, _MEAN_OOD) else f"OOD: {first['ood']}"
    model = textwrap.wrap(first["series"], _LINE, max_lines=2, placeholder="…")
    lines = [shorten_name(f"{first['board']}, {where}", _LINE), *model, _shape_words(rows)]
    axis.set_title("\n".join(lines), fontsize=8)


def _state(axis: "Axes", row: dict[str, Any], colour: str) -> None:
    x, y = 100 * row["id_score"], 100 * row["value"]
    if row["low"] is not None:
        axis.plot([x, x], [100 * row["low"], 100 * row["high"]], color=colour, linewidth=0.7, alpha=0.5)
    if row["id_low"] is not None:
        axis.plot([100 * row["id_low"], 100 * row["id_high"]], [y, y], color=colour, linewidth=0.7, alpha=0.5)
    axis.plot([x], [y], "o", color=colour, markersize=4)


def _shape(axis: "Axes", facts: dict[str, Any], id_points: NDArray[np.float64]) -> None:
    knee = [100 * facts["knee"]] if facts["knee"] is not None else []
    x = np.array(sorted([id_points.min(), id_points.max(), *knee]))
    left = facts["slope"] or 0.0
    right = facts["slope_after_knee"] if facts["slope_after_knee"] is not None else left
    away = x - 100 * facts["anchor"]
    if facts["axis"] == "logit":
        x = np.linspace(x[0], x[-1], 60)
        line = IdOodShape(facts["shape"], (left,), np.nan, facts["value_at_anchor"], facts["anchor"], 1.0, {}, "logit")
        axis.plot(x, 100 * line.predict(x / 100), color=BLACK, linewidth=1.2)
        return
    axis.plot(x, 100 * facts["value_at_anchor"] + np.where(away < 0, left, right) * away, color=BLACK, linewidth=1.2)


def _shape_words(rows: pl.DataFrame) -> str:
    """Describe the shape, or why none could be fitted."""
    facts = rows.row(0, named=True)
    if facts["shape"] not in _KINDS:
        return f"no fit: {rows.height} states, 5 needed" if rows.height < 5 else "no fit: fewer than 3 ID scores"
    type_ = f"Type {facts['boss_type']}" if facts["boss_type"] else _KINDS[facts["shape"]]
    type_ += " on logits" if facts["axis"] == "logit" else ""
    knee = f", knee {100 * facts['knee']:.1f}" if facts["knee"] is not None else ""
    r2 = f", r² {facts['r2']:.2f}" if facts["r2"] is not None else ""
    return f"{type_}{r2}{knee}, {rows.height} states"
