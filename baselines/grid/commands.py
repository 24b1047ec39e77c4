"""The command ``shiftbench grid``."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from validation.command_line import require
from validation.report import InvalidInput, Problem, counted


class Engine(StrEnum):
    """Where trials run."""

    LOCAL = "local"
    RAY = "ray"


def grid(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The grid, a TOML file; the README shows one.")],
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
    slots: Annotated[
        int | None,
        typer.Option("--slots", metavar="N", help="Trials at once on a machine. Default: its GPUs, else one.", min=1),
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Run nothing: write the prediction files of the trials that are done.")
    ] = False,
) -> None:
    """Train tasks x models x sources x seeds, skipping what is done; a stopped grid goes on by the same command.

    Example: shiftbench grid grid.toml
    """
    if engine is Engine.RAY:
        require("ray", "cluster")
    elif address is not None:
        cure = "add --engine ray, or leave it out"
        raise InvalidInput(Problem("only a Ray cluster has an address", "--address", f"'{address}'", cure))
    from baselines.grid.local import run_local, visible_gpus
    from baselines.grid.plan import read_plan
    from baselines.grid.progress import collect_done, run_grid

    root: Any = context.find_root().command
    plan = read_plan(file, root.commands["train"])
    if collect:
        collect_done(plan.trials, out or plan.out)
        return
    at_once = slots or len(visible_gpus()) or 1
    threads = plan.threads or max(1, (os.cpu_count() or 1) // at_once)

    def local(trials: Any, runs: Path, watch: Any) -> Any:
        return run_local(trials, plan.data, runs, slots=at_once, threads=threads, watch=watch)

    def ray(trials: Any, runs: Path, watch: Any) -> Any:
        from baselines.grid.cluster import run_on_ray

        watch(f"{counted(len(trials), 'trial')} on the cluster")
        return run_on_ray(trials, plan.data, runs, threads=threads, address=address)

    run_grid(plan.trials, out or plan.out, ray if engine is Engine.RAY else local)
