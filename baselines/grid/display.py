"""What a grid shows while it works: what runs, what is done, how long it took, and when it will end.

A terminal has a line that is kept up to date; a file or a pipe gets a line for each trial.
"""

import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.box import SIMPLE_HEAD
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from shiftbench.baselines.grid.estimate import CALIBRATION_STEPS, GridEstimate
from shiftbench.baselines.training.gpus import UTILISATION
from shiftbench.validation.plain_console import open_console
from shiftbench.validation.report import counted

_UNKNOWN = "the time left is known once a trial is done"


def duration(seconds: float) -> str:
    """Format seconds in the two largest units.

    >>> duration(8.4), duration(95), duration(3 * 3600 + 125), duration(50 * 3600)
    ('8 s', '1 min 35 s', '3 h 2 min', '2 d 2 h')
    """
    whole = round(seconds)
    for unit, name, below, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // below
            return f"{whole // unit} {name}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"


def print_estimates(estimates: Sequence[GridEstimate], *, at_once: int, price: float | None, gpu: str | None) -> None:
    """Print what a grid will take, one line an entry, and the whole below.

    Args:
        estimates: of its entries.
        at_once: trials at once.
        price: US dollars an hour of the machine, or of a GPU.
        gpu: the GPU that was counted for; None: this machine, which was measured.
    """
    table = Table("model", "task", "trials", "left", "steps", "hours", box=SIMPLE_HEAD)
    for column in table.columns[2:]:
        column.justify = "right"
    for each in estimates:
        steps = "-" if each.steps is None else f"{each.steps:,}"
        hours = "not known" if each.seconds is None else f"{each.seconds / 3600:.2f}"
        table.add_row(each.model, each.task, str(each.trials), str(each.left), steps, hours)
    console = open_console()
    console.print(table)
    total = sum(each.seconds or 0.0 for each in estimates)
    if gpu is None:
        basis = f"timed on this machine, {CALIBRATION_STEPS} steps per model and task"
    else:
        basis = f"counted for {gpu} at {UTILISATION:.0%} of the peak in its data sheet"
    console.print(f"{duration(total)} in all, one trial after the other ({basis})", highlight=False)
    if at_once > 1:
        console.print(f"{duration(total / at_once)} with {at_once} trials at once", highlight=False)
    if price is not None:
        console.print(f"${total / 3600 * price:,.2f} at ${price:,.2f} an hour", highlight=False)
    if any(each.seconds is None for each in estimates):
        console.print("not known: the time of programs that prompt, or that train in a way of their own")


class GridProgress:
    """The progress of a grid on standard error, for as long as its context lasts.

    The rest is estimated from what is done: as much time a trial as until now, so many at once as until now.

    Args:
        total: trials of the grid.
        n_done: those that were done before.
        clock: returns the time in seconds.
    """

    def __init__(self, total: int, n_done: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total, self._before, self._n, self._clock = total, n_done, n_done, clock
        self._began = clock()
        self._ends: float | None = None
        console = open_console(stderr=True)
        self._bar: Progress | None = None
        if sys.stderr.isatty():
            what = TextColumn("{task.description}", markup=False)
            self._bar = Progress(BarColumn(), MofNCompleteColumn(), _Times(self), what, console=console, transient=True)
            self._task = self._bar.add_task("", total=total, completed=n_done)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def running(self, what: str) -> None:
        """Show what is running now."""
        if self._bar is not None:
            self._bar.update(self._task, description=f"running {what}", refresh=True)
        else:
            self._line(f"running: {what}")

    def ended(self, line: str) -> None:
        """Show that a trial ended: what ``line`` says of it, how many are through, and the time left for the others."""
        self._n += 1
        now = self._clock()
        self._ends = now + (now - self._began) / (self._n - self._before) * (self._total - self._n)
        self._line(f"{line} ({self._n} of {counted(self._total, 'trial')}; {self.times})")
        if self._bar is not None:
            self._bar.update(self._task, completed=self._n, refresh=True)

    @property
    def times(self) -> str:
        """Format how long the grid has taken, and about how long it still will."""
        now = self._clock()
        rest = f", {_UNKNOWN}" if self._ends is None else f", about {duration(max(self._ends - now, 0))} left"
        return f"{duration(now - self._began)} so far{rest if self._n < self._total else ''}"

    def _line(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
        else:
            print(line, file=sys.stderr, flush=True)


class _Times(ProgressColumn):
    """The times of a grid, as they are when a terminal's line is drawn."""

    def __init__(self, grid: GridProgress) -> None:
        super().__init__()
        self._grid = grid

    def render(self, task: Task) -> Text:
        """Return the times as text of rich."""
        return Text(self._grid.times)
