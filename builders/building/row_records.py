"""List the records of each upstream file, compared with local files: ``python -m ...row_records [RAW ...]``."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl
from rich.console import RenderableType
from rich.table import Table

from shiftbench.builders.building.availability import record_line
from shiftbench.builders.building.build import choose_tasks
from shiftbench.builders.building.records import with_records
from shiftbench.builders.cache import cache_folder
from shiftbench.builders.folder.manifest import Agreement, SourceFile
from shiftbench.builders.reading.intake import Consumer, Sample, read_file
from shiftbench.builders.reading.places import find_file
from shiftbench.builders.specs.spec import FileFacts, FileSpec, Fingerprint, RecordKind, TaskSpec, Upstream, upstream
from shiftbench.validation.command_line import show
from shiftbench.validation.report import plural


def check_rows(
    path: Path, file: FileSpec, specs: Iterable[TaskSpec], records: Upstream, *, rewritten: bool = False
) -> SourceFile:
    """Read a file and compare it with its records: its checksum, all rows that tasks use, or their number.

    Args:
        path: the local file.
        specs: tasks; those with a record of the file's rows are compared.
        rewritten: whether it was written from another file's rows, so its checksum is not comparable.
    Returns: its number of rows, its checksum, and what agrees with the records.
    Raises: InvalidInput if the file is malformed.
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
    # Only fingerprints are needed, so the rows are discarded: the sample has size 1.
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
    """The records of an upstream file: of its bytes, of its number of rows, of the rows themselves.

    ``kind``: their origin. ``here``: property of the local file that agrees with the records, apart from the checksum:
    ``rows`` (all rows), ``number of rows``, or ``""`` if none agrees; None if there is no file.
    """

    path: str
    has_checksum: bool
    has_count: bool
    kind: RecordKind
    recorded_from: str
    here: Agreement | None = None


def list_file_records(specs: Sequence[TaskSpec], records: Upstream, raws: Sequence[Path] = ()) -> Iterator[FileRecords]:
    """List the records of every file that tasks read, except parts of a release without a record.

    Args:
        specs: the tasks.
        records: the records.
        raws: folders of upstream files; their rows are measured and compared even if checksums differ.
    """
    every = (file for spec in specs for domain in spec.domains for files in domain.files.values() for file in files)
    # A file may be the whole release for one task, and part of it for another.
    for file in {file.path: file for file in sorted(every, key=lambda file: not file.partial)}.values():
        kind = records.record_kind(file.path)
        if file.partial and kind != "measured":
            continue
        facts = records.files.get(file.path, FileFacts())
        forms = (file.path, f"{file.path}.gz", str(Path(file.path).with_suffix(".zip")))
        checksum = any(records.files.get(form, FileFacts()).sha256 for form in forms)
        count = facts.rows is not None or records.total_of(file.path) is not None
        path = find_file(raws, file.path)
        here = None if path is None else check_rows(path, file, specs, records, rewritten=True).agrees
        if here == "number of rows" and kind == "measured":
            here = ""
        yield FileRecords(file.path, checksum, count, kind, file.source.recorded_from or "", here)


def file_record_lines(files: Sequence[FileRecords]) -> Iterator[RenderableType]:
    """List the table of records, the number of each kind, and how many local files agree."""
    table = Table()
    for column in ("file", "record", "checksum", "number of rows", "local file", "recorded from"):
        table.add_column(column, overflow="fold")
    for file in files:
        here = "" if file.here is None else file.here or "differs"
        has = ("recorded" if there else "" for there in (file.has_checksum, file.has_count))
        table.add_row(file.path, file.kind, *has, here, file.recorded_from)
    yield table
    yield record_line([file.kind for file in files])
    there = [file for file in files if file.here is not None]
    agree = [file for file in there if file.kind == "measured" and file.here == "rows"]
    n_measured = sum(file.kind == "measured" for file in there)
    yield f"here: {plural(len(there), 'file')}; {n_measured} with known row counts, of which {len(agree)} agree"


def main(raws: Sequence[Path]) -> int:
    """Print the table, compared with local files, and return the exit code: 1 if a file differs."""
    files = list(list_file_records(choose_tasks(None, None), upstream(), raws))
    show(file_record_lines(files))
    return int(any(file.here == "" and file.kind == "measured" for file in files))


if __name__ == "__main__":
    sys.exit(main([Path(folder) for folder in sys.argv[1:]]))
