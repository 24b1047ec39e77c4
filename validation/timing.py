"""Measurements of speed compared with reference implementations, and their output."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rich.text import Text

Target = str | float | tuple[float, float]
"""A target: a text, the minimum ``ratio``, or a range of ``ratio`` (lower end 0: no minimum)."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """A measurement, with the keys of ``python -m benchmarks scores --json``; null if not measured.

    Our implementation is measured in seconds or as a rate, and so is the reference implementation, if any.

    Attributes:
        name: what is measured.
        seconds: time of our implementation.
        rate: rate of our implementation, ``unit`` per second.
        unit: unit counted by a rate, such as 'tokens'.
        yardstick: name of the reference implementation; null if the target is an absolute limit.
        yardstick_seconds: time of the reference.
        yardstick_rate: rate of the reference, ``unit`` per second.
        speedup: reference / ours in seconds, if ours should be faster.
        cost_ratio: ours / reference in seconds, if ours may be slightly slower.
        ratio: ours / reference, in seconds or rates, if the target is a number.
        wanted: the target; null if the measurement is only for information.
        met: whether the target is met; null if the input is smaller than the size that the target is for.
        peak_memory: peak memory of our implementation, in bytes.
        cpu_seconds: processor time of our implementation over all threads, more reliable than ``seconds`` on a busy
            machine.
    """

    name: str
    seconds: float | None = None
    rate: float | None = None
    unit: str | None = None
    yardstick: str | None = None
    yardstick_seconds: float | None = None
    yardstick_rate: float | None = None
    speedup: float | None = None
    cost_ratio: float | None = None
    ratio: float | None = None
    wanted: Target | None = None
    met: bool | None = None
    peak_memory: int | None = None
    cpu_seconds: float | None = None


def timing_line(timing: Timing) -> Text:
    """Format a measurement as one line, with a verdict if its target applies."""
    parts = [f"{timing.name}: {_amount(timing.seconds, timing.rate, timing.unit)}"]
    if timing.cpu_seconds is not None:
        parts[0] += f" ({timing.cpu_seconds:,.2f} s of CPU time)"
    if timing.peak_memory is not None:
        parts[0] += f", {timing.peak_memory / 2**20:,.0f} MiB peak memory"
    if timing.yardstick is not None:
        yardstick = _amount(timing.yardstick_seconds, timing.yardstick_rate, timing.unit)
        parts.append(f"{timing.yardstick}: {yardstick}")
    as_what = "as long" if timing.rate is None else "as many"
    ratios = ((timing.speedup, "faster"), (timing.cost_ratio, as_what), (timing.ratio, as_what))
    parts += [f"{ratio:,.2f} times {words}" for ratio, words in ratios if ratio is not None]
    if timing.wanted is not None:
        verdict = {True: ": met", False: ": missed", None: " at --scale 1"}[timing.met]
        parts.append(f"target {_target(timing.wanted)}{verdict}")
    return Text("; ".join(parts), style={True: "green", False: "red", None: ""}[timing.met])


def compare_rates(
    name: str,
    unit: str,
    wanted: Mapping[str, float],
    scale: float,
    sides: Mapping[str, Callable[[], float]],
    n_rounds: int,
) -> Iterator[Timing]:
    """Compare rates of implementations that are measured in alternation; the median rates are compared.

    Args:
        name: what is measured.
        unit: unit counted by a rate.
        wanted: minimum ratio to each reference implementation.
        scale: size of the input relative to the full size; targets apply only from 1 on.
        sides: functions that return a rate, by implementation; ours has the name "".
        n_rounds: number of measurements of each.
    Returns: one timing per reference implementation.
    """
    rounds = [{side: measure() for side, measure in sides.items()} for _ in range(n_rounds)]
    rates = {side: statistics.median(each[side] for each in rounds) for side in sides}
    for yardstick, least in wanted.items():
        ratio = rates[""] / rates[yardstick]
        yield Timing(
            name=name,
            rate=rates[""],
            unit=unit,
            yardstick=yardstick,
            yardstick_rate=rates[yardstick],
            ratio=ratio,
            wanted=least,
            met=ratio >= least if scale >= 1 else None,
        )


def _amount(seconds: float | None, rate: float | None, unit: str | None) -> str:
    if rate is not None:
        return f"{rate:,.0f} {unit}/s"
    assert seconds is not None
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{1000 * seconds:,.2f} ms"


def _target(wanted: Target) -> str:
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, tuple):
        low, high = wanted
        return f"{low:g} to {high:g} times" if low else f"at most {high:g} times"
    return f"{wanted:g} times"
