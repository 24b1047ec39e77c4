"""The command ``data fetch``, which ``build --fetch`` runs first. Imports other than typer are inside."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli.data_options import AcceptTermsOption, UpstreamOption
from shiftbench.validation.command_line import JsonOption, show, write_json

if TYPE_CHECKING:
    from shiftbench.builders.building.spec_tasks import OwnBenchmark


def fetch(
    benchmark: Annotated[
        str | None, typer.Argument(metavar="BENCHMARK", help="'dr', 'boss' or 'df1'. Default: all.")
    ] = None,
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="One task, such as 'nli', or one domain, as 'sa.books'.")
    ] = None,
    *,
    raw: UpstreamOption,
    accept_terms: AcceptTermsOption = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Print what would be downloaded; download nothing. Exit code 1 if files are missing."
        ),
    ] = False,
    json_: JsonOption = None,
) -> None:
    """Download upstream files that are missing.

    Prints what it will download and on which terms, and the files that must be downloaded by hand. After an
    interruption or failure, run it again: finished files are not downloaded twice.

    Example: shiftbench data fetch dr nli --raw raw
    """
    is_whole = fetch_files(benchmark, task, raw, accept_terms or [], dry_run=dry_run, json_=json_)
    if not is_whole:
        raise typer.Exit(1)


def fetch_files(
    benchmark: "str | OwnBenchmark | None",
    task: str | None,
    raws: Sequence[Path],
    accepted: Sequence[str],
    *,
    dry_run: bool = False,
    json_: str | None = None,
) -> bool:
    """Download missing upstream files, and print which were downloaded, which failed, and which to get by hand.

    Args:
        benchmark: name of the benchmark, or a user benchmark; None for all.
        task: a task or domain of it; None for all.
        raws: folders of upstream files; new files are written to the first.
        accepted: sources whose terms are accepted, or 'all'.
        dry_run: only print what would be downloaded.
        json_: the value of ``--json``.
    Returns: whether every file that can be downloaded is present.
    """
    from shiftbench.builders.building.build import choose_tasks
    from shiftbench.builders.building.fetch_lines import (
        hand_lines,
        leave_out_refused,
        outcome_lines,
        plan_json,
        plan_lines,
    )
    from shiftbench.builders.building.spec_tasks import OwnBenchmark
    from shiftbench.builders.fetching.fetch import fetch as fetch_plan
    from shiftbench.builders.fetching.fetch import plan_fetch
    from shiftbench.validation.report import InvalidInput, UnknownChoice

    own = benchmark if isinstance(benchmark, OwnBenchmark) else None
    raws = own.folders(raws) if own else raws
    specs = choose_tasks(benchmark, task)
    plan = plan_fetch(specs, raws)
    show(plan_lines(plan, raws[0], accepted), stderr=True)
    failed = None
    if not dry_run:
        try:
            fetch_plan(leave_out_refused(plan, accepted), raws[0], accepted=accepted)
        except UnknownChoice:  # a wrong value of --accept-terms is a usage error, not a failed download
            raise
        except InvalidInput as error:
            failed = error
    left = plan_fetch(specs, raws)
    show(outcome_lines(plan, left, failed, accepted), stderr=True)
    show(hand_lines(left, specs, raws, own), stderr=True)
    write_json(plan_json(plan, left, failed), json_)
    return not left.requests
