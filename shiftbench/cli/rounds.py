"""The commands of a leaderboard on withheld labels: nominating an entry, closing a round."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import StoreOption
from shiftbench.validation.command_line import JsonOption, console, write_json


def nominate(
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="The entry's id.")],
    to: Annotated[
        str, typer.Option("--to", metavar="URL_OR_STORE", help="The leaderboard's URL, or the store that it is in.")
    ],
    task: Annotated[str, typer.Option("--task", metavar="NAME", help="One of its tasks; default: all of them.")] = "",
    data: Annotated[
        list[Path] | None, typer.Option("--data", metavar="DIR", help="Gold folder of the entry (with a store).")
    ] = None,
    any_token: Annotated[
        bool, typer.Option("--any-token", help="Send the saved Hugging Face token even if it may write.")
    ] = False,
) -> None:
    """Nominate an entry of yours for the next round of a leaderboard on withheld labels.

    The last nominated entry counts.

    Example: shiftbench nominate 0123456789abcdef --to http://127.0.0.1:7860
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.client import is_url, nominate_at_url
    from shiftbench.leaderboard.release import nominate as nominate_in_store
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store

    if is_url(to):
        typer.echo(nominate_at_url(to, entry, task, any_token=any_token)["note"], err=True)
        return
    folders = [DatasetFolder.open(folder) for folder in data or ()]
    tasks = nominate_in_store(open_store(to), entry, LOCAL_SUBMITTER, folders, task)
    typer.echo(f"entry {entry} is nominated for {', '.join(tasks)}", err=True)


def release_round(
    store: StoreOption,
    data: Annotated[
        list[Path],
        typer.Option("--data", metavar="DIR", help="Gold folder of the entries; may be given several times."),
    ],
    json_: JsonOption = None,
) -> None:
    """Close this quarter's round: rank the nominated entries on withheld labels, and publish the result for good.

    Run again in the same quarter, it changes nothing and prints what the round released.

    Example: shiftbench release-round --store store --data build/tickets/gold
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.release import close_round, round_of_quarter
    from shiftbench.leaderboard.release.round_table import print_round
    from shiftbench.leaderboard.store import open_store

    where = open_store(store)
    folders = [DatasetFolder.open(folder) for folder in data]
    closed = round_of_quarter(where)
    if closed is None:
        closed = close_round(where, folders)
    else:
        typer.echo(f"round {closed.name} was closed on {closed.closed_on}: nothing changes; it released this", err=True)
    if json_ != "-":
        print_round(closed, console())
    write_json(closed.model_dump(mode="json"), json_)
