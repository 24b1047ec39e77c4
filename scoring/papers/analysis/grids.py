"""Analyses of complete grids of scores: Theorem 1's statements, ranks with a domain left out, means over models."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import partial
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.metrics.drop_comparison import Inequality, TheoremOne, average_over_models, theorem_one
from shiftbench.metrics.ranking import rank_stability
from shiftbench.metrics.robustness import summarise
from shiftbench.scoring.papers.analysis.canvas import BLUE, GREY, Margins, Panel, picture, shorten_name, whole_ticks
from shiftbench.scoring.papers.analysis.entries import (
    Findings,
    Result,
    build_findings,
    group_by_board,
    n_entries,
    results_above_floor,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STATEMENTS = {
    "covariance": "Cov[TT, ST] > Cov[SS, ST]", "explained": "Cov[IDD, SD]^2 > Cov[IDD, TD]^2",
    "variance": "Var[SD] > Var[TD]", "absolute": "E|SD| > E|TD|", "squares": "E[SD^2] > E[TD^2]",
}  # fmt: skip
_ALL = "none"
_MOST_ENTRIES = 500
"""Maximum number of entries drawn per board, because the height of a PNG is limited; the rows have all."""
_NO_GRID = "no entry has every score of a task"
THEOREM_ONE = pl.Schema(
    {
        "board": pl.String(), "entry": pl.String(), "statement": pl.String(), "left": pl.Float64(),
        "right": pl.Float64(), "holds": pl.Boolean(),
    }
)  # fmt: skip
"""Both sides of one statement for one entry; rows by board, entry and statement, no nulls."""
RANK_STABILITY = pl.Schema(
    {
        "board": pl.String(), "entry": pl.String(), "left_out": pl.String(), "rank": pl.Int64(), "best": pl.Int64(),
        "worst": pl.Int64(),
    }
)  # fmt: skip
"""An entry's rank (1 is best) with one domain left out (``none``: on all); ``best`` and ``worst`` of all these ranks.

Rows by board and entry, no nulls.
"""
MODEL_AVERAGES = pl.Schema(
    {
        "board": pl.String(), "paradigm": pl.String(), "models": pl.Int64(), "figure": pl.String(),
        "value": pl.Float64(),
    }
)  # fmt: skip
"""Mean of one statistic over the entries of one paradigm; ``value`` is null if undefined."""


def find_theorem_one(results: Sequence[Result]) -> Findings:
    """Compare both sides of each statement of the paper's Theorem 1, for each entry with a complete grid.

    Returns: rows of ``THEOREM_ONE``.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for board, grids in _complete_grids(results, left_out):
        for result in grids:
            statements = theorem_one(result.score_matrix())
            for statement in fields(TheoremOne):
                sides: Inequality = getattr(statements, statement.name)
                rows.append(
                    {"board": board, "entry": result.entry, "statement": _STATEMENTS[statement.name],
                     "left": float(sides.left), "right": float(sides.right), "holds": bool(sides.holds)}
                )  # fmt: skip
    return build_findings(rows, left_out, _NO_GRID, THEOREM_ONE)


def find_rank_stability(results: Sequence[Result]) -> Findings:
    """Rank the entries of each board by mean ST, on all domains and with each one left out.

    Returns: rows of ``RANK_STABILITY``.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for board, grids in _complete_grids(results, left_out):
        domains = grids[0].task.domains
        if len(grids) < 2 or len(domains) < 3:
            left_out.append(
                f"{board}: {n_entries(len(grids))} on {len(domains)} domains; ranks need 2 entries on 3 domains"
            )
            continue
        ranks = rank_stability(np.stack([result.score_matrix() for result in grids]))
        for number, result in enumerate(grids):
            ends = {"best": int(ranks.best[number]), "worst": int(ranks.worst[number])}
            by_domain = {_ALL: ranks.ranks} | dict(zip(domains, ranks.left_out, strict=True))
            rows += [
                {"board": board, "entry": result.entry, "left_out": domain, "rank": int(each[number]), **ends}
                for domain, each in by_domain.items()
            ]
    return build_findings(
        rows, left_out, "no task has two entries with every score on three domains or more", RANK_STABILITY
    )


def draw_rank_stability(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a line per entry from its best to its worst rank, with a mark at its rank on all domains."""
    boards = rows.partition_by("board", maintain_order=True)
    heights = [1.0 + 0.24 * min(mine["entry"].n_unique(), _MOST_ENTRIES) for mine in boards]
    panels = [Panel(partial(_ranks, rows=mine)) for mine in boards]
    title = "Ranks by mean ST: on all domains (mark), and with any one domain excluded (line)"
    margins = Margins(left=3.0, right=0.4, top=0.4, bottom=0.5)
    return picture(panels, columns=1, heights=heights, margins=margins, title=title, notes=notes)


def find_model_averages(results: Sequence[Result]) -> Findings:
    """Average each statistic of a task over the models of each paradigm, as in the paper's Tables 6 and 8.

    Returns: rows of ``MODEL_AVERAGES``.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for board, grids in _complete_grids(results, left_out):
        for paradigm in dict.fromkeys(result.card.paradigm for result in grids):
            like = [result for result in grids if result.card.paradigm == paradigm]
            means = average_over_models([summarise(result.score_matrix()) for result in like])
            rows += [
                {"board": board, "paradigm": paradigm, "models": len(like), "figure": name,
                 "value": None if isnan(value) else value}
                for name, value in means.items()
            ]  # fmt: skip
    return build_findings(rows, left_out, _NO_GRID, MODEL_AVERAGES)


def _complete_grids(results: Sequence[Result], left_out: list[str]) -> Iterator[tuple[str, list[Result]]]:
    """Return each board's results that have every score of at least two domains; note the number of others."""
    for board, every in group_by_board(results):
        mine = results_above_floor(board, every, left_out)
        grids = [
            result for result in mine if len(result.task.domains) > 1 and not np.isnan(result.score_matrix()).any()
        ]
        if len(mine) > len(grids):
            left_out.append(f"{board}: {n_entries(len(mine) - len(grids))} with a missing score")
        if grids:
            yield board, grids


def _ranks(axis: "Axes", rows: pl.DataFrame) -> None:
    n_all = rows["entry"].n_unique()
    on_all = rows.filter(left_out=_ALL).sort("rank", "entry").head(_MOST_ENTRIES)
    for place, row in enumerate(on_all.iter_rows(named=True)):
        axis.plot([row["best"], row["worst"]], [place, place], color=GREY, linewidth=3, solid_capstyle="round")
        axis.plot([row["rank"]], [place], "o", color=BLUE, markersize=7)
    axis.set_yticks(range(on_all.height), [shorten_name(name, 42) for name in on_all["entry"]])
    axis.set_ylim(on_all.height - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.set_xlim(0.5, max(on_all["worst"].to_list()) + 0.5)
    whole_ticks(axis)
    axis.set_xlabel("rank")
    more = f": the first {on_all.height} of {n_all} entries" if n_all > on_all.height else ""
    axis.set_title(rows["board"][0] + more)
