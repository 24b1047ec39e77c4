"""Read tasks from upstream files; each file is read once for all domains and splits that use it."""

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from shiftbench.builders.assembling.assemble import AssembledTask, assemble
from shiftbench.builders.assembling.placebo import placebo_task
from shiftbench.builders.building.records import (
    differences,
    facts_beside,
    find_deviations,
    find_extent,
    measure_domains,
    upstream_rows,
    with_records,
)
from shiftbench.builders.cache import cache_folder, cache_key
from shiftbench.builders.fetching.records import hub_revision
from shiftbench.builders.folder.manifest import SourceFacts, SourceFile, SplitOverlap, TransformCount
from shiftbench.builders.reading.intake import Consumer, FileRead, Sample, StepCount, Taken, add_file_name, read_file
from shiftbench.builders.reading.places import check_form, find_file
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.builders.specs.spec import (
    DomainRecord,
    DomainSpec,
    Draw,
    FileFacts,
    FileSpec,
    Fingerprint,
    TaskSpec,
    Upstream,
)
from shiftbench.builders.specs.transforms import VOTES, drop_equal_inputs, drop_repeated_rows
from shiftbench.builders.stored_rows import Rows, concat_rows, in_memory
from shiftbench.builders.writing.withhold import label_leaks
from shiftbench.validation.report import InvalidInput, Problem, plural


@dataclass
class Reading:
    """State of reading upstream files, with the facts found in each."""

    raws: tuple[Path, ...]
    seed: int
    store: Path
    """A folder for rows that do not fit in memory."""
    records: Upstream
    """The records of upstream files."""
    other_revisions: bool = False
    files: dict[tuple[FileSpec, str], SourceFile] = field(default_factory=dict)
    """Facts of the files read, by file spec and path: the file's own path and those of its companion files."""
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    """Rows after the named steps, by ``<task id>.<domain>`` and split."""
    domains: dict[str, DomainRecord | None] = field(default_factory=dict)
    """Fingerprints of the upstream splits, by ``<task id>.<domain>``."""
    malformed: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    """Problems of files that a partial build skipped, by ``<task>.<domain>``."""

    @property
    def place(self) -> str:
        """Return the folders of upstream files as one text, for problems."""
        return ", ".join(map(str, self.raws))

    def find(self, place: str) -> Path | None:
        """Find a file under the folders of upstream files; see ``find_file``."""
        return find_file(self.raws, place)

    def read(self, spec: TaskSpec, file: FileSpec, path: Path, takers: Sequence[tuple[DomainSpec, str]]) -> FileRead:
        """Read a file once for all the domains and splits that take rows from it."""
        consumers = [
            Consumer(f"{domain.name}/{split}", domain.transforms, self._sample(spec, domain, split), spec.kind)
            for domain, split in takers
        ]
        for part in (path, *(path.with_name(name) for name in file.beside)):
            if part.is_file():
                check_form(part)
        store = self.store / "read" / _store_key(file) if spec.as_upstream else None
        file_read = read_file(path, file.read, consumers, cache=cache_folder(), store=store)
        place = str(Path(file.path).with_name(path.name))
        facts = SourceFile(path=place, sha256=file_read.sha256, rows=file_read.n_rows, recorded_rows=None)
        taken = {
            (f"{spec.id}.{domain.name}", split): file_read.results[f"{domain.name}/{split}"].fingerprint
            or Fingerprint()
            for domain, split in takers
        }
        rewritten = hub_revision(self.raws, file.source.slug, [file.path]) is not None
        facts = with_records(file.path, facts, self.records, partial=file.partial, taken=taken, rewritten=rewritten)
        self.files[file, file.path] = facts.model_copy(update={"lacks": tuple(_lacks(file, facts, file_read))})
        for name in file.beside:
            place = str(Path(file.path).with_name(name))
            beside = facts_beside(path.with_name(name), place)
            self.files[file, place] = with_records(place, beside, self.records, partial=file.partial)
        return file_read

    def _sample(self, spec: TaskSpec, domain: DomainSpec, split: str) -> Sample | None:
        """Return how a file's rows are sampled for a domain's split; None to use all rows."""
        key = f"{self.seed}/{spec.id}"
        if domain.draw is not None and split in domain.draw.splits:
            return Sample(
                domain.draw.stratum, domain.draw.size, domain.draw.identity or spec.inputs, f"{key}/{domain.name}"
            )
        if spec.sample is None:
            return None
        by_stratum = spec.balance is not None and isinstance(spec.balance.shares, Mapping)
        stratum = spec.balance.stratum if spec.balance is not None and by_stratum else pl.lit(0)
        return Sample(stratum, spec.sample, spec.inputs, key)

    def sources(self) -> dict[str, SourceFacts]:
        """Return the manifest entry of each source."""
        places = [place for _, place in self.files]
        by_owner: dict[SourceSpec, dict[tuple[str, int], SourceFile]] = {}
        for (spec, _), file in self.files.items():
            by_owner.setdefault(spec.source, {})[file.path, file.rows] = file
        return {
            owner.slug: SourceFacts(
                title=owner.title,
                url=owner.url,
                revision=hub_revision(self.raws, owner.slug, places) or owner.revision,
                licence=owner.licence,
                open_licence=owner.open_licence,
                citation=owner.citation,
                spdx=owner.spdx,
                licence_url=owner.licence_url,
                harm=owner.harm,
                personal_data=owner.personal_data,
                annotators=owner.annotators,
                files=tuple(files.values()),
            )
            for owner, files in by_owner.items()
        }

    def recorded(self, specs: Sequence[TaskSpec]) -> Upstream:
        """Return the facts to record: rows by the file's path in the spec, checksums by its actual path.

        Every domain of the tasks is included; those without a complete file have no fingerprints. If readers take
        different rows from one file, as from two folders of an archive, its number of rows is omitted.
        """
        counts: dict[str, set[int]] = {}
        for (_, place), file in self.files.items():
            counts.setdefault(place, set()).add(file.rows)
        facts = {place: FileFacts(rows=n_rows.pop() if len(n_rows) == 1 else None) for place, n_rows in counts.items()}
        for file in self.files.values():
            facts[file.path] = facts.get(file.path, FileFacts()).model_copy(update={"sha256": file.sha256})
        names = [f"{spec.id}.{domain.name}" for spec in specs for domain in spec.domains]
        return Upstream(files=facts, rows=self.rows, domains={name: self.domains.get(name) for name in names})


def _lacks(file: FileSpec, facts: SourceFile, read: FileRead) -> Iterator[str]:
    """List what this copy of the file lacks compared with the release, without effect on inputs or gold."""
    votes = [taken.rows[VOTES] for taken in read.results.values() if VOTES in taken.rows.schema and len(taken.rows)]
    if votes and all(given.null_count() == len(given) for given in votes):
        yield "annotators' votes"
    n_left_out = (facts.recorded_rows or 0) - facts.rows
    if facts.agrees in ("rows", "number of rows") and n_left_out > 0:
        yield f"{plural(n_left_out, 'row')} not used by any split"


def _store_key(file: FileSpec) -> str:
    """Return a folder name for the rows of a file and its reader: other readers may read other rows from it."""
    return cache_key({"file": repr(file)})[:16]


class _NoFilesError(InvalidInput):
    """A partial build found no file of a task."""


@dataclass
class ReadTasks:
    """The tasks read, and the problems of those that could not be read."""

    tasks: list[AssembledTask] = field(default_factory=list)
    failed: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    without_files: dict[str, tuple[Problem, ...]] = field(default_factory=dict)


def read_tasks(
    specs: Sequence[TaskSpec], reading: Reading, *, partial: bool, withhold: bool, placebo: bool, only: str | None
) -> ReadTasks:
    """Read tasks; a missing source does not prevent the other tasks from being built.

    Args:
        specs: the tasks, in reading order.
        reading: folders of upstream files and seed; facts of files and rows are added to it.
        partial: accept missing or malformed files, and build from the others.
        withhold: withhold test labels; a task that would reveal the withheld labels of an earlier task is not read.
        placebo: also build each task's placebo, the same rows assigned to domains at random.
        only: read only this domain of each task, and build no placebos; None reads all domains.
    Returns: the tasks that could be read, followed by their placebos, and the problems of the others by name.
    """
    read = ReadTasks()
    for spec in specs:
        if withhold and (problems := label_leaks(spec, [task.spec for task in read.tasks])):
            read.failed[spec.name] = problems
            continue
        try:
            task = _read_task(spec, reading, partial=partial, withhold=withhold, only=only)
        except _NoFilesError as error:
            read.without_files[spec.name] = tuple(error.problems)
            continue
        except InvalidInput as error:
            read.failed[spec.name] = tuple(error.problems)
            continue
        finally:
            shutil.rmtree(reading.store / "read", ignore_errors=True)  # finished rows are stored elsewhere
        read.tasks.append(task)
        if placebo and only is None and not (spec.variant_of or spec.candidates_for or spec.pairing):
            store = reading.store if spec.as_upstream else None
            task_placebo = placebo_task(task, reading.seed, balanced=not withhold, store=store)
            read.tasks += [task_placebo] if task_placebo is not None else []
    return read


def select_domain(spec: TaskSpec, only: str | None) -> TaskSpec:
    """Return a task with only one of its domains; the whole task if ``only`` is None."""
    return replace(spec, domains=tuple(domain for domain in spec.domains if only in (None, domain.name)))


def _read_task(
    spec: TaskSpec, reading: Reading, *, partial: bool, withhold: bool, only: str | None = None
) -> AssembledTask:
    whole = spec
    spec = select_domain(spec, only)
    takers: dict[FileSpec, list[tuple[DomainSpec, str]]] = {}
    for domain in spec.domains:
        for split, files in domain.files.items():
            for file in files:
                takers.setdefault(file, []).append((domain, split))
    paths = _find_task_files(spec, reading, takers, partial=partial)
    found_in: dict[FileSpec, FileRead] = {}
    rows: dict[str, dict[str, list[Rows]]] = {}
    counts: dict[tuple[str, str, str], TransformCount] = {}
    for file, path in paths.items():
        with _leave_out_malformed(partial, spec, reading, takers[file]):
            found_in[file] = reading.read(spec, file, path, takers[file])
    for file, read in found_in.items():
        for domain, split in takers[file]:
            taken = read.results[f"{domain.name}/{split}"]
            labelled = reading.rows.setdefault(f"{spec.id}.{domain.name}", {})
            labelled[split] = labelled.get(split, 0) + _n_labelled(taken)
            if domain.draw is not None and split in domain.draw.splits:
                taken = _after_draw(taken, domain.draw, paths[file])
            rows.setdefault(domain.name, {}).setdefault(split, []).append(taken.rows)
            for step in taken.counts:
                key = (domain.name, split, step.name)
                so_far = counts.get(key) or TransformCount(
                    domain=domain.name, split=split, name=step.name, before=0, after=0
                )
                counts[key] = so_far.model_copy(
                    update={
                        "before": so_far.before + step.before,
                        "after": so_far.after + step.after,
                        "changed": so_far.changed + step.changed,
                    }
                )
    domains = {
        domain.name: {split: concat_rows(parts) for split, parts in rows[domain.name].items()}
        for domain in spec.domains
        if domain.name in rows
    }
    if not partial:
        others = reading.other_revisions
        raise_if_any(differences(spec, reading.files, reading.rows, paths, reading.records, other_revisions=others))
    tally = list(counts.values())
    if spec.as_upstream:
        # Withheld test labels must not affect which copies are dropped (see shiftbench.builders.writing.withhold).
        alike = [*spec.inputs, "group"] if withhold else None
        tally += _drop_copies(domains, [(file, takers[file]) for file in paths], alike, f"{reading.seed}/{spec.id}")
    overlaps = _check_splits(spec, reading, found_in, paths, domains, partial=partial)
    # Domains of a square grid need both splits; if only one data set is trained on, others need just one.
    enough = any if spec.as_upstream else all
    domains = {
        domain.name: domains[domain.name]
        for domain in spec.domains
        if enough(len(domains.get(domain.name, {}).get(split, ())) for split in domain.files if split != "validation")
    }
    _refuse_without_rows(spec, reading, domains, tally, partial=partial)
    sources = {domain.name: tuple(source.slug for source in domain.sources) for domain in spec.domains}
    store = reading.store if spec.as_upstream else None
    equal = spec.equal_sizes and not partial and only is None
    try:
        task = assemble(
            whole, domains, sources, seed=reading.seed, equal=equal, counts=tally, withhold=withhold, store=store
        )
    except InvalidInput:
        _raise_malformed(spec, reading)
        raise
    task.upstream = upstream_rows(spec, {file: read.n_rows for file, read in found_in.items()}, reading.records)
    task.overlaps = overlaps
    return task


def _refuse_without_rows(
    spec: TaskSpec,
    reading: Reading,
    domains: Collection[str],
    tally: Sequence[TransformCount],
    *,
    partial: bool,
) -> None:
    """Raise InvalidInput if no domain has rows or, with all files present, if any domain has none."""
    if not domains:
        _raise_malformed(spec, reading)
        what = f"no domain of {spec.id} has rows of {'train or' if spec.as_upstream else 'both train and'} test"
        raise InvalidInput(Problem(what, reading.place, cure="fetch more upstream files"))
    if not partial:
        raise_if_any([_no_rows(spec, domain, tally) for domain in spec.domains if domain.name not in domains])


def _no_rows(spec: TaskSpec, domain: DomainSpec, tally: Sequence[TransformCount]) -> Problem:
    """Describe a domain without rows in a split: its files are empty, or a step dropped all rows."""
    dropped = [count for count in tally if count.domain == domain.name and count.before and not count.after]
    found = ", ".join(f"{each.name} keeps 0 of {each.before:,} rows of {each.split}" for each in dropped)
    cure = "check its name, columns and values, or give --partial to build without it"
    places = dict.fromkeys(file.path for files in domain.files.values() for file in files)
    what = f"domain {domain.name} of {spec.id} has no rows to train and test with"
    return Problem(what, ", ".join(places), found or "files without rows", cure)


def _check_splits(
    spec: TaskSpec,
    reading: Reading,
    found_in: Mapping[FileSpec, FileRead],
    paths: Mapping[FileSpec, Path],
    rows: Mapping[str, Mapping[str, Rows]],
    *,
    partial: bool,
) -> dict[str, tuple[SplitOverlap, ...]]:
    """Raise InvalidInput if upstream splits deviate from records or overlap too much; return the overlaps."""
    extents = {
        file: find_extent(
            file,
            reading.files[file, file.path],
            reading.records,
            partial=partial,
            other_revisions=reading.other_revisions,
        )
        for file in found_in
    }
    measured = measure_domains(spec, found_in, rows, reading.records)
    reading.domains |= {f"{spec.id}.{name}": domain.record(extents) for name, domain in measured.items()}
    raise_if_any(find_deviations(spec, measured, extents, paths, reading.records))
    return {name: domain.overlaps for name, domain in measured.items()}


def _drop_copies(
    domains: Mapping[str, dict[str, Rows]],
    read: Iterable[tuple[FileSpec, Sequence[tuple[DomainSpec, str]]]],
    alike: Sequence[str] | None,
    key: str,
) -> Iterator[TransformCount]:
    """Drop rows repeated across files that each contain part of one release.

    Copies are rows equal in the columns ``alike``; None: in all columns.
    """
    files: dict[tuple[str, str], list[FileSpec]] = {}
    for file, takers in read:
        for domain, split in takers:
            files.setdefault((domain.name, split), []).append(file)
    for (name, split), of_split in files.items():
        if len(of_split) > 1 and any(file.partial for file in of_split):
            before = in_memory(domains[name][split])
            after = drop_equal_inputs(before, alike, key) if alike else drop_repeated_rows(before)
            domains[name][split] = after
            yield TransformCount(domain=name, split=split, name="copies_leave", before=len(before), after=len(after))


def _after_draw(taken: Taken, draw: Draw, path: Path) -> Taken:
    """Apply ``draw.after``, the steps that follow sampling, to the rows sampled from a file."""
    rows, counts = in_memory(taken.rows), list(taken.counts)
    for step in draw.after:
        before, changed = len(rows), step.n_changed(rows)
        try:
            rows = step.apply(rows)
        except InvalidInput as refused:
            raise add_file_name(refused, path, None) from refused
        counts.append(StepCount(step.name, before, len(rows), changed))
    return Taken(rows, tuple(counts), taken.fingerprint)


def _n_labelled(taken: Taken) -> int:
    """Count the rows that the named steps left, before any sampling."""
    return next(step.after for step in reversed(taken.counts) if step.name not in ("sample", "repeats_noticed_leave"))


def _find_task_files(
    spec: TaskSpec, reading: Reading, takers: Mapping[FileSpec, Sequence[tuple[DomainSpec, str]]], *, partial: bool
) -> dict[FileSpec, Path]:
    """Find the files of a task; a partial build skips files with the wrong content, such as a web page.

    Raises: InvalidInput listing missing files; in a partial build only if all are missing.
    """
    paths = {}
    for file in takers:
        with _leave_out_malformed(partial, spec, reading, takers[file]):
            path = reading.find(file.path) if partial or not file.partial else None
            if path is not None:
                paths[file] = path
    if not partial:
        there = any(file in paths or (file.partial and reading.find(file.path)) for file in takers)
        missing = [file for file in takers if not file.partial and file not in paths]
        raise_if_any(_missing_file_problems(spec, missing, reading.place, partly=there))
    if not paths:
        _raise_malformed(spec, reading)
        raise _NoFilesError(_missing_file_problems(spec, list(takers), reading.place, partly=False))
    return paths


def _raise_malformed(spec: TaskSpec, reading: Reading) -> None:
    """Raise the problems of a task's malformed files, if none of its rows could be read."""
    names = [name for domain in spec.domains if (name := f"{spec.name}.{domain.name}") in reading.malformed]
    raise_if_any(list(dict.fromkeys(problem for name in names for problem in reading.malformed.pop(name))))


@contextmanager
def _leave_out_malformed(
    partial: bool, spec: TaskSpec, reading: Reading, takers: Sequence[tuple[DomainSpec, str]]
) -> Iterator[None]:
    """Record a malformed file, skipped in a partial build, for each domain that lacks its rows."""
    try:
        yield
    except InvalidInput as error:
        if not partial:
            raise
        for name in dict.fromkeys(f"{spec.name}.{domain.name}" for domain, _ in takers):
            reading.malformed[name] = (*reading.malformed.get(name, ()), *error.problems)


def _missing_file_problems(spec: TaskSpec, files: Sequence[FileSpec], place: str, *, partly: bool) -> list[Problem]:
    """List the missing files by source, with instructions to get them.

    If other files of the task are present, a partial build is suggested first.
    """
    sources = dict.fromkeys(file.source for file in files)
    return [
        Problem(
            f"upstream files of {spec.id} are missing",
            place,
            "no " + ", ".join(dict.fromkeys(file.path for file in files if file.source == source and not file.partial)),
            f"give --partial to build from the available files, or {describe_ways(source)}"
            if partly
            else f"{describe_ways(source)}; or give --partial to build from the available files",
        )
        for source in sources
    ]


def describe_ways(source: SourceSpec) -> str:
    """Return how to get a source's files, as part of a sentence."""
    return f"{'give --fetch to download them, or ' if source.downloads else ''}{source.instructions}"


def raise_if_any(problems: Sequence[Problem]) -> None:
    """Raise InvalidInput with all problems, if there are any."""
    if problems:
        raise InvalidInput(problems)
