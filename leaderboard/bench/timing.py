"""A timing beside its yardstick, and how it is printed."""

from dataclasses import dataclass

from rich.console import Console


@dataclass(frozen=True)
class Timing:
    """One measurement, in the keys that ``shiftbench bench --json`` prints.

    ``seconds`` are ours. Where ours should be faster than a yardstick, ``speedup`` is yardstick / ours; where it may
    take a bit longer, ``cost_ratio`` is ours / yardstick; the other one is null. Both are null, and so is the
    yardstick, where the target is a plain limit in seconds. ``met`` is null where the target does not hold because
    the submission has not the paper's size.
    """

    name: str
    seconds: float
    yardstick: str | None
    yardstick_seconds: float | None
    speedup: float | None
    cost_ratio: float | None
    wanted: str
    met: bool | None


def print_timing(timing: Timing, console: Console) -> None:
    """Print one measurement on a line of its own, as soon as it is there; no verdict where the target does not hold.

    Args:
        timing: the measurement, in seconds.
        console: where it is printed.
    """
    said = f"{timing.name}: {_seconds(timing.seconds)}"
    if timing.yardstick is not None and timing.yardstick_seconds is not None:
        said += f"; {timing.yardstick}: {_seconds(timing.yardstick_seconds)}"
    if timing.speedup is not None:
        said += f"; {timing.speedup:,.2f} times faster"
    if timing.cost_ratio is not None:
        said += f"; {timing.cost_ratio:,.2f} times as long"
    verdict = {True: ": met", False: ": missed", None: " at --scale 1"}[timing.met]
    style = {True: "green", False: "red", None: None}[timing.met]
    console.print(
        f"{said}; wanted {timing.wanted}{verdict}", style=style, markup=False, highlight=False, soft_wrap=True
    )


def _seconds(value: float) -> str:
    return f"{value:,.2f} s" if value >= 1 else f"{1000 * value:,.2f} ms"
