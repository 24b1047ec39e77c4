"""Effective robustness: each entry's score under shift above the line fitted to all other entries, on logits."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.metrics.correlation import MIN_BASELINES, against_others
from shiftbench.scoring.papers.analysis.canvas import BLUE, GREY, Margins, Panel, picture, shorten_name
from shiftbench.scoring.papers.analysis.entries import (
    Findings,
    Result,
    build_findings,
    group_by_board,
    n_entries,
    results_above_floor,
    with_bounds,
)
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_ENTRIES = 500
"""Maximum number of entries drawn per board, because the height of a PNG is limited; the rows have all."""
_ABOUT = (
    "Score under shift (mean ST, mean OOD) minus the score that the line through all other entries (on logits) "
    "predicts from the in-domain score. 95% intervals include the errors of both scores and of the line."
)
SCHEMA = pl.Schema(
    {
        "board": pl.String(), "entry": pl.String(), "id_score": pl.Float64(), "ood_score": pl.Float64(),
        "expected": pl.Float64(), "value": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "interval": pl.String(), "baselines": pl.Int64(), "slope": pl.Float64(), "intercept": pl.Float64(),
        "extended": pl.Boolean(),
    }
)  # fmt: skip
"""How far an entry is above (``value`` > 0) or below the line fitted to the ``baselines`` other entries.

Fractions, except ``slope`` and ``intercept``, which are on logits; ``low``, ``high`` and ``interval`` are null if a
score has no interval. ``extended``: whether the entry's ID score is outside the range of the other entries' ID scores,
so that the line is extrapolated. Rows by board, the highest value first.
"""


def find_effective(results: Sequence[Result]) -> Findings:
    """Compare each entry's OOD score with the score that a line through all other entries predicts.

    Without an ID domain the OOD score is the mean ST.

    Returns: rows of ``SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for board, every in group_by_board(results):
        mine = [
            (result, pair) for result in results_above_floor(board, every, left_out) if (pair := _id_and_ood(result))
        ]
        homes, aways = (np.array([_with_ends(pair[side]) for _, pair in mine]).reshape(-1, 3) for side in (0, 1))
        compared = against_others(homes, aways)
        known = [(result, pair, each) for (result, pair), each in zip(mine, compared, strict=True) if each]
        if len(known) < len(every):
            why = f"no in-domain score, or fewer than {MIN_BASELINES} other entries to fit a line to"
            left_out.append(f"{board}: {n_entries(len(every) - len(known))} with {why}")
        on_board = []
        for result, (own, away), (line, effective) in known:
            known_ends = not np.isnan(effective.low)
            on_board.append(
                {"board": board, "entry": result.entry, "id_score": own["value"], "ood_score": away["value"],
                 "expected": line.expected(float(own["value"] or 0)), "value": effective.value,
                 "low": effective.low if known_ends else None, "high": effective.high if known_ends else None,
                 "interval": away["interval"] if known_ends else None, "baselines": line.n, "slope": line.slope,
                 "intercept": line.intercept, "extended": not line.lowest <= float(own["value"] or 0) <= line.highest}
            )  # fmt: skip
        rows += sorted(on_board, key=lambda row: -row["value"])
    return build_findings(rows, left_out, f"no board has {MIN_BASELINES + 1} entries with an in-domain score", SCHEMA)


def draw_effective(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Plot each entry's effective robustness with its interval; the vertical line (0) is the others' prediction."""
    boards = rows.partition_by("board", maintain_order=True)
    heights = [1.0 + 0.24 * min(mine.height, _MOST_ENTRIES) for mine in boards]
    panels = [Panel(partial(_panel, rows=mine)) for mine in boards]
    margins = Margins(left=3.0, right=0.4, top=0.4, bottom=0.5)
    title = "Effective robustness: score under shift above the line of the other entries (points)"
    return picture(panels, columns=1, heights=heights, margins=margins, title=title, notes=[_ABOUT, *notes])


Bounded = dict[str, float | str | None]


def _id_and_ood(result: Result) -> tuple[Bounded, Bounded] | None:
    """Return the in-domain score and the mean score under shift; None if a part is missing."""
    summary, own = result.task.summary, result.task.id_ood
    if own is not None:
        pair, names, total = (own.id, own.mean_ood), ("id", "mean_ood"), own.total
        whole = own.complete and own.source not in OUTSIDE_SOURCES
    else:
        pair, names, total = (summary.mean_ss, summary.mean_st), ("mean_ss", "mean_st"), summary.total
        whole = summary.complete
    if not whole or any(score.value is None for score in pair):
        return None
    home, away = (with_bounds(score, total.get(name)) for score, name in zip(pair, names, strict=True))
    return home, away


def _with_ends(score: Bounded) -> list[float]:
    """Return a score and the ends of its interval; NaN without an interval."""
    return [np.nan if score[key] is None else float(score[key] or 0) for key in ("value", "low", "high")]


def _panel(axis: "Axes", rows: pl.DataFrame) -> None:
    shown = rows.head(_MOST_ENTRIES)
    axis.axvline(0, color=GREY, linestyle=":", linewidth=1)
    for place, row in enumerate(shown.iter_rows(named=True)):
        if row["low"] is not None:
            axis.plot([100 * row["low"], 100 * row["high"]], [place, place], color=GREY, linewidth=3)
        axis.plot([100 * row["value"]], [place], "o", color=BLUE, markersize=7)
    axis.set_yticks(range(shown.height), [shorten_name(name, 42) for name in shown["entry"]])
    axis.set_ylim(shown.height - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.set_xlabel("points above the line")
    more = f": the first {shown.height} of {rows.height} entries" if rows.height > shown.height else ""
    axis.set_title(rows["board"][0] + more)
