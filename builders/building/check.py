"""Check upstream files against their records without building anything."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from shiftbench.builders.building.records import facts_beside
from shiftbench.builders.cache import cache_folder
from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.reading.intake import read_file
from shiftbench.builders.reading.places import find_file
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.builders.specs.spec import FileFacts, FileSpec, TaskSpec, TotalFacts, Upstream, upstream
from shiftbench.validation.report import InvalidInput

State = Literal["whole", "there", "unverified", "missing", "closed"]
"""The file is present and matches its record (``whole``), does not match it (``there``), or has no record to compare
with; or it is missing, from a release that may be redistributed (``missing``) or not (``closed``)."""


class CheckedFile(NamedTuple):
    """An upstream file compared with its records.

    ``recorded_rows``: recorded number of rows of the file, or of several files with one recorded total.
    ``verified``: what agrees, ``checksum``, ``rows`` or ``total``; ``""`` if nothing does. ``found``: what differs.
    ``size``: bytes on disk; None for a missing file.
    """

    path: str
    state: State
    recorded_rows: int | None
    recorded_sha256: str | None
    verified: str
    found: str = ""
    size: int | None = None


def check_files(specs: Iterable[TaskSpec], raws: Sequence[Path], records: Upstream | None = None) -> list[CheckedFile]:
    """Compare every file that tasks read with its records. Files whose checksum agrees are not parsed.

    Args:
        specs: the tasks.
        raws: folders of upstream files, searched in order.
        records: their records; None: those of the built-in benchmarks.
    Returns: a row for each file and companion file, in the order of the specs. Files with only part of a release are
        included if present.
    """
    records = upstream() if records is None else records
    files: dict[str, FileSpec] = {}
    for spec in specs:
        for domain in spec.domains:
            for file in (file for split in domain.files.values() for file in split):
                # A file may be the whole release for one task, and part of it for another.
                if file.path not in files or not file.partial:
                    files[file.path] = file
    checked: dict[str, CheckedFile] = {}
    n_rows: dict[str, int] = {}
    for file in files.values():
        path = find_file(raws, file.path)
        if path is None:
            if not file.partial:
                places = (file.path, *(str(Path(file.path).with_name(name)) for name in file.beside))
                checked |= {place: _missing_file(file.source, place, records) for place in places}
            continue
        checked[file.path] = _check(file, path, records, n_rows)._replace(size=path.stat().st_size)
        checked |= {row.path: row for row in _check_beside(file, path, records)}
    for total in records.totals:
        for place in (place for place in total.files if place in n_rows):
            checked[place] = _check_total(checked[place], total, n_rows)
    return list(checked.values())


def _missing_file(source: SourceSpec, path: str, records: Upstream) -> CheckedFile:
    """Return the records of a missing file, with the recorded checksum of its plain, gzipped or zipped form."""
    rows, _ = _find_records(path, path, records)
    forms = (path, f"{path}.gz", str(Path(path).with_suffix(".zip")))
    sha256 = next(filter(None, (_find_records(path, form, records)[1] for form in forms)), None)
    return CheckedFile(path, "missing" if source.open_licence else "closed", rows, sha256, "")


def _check(file: FileSpec, path: Path, records: Upstream, n_rows: dict[str, int]) -> CheckedFile:
    """Compare a file that is present; if it has to be parsed, its number of rows is added to ``n_rows``."""
    rows, sha256 = _find_records(file.path, str(Path(file.path).with_name(path.name)), records)
    if sha256 is not None and file_sha256(path) == sha256:
        return CheckedFile(file.path, "whole", rows, sha256, "checksum")
    try:
        n_rows[file.path] = read_file(path, file.read, (), cache=cache_folder()).n_rows
    except InvalidInput as unreadable:  # reported in the table, which lists all files
        return CheckedFile(file.path, "there", rows, sha256, "", str(unreadable.problems[0]))
    return _compare_rows(file.path, n_rows[file.path], rows, sha256)


def _check_beside(file: FileSpec, path: Path, records: Upstream) -> Iterator[CheckedFile]:
    for name in file.beside:
        place = str(Path(file.path).with_name(name))
        if not path.with_name(name).exists():
            yield _missing_file(file.source, place, records)
            continue
        beside = path.with_name(name)
        facts = facts_beside(beside, place)
        rows, sha256 = _find_records(place, place, records)
        if facts.sha256 == sha256:
            checked = CheckedFile(place, "whole", rows, sha256, "checksum")
        else:
            checked = _compare_rows(place, facts.rows, rows, sha256)
        parts = beside.iterdir() if beside.is_dir() else (beside,)
        yield checked._replace(size=sum(part.stat().st_size for part in parts))


def _compare_rows(path: str, n_rows: int, rows: int | None, sha256: str | None) -> CheckedFile:
    """Compare a file's rows with the recorded number, because no recorded checksum agrees."""
    if rows is not None and n_rows != rows:
        by = f"{abs(n_rows - rows):,} {'too many' if n_rows > rows else 'too few'}"
        return CheckedFile(path, "there", rows, sha256, "", f"{n_rows:,} rows, {by}")
    if sha256 is not None:
        return CheckedFile(
            path, "there", rows, sha256, "rows" if rows else "", "the checksum differs: another revision?"
        )
    return CheckedFile(path, "unverified" if rows is None else "whole", rows, sha256, "" if rows is None else "rows")


def _check_total(file: CheckedFile, total: TotalFacts, n_rows: Mapping[str, int]) -> CheckedFile:
    """Compare the total number of rows of a file and others with the recorded total."""
    lacking = [Path(place).name for place in total.files if place not in n_rows]
    n_all = sum(n_rows.get(place, 0) for place in total.files)
    if lacking:
        found = f"{n_rows[file.path]:,} rows; cannot be compared with the recorded total without {', '.join(lacking)}"
    else:
        found = "" if n_all == total.rows else f"{n_all:,} rows in {len(total.files)} files"
    state: State = "there" if found else "whole"
    return file._replace(state=state, recorded_rows=total.rows, verified="" if found else "total", found=found)


def _find_records(path: str, form: str, records: Upstream) -> tuple[int | None, str | None]:
    """Return a file's recorded number of rows (or the total with others), and the checksum recorded for ``form``."""
    total = records.total_of(path)
    rows = total.rows if total else records.files.get(path, FileFacts()).rows
    return rows, records.files.get(form, FileFacts()).sha256
