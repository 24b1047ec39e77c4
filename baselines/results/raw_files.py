"""Print the upstream files from which each board's tasks are built, as a table (``RAW``: the folder of these files).

Stored trials are used if the rows of their task are equal; other files in ``RAW``, and other tasks, do not matter.

    python baselines/results/raw_files.py build/dr build/boss build/df1
"""

from pathlib import Path, PurePosixPath
from typing import Annotated

import typer

from shiftbench.baselines.grid.stored import RECORDS, read_results
from shiftbench.builders.folder.reader import DatasetFolder


def raw_files(folders: list[DatasetFolder]) -> list[str]:
    """Format the table: one line for boards with the same rows, with the command that builds them and the files it
    reads.

    Returns: its lines. Each file is listed with its rows and the first 8 digits of its SHA-256.
    """
    by_name = {folder.manifest.benchmark: folder for folder in folders}
    boards: dict[tuple[str, ...], list[str]] = {}
    for file in sorted(Path(__file__).parent.glob(f"*/{RECORDS}")):
        scores = [result.scores for result in read_results(file.parent).values()]
        benchmark, tasks = scores[0]["benchmark"], [task["task"] for each in scores for task in each["tasks"]]
        whole = sorted({task.partition(".")[0] for task in tasks})
        boards.setdefault((benchmark, *whole), []).append(f"`{file.parent.name}`")
    lines = ["| boards | build | files in `RAW`: rows, SHA-256 |", "|---|---|---|"]
    for (benchmark, *tasks), names in boards.items():
        build = f"`build {benchmark}{f' {tasks[0]}' if len(tasks) == 1 else ''}`"
        lines.append(f"| {', '.join(names)} | {build} | {_files(by_name[benchmark], tasks)} |")
    return lines


def _files(folder: DatasetFolder, tasks: list[str]) -> str:
    """Format the files that tasks' rows come from, grouped by folder."""
    sha256 = {file.path: file.sha256[:8] for source in folder.manifest.sources.values() for file in source.files}
    domains = [facts for task in tasks for facts in folder.task(task).domains.values()]
    rows = {used.path: used.rows for facts in domains for split in facts.upstream.values() for used in split}
    places: dict[str, list[str]] = {}
    for path, n in sorted(rows.items()):
        if n is not None:
            file = PurePosixPath(path)
            places.setdefault(f"{file.parent}", []).append(f"{file.name} {n:,} {sha256[path]}")
    return "; ".join(f"`{place}/`: {', '.join(files)}" for place, files in places.items())


def main(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Dataset folders of the benchmarks.")],
) -> None:
    """Print the table."""
    typer.echo("\n".join(raw_files([DatasetFolder.open(folder) for folder in folders])))


if __name__ == "__main__":
    typer.run(main)
