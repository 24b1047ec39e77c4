"""Pack boards: store the trials in their ``runs`` and their results in two files each, verified bit by bit.

After ``shiftbench grid`` has added trials, or ``shiftbench score --json`` results (``<name>.card.yaml`` and
``<name>.scores.json`` in the board's folder), pack them, and remove the packed originals with ``--remove``.

    python baselines/results/pack.py baselines/results/dr-nli --remove
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import polars as pl
import typer

from shiftbench.baselines.grid.stored import pack_board, unpack_board
from shiftbench.baselines.grid.trial import LOG
from shiftbench.validation.cards import read_card


def main(
    boards: Annotated[list[Path], typer.Argument(metavar="BOARD...", help="Folders of leaderboards.")],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the files after packing.")] = False,
) -> None:
    """Pack boards, and compare every file with its unpacked copy."""
    n_files = n_different = 0
    for board in boards:
        written = pack_board(board)
        with TemporaryDirectory() as place:
            unpack_board(board, Path(place))
            files = list(_files_of(board))
            different = [file for file in files if not _is_same(file, Path(place) / file.relative_to(board))]
        n_files, n_different = n_files + len(files), n_different + len(different)
        size = sum(file.stat().st_size for file in written)
        typer.echo(f"{board}: {len(files):,} files in {len(written)}, {size:,} bytes; {len(different)} differ")
        for file in different:
            typer.echo(f"  {file}", err=True)
        if remove and not different:
            shutil.rmtree(board / "runs", ignore_errors=True)
            for file in files:
                file.unlink(missing_ok=True)
    typer.echo(f"{n_files:,} files compared, {n_different} differ")
    raise typer.Exit(1 if n_different else 0)


def _files_of(board: Path) -> Iterator[Path]:
    """List the files to pack: those of trials, and the cards and scores of results."""
    yield from (file for file in sorted((board / "runs").rglob("*")) if file.is_file() and file.name != LOG)
    for scores in sorted(board.glob("*.scores.json")):
        yield from (scores, scores.with_name(scores.name.replace(".scores.json", ".card.yaml")))


def _is_same(file: Path, other: Path) -> bool:
    """Compare two files byte by byte; Parquet files by schema and every value in order, cards by content."""
    if not other.is_file():
        return False
    if file.name.endswith(".card.yaml"):  # one of them may have been re-wrapped by hand
        return read_card(file) == read_card(other)
    if file.suffix != ".parquet":
        return file.read_bytes() == other.read_bytes()
    here, there = pl.read_parquet(file), pl.read_parquet(other)
    # Hashes compare floats as bits; otherwise differences in NaN and -0.0 would be missed.
    return here.schema == there.schema and here.hash_rows().equals(there.hash_rows()) and here.equals(there)


if __name__ == "__main__":
    typer.run(main)
