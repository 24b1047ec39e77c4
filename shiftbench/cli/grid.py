"""The command ``shiftbench grid``."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from shiftbench.validation.command_line import show

GpuOption = Annotated[
    str | None,
    typer.Option(
        "--gpu",
        metavar="NAME",
        help="With --dry-run: estimate for this GPU (H100, A100, ...), from the models' dimensions.",
    ),
]


def grid(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The grid as a TOML file; see 'Grids' in the documentation.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for results. Default: set in the file.")
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="TASK", help="Only this task of the grid; may be repeated. Default: all."),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(
            "--part",
            metavar="K/N",
            help="Run only every Nth trial from the Kth, to divide the grid over N machines, each with its own --out.",
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(
            "--slots", metavar="N", help="Number of parallel trials. Default: one per GPU, or one without a GPU.", min=1
        ),
    ] = None,
    collect: Annotated[
        bool, typer.Option("--collect", help="Run nothing; write the prediction files of the finished trials.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Estimate how long the grid takes on this machine, from a few timed steps of each model."
        ),
    ] = False,
    gpu: GpuOption = None,
) -> None:
    """Train tasks x models x sources x seeds; can be resumed.

    Example: shiftbench grid grid.toml
    """
    if gpu is not None and not dry_run:
        raise typer.BadParameter("--gpu needs --dry-run: a grid runs on this machine")
    from shiftbench.baselines.grid.plan import read_plan
    from shiftbench.baselines.grid.progress import collect_done, run_grid
    from shiftbench.baselines.grid.trial import run_local, visible_gpus
    from shiftbench.cli.help import imported_command

    train: Any = imported_command("train", "shiftbench.cli.train")
    plan = read_plan(file, train, task)
    first, _, step = (part or "1/1").partition("/")
    if not (first.isdecimal() and step.isdecimal() and 1 <= int(first) <= int(step)):
        raise typer.BadParameter(f"--part must be K/N with K from 1 to N, such as 1/4; found '{part}'")
    # Every Nth trial rather than a block: neighbouring trials have similar costs.
    own_part, place = slice(int(first) - 1, None, int(step)), out or plan.out
    trials = plan.trials[own_part]

    def with_chosen() -> tuple[Any, ...]:
        """Return the trials, plus those with settings selected by finished searches."""
        if not plan.searches:
            return trials
        from shiftbench.baselines.grid.search import chosen_trials
        from shiftbench.baselines.grid.stored import StoredTrials
        from shiftbench.builders.folder.reader import DatasetFolder

        chosen = chosen_trials(plan.searches, StoredTrials(place / "runs"), DatasetFolder.open(plan.data), place)
        return (*trials, *chosen[own_part])

    if collect:
        collect_done(with_chosen(), place)
        return
    at_once = slots or len(visible_gpus()) or 1
    threads = plan.threads or max(1, (os.cpu_count() or 1) // at_once)

    if dry_run:
        from shiftbench.baselines.grid.estimate import estimate, estimate_lines, estimate_on_gpu, rows_of
        from shiftbench.baselines.grid.progress import not_done
        from shiftbench.builders.folder.reader import DatasetFolder

        # The settings that a search will select are unknown, so the steps of the model's own options are used.
        finals = [trial for each in plan.searches for trial in each.finals(0)]
        every = (*trials, *finals[own_part])
        waiting = not_done(every, place / "runs")
        if gpu is not None:
            folder = DatasetFolder.open(plan.data)
            estimates = estimate_on_gpu(every, waiting, lambda trial: rows_of(trial, folder), train, gpu)
        else:
            estimates = estimate(every, waiting, plan.data, train, threads=threads, code=plan.code)
        show(estimate_lines(estimates, at_once, gpu))
        return

    def run(waiting: Any, runs: Path) -> Any:
        return run_local(waiting, plan.data, runs, slots=at_once, threads=threads, code=plan.code)

    run_grid(trials, place, run)
    if plan.searches:
        run_grid(with_chosen(), place, run)
