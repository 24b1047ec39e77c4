"""Compare upstream files with their records: rows, checksums, rows after the named steps."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal

from shiftbench.builders.checksums import file_sha256
from shiftbench.builders.folder.manifest import Agreement, SourceFile, SplitOverlap, UpstreamRows
from shiftbench.builders.reading.fingerprint import N_HASHES, count_overlap, merge_fingerprints
from shiftbench.builders.reading.intake import FileRead
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.builders.specs.spec import (
    DomainRecord,
    DomainSpec,
    FileFacts,
    FileSpec,
    Fingerprint,
    TaskSpec,
    TotalFacts,
    Upstream,
)
from shiftbench.builders.stored_rows import Rows
from shiftbench.validation.report import Problem, plural
from shiftbench.validation.vocabulary import SPLITS

PARTIAL = "fetch the whole file, or give --partial to build from the available files"
_SURPLUS = (
    "rows of another file may have been appended: fetch the file again, or give --partial to build from the available "
    "files"
)


Taken = Mapping[tuple[str, str], Fingerprint]
"""Fingerprints of the rows taken from a file, by ``<task id>.<domain>`` and upstream split."""


def with_records(
    path: str,
    facts: SourceFile,
    records: Upstream,
    *,
    partial: bool,
    taken: Taken | None = None,
    rewritten: bool = False,
) -> SourceFile:
    """Compare a file with its records, and return its facts with the result.

    Args:
        path: its path under RAW in the spec; that of the facts may end in ``.gz`` or ``.zip``.
        facts: facts of the file read.
        records: the records.
        partial: whether the file contains only part of a release; its number of rows is then not compared.
        taken: fingerprints of its rows.
        rewritten: whether it was written from another file's rows, so its checksum is not comparable.
    """
    own, form = records.files.get(path, FileFacts()), "" if rewritten else facts.path
    checksum = records.files.get(form, FileFacts()).sha256
    agrees: Agreement = ""
    if checksum == facts.sha256:
        agrees = "checksum"
    elif taken and rows_agree(path, taken, records):
        agrees = "rows"
    elif not partial and checksum is None and own.rows is not None and facts.rows <= own.rows:
        whole = facts.rows == own.rows or (taken and counts_agree(taken, records))
        agrees = "number of rows" if whole else ""
    recorded = partial or agrees == "rows" or records.is_recorded(path, form)
    altered = checksum is not None and not agrees and own.rows in (None, facts.rows)
    unverified = altered or not recorded
    return facts.model_copy(update={"recorded_rows": own.rows, "unverified": unverified, "agrees": agrees})


def rows_agree(path: str, taken: Taken, records: Upstream) -> bool:
    """Return whether all rows taken from a file have the recorded inputs and gold; ``path`` as in the spec."""
    pairs = [(found, records.fingerprint(name, split, path)) for (name, split), found in taken.items()]
    return all(each is not None and (found.rows, found.total) == (each.rows, each.total) for found, each in pairs)


def counts_agree(taken: Taken, records: Upstream) -> bool:
    """Return whether every split takes the recorded number of rows; the file may lack rows that no split uses."""
    return all(found.rows == records.rows.get(name, {}).get(split) for (name, split), found in taken.items())


def facts_beside(path: Path, place: str) -> SourceFile:
    """Hash a companion file that a reader read with the main file.

    Args:
        path: a file, or a folder: one hash over names and contents of its files; ``rows`` is their number.
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
    """Return the read and recorded rows of every file of a task, by domain and upstream split.

    Args:
        n_rows: number of rows of the files read.
        records: the records; files with one recorded total are counted together.
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
    """List differences from the records of complete upstream files.

    Args:
        facts: facts of the files read, by file and path under RAW in the spec.
        paths: paths of the task's files.
        other_revisions: accept a file whose checksum differs if its row count agrees.
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
    """Yield how a file differs: in its row count or, if that agrees, its checksum; nothing if the rows agree."""
    if facts.agrees in ("rows", "number of rows"):
        return
    if facts.recorded_rows is not None and facts.rows != facts.recorded_rows:
        yield _count_differs("the row count differs from the recorded one", path, facts.rows, facts.recorded_rows)
        return
    checksum = _other_checksum(facts, records)
    if checksum is not None and not other_revisions:
        found = f"{facts.sha256}, recorded {checksum}"
        counted = "" if facts.recorded_rows is None else ", though its row count agrees"
        cure = (
            f"fetch revision {source.revision} of {source.url}; or give --other-revisions to build from this file, "
            "which is then marked as matching no record"
        )
        yield Problem(f"the checksum differs from the recorded one{counted}", str(path), found, cure)


def _total_differences(
    facts: Mapping[tuple[FileSpec, str], SourceFile], paths: Mapping[FileSpec, Path], records: Upstream
) -> Iterator[Problem]:
    """List groups of files whose total number of rows differs from the record."""
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
    """Return the recorded checksum of a file if it differs from the actual one; else None."""
    recorded = records.files.get(facts.path, FileFacts()).sha256
    return recorded if recorded not in (None, facts.sha256) else None


Extent = Literal["whole", "part", "other"]
"""Portion of a release that a file contains; ``other`` (too many rows, or another revision) cannot be compared."""

_MESSAGES = {
    "rows": "the number of rows after the named steps differs from the recorded one",
    "labels": "the label counts differ from the recorded ones",
    "hashes": "rows differ from the recorded ones",
    "groups": "the groups of rows differ from the recorded ones",
    "overlap": "the number of rows shared by both splits differs from the recorded one",
    "equal": "two splits have the same rows",
    "half": "more than half of the rows also occur in another split",
}
"""The message of each kind of deviation."""
_LIKELY_MIXED = ("equal", "half")
"""Kinds of deviation that are best explained by one file stored under another's name."""


@dataclass(frozen=True)
class MeasuredDomain:
    """A domain's upstream rows: fingerprints by split and file, and overlaps between splits."""

    spec: DomainSpec
    splits: Mapping[str, Mapping[FileSpec, Fingerprint]]
    overlaps: tuple[SplitOverlap, ...]
    drawn: frozenset[str]
    """Sampled splits, whose overlaps with others depend on the seed."""

    def extent(self, overlap: SplitOverlap, extents: Mapping[FileSpec, Extent]) -> Extent:
        """Return the portion of the release that two splits contain together."""
        every = [file for split in (overlap.split, overlap.other) for file in self.spec.files[split]]
        of: set[Extent] = {extents.get(file, "part") for file in every if file in extents or not file.partial}
        if "other" in of:
            return "other"
        return "part" if "part" in of or any(file.partial for file in every if file in extents) else "whole"

    def record(self, extents: Mapping[FileSpec, Extent]) -> DomainRecord | None:
        """Return the record of the domain; None if no file is complete."""
        splits = {
            split: {
                file.path: self.splits[split][file] if extents.get(file) == "whole" else None
                for file in files
                if not file.partial or extents.get(file) == "whole"
            }
            for split, files in self.spec.files.items()
        }
        overlaps = {
            overlap.name: overlap.repeated
            for overlap in self.overlaps
            if not {overlap.split, overlap.other} & self.drawn and self.extent(overlap, extents) == "whole"
        }
        some = any(found is not None for files in splits.values() for found in files.values())
        return DomainRecord(splits=splits, overlaps=overlaps) if some else None


def measure_domains(
    spec: TaskSpec,
    found_in: Mapping[FileSpec, FileRead],
    rows: Mapping[str, Mapping[str, Rows]],
    records: Upstream,
) -> dict[str, MeasuredDomain]:
    """Measure the upstream splits of a task: fingerprints of their rows, and overlaps between splits.

    Args:
        spec: the task.
        found_in: what was read from each file.
        rows: the rows taken (all or a sample), by domain and upstream split.
        records: the records; the recorded overlaps are added to the result.
    Returns: the measurements by domain.
    """
    measured = {}
    for domain in spec.domains:
        taken = {
            split: {file: found_in[file].results[f"{domain.name}/{split}"] for file in files if file in found_in}
            for split, files in domain.files.items()
        }
        record = records.domains.get(f"{spec.id}.{domain.name}")
        here = {split: part for split, part in rows.get(domain.name, {}).items() if len(part)}
        overlaps = []
        for other, split in combinations([split for split in SPLITS if split in here], 2):
            repeated = count_overlap(here[split], here[other], spec.inputs)
            overlap = SplitOverlap(split=split, other=other, rows=len(here[split]), repeated=repeated, recorded=None)
            recorded = record.overlaps.get(overlap.name) if record is not None else None
            overlaps.append(overlap.model_copy(update={"recorded": recorded}))
        fingerprints = {
            split: {file: part.fingerprint or Fingerprint() for file, part in of.items()} for split, of in taken.items()
        }
        drawn = frozenset(
            split
            for split, of in taken.items()
            if any(step.name == "sample" for part in of.values() for step in part.counts)
        )
        measured[domain.name] = MeasuredDomain(domain, fingerprints, tuple(overlaps), drawn)
    return measured


def find_extent(
    file: FileSpec, facts: SourceFile, records: Upstream, *, partial: bool, other_revisions: bool
) -> Extent:
    """Return the portion of a release that a file contains.

    Files of a full build are complete, because ``differences`` has already compared their rows and checksums.
    """
    if facts.agrees in ("checksum", "rows"):
        return "whole"
    if other_revisions and _other_checksum(facts, records) is not None:
        return "other"
    if not partial or facts.agrees or facts.rows == facts.recorded_rows:
        return "part" if file.partial else "whole"
    return "part" if facts.recorded_rows is None or facts.rows < facts.recorded_rows else "other"


def find_deviations(
    spec: TaskSpec,
    measured: Mapping[str, MeasuredDomain],
    extents: Mapping[FileSpec, Extent],
    paths: Mapping[FileSpec, Path],
    records: Upstream,
) -> list[Problem]:
    """List splits that deviate from their records, and splits that overlap too much.

    Args:
        extents: the portion of its release that each file contains. If it is only a part, only
            properties that hold for every part of a release are compared.
    """
    problems: list[Problem] = []
    for name, domain in measured.items():
        for split, files in domain.splits.items():
            for file, found in files.items():
                recorded = records.fingerprint(f"{spec.id}.{name}", split, file.path)
                if recorded is not None and extents[file] != "other":
                    deviation = _deviation(found, recorded, whole=extents[file] == "whole")
                    if deviation is not None:
                        problems.append(_problem(spec, name, split, [file], paths, *deviation))
        problems += _overlap_problems(spec, name, domain, extents, paths)
    return problems + list(_equal_splits(spec, measured, paths))


def _deviation(found: Fingerprint, recorded: Fingerprint, *, whole: bool) -> tuple[str, str] | None:
    """Return the first deviation (kind and description), or None. If not ``whole``, rows may be missing."""
    if found.rows != recorded.rows if whole else found.rows > recorded.rows:
        return "rows", f"{found.rows:,} rows, recorded {recorded.rows:,}"
    labels = {
        label: (found.labels.get(label, 0), recorded.labels.get(label, 0)) for label in found.labels | recorded.labels
    }
    if different := {label: n for label, n in labels.items() if (n[0] != n[1] if whole else n[0] > n[1])}:
        return "labels", ", ".join(f"{label} {n[0]:,} (recorded {n[1]:,})" for label, n in sorted(different.items()))
    # Even in a part, every row whose hash is below the largest recorded one must be among the recorded ones.
    # With fewer than N_HASHES recorded, these are all rows: "g" sorts after every hex digit.
    last = recorded.hashes[-1] if len(recorded.hashes) == N_HASHES else "g"
    strange = {row for row in found.hashes if row <= last} - {*recorded.hashes}
    if strange or (whole and (found.hashes, found.total) != (recorded.hashes, recorded.total)):
        compared = f"{len(strange)} of {plural(len(found.hashes), 'row')} compared are unexpected"
        return (
            "hashes",
            compared if strange else "the ten rows compared agree, but the checksum of all rows does not",
        )
    if whole and found.groups != recorded.groups:
        return "groups", "inputs and gold of all rows agree with the record"
    return None


def _overlap_problems(
    spec: TaskSpec,
    name: str,
    domain: MeasuredDomain,
    extents: Mapping[FileSpec, Extent],
    paths: Mapping[FileSpec, Path],
) -> Iterator[Problem]:
    """List pairs of a domain's splits whose overlap deviates from the record, or exceeds half of the rows."""
    for overlap in domain.overlaps:
        files = [*domain.splits[overlap.split], *domain.splits[overlap.other]]
        found = f"{overlap.repeated:,} of {overlap.rows:,} rows of {overlap.split} in {overlap.other}"
        extent = domain.extent(overlap, extents)
        if overlap.recorded is not None and extent != "other":
            n_found, n_recorded = overlap.repeated, overlap.recorded
            if n_found != n_recorded if extent == "whole" else n_found > n_recorded:
                words = f"{found}, recorded {n_recorded:,}"
                yield _problem(spec, name, overlap.split, files, paths, "overlap", words)
        one, other = (merge_fingerprints(domain.splits[split].values()) for split in (overlap.split, overlap.other))
        if 2 * overlap.repeated > overlap.rows and one != other:
            yield _problem(spec, name, overlap.split, files, paths, "half", found)


def _equal_splits(
    spec: TaskSpec, measured: Mapping[str, MeasuredDomain], paths: Mapping[FileSpec, Path]
) -> Iterator[Problem]:
    """List pairs of splits with identical rows, within or across domains."""
    every = [(name, split, files) for name, domain in measured.items() for split, files in domain.splits.items()]
    merged = [merge_fingerprints(files.values()) for _, _, files in every]
    for (one, first), (other, second) in combinations(zip(every, merged, strict=True), 2):
        if first == second and first.rows:
            found = f"{plural(first.rows, 'row')} of {other[0]}, split {other[1]}, in {one[0]}, split {one[1]}"
            yield _problem(spec, one[0], one[1], [*one[2], *other[2]], paths, "equal", found)


def _problem(
    spec: TaskSpec,
    domain: str,
    split: str,
    files: Iterable[FileSpec],
    paths: Mapping[FileSpec, Path],
    kind: str,
    found: str,
) -> Problem:
    files = list(files)
    sources = list(dict.fromkeys(file.source for file in files))
    revisions = " and ".join(f"revision {source.revision} of {source.url}" for source in sources)
    cure = f"fetch {revisions}; if you already have that revision, this is a bug: please report it"
    if kind in _LIKELY_MIXED:
        cure = f"one file may be stored under the name of another: {cure}"
    place = f"{spec.id}.{domain}, split {split} (source {', '.join(source.slug for source in sources)})"
    where = ", ".join(dict.fromkeys(str(paths[file]) for file in files))
    return Problem(f"{place}: {_MESSAGES[kind]}", where, found, cure)
