"""The commands ``board backup`` and ``board restore``."""

from pathlib import Path
from typing import Annotated

import typer

from shiftbench.cli.data_options import StoreOption

BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup, one tar file.")]


def backup(file: BackupFile, store: StoreOption) -> None:
    """Write a store into one file.

    If the file already contains a backup, only changes since then are added. Servers can keep running. Written data is
    read back and compared before the command ends. The file contains everything in the store: accounts, predictions,
    feedback.

    Example: shiftbench board backup store.tar --store store
    """
    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.backup import back_up

    done = back_up(open_store(store, must_exist=True), file)
    at = f" of commit {done.revision[:12]}" if done.revision else ""
    typer.echo(
        f"{file}: {done.files:,} files{at}, {done.size:,} bytes; "
        f"{done.new_files:,} new files, {done.read:,} bytes read; "
        f"{done.written:,} bytes written{', the whole file again' if done.is_rewritten else ''}",
        err=True,
    )


def restore(
    file: BackupFile,
    store: Annotated[Path, typer.Option("--store", metavar="DIR", help="The store to write: a new or empty folder.")],
    newer: Annotated[
        Path | None,
        typer.Option(
            "--newer",
            metavar="DIR",
            help="A newer store: accounts erased since the backup, according to its log, are erased again.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check every byte of the file; write nothing.")] = False,
) -> None:
    """Restore a store from a backup.

    Every byte of the file is checked first. If it contains several backups, the last complete one is used.

    Example: shiftbench board restore store.tar --store restored
    """
    from shiftbench.leaderboard.store import open_store
    from shiftbench.leaderboard.store.backup import check_backup
    from shiftbench.leaderboard.store.backup import restore as restore_store
    from shiftbench.leaderboard.store.hosting import erase_again

    log = None if newer is None else open_store(newer, must_exist=True).log
    found = check_backup(file) if dry_run else restore_store(file, store)
    size = sum(each.size for each in found.files.values())
    where = "nothing was written" if dry_run else str(store)
    typer.echo(f"{file}: {len(found.files):,} files, {size:,} bytes, as of {found.made_at}: {where}", err=True)
    if not found.is_finished:
        typer.echo("a later backup in this file is incomplete and was ignored", err=True)
    if log is not None and not dry_run:
        for done in erase_again(open_store(store), log):
            typer.echo(done, err=True)
