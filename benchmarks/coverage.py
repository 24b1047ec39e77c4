"""Simulations of how often claims are true, with a progress bar, for ``python -m benchmarks coverage``.

``SIMULATIONS`` maps names to simulations: functions of the number of tasks, a seed and a progress callback that return
rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import RenderableType

from benchmarks.interval_settings import SETTINGS
from benchmarks.simulated_tasks import Checked, simulate_task
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput, Problem

FEWEST = 50
"""Minimum number of intervals for showing their coverage: if there are fewer, only unusual tasks have an interval."""


@dataclass(frozen=True)
class Row:
    """How often one kind of claim was true in the simulated tasks of one setting.

    Attributes:
        simulation, setting, figure: the simulation, its setting, and the statistic.
        share: share of the claims that were true, in [0, 1]; None if there were too few claims.
        error: standard error of ``share``, as if all claims of one task were a single one.
        width: mean width of the intervals, a fraction; None without intervals.
        without: share of statistics without an interval.
        wanted: lowest and highest acceptable share.
    """

    simulation: str
    setting: str
    figure: str
    share: float | None
    error: float | None
    width: float | None
    without: float
    wanted: tuple[float, float] = (0.9, 1.0)


Simulation = Callable[[int, int, Callable[[], object]], list[Row]]
"""Maps number of tasks, seed, and a callback after each task to rows."""


def measure_coverage(n_tasks: int, seed: int, names: Sequence[str] | None = None) -> list[Row]:
    """Simulate how often claims are true, with a progress bar.

    Args:
        n_tasks: simulated tasks per setting.
        seed: seed of all draws.
        names: names in ``SIMULATIONS``; None for all.
    Returns: one row per simulation, setting and statistic.
    Raises: InvalidInput for an unknown name.
    """
    chosen = list(names or SIMULATIONS)
    for name in chosen:
        if name not in SIMULATIONS:
            raise InvalidInput(Problem("there is no such simulation", name, cure=f"choose {' or '.join(SIMULATIONS)}"))
    rows = []
    for name in chosen:
        with progress(desc=f"simulating {name}", unit="task") as bar:
            rows += SIMULATIONS[name](n_tasks, seed, bar.update)
    return rows


def coverage_lines(rows: Sequence[Row], n_tasks: int) -> Iterator[RenderableType]:
    """Yield a table for each simulation: true claims in percent, with the intervals' mean width in points in brackets.

    Args:
        rows: from ``measure_coverage``.
        n_tasks: simulated tasks per setting.
    """
    for name in dict.fromkeys(row.simulation for row in rows):
        mine = [row for row in rows if row.simulation == name]
        figures = list(dict.fromkeys(row.figure for row in mine))
        table = []
        for setting in dict.fromkeys(row.setting for row in mine):
            cells = {row.figure: _cell(row) for row in mine if row.setting == setting}
            table.append([setting, *(cells.get(figure, "") for figure in figures)])
        title = (
            f"{name}: % of 95% intervals that cover the truth (their mean width in points), {n_tasks:,} tasks per row"
        )
        yield PlainTable(title, ("setting", *figures), table)
        shares = [row.share for row in mine if row.share is not None]
        if shares:
            yield f"mean {100 * np.mean(shares):.1f}%, minimum {100 * min(shares):.1f}%"


def _cell(row: Row) -> str:
    if row.share is None:
        return "none"
    width = f" ({100 * row.width:.1f})" if row.width is not None else ""
    return f"{100 * row.share:.1f}{width}{'' if row.without < 0.005 else f', no interval {row.without:.0%}'}"


def simulate_intervals(name: str, n_tasks: int, seed: int, step: Callable[[], object]) -> list[Row]:
    """Simulate the coverage of intervals in a list of settings.

    Args:
        name: a key of ``interval_settings.SETTINGS``.
        n_tasks: simulated tasks per setting.
        seed: seed of all draws.
        step: called after each task.
    """
    rows = []
    for setting in SETTINGS[name]:
        rng = np.random.default_rng(seed)
        tasks = []
        for _ in range(n_tasks):
            tasks.append(simulate_task(setting, rng))
            step()
        # At p = 0.995, one error in 30 texts puts Wilson's interval below p. This happens in one of seven test sets, so
        # coverage cannot reach 90% there.
        hardest = setting.in_domain > 0.99 and sum(setting.sizes) < 50
        rows += _interval_rows(name, setting.name, tasks, (0.85 if hardest else 0.9, 1.0))
    return rows


def _interval_rows(
    simulation: str, setting: str, tasks: Sequence[Iterable[Checked]], wanted: tuple[float, float]
) -> list[Row]:
    by_figure: dict[str, list[Checked]] = {}
    for checked in (each for task in tasks for each in task):
        by_figure.setdefault(checked.figure, []).append(checked)
    rows = []
    for figure, every in by_figure.items():
        ends = np.array([(each.truth, each.low, each.high) for each in every if each.low is not None], dtype=np.float64)
        share = error = width = None
        if len(ends) >= min(FEWEST, len(tasks)):
            truth, low, high = ends.T
            share = float(((low - 1e-12 <= truth) & (truth <= high + 1e-12)).mean())
            error = float(np.sqrt(share * (1 - share) / min(len(ends), len(tasks))))
            width = float((high - low).mean())
        rows.append(Row(simulation, setting, figure, share, error, width, 1 - len(ends) / len(every), wanted))
    return rows


SIMULATIONS: dict[str, Simulation] = {name: partial(simulate_intervals, name) for name in SETTINGS}
"""The simulations by name."""
