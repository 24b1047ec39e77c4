"""What was read of upstream files beside what is recorded of them: rows, checksums, rows after the named steps."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.folder.manifest import SourceFile, UpstreamRows
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.builders.specs.spec import FileFacts, FileSpec, TaskSpec, TotalFacts, Upstream
from shiftbench.validation.report import Problem

PARTIAL = "fetch the whole file, or give --partial to build what there is"
_SURPLUS = "rows of another file may be appended: fetch the file again, or give --partial to build what there is"


def with_records(path: str, facts: SourceFile, records: Upstream, *, partial: bool) -> SourceFile:
    """Return the facts of a file that was read with what is recorded of it.

    Args:
        path: its path under RAW, as the spec has it; that of the facts may end in ``.gz`` or ``.zip``.
        facts: what was read.
        records: what is recorded.
        partial: it holds rows of a release in part, so there is no whole file to compare it with.
    """
    rows = records.files.get(path, FileFacts()).rows
    recorded = partial or records.is_recorded(path, facts.path)
    altered = _other_checksum(facts, records) is not None and rows in (None, facts.rows)
    return facts.model_copy(update={"recorded_rows": rows, "unverified": altered or not recorded})


def facts_beside(path: Path, place: str) -> SourceFile:
    """Hash a second file that a reader read beside its own.

    Args:
        path: a file, or a folder: all files of it are hashed, each with its name, and counted as rows.
        place: its path under RAW.
    """
    if path.is_file():
        rows = path.read_bytes().count(b"\n")
        return SourceFile(path=place, sha256=file_sha256(path), rows=rows, recorded_rows=None)
    files = sorted(file for file in path.iterdir() if file.is_file())
    listed = "".join(f"{file_sha256(file)}  {file.name}\n" for file in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    return SourceFile(path=place, sha256=digest, rows=len(files), recorded_rows=None)


def upstream_rows(
    spec: TaskSpec, n_rows: Mapping[FileSpec, int], records: Upstream
) -> dict[str, dict[str, tuple[UpstreamRows, ...]]]:
    """Return the rows of every file of a task beside those recorded, by domain and upstream split.

    Args:
        spec: the task.
        n_rows: rows of the files that were read.
        records: what is recorded; files whose rows are recorded together are counted together.
    """
    return {
        domain.name: {split: tuple(_rows_of(files, n_rows, records)) for split, files in domain.files.items()}
        for domain in spec.domains
    }


def _rows_of(files: Sequence[FileSpec], n_rows: Mapping[FileSpec, int], records: Upstream) -> Iterator[UpstreamRows]:
    together: dict[TotalFacts, list[FileSpec]] = {}
    for file in files:
        total = records.total_of(file.path)
        if file.partial:
            if file in n_rows:
                yield UpstreamRows(path=file.path, rows=n_rows[file], recorded_rows=0)
        elif total is not None:
            together.setdefault(total, []).append(file)
        else:
            recorded = records.files.get(file.path, FileFacts()).rows
            yield UpstreamRows(path=file.path, rows=n_rows.get(file), recorded_rows=recorded)
    for total, parts in together.items():
        there = [n_rows[file] for file in parts if file in n_rows]
        names = " and ".join(file.path for file in parts)
        yield UpstreamRows(path=names, rows=sum(there) if there else None, recorded_rows=total.rows)


def differences(
    spec: TaskSpec,
    facts: Mapping[tuple[FileSpec, str], SourceFile],
    rows: Mapping[str, Mapping[str, int]],
    paths: Mapping[FileSpec, Path],
    records: Upstream,
    *,
    other_revisions: bool = False,
) -> list[Problem]:
    """List what differs from the records of whole upstream files.

    Args:
        spec: the task.
        facts: what was read, by file and path under RAW as the spec has it.
        rows: rows after the named steps, by ``<task id>.<domain>`` and split.
        paths: where the task's files lie.
        records: what is recorded.
        other_revisions: accept a file whose checksum differs where its row count agrees.
    """
    problems: list[Problem] = []
    for file, path in paths.items():
        places = {file.path: path} | {
            str(Path(file.path).with_name(name)): path.with_name(name) for name in file.beside
        }
        for place, where in places.items():
            problems += _file_differences(
                file.source, facts[file, place], where, records, other_revisions=other_revisions
            )
    problems += _total_differences(facts, paths, records)
    for domain in spec.domains:
        name = f"{spec.id}.{domain.name}"
        for split, n_recorded in records.rows.get(name, {}).items():
            if rows[name][split] != n_recorded:
                what = f"the row count of {name}, split {split}, differs from the recorded one"
                where = paths[domain.files[split][0]]
                problems.append(_count_differs(what, where, rows[name][split], n_recorded))
    return problems


def _file_differences(
    source: SourceSpec, facts: SourceFile, path: Path, records: Upstream, *, other_revisions: bool
) -> Iterator[Problem]:
    """List how one file differs: its row count or, where that agrees, its checksum."""
    if facts.recorded_rows is not None and facts.rows != facts.recorded_rows:
        yield _count_differs("the row count differs from the recorded one", path, facts.rows, facts.recorded_rows)
        return
    checksum = _other_checksum(facts, records)
    if checksum is not None and not other_revisions:
        found = f"{facts.sha256}, recorded {checksum}"
        counted = "" if facts.recorded_rows is None else ", though its row count agrees"
        cure = (
            f"fetch revision {source.revision} of {source.url}; or give --other-revisions to build from this one, "
            "which marks the dataset unverified"
        )
        yield Problem(f"the checksum differs from the recorded one{counted}", str(path), found, cure)


def _total_differences(
    facts: Mapping[tuple[FileSpec, str], SourceFile], paths: Mapping[FileSpec, Path], records: Upstream
) -> Iterator[Problem]:
    """List files whose rows together are not as many as recorded."""
    file_of = {file.path: file for file in paths}
    for total in records.totals:
        if all(path in file_of for path in total.files):
            n_rows = sum(facts[file_of[path], path].rows for path in total.files)
            if n_rows != total.rows:
                names = ", ".join(Path(path).name for path in total.files)
                what = f"the row count of {names} together differs from the recorded one"
                yield _count_differs(what, paths[file_of[total.files[0]]], n_rows, total.rows)


def _count_differs(what: str, path: Path, n_rows: int, n_recorded: int) -> Problem:
    cure = _SURPLUS if n_rows > n_recorded else PARTIAL
    return Problem(what, str(path), f"{n_rows:,} rows, recorded {n_recorded:,}", cure)


def _other_checksum(facts: SourceFile, records: Upstream) -> str | None:
    """Return the recorded checksum of a file where its own differs."""
    recorded = records.files.get(facts.path, FileFacts()).sha256
    return recorded if recorded not in (None, facts.sha256) else None
