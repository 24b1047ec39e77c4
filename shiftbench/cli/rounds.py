"""The commands of a leaderboard on withheld labels: nominating an entry, closing a round."""

import typer

from shiftbench.cli.data_options import (
    AnyTokenOption,
    DataFoldersOption,
    EntryArgument,
    EntryDataOption,
    EntryTaskOption,
    StoreOption,
    ToOption,
)
from shiftbench.validation.command_line import JsonOption, answer


def nominate(
    entry: EntryArgument,
    to: ToOption,
    task: EntryTaskOption = "",
    data: EntryDataOption = None,
    any_token: AnyTokenOption = False,
) -> None:
    """Nominate an entry of yours for the next round.

    Rounds are those of a leaderboard on withheld labels. The last nominated entry counts.

    Example: shiftbench board nominate 0123456789abcdef --to http://127.0.0.1:7860
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.app.client import built_here, is_url, nominate_at_url
    from shiftbench.leaderboard.release import nominate as nominate_in_store
    from shiftbench.leaderboard.store import LOCAL_SUBMITTER, open_store

    if is_url(to):
        typer.echo(nominate_at_url(to, entry, task, any_token=any_token)["note"], err=True)
        return
    store = open_store(to)
    folders = [DatasetFolder.open(folder) for folder in data or ()] or [built_here(store.entry(entry).card)]
    tasks = nominate_in_store(store, entry, LOCAL_SUBMITTER, folders, task)
    typer.echo(f"entry {entry} is nominated for {', '.join(tasks)}", err=True)


def release_round(store: StoreOption, data: DataFoldersOption, json_: JsonOption = None) -> None:
    """Close this quarter's round, and release its ranks for good.

    The nominated entries are ranked on withheld labels. Run again in the same quarter, it changes nothing and prints
    what the round released.

    Example: shiftbench board release-round --store store --data build/tickets/gold
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.leaderboard.release import close_round, round_lines, round_of_quarter
    from shiftbench.leaderboard.store import open_store

    where = open_store(store)
    folders = [DatasetFolder.open(folder) for folder in data]
    closed = round_of_quarter(where)
    if closed is None:
        closed = close_round(where, folders)
    else:
        typer.echo(f"round {closed.name} was closed on {closed.closed_on}: nothing changes; it released this", err=True)
    answer(round_lines(closed), closed.model_dump(mode="json"), json_)
