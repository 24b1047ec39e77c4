"""Measurements: one line each, and the keys that scripts read."""

import io
from dataclasses import asdict

import pytest
from rich.console import Console

from shiftbench.validation.plain_console import print_parts
from shiftbench.validation.timing import Timing, timing_line

READ = Timing(
    name="2 GB",
    seconds=18.0,
    yardstick="parsed",
    yardstick_seconds=10.0,
    ratio=1.8,
    wanted=(0.0, 2.0),
    met=True,
    peak_memory=300 * 2**20,
)
TRAINED = Timing(
    name="training",
    rate=12_345.6,
    unit="tokens",
    yardstick="Trainer",
    yardstick_rate=9_000.0,
    ratio=1.37,
    wanted=1.4,
    met=False,
)


@pytest.mark.parametrize(
    ("timing", "line"),
    [
        (
            Timing(
                name="depth",
                seconds=0.0012,
                yardstick="a loop",
                yardstick_seconds=40.0,
                speedup=33_333.3,
                wanted="at least 20,000 times faster",
                met=True,
            ),
            "depth: 1.20 ms; a loop: 40.00 s; 33,333.30 times faster; target at least 20,000 times faster: met",
        ),
        (
            Timing(name="draws", seconds=1.0, yardstick="b", yardstick_seconds=2.0, cost_ratio=0.5, wanted="less"),
            "draws: 1.00 s; b: 2.00 s; 0.50 times as long; target less at --scale 1",
        ),
        (Timing(name="scoring", seconds=1.0, wanted="under 4 s"), "scoring: 1.00 s; target under 4 s at --scale 1"),
        (READ, "2 GB: 18.00 s, 300 MiB peak memory; parsed: 10.00 s; 1.80 times as long; target at most 2 times: met"),
        (
            TRAINED,
            "training: 12,346 tokens/s; Trainer: 9,000 tokens/s; 1.37 times as many; target 1.4 times: missed",
        ),
        (Timing(name="all", seconds=2.0, wanted=(1.6, 2.4), met=True), "all: 2.00 s; target 1.6 to 2.4 times: met"),
        (Timing(name="for information", seconds=2.0), "for information: 2.00 s"),
    ],
)
def test_a_timing_is_one_line(timing: Timing, line: str) -> None:
    console = Console(file=io.StringIO(), width=30)
    print_parts([timing_line(timing)], console)
    assert console.file.getvalue() == f"{line}\n"  # type: ignore[attr-defined]


def test_keys_of_version_0_1_0_stay_beside_processor_seconds() -> None:
    scores = {"name", "seconds", "yardstick", "yardstick_seconds", "speedup", "cost_ratio", "wanted", "met"}
    build = {"name", "seconds", "yardstick", "yardstick_seconds", "ratio", "wanted", "peak_memory"}
    train = {"name", "unit", "rate", "yardstick", "yardstick_rate", "ratio", "wanted", "met"}
    assert asdict(READ).keys() == scores | build | train | {"cpu_seconds"}
    assert (asdict(READ)["wanted"], asdict(TRAINED)["wanted"]) == ((0.0, 2.0), 1.4)
