"""Runs the stress tests cell by cell, resuming from a file of finished cells, and formats the results."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import RenderableType

from benchmarks.adversarial.cells import Cell, Drawn, all_cells
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.progress import progress

WORST = 5
"""Number of cells printed for a long family: those with the lowest shares."""
LONG = 60
"""Number of cells above which a family is long."""
WIDE = 1.25
"""Ratio of widths above which an interval is wide."""


@dataclass(frozen=True)
class Found:
    """Results of one statistic in one cell.

    Attributes:
        family, cell, figure: the cell's family, its name, and the statistic.
        draws: number of draws.
        share: share of draws with a true claim; a refused interval counts as a miss.
        low, high: 95% limits of the share over draws (Clopper and Pearson).
        refused: share of draws without an interval.
        width: mean width of intervals; None if the claim is not an interval.
        ratio: mean width divided by that of the reference interval; None without one.
        wanted: required share; None for a cell without a guarantee.
    """

    family: str
    cell: str
    figure: str
    draws: int
    share: float
    low: float
    high: float
    refused: float
    width: float | None
    ratio: float | None
    wanted: float | None

    @property
    def fails(self) -> bool:
        """Return whether the share is below the required one."""
        return self.wanted is not None and self.share < self.wanted


def measure(cell: Cell, n_draws: int, seed: str) -> list[Found]:
    """Run one cell.

    Args:
        cell: the cell.
        n_draws: number of draws.
        seed: hex digits; every cell has its own generator, so that cells may run in any order.
    """
    # Names are part of the seed: renaming a cell changes its draws, and so the published figures.
    rng = np.random.default_rng([int(seed, 16), *f"{cell.family} {cell.name}".encode()])
    return [_result(cell, drawn) for drawn in cell.measure(n_draws, rng)]


def _result(cell: Cell, drawn: Drawn) -> Found:
    from scipy.special import betaincinv

    n, right = drawn.is_right.size, int(drawn.is_right.sum())
    low = float(betaincinv(right, n - right + 1, 0.025)) if right else 0.0
    high = float(betaincinv(right + 1, n - right, 0.975)) if right < n else 1.0
    width = ratio = None
    if drawn.width is not None:
        width = float(drawn.width.mean())
        ratio = width / float(drawn.yardstick.mean()) if drawn.yardstick is not None else None
    refused = float(drawn.is_refused.mean())
    share = right / n if n else float("nan")
    return Found(cell.family, cell.name, drawn.figure, n, share, low, high, refused, width, ratio, cell.wanted)


def attack(n_draws: int, seed: str, resume: Path | None = None) -> list[Found]:
    """Run the cells of all families, with a progress bar.

    Args:
        n_draws: draws per cell.
        seed: hex digits; seed of all draws and of the sampled cells.
        resume: a file of JSON lines with finished cells, which is read and appended to; None for none.
    """
    done = {}
    if resume is not None and resume.exists():
        done = {tuple(line["key"]): line["found"] for line in map(json.loads, resume.read_text().splitlines())}
    rows = []
    cells = all_cells(seed)
    with progress(desc="attacking", unit="cell", total=len(cells)) as bar:
        for cell in cells:
            key = (seed, n_draws, cell.family, cell.name)
            if key in done:
                found = [Found(**each) for each in done[key]]
            else:
                found = measure(cell, n_draws, seed)
                if resume is not None:
                    with resume.open("a") as file:
                        file.write(json.dumps({"key": key, "found": [asdict(each) for each in found]}) + "\n")
            rows += found
            bar.update()
    return rows


def attack_lines(rows: Sequence[Found]) -> Iterator[RenderableType]:
    """Yield, for each family of cells, a table and one summary sentence per statistic.

    Args:
        rows: from ``attack``.
    """
    for family in dict.fromkeys(row.family for row in rows):
        mine = [row for row in rows if row.family == family]
        printed = mine if len(mine) <= LONG else sorted(mine, key=lambda row: row.share)[:WORST]
        title = f"{family}: % of draws in which the claim is true [95% Monte Carlo limits]"
        heads = ("setting", "statistic", "true, %", "no interval, %", "width, points", "width / reference", "")
        yield PlainTable(title, heads, list(map(_cells, printed)))
        for figure in dict.fromkeys(row.figure for row in mine if row.wanted is not None):
            yield _sentence(figure, [row for row in mine if row.figure == figure and row.wanted is not None])


def _cells(row: Found) -> tuple[str, ...]:
    share = f"{100 * row.share:.1f} [{100 * row.low:.1f}, {100 * row.high:.1f}]"
    verdict = "no guarantee" if row.wanted is None else "FAILS" if row.fails else ""
    width = "" if row.width is None else f"{100 * row.width:.1f}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
    return row.cell, row.figure, share, f"{100 * row.refused:.1f}" if row.refused else "", width, ratio, verdict


def _sentence(figure: str, rows: Sequence[Found]) -> str:
    shares = np.array([row.share for row in rows])
    error = 196 * np.sqrt((shares * (1 - shares) / rows[0].draws).sum()) / len(rows)
    most = f"at least 92% in {100 * (shares >= 0.92).mean():.1f}% of {len(rows)} settings"
    text = f"{figure}: mean {100 * shares.mean():.2f}% (+-{error:.2f}), {most}, minimum {100 * shares.min():.1f}%"
    ratios = np.array([row.ratio for row in rows if row.ratio is not None])
    if not ratios.size:
        return text
    narrow = f"at most {WIDE:g} in {100 * (ratios <= WIDE).mean():.1f}%"
    return f"{text}; width divided by the reference width: mean {ratios.mean():.3f}, {narrow} of settings"
