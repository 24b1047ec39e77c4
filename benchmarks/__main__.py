"""The project's own benchmarks, from a clone: ``python -m benchmarks --help``.

They measure speed (compared with reference implementations timed in the same run), error rates (in simulations with a
known truth) and installed size. All need the extra 'dev'; ``train`` and ``check`` also need 'train', and ``prompt``
needs 'train' and 'llm'.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from shiftbench.cli.command import run_app
from shiftbench.validation.command_line import JsonOption, print_results, show, write_json
from shiftbench.validation.operating_system import peak_memory
from shiftbench.validation.timing import Timing, timing_line

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, help=__doc__
)
ScaleOption = Annotated[
    float,
    typer.Option(
        "--scale", metavar="X", help="Fraction of the full size. Targets are only checked at full size.", min=0.001
    ),
]


def _run(measure: Callable[[float], Iterator[Timing]], scale: float, json_: JsonOption) -> None:
    timings = []
    for timing in measure(scale):
        timings.append(timing)
        if json_ != "-":
            show([timing_line(timing)])
    write_json({"timings": [asdict(timing) for timing in timings], "peak_memory": peak_memory()}, json_)


@app.command()
def scores(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Time depths, scoring and comparing."""
    from benchmarks.scores import run_bench

    _run(run_bench, scale, json_)
    if peak := peak_memory():
        typer.echo(f"peak memory {peak / 2**20:,.0f} MiB", err=True)


@app.command()
def build(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Benchmark reading large upstream files, and building complete datasets from them."""
    from benchmarks.build import run_read_bench
    from benchmarks.builds import run_build_bench

    def read_and_build(scale: float) -> Iterator[Timing]:
        yield from run_read_bench(scale)
        yield from run_build_bench(scale)

    _run(read_and_build, scale, json_)


@app.command(name="app")
def time_app(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Time the leaderboard with 10,000 entries, in a browser."""
    from benchmarks.app import run_app_bench

    _run(run_app_bench, scale, json_)


@app.command()
def train(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Time fine-tuning and prediction, compared with the defaults of transformers."""
    from benchmarks.train import run_training_bench

    _run(run_training_bench, scale, json_)


@app.command()
def check(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Time a check of one model, compared with its bare forward pass."""
    from benchmarks.check import run_check_bench

    _run(run_check_bench, scale, json_)


@app.command()
def prompt(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Time requests to a model server, and label scoring with a local model."""
    from benchmarks.prompt import run_prompt_bench

    _run(run_prompt_bench, scale, json_)


@app.command()
def coverage(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Simulations to run. Default: all.")
    ] = None,
    adversarial: Annotated[
        bool, typer.Option("--adversarial", help="Stress-test intervals, tests and gates instead.")
    ] = False,
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", metavar="N", help="Draws per setting. Default: 300; 2,000 with --adversarial.", min=1),
    ] = None,
    seed: Annotated[str, typer.Option("--seed", metavar="HEX", help="Seed of the simulation, in hex digits.")] = "1",
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume", metavar="FILE", help="Append finished settings of --adversarial to FILE; skip those in it."
        ),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Simulate how often claims are true: in complete tasks or, with --adversarial, in designs that strain intervals.

    Example: python -m benchmarks coverage --adversarial --seed 2d569430 --resume cells.jsonl
    """
    if adversarial:
        from benchmarks.adversarial.suite import attack, attack_lines

        draws = tasks or 2000
        found = attack(draws, seed, resume)
        print_results(
            attack_lines(found), {"draws": draws, "seed": seed, "cells": [asdict(row) for row in found]}, json_
        )
        return
    from benchmarks.coverage import coverage_lines, measure_coverage

    n_tasks = tasks or 300
    rows = measure_coverage(n_tasks, int(seed, 16), names)
    content = {"tasks": n_tasks, "seed": seed, "coverage": [asdict(row) for row in rows]}
    print_results(coverage_lines(rows, n_tasks), content, json_)


@app.command()
def comparisons(
    studies: Annotated[int, typer.Option("--studies", metavar="N", help="Studies per setting.", min=1)] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
) -> None:
    """Simulate how often a comparison of recipes claims a difference: equal ones, better ones, one with failing runs.

    Example: python -m benchmarks comparisons --studies 200
    """
    from benchmarks.simulated_comparisons import claim_lines

    for lines in claim_lines(studies, seed):
        show([lines])


@app.command()
def install(
    extras: Annotated[
        list[str] | None, typer.Argument(metavar="[EXTRA]...", help="Extras to install. Default: none.")
    ] = None,
) -> None:
    """Install the clone into a new environment, and list the size of each distribution, including bytecode.

    Example: python -m benchmarks install pictures
    """
    from benchmarks.install import install_lines

    show(install_lines(extras or []))


@app.command()
def advice(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder of reference results; repeat for more.")
    ],
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", help="Samples of labels per model.", min=2)] = 200,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the samples.", min=0)] = 1,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", help="Append finished models to FILE; skip those in it."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Compare three ways to choose texts to label on reference models' predictions: by 'check', evenly, at random.

    Example: python -m benchmarks advice --data build/dr --data build/boss --resume advice.jsonl
    """
    from benchmarks.advice import advice_lines, as_json, measure, read_models, summarise
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.cli.demo_results import list_boards

    folders = [DatasetFolder.open(each) for each in data]
    files = [
        file
        for folder in folders
        for board in list_boards()
        if board.name.startswith(f"{folder.manifest.benchmark}-")
        for file in read_models(board, folder)
    ]
    if not files:
        what = "no reference result matches these rows; build 'dr' or 'boss' as described in baselines/results"
        raise typer.BadParameter(what, param_hint="--data")
    rows = summarise(measure(files, repeats, seed, resume))
    print_results(advice_lines(rows, files, repeats), as_json(rows, len(files), repeats, seed), json_)


@app.command()
def load(
    entries: Annotated[int, typer.Option("--entries", metavar="N", help="Entries in the store.", min=4)] = 10_000,
    readers: Annotated[int, typer.Option("--readers", metavar="N", help="Concurrent readers.", min=1)] = 100,
    per_hour: Annotated[int, typer.Option("--per-hour", metavar="N", help="New entries per hour.", min=1)] = 1000,
    minutes: Annotated[float, typer.Option("--minutes", metavar="X", help="Duration in minutes.", min=0.05)] = 10.0,
    servers: Annotated[int, typer.Option("--servers", metavar="N", help="Server processes on one store.", min=1)] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the readers' choices.", min=0)] = 1,
    json_: JsonOption = None,
) -> None:
    """Load-test a leaderboard: percentiles of response times of pages, and of the time until new entries are shown.

    Example: python -m benchmarks load --minutes 2
    """
    from benchmarks.load import run_load

    tables = list(run_load(entries, readers, per_hour, minutes, servers, seed))
    with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_rows=-1, float_precision=3):
        print_results([str(table) for table in tables], {"tables": [table.to_dicts() for table in tables]}, json_)


@app.command(name="time")
def over_time(
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="Histories per setting.", min=1)] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    json_: JsonOption = None,
) -> None:
    """Simulate tests over time: false alarms per year, weeks until a drop is detected, trends and change points.

    Example: python -m benchmarks time --draws 100
    """
    from benchmarks.over_time import alarm_cells, course_cells
    from benchmarks.over_time_tables import alarm_tables, course_tables

    alarms = list(alarm_cells(draws, seed))
    if json_ != "-":
        show(alarm_tables(alarms))
    courses = list(course_cells(draws, seed))
    if json_ != "-":
        show(course_tables(courses))
    content = {"alarms": [asdict(cell) for cell in alarms], "courses": [asdict(cell) for cell in courses]}
    write_json({"draws": draws, "seed": seed} | content, json_)


@app.command()
def forecasts(
    data: Annotated[
        list[Path], typer.Option("--data", metavar="DIR", help="Dataset folder of reference results; repeat for more.")
    ],
    predictions: Annotated[
        list[Path] | None,
        typer.Option("--predictions", metavar="FILE", help="Also evaluate the methods on this file; repeat for more."),
    ] = None,
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="Draws per simulated setting.", min=10)] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    json_: JsonOption = None,
) -> None:
    """Evaluate accuracy forecasts without labels: their errors, and how well they order the domains.

    Example: python -m benchmarks forecasts --data build/dr --data build/boss
    """
    from benchmarks.forecasts import (
        judge,
        judged_tables,
        order_table,
        read_forecasts,
        real_models,
        simulate_orders,
        simulated_models,
        spend,
        spent_table,
    )
    from shiftbench.builders.folder.reader import DatasetFolder

    folders = [DatasetFolder.open(each) for each in data]
    content: dict[str, object] = {}
    for name, is_placebo in (("real boards", False), ("placebo", True)):
        found, left_out = read_forecasts(folders, predictions or [], placebos=is_placebo)
        if not found:
            continue
        judged = judge(found)
        content[name] = [asdict(each) | {"errors": each.errors.model_dump(mode="json")} for each in judged]
        if json_ != "-":
            show([*judged_tables(judged, name), *(f"Skipped: {line}." for line in left_out)])
        if not is_placebo:
            spent = spend("reference", real_models(found), draws // 10, seed)
            spent += spend("simulated", simulated_models(20, seed), draws // 10, seed)
            content["labels"] = [asdict(each) for each in spent]
            if json_ != "-":
                show([spent_table(spent)])
    orders = simulate_orders(draws, seed)
    if json_ != "-":
        show([order_table(orders)])
    write_json(content | {"draws": draws, "seed": seed, "orders": [asdict(cell) for cell in orders]}, json_)


@app.command(name="rank-times")
def rank_times(scale: ScaleOption = 1.0, json_: JsonOption = None) -> None:
    """Time rankings of large boards, compared with a plain bootstrap over all pairs."""
    from benchmarks.ranks import run_rank_bench

    _run(run_rank_bench, scale, json_)


@app.command()
def ranks(
    pages: Annotated[
        int, typer.Option("--pages", metavar="N", help="Score tables per setting; fewer in slow settings.", min=40)
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", help="Append finished settings to FILE; skip those in it."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option("--table", metavar="FILE", help="Compare 'logs ranks' with a plain bootstrap on FILE instead."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Simulate pages of 'logs ranks': false separations of equal models, power, components of variance.

    Example: python -m benchmarks ranks --resume ranks.jsonl
    """
    from benchmarks.ranks import component_lines, measure, method_lines, rank_lines
    from shiftbench.scoring.interchange.boards import read_board
    from shiftbench.scoring.interchange.score_tables import Reading

    if table is not None:
        show(method_lines(read_board([table], Reading()), seed))
        return
    cells = measure(pages, seed, resume)
    print_results(
        [*rank_lines(cells), *component_lines(1000, seed)],
        {"seed": seed, "cells": [asdict(cell) for cell in cells]},
        json_,
    )


@app.command()
def slices(
    files: Annotated[int, typer.Option("--files", metavar="N", help="Placebo files per setting.", min=1)] = 600,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    raw: Annotated[
        list[Path] | None,
        typer.Option("--raw", metavar="DIR", help="Folder of upstream files to mix sources from; repeat for more."),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", metavar="N", help="Mixed files per source.", min=1)] = 12,
    json_: JsonOption = None,
) -> None:
    """Test the search for unnamed domains: false discoveries in placebo files, and recovery of hidden sources.

    Example: python -m benchmarks slices --files 100 --raw raw
    """
    from benchmarks.slices import placebo_cells, read_sources, recoveries, slice_tables

    sources = read_sources(raw or ())
    if raw and len(sources) < 2:
        raise typer.BadParameter("the folders contain files of fewer than two sources", param_hint="--raw")
    placebos = list(placebo_cells(files, seed, sources))
    found = list(recoveries(repeats, seed, sources)) if sources else []
    content = {"placebos": [asdict(cell) for cell in placebos], "recovered": [asdict(cell) for cell in found]}
    print_results(slice_tables(placebos, found), {"files": files, "seed": seed} | content, json_)


@app.command()
def labels(
    draws: Annotated[int, typer.Option("--draws", metavar="N", help="Simulations per attack.", min=2)] = 20,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.", min=0)] = 1,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="FILE", help="Append finished settings to FILE; skip those in it."),
    ] = None,
    json_: JsonOption = None,
) -> None:
    """Simulate attacks on withheld labels by up to 100 accounts, and what the rules cost an honest newcomer.

    Example: python -m benchmarks labels --resume labels.jsonl
    """
    from msgspec import to_builtins

    from benchmarks.labels import measure, tables

    cells, newcomers = measure(draws, seed, resume)
    print_results(tables(cells, newcomers), {"seed": seed, "cells": to_builtins([*cells, *newcomers])}, json_)


if __name__ == "__main__":
    run_app(app)
