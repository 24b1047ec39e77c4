"""Drops against the divergence of source and target: Table 8 of the Domain Robustness paper, by shift."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.builders.folder.statistics import read_statistics
from shiftbench.metrics.divergence import divergence_correlations
from shiftbench.scoring.papers.analysis.canvas import BLUE, GREY, ORANGE, Key, Margins, Panel, picture, value_range
from shiftbench.scoring.papers.analysis.entries import (
    Findings,
    Result,
    build_findings,
    group_by_board,
    n_entries,
    results_above_floor,
    with_bounds,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = {"SD": (ORANGE, "o"), "TD": (BLUE, "s")}
SCHEMA = pl.Schema(
    {
        "board": pl.String(), "entry": pl.String(), "source": pl.String(), "target": pl.String(),
        "divergence": pl.Float64(), "drop": pl.String(), "value": pl.Float64(), "low": pl.Float64(),
        "high": pl.Float64(), "interval": pl.String(), "spearman": pl.Float64(),
    }
)  # fmt: skip
"""One drop (SD or TD) of one shift; ``divergence`` in [0, 1].

Rows by board, entry, shift and drop. ``low``, ``high`` and ``interval`` are null if no interval is known, ``spearman``
if the correlation is undefined.
"""


def find_divergence(results: Sequence[Result]) -> Findings:
    """Compute the drops of each entry's shifts and the Jensen-Shannon divergence of the two domains' training words.

    Divergences are read from the dataset folder (``statistics/TASK.json``). ``spearman`` is the correlation over all of
    an entry's shifts. It has no p value, because shifts share domains and so are not independent.

    Returns: rows of ``SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for board, mine in group_by_board(results):
        folder, task = mine[0].folder, mine[0].task.task
        if not (folder.path / "statistics" / f"{task}.json").is_file():
            left_out.append(f"{board}: the dataset has no statistics")
            continue
        divergence = read_statistics(folder.path, task).divergence
        able = [result for result in mine if _shift_rows(board, result, divergence)]
        for result in results_above_floor(board, able, left_out):
            rows += _shift_rows(board, result, divergence)
        without = len(mine) - len(able)
        if without:
            left_out.append(f"{board}: {n_entries(without)} without a shift with both drops and a divergence")
    why = "no entry has a shift with both drops and a known divergence"
    return build_findings(rows, left_out, why, SCHEMA)


def draw_divergence(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a panel per board, with a mark for each drop of each shift and entry."""
    panels = [Panel(partial(_panel, rows=mine)) for mine in rows.partition_by("board", maintain_order=True)]
    keys = [Key(name, colour, "none", marker) for name, (colour, marker) in _LOOKS.items()]
    title = "Drops over the divergence of source and target (Jensen-Shannon, train words)"
    about = "Shifts share domains and are not independent, so correlation tests are not valid here."
    margins = Margins(top=0.5)
    return picture(panels, columns=2, heights=3.2, margins=margins, title=title, keys=keys, notes=[about, *notes])


def _shift_rows(board: str, result: Result, divergence: Mapping[str, Mapping[str, float]]) -> list[dict[str, Any]]:
    domains = result.task.domains
    if len(domains) < 2:
        return []
    matrix = np.array([[divergence.get(a, {}).get(b, np.nan) for b in domains] for a in domains])
    spearman = divergence_correlations(result.score_matrix(), matrix)
    correlations = {"SD": float(spearman.spearman_divergence_sd), "TD": float(spearman.spearman_divergence_td)}
    return [
        {"board": board, "entry": result.entry, "source": shift.source, "target": shift.target,
         "divergence": divergence[shift.source][shift.target], "drop": name,
         **with_bounds(estimate, shift.total.get(name.lower())),
         "spearman": None if isnan(correlations[name]) else correlations[name]}
        for shift in result.shifts
        for name, estimate in (("SD", shift.sd), ("TD", shift.td))
        if shift.target in divergence.get(shift.source, {})
    ]  # fmt: skip


def _panel(axis: "Axes", rows: pl.DataFrame) -> None:
    one = rows["entry"].n_unique() == 1
    for name, (colour, marker) in _LOOKS.items():
        mine = rows.filter(drop=name)
        axis.scatter(
            mine["divergence"], 100 * mine["value"], s=14, marker=marker, color=colour, alpha=0.55, linewidths=0
        )
        if one:
            known = mine.filter(pl.col("low").is_not_null())
            axis.vlines(
                known["divergence"], 100 * known["low"], 100 * known["high"], color=colour, linewidth=0.7, alpha=0.6
            )
    axis.axhline(0, color=GREY, linewidth=0.8)
    axis.set_ylim(
        value_range([*rows["value"], *(rows["low"] if one else []), *(rows["high"] if one else [])], zero=True)
    )
    axis.set_xlabel("divergence, bits")
    axis.set_ylabel("drop, points")
    axis.set_title(f"{rows['board'][0]}, {n_entries(rows['entry'].n_unique())}\n{_correlations(rows)}")


def _correlations(rows: pl.DataFrame) -> str:
    """Format the correlations for SD and TD, averaged over the entries for which both are defined."""
    each = rows.pivot("drop", index="entry", values="spearman", aggregate_function="first").drop_nulls()
    if each.is_empty():
        return "Spearman: undefined, because drops or divergences are all equal"
    means = ", ".join(f"{name} {each[name].to_numpy().mean():.2f}" for name in _LOOKS)
    return f"Spearman: {means} (mean over {n_entries(each.height)})"
