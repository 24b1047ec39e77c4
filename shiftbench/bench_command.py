"""The command ``bench``. Everything heavier than typer is imported inside it."""

from enum import StrEnum
from typing import Annotated

import typer

from shiftbench.validation.command_line import JsonOption, console, write_json


class Bench(StrEnum):
    """What ``bench`` times."""

    SCORES = "scores"
    BUILD = "build"
    APP = "app"
    TRAIN = "train"
    CHECK = "check"
    PROMPT = "prompt"


def bench(
    what: Annotated[
        Bench,
        typer.Argument(
            metavar="[WHAT]",
            help="'scores': scoring; 'build': large upstream files; 'app': the leaderboard; 'train': fine-tuning; "
            "'check': a check of one model; 'prompt': asking a server, and scoring labels.",
        ),
    ] = Bench.SCORES,
    scale: Annotated[
        float,
        typer.Option(
            "--scale",
            metavar="X",
            help="Fraction of the full size; targets are judged at the full size only.",
            min=0.001,
        ),
    ] = 1.0,
    json_: JsonOption = None,
) -> None:
    """Time scoring, building large data sets, the leaderboard with 10,000 entries, fine-tuning, a check, or prompting.

    Needs the extra 'dev', fine-tuning the extra 'train', prompting that and 'llm'.

    Example: shiftbench bench build
    """
    from collections.abc import Iterator
    from dataclasses import asdict

    from benchmarks.app import run_app_bench
    from benchmarks.build import run_read_bench
    from benchmarks.builds import run_build_bench
    from benchmarks.check import run_check_bench
    from benchmarks.prompt import run_prompt_bench
    from benchmarks.scores import run_bench
    from benchmarks.train import run_training_bench
    from shiftbench.validation.timing import Timing, peak_memory, print_timing

    def read_and_build(scale: float) -> Iterator[Timing]:
        yield from run_read_bench(scale)
        yield from run_build_bench(scale)

    runs = {
        Bench.SCORES: run_bench,
        Bench.BUILD: read_and_build,
        Bench.APP: run_app_bench,
        Bench.TRAIN: run_training_bench,
        Bench.CHECK: run_check_bench,
        Bench.PROMPT: run_prompt_bench,
    }
    timings = []
    for timing in runs[what](scale):
        timings.append(timing)
        if json_ != "-":
            print_timing(timing, console())
    if what is Bench.SCORES:
        typer.echo(f"peak memory {peak_memory() / 2**20:,.0f} MiB", err=True)
    write_json({"timings": [asdict(timing) for timing in timings], "peak_memory": peak_memory()}, json_)
