"""What is recorded of each upstream file, and the rows of one beside it: ``python -m ...building.row_records``."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from rich.console import RenderableType
from rich.table import Table

from shiftbench.builders.building.records import with_records
from shiftbench.builders.cache import cache_folder
from shiftbench.builders.folder.manifest import SourceFile
from shiftbench.builders.reading.intake import Consumer, Sample, read_file
from shiftbench.builders.specs.spec import FileFacts, FileSpec, Fingerprint, TaskSpec, Upstream, upstream
from shiftbench.validation.command_line import show


def check_rows(
    path: Path, file: FileSpec, specs: Iterable[TaskSpec], records: Upstream, *, rewritten: bool = False
) -> SourceFile:
    """Read a file and compare it with its records: its bytes, all rows that tasks take from it, or their number.

    Args:
        path: where it lies.
        specs: tasks, of which those with a record of the file's rows are compared.
        rewritten: it was written from the rows of another file, so its bytes say nothing.
    Returns: its rows, its checksum, and what agrees.
    Raises: InvalidInput when the file is bad.
    """
    takers = [
        (f"{spec.id}.{domain.name}", split, spec, domain.transforms)
        for spec in specs
        for domain in spec.domains
        for split, files in domain.files.items()
        if file in files
    ]
    hashed = [taker for taker in takers if records.fingerprint(taker[0], taker[1], file.path)]
    takers = hashed or [taker for taker in takers if taker[1] in records.rows.get(taker[0], {})]
    # The rows are measured and forgotten: a sample holds one of them.
    consumers = [
        Consumer(f"{name}/{split}", steps, Sample(pl.lit(0), 1, ("group",), ""), spec.kind)
        for name, split, spec, steps in takers
    ]
    read = read_file(path, file.read, consumers, cache=cache_folder())
    taken = {
        (name, split): read.results[f"{name}/{split}"].fingerprint or Fingerprint() for name, split, _, _ in takers
    }
    place = str(Path(file.path).with_name(path.name))
    facts = SourceFile(path=place, sha256=read.sha256, rows=read.n_rows, recorded_rows=None)
    return with_records(file.path, facts, records, partial=file.partial, taken=taken, rewritten=rewritten)


class FileRecords(NamedTuple):
    """Which records there are of an upstream file: of its bytes, of the number of its rows, of the rows themselves."""

    path: str
    has_checksum: bool
    has_count: bool
    has_rows: bool
    recorded_from: str


def list_file_records(specs: Iterable[TaskSpec], records: Upstream) -> list[FileRecords]:
    """List the records of every file that tasks read, but those that hold a release in part and have none."""
    found: dict[str, FileRecords] = {}
    for spec in specs:
        for domain in spec.domains:
            for split, file in ((split, file) for split, files in domain.files.items() for file in files):
                facts = records.files.get(file.path, FileFacts())
                forms = (file.path, f"{file.path}.gz", str(Path(file.path).with_suffix(".zip")))
                checksum = any(records.files.get(form, FileFacts()).sha256 for form in forms)
                count = facts.rows is not None or records.total_of(file.path) is not None
                before = file.path in found and found[file.path].has_rows
                rows = before or records.fingerprint(f"{spec.id}.{domain.name}", split, file.path) is not None
                if not file.partial or rows:
                    origin = file.source.recorded_from or ""
                    found[file.path] = FileRecords(file.path, checksum, count, rows, origin)
    return list(found.values())


def file_record_lines(files: Sequence[FileRecords]) -> Iterator[RenderableType]:
    """List the table of records, and how many there are of each kind."""
    table = Table()
    for column in ("file", "checksum", "number of rows", "rows", "recorded from"):
        table.add_column(column, overflow="fold")
    for file in files:
        kinds = ("recorded" if there else "unmeasured" for there in (file.has_checksum, file.has_count, file.has_rows))
        table.add_row(file.path, *kinds, file.recorded_from)
    yield table
    n_measured = sum(file.has_rows for file in files)
    n_told = sum(not file.has_rows and (file.has_count or file.has_checksum) for file in files)
    n_sums = sum(file.has_checksum for file in files)
    yield (
        f"{len(files)} files: rows of {n_measured} measured on the file itself; of {n_told} more a number of rows or "
        "a checksum from papers, release pages and libraries; "
        f"nothing of {len(files) - n_measured - n_told}; a checksum of {n_sums} in all"
    )


if __name__ == "__main__":
    from shiftbench.builders.building.build import choose_tasks

    show(file_record_lines(list_file_records(choose_tasks(None, None), upstream())))
