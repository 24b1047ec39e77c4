"""The command ``shiftbench grid``."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from shiftbench.validation.command_line import require
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, counted, did_you_mean


class Engine(StrEnum):
    """Where trials run."""

    LOCAL = "local"
    RAY = "ray"


def grid(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The grid as a TOML file; baselines/grid/README.md shows one.")
    ],
    engine: Annotated[
        Engine, typer.Option("--engine", metavar="NAME", help="'local': this machine; 'ray': a Ray cluster.")
    ] = Engine.LOCAL,
    address: Annotated[
        str | None,
        typer.Option("--address", metavar="ADDR", help="Ray cluster; 'auto' finds it. Default: this machine alone."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for results. Default: the file's.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="TASK", help="Only this task of the grid; repeat for more. Default: all."),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            "--slots", metavar="N", help="Trials to run at once. Default: one per GPU, without GPUs one.", min=1
        ),
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Run nothing: write the prediction files of the trials that are done.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print how long the grid takes on this machine, from a few timed steps of each model."
        ),
    ] = False,
    gpu: Annotated[
        str | None,
        typer.Option("--gpu", metavar="NAME", help="With --dry-run: estimate for this GPU instead, such as 'H100'."),
    ] = None,
    price: Annotated[
        float | None,
        typer.Option(
            "--price", metavar="USD", help="With --dry-run: price of a machine or GPU, in US dollars per hour.", min=0
        ),
    ] = None,
) -> None:
    """Train tasks x models x sources x seeds, skipping what is done; a stopped grid goes on by the same command.

    Example: shiftbench grid grid.toml
    """
    if engine is Engine.RAY:
        require("ray", "cluster")
    elif address is not None:
        cure = "add --engine ray, or leave it out"
        raise InvalidInput(Problem("only a Ray cluster has an address", "--address", f"'{address}'", cure))
    from shiftbench.baselines.grid.local import run_local, visible_gpus
    from shiftbench.baselines.grid.plan import read_plan
    from shiftbench.baselines.grid.progress import collect_done, run_grid

    root: Any = context.find_root().command
    plan = read_plan(file, root.commands["train"], task)
    if collect:
        collect_done(plan.trials, out or plan.out)
        return
    if (gpu is not None or price is not None) and not dry_run:
        cure = "add --dry-run, or leave it out"
        raise InvalidInput(Problem("this is for an estimate only", "--gpu, --price", cure=cure))
    if gpu is not None:
        from shiftbench.baselines.training.gpus import PEAK_FLOPS, is_listed

        if not is_listed(gpu):
            raise UnknownChoice(
                Problem("no such GPU is listed", "--gpu", f"'{gpu}'", did_you_mean(gpu, list(PEAK_FLOPS)))
            )
    at_once = slots or len(visible_gpus()) or 1
    threads = plan.threads or max(1, (os.cpu_count() or 1) // at_once)

    if dry_run:
        from shiftbench.baselines.grid.display import print_estimates
        from shiftbench.baselines.grid.estimate import estimate
        from shiftbench.baselines.grid.progress import not_done

        waiting = not_done(plan.trials, (out or plan.out) / "runs")
        estimates = estimate(
            *(plan.trials, waiting, plan.data, root.commands["train"]),
            threads=threads,
            gpu=gpu,
            parameters=plan.parameters,
        )
        print_estimates(estimates, at_once=at_once, price=price, gpu=gpu)
        return

    def local(trials: Any, runs: Path, watch: Any) -> Any:
        return run_local(trials, plan.data, runs, slots=at_once, threads=threads, watch=watch)

    def ray(trials: Any, runs: Path, watch: Any) -> Any:
        from shiftbench.baselines.grid.cluster import run_on_ray

        watch(f"{counted(len(trials), 'trial')} on the cluster")
        return run_on_ray(trials, plan.data, runs, threads=threads, address=address)

    run_grid(plan.trials, out or plan.out, ray if engine is Engine.RAY else local)
