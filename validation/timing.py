"""One measurement of speed beside its yardstick, how it is printed."""

import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rich.text import Text

Target = str | float | tuple[float, float]
"""In words, as the least ``ratio``, or as the range (0: no lower end) in which ``ratio`` should lie."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One measurement, in the keys that ``python -m benchmarks scores --json`` prints; what was not measured is null.

    Ours is measured in seconds or as a rate, and so is the yardstick where there is one.

    Attributes:
        name: what was measured.
        seconds: that ours took.
        rate: of ours, ``unit`` a second.
        unit: what a rate counts, such as 'tokens'.
        yardstick: what ours is compared with; null where the target is a plain limit.
        yardstick_seconds: that the yardstick took.
        yardstick_rate: of the yardstick, ``unit`` a second.
        speedup: yardstick / ours in seconds, where ours should be faster.
        cost_ratio: ours / yardstick in seconds, where ours may take a bit longer.
        ratio: ours / yardstick, in seconds or rates, where the target is a number.
        wanted: the target; null where the measurement is for information.
        met: whether the target is met; null where it does not hold because the input has not the full size.
        peak_memory: of ours, in bytes.
        cpu_seconds: processor time of ours, over all threads: more reliable than ``seconds`` on a busy machine.
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
    """Format one measurement as a line; without a verdict where the target does not hold."""
    parts = [f"{timing.name}: {_amount(timing.seconds, timing.rate, timing.unit)}"]
    if timing.cpu_seconds is not None:
        parts[0] += f" ({timing.cpu_seconds:,.2f} s of processor time)"
    if timing.peak_memory is not None:
        parts[0] += f", {timing.peak_memory / 2**20:,.0f} MiB at peak"
    if timing.yardstick is not None:
        yardstick = _amount(timing.yardstick_seconds, timing.yardstick_rate, timing.unit)
        parts.append(f"{timing.yardstick}: {yardstick}")
    as_what = "as long" if timing.rate is None else "as many"
    ratios = ((timing.speedup, "faster"), (timing.cost_ratio, as_what), (timing.ratio, as_what))
    parts += [f"{ratio:,.2f} times {words}" for ratio, words in ratios if ratio is not None]
    if timing.wanted is not None:
        verdict = {True: ": met", False: ": missed", None: " at --scale 1"}[timing.met]
        parts.append(f"wanted {_target(timing.wanted)}{verdict}")
    return Text("; ".join(parts), style={True: "green", False: "red", None: ""}[timing.met])


def compare_rates(
    name: str,
    unit: str,
    wanted: Mapping[str, float],
    scale: float,
    sides: Mapping[str, Callable[[], float]],
    n_rounds: int,
) -> Iterator[Timing]:
    """Measure rates of several sides that take turns; what counts is each side's median, and the ratio of medians.

    Args:
        name: what is measured.
        unit: what a rate counts.
        wanted: the least ratio to each yardstick.
        scale: size of the input as a share of the full one; only at 1 or more is said whether targets are met.
        sides: the sides by name, each returns its rate; ours is called "".
        n_rounds: how often each is measured.
    Returns: a timing for each yardstick.
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
