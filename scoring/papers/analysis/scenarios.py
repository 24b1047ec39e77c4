"""Shares of scenarios, and of resolved scenarios, by task and paradigm: Figure 3 of the Domain Robustness paper."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.metrics.robustness import SCENARIOS
from shiftbench.scoring.papers.analysis.canvas import (
    BLACK,
    GREY,
    SCENARIO_COLOURS,
    Margins,
    Panel,
    picture,
    shorten_name,
)
from shiftbench.scoring.papers.analysis.entries import Findings, Result, build_findings, group_by_board, n_entries
from shiftbench.scoring.scores.shape import Shift
from shiftbench.validation.report import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLACEBO = "placebo"
_KNOWN = tuple(name for name in SCENARIOS if name != "Unknown")
SCHEMA = pl.Schema(
    {
        "board": pl.String(), "paradigm": pl.String(), "entries": pl.Int64(), "shifts": pl.Int64(),
        "scenario": pl.String(), "count": pl.Int64(), "share": pl.Float64(), "resolved": pl.Float64(),
    }
)  # fmt: skip
"""One scenario of one paradigm (or ``placebo``) on a board: shifts that have it, and their share of all ``shifts``.

Rows by board, paradigm and scenario, each scenario once.
"""


def find_scenarios(results: Sequence[Result]) -> Findings:
    """Count scenarios over all entries and shifts of each board and paradigm, and those of the placebos.

    ``resolved`` is the share of all shifts that have the scenario and are resolved.

    Returns: rows of ``SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    for board, mine in group_by_board(results):
        for paradigm in dict.fromkeys(result.card.paradigm for result in mine):
            like = [result for result in mine if result.card.paradigm == paradigm]
            rows += _scenario_rows(board, paradigm, [result.shifts for result in like])
        rows += _scenario_rows(board, _PLACEBO, [result.placebo.shifts for result in mine if result.placebo])
    return build_findings(rows, [], "no entry has a shift with both drops", SCHEMA)


def draw_scenarios(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a bar per board and paradigm, with resolved shifts in full colour and others pale."""
    names = rows.select("board", "paradigm").unique(maintain_order=True).height
    title = "Scenarios of domain shifts, over all entries and shifts"
    about = "Proportions of shifts; full colour: resolved (both drops' 95% intervals exclude 0)."
    if _PLACEBO in rows["paradigm"]:
        about += " Placebo: the same entries, with texts assigned to domains at random."
    height = 1.0 + 0.55 * names
    margins = Margins(left=2.5, right=2.0, top=0.35, bottom=0.5)
    panel = Panel(lambda axis: _bars(axis, rows))
    return picture([panel], columns=1, heights=height, margins=margins, title=title, notes=[about, *notes])


def _scenario_rows(board: str, paradigm: str, shifts_of: Sequence[Sequence[Shift]]) -> list[dict[str, Any]]:
    shifts = [shift for shifts in shifts_of for shift in shifts]
    if not shifts:
        return []
    rows = []
    for name in _KNOWN:
        mine = [shift for shift in shifts if shift.scenario == name]
        rows.append(
            {
                "board": board, "paradigm": paradigm, "entries": sum(bool(each) for each in shifts_of),
                "shifts": len(shifts), "scenario": name, "count": len(mine), "share": len(mine) / len(shifts),
                "resolved": sum(shift.resolved for shift in mine) / len(shifts),
            }
        )  # fmt: skip
    return rows


def _bars(axis: "Axes", rows: pl.DataFrame) -> None:
    groups = rows.partition_by("board", "paradigm", maintain_order=True)
    for place, group in enumerate(groups):
        _bar(axis, place, group)
        first = group.row(0, named=True)
        words = f"{n_entries(first['entries'])}, {plural(first['shifts'], 'shift')}"
        axis.text(101, place - 0.14, words, va="center", fontsize=8)
        resolved = f"{100 * group['resolved'].sum():.0f}% resolved"
        axis.text(101, place + 0.2, resolved, va="center", fontsize=8, color=GREY)
    names = [f"{shorten_name(group['board'][0], 24)}\n{group['paradigm'][0]}" for group in groups]
    axis.set_yticks(range(len(groups)), names)
    axis.set_ylim(len(groups) - 0.4, -0.6)
    axis.set_xlim(0, 100)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set_xlabel("proportion of shifts, %")
    _names_above(axis, rows)


def _bar(axis: "Axes", place: int, group: pl.DataFrame) -> None:
    start = 0.0
    for row in group.iter_rows(named=True):
        colour = SCENARIO_COLOURS[row["scenario"]]
        share, resolved = 100 * row["share"], 100 * row["resolved"]
        axis.barh(place - 0.1, resolved, 0.46, left=start, color=colour)
        axis.barh(place - 0.1, share - resolved, 0.46, left=start + resolved, color=colour, alpha=0.4)
        axis.barh(place - 0.1, share, 0.46, left=start, fill=False, edgecolor="white", linewidth=1.2)
        if share >= 5:
            text = axis.text(start + share / 2, place - 0.1, f"{share:.0f}", ha="center", va="center", color=BLACK)
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1.2})
        start += share


def _names_above(axis: "Axes", rows: pl.DataFrame) -> None:
    from matplotlib.patches import Patch

    seen = set(rows.filter(pl.col("count") > 0)["scenario"])
    signs = {
        "Classic": "SD>0, TD>0",
        "Observed": "SD>0, TD<0",
        "Unobserved": "SD<0, TD>0",
        "No Challenge": "SD<0, TD<0",
    }
    handles = [
        Patch(color=SCENARIO_COLOURS[name], label=f"{name} ({signs[name]})" if name in signs else name)
        for name in _KNOWN
        if name in seen
    ]
    axis.legend(
        handles=handles, loc="lower center", bbox_to_anchor=(0.5, 1.0), bbox_transform=axis.transAxes,
        ncols=len(handles), frameon=False, fontsize=8, handlelength=1.0, columnspacing=1.2,
    )  # fmt: skip
