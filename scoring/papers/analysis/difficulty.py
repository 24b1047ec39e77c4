"""Average drops as easier shifts are added: Figure 2 of the Domain Robustness paper."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.metrics.drop_comparison import drops_by_difficulty
from shiftbench.scoring.papers.analysis.canvas import (
    BLUE,
    GREY,
    ORANGE,
    Key,
    Margins,
    Panel,
    picture,
    shorten_name,
    value_range,
    whole_ticks,
)
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

_DASHES = ("-", "--")
_DROPS = {"SD": ORANGE, "TD": BLUE}
SCHEMA = pl.Schema(
    {
        "board": pl.String(), "entry": pl.String(), "paradigm": pl.String(), "drop": pl.String(),
        "n_shifts": pl.Int64(), "least_idd": pl.Float64(), "low": pl.Float64(), "high": pl.Float64(),
        "interval": pl.String(), "value": pl.Float64(),
    }
)  # fmt: skip
"""Mean of one drop (SD or TD) over the ``n_shifts`` shifts with the largest IDD, whose smallest IDD is ``least_idd``.

Rows by board, entry, drop and ``n_shifts``. ``low``, ``high`` and ``interval`` (total, or test sampling) are null
except in the row over all shifts, and in that row, too, if no interval is known.
"""


def find_drops_by_difficulty(results: Sequence[Result]) -> Findings:
    """Average SD and TD over an increasing number of shifts, largest IDD first, for one or two entries per board.

    With more than two entries, the best (by mean ST) of up to two paradigms is used, fine-tuned and few-shot first;
    with a single paradigm, its two best. Only the last step, over all shifts, has intervals.

    Returns: rows of ``SCHEMA``.
    """
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for board, mine in group_by_board(results):
        able = results_above_floor(board, [result for result in mine if len(result.shifts) >= 2], left_out)
        chosen = _chosen(able)
        if len(able) > len(chosen):
            left_out.append(
                f"{board}: {n_entries(len(able) - len(chosen))} skipped: only the best of each paradigm is drawn"
            )
        for result in chosen:
            rows += _drop_rows(board, result)
    return build_findings(rows, left_out, "no entry has two shifts with both drops", SCHEMA)


def draw_drops_by_difficulty(rows: pl.DataFrame, notes: Sequence[str]) -> bytes:
    """Draw a panel per board: SD orange, TD blue; the first entry solid, the second dashed."""
    keys = [Key(f"mean {name}", colour) for name, colour in _DROPS.items()]
    panels = [Panel(partial(_panel, rows=mine)) for mine in rows.partition_by("board", maintain_order=True)]
    margins = Margins(top=0.75, right=0.45)
    about = "Bars at the right: 95% intervals of the means over all shifts."
    title = "Mean drops as shifts are added in order of decreasing in-domain difference (IDD)"
    return picture(panels, columns=2, heights=3.2, margins=margins, title=title, keys=keys, notes=[about, *notes])


def _chosen(able: Sequence[Result]) -> list[Result]:
    order = ["fine-tuned", "few-shot", *sorted({result.card.paradigm for result in able} - {"other"})]
    best_first = sorted(able, key=lambda result: -(result.task.summary.mean_st.value or 0.0))
    by_paradigm = {name: next((r for r in best_first if r.card.paradigm == name), None) for name in order}
    best = [result for result in by_paradigm.values() if result is not None]
    return (best if len(best) > 1 else best_first)[:2]


def _drop_rows(board: str, result: Result) -> list[dict[str, Any]]:
    summary = result.task.summary
    steps = drops_by_difficulty(result.score_matrix())
    rows = []
    for drop, values, over_all in (("SD", steps.mean_sd, summary.mean_sd), ("TD", steps.mean_td, summary.mean_td)):
        for n, idd, value in zip(steps.n_shifts.tolist(), steps.idd.tolist(), values.tolist(), strict=True):
            total = summary.total.get(f"mean_{drop.lower()}")
            ends = (
                with_bounds(over_all, total) if n == summary.n_shifts else {"low": None, "high": None, "interval": None}
            )
            rows.append(
                {"board": board, "entry": result.entry, "paradigm": result.card.paradigm, "drop": drop, "n_shifts": n,
                 "least_idd": idd, **ends, "value": value}
            )  # fmt: skip
    return rows


def _panel(axis: "Axes", rows: pl.DataFrame) -> None:
    entries = rows["entry"].unique(maintain_order=True).to_list()
    for (entry, drop), line in rows.group_by("entry", "drop", maintain_order=True):
        style = _DASHES[entries.index(entry)]
        colour = _DROPS[str(drop)]
        axis.plot(line["n_shifts"], 100 * line["value"], linestyle=style, color=colour, marker=".", markersize=4)
        last = line.row(-1, named=True)
        if last["low"] is not None:
            inches = 0.08 * (1 + 2 * entries.index(entry) + (drop == "TD"))
            aside = 1 + inches / axis.get_window_extent().width * axis.figure.dpi
            ends = [100 * last["low"], 100 * last["high"]]
            side = axis.get_yaxis_transform()
            axis.plot([aside, aside], ends, color=colour, linestyle=style, transform=side, clip_on=False)
    axis.axhline(0, color=GREY, linewidth=0.8)
    axis.set_ylim(value_range([*rows["value"], *rows["low"], *rows["high"]], zero=True))
    axis.set_xlabel("shifts in the mean")
    axis.set_ylabel("mean drop, points")
    whole_ticks(axis)
    axis.set_title(rows["board"][0], pad=28)
    for number, entry in enumerate(entries):
        name = f"{'solid' if number == 0 else 'dashed'}: {shorten_name(entry, 55)}"
        axis.text(0, 1.12 - 0.075 * number, name, transform=axis.transAxes, fontsize=8, va="center")
