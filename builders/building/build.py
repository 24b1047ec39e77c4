"""Building a benchmark from its upstream files: find, read, compare with what is recorded, assemble, write."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import polars as pl

from builders import boss, df1, dr
from builders.assembling.assemble import AssembledTask, assemble
from builders.assembling.cut import Splits
from builders.assembling.placebo import placebo_task
from builders.cache import cache_folder
from builders.checksums import file_sha256
from builders.encoder import Encoder
from builders.folder.manifest import Manifest, SourceFacts, SourceFile, TransformCount
from builders.reading.intake import Consumer, FileRead, Sample, StepCount, Taken, in_file, read_file
from builders.specs.sources import SourceSpec
from builders.specs.spec import DomainSpec, Draw, FileFacts, FileSpec, TaskSpec, Upstream, upstream
from builders.specs.transforms import equal_inputs_leave, repeated_rows_leave
from builders.writing.withhold import label_key, secret_seed, told_by
from builders.writing.writer import check_out, write_folder
from validation.report import InvalidInput, Problem, did_you_mean

BENCHMARKS: Mapping[str, tuple[str, tuple[TaskSpec, ...]]] = {
    "dr": (dr.TITLE, dr.TASKS),
    "boss": (boss.TITLE, boss.TASKS),
    "df1": (df1.TITLE, df1.TASKS),
}
"""Benchmarks that are built from upstream files."""
OTHERS = ("synthetic", "own")
"""Benchmarks that have modules of their own."""
CANDIDATES = "candidates"
"""Names all tasks of data sets that a benchmark might have been made of."""
_PARTIAL = "fetch the whole file, or give --partial to build what there is"


class Built(NamedTuple):
    """What a build wrote, tasks that could not be built, with their problems, and tasks without any file.

    Only a partial build leaves out tasks for want of files without more ado.
    """

    manifest: Manifest
    failed: dict[str, tuple[Problem, ...]]
    without_files: tuple[str, ...]


class _NoFilesError(InvalidInput):
    """A partial build found no file of a task."""


def list_domains(benchmark: str | None = None) -> list[str]:
    """List every task domain that can be built from upstream files, as ``dr/nli.fiction``."""
    chosen = list(BENCHMARKS.values()) if benchmark is None else [_with_files(benchmark)]
    return [f"{task.id}.{domain.name}" for _, tasks in chosen for task in tasks for domain in task.domains]


def known_benchmark(name: str) -> str:
    """Give a benchmark's name back; InvalidInput names those there are when it is none."""
    return _known(name, [*BENCHMARKS, *OTHERS], "benchmark")


def build(
    benchmark: str,
    task_name: str | None,
    raw: Path,
    out: Path,
    *,
    seed: int = 0,
    partial: bool = False,
    overwrite: bool = False,
    encoder: Encoder | None = None,
    placebo: bool = True,
    record: Path | None = None,
    withhold_labels: bool = False,
) -> Built:
    """Build a benchmark, or one task of it, into a dataset folder.

    Args:
        benchmark: ``dr``, ``boss`` or ``df1``.
        task_name: one task (a pairing of ``df1`` also by its name in the paper), or ``candidates`` for all tasks of
            candidate data sets; None builds all of which the files are there.
        raw: folder that holds the upstream files at ``RAW/<slug>/``, or one such slug folder itself.
        out: the dataset folder to write.
        seed: decides which groups become test and validation, which rows fill a size, and the placebo deal.
        partial: build what there is when files are missing or short.
        overwrite: replace a dataset that is already at ``out``.
        encoder: computes the depth tables; None leaves them out.
        placebo: add to each task one of the same rows dealt to domains at random.
        record: a JSON file to write row counts and checksums of the files read to, in the form of ``upstream.json``.
        withhold_labels: write a folder without test labels and one with them; a task whose rows show what another
            withholds counts as one that could not be built.
    Returns: the manifest of what was written, and the tasks that could not be built.
    Raises: InvalidInput naming every file that is missing, short or altered where nothing could be built; nothing
        is written then.
    """
    title, specs = _with_files(benchmark)
    if task_name is not None:
        specs = _named(task_name, specs, benchmark)
    if withhold_labels and any(spec.pairing for spec in specs):
        cure = "leave --withhold-labels out"
        what = "pairings test on texts that others of them train on, so no labels can be withheld"
        raise InvalidInput(Problem(what, "command line", benchmark, cure))
    check_out(out, overwrite=overwrite, withhold=withhold_labels)
    if not raw.is_dir():
        cure = specs[0].domains[0].sources[0].instructions
        raise InvalidInput(Problem("there is no such folder of upstream files", str(raw), cure=cure))
    key = label_key(out) if withhold_labels else None
    draws = secret_seed(seed, key)
    reading = Reading(raw, draws)
    tasks: list[AssembledTask] = []
    failed: dict[str, tuple[Problem, ...]] = {}
    without_files: dict[str, tuple[Problem, ...]] = {}
    for spec in specs:
        if key is not None and (problems := told_by(spec, [task.spec for task in tasks])):
            failed[spec.name] = problems
            continue
        try:
            task = _read_task(spec, reading, partial=partial, withhold=withhold_labels)
        # One gated or vanished source must not keep the other tasks from being built; the caller tells of it.
        except _NoFilesError as error:
            without_files[spec.name] = tuple(error.problems)
            continue
        except InvalidInput as error:
            failed[spec.name] = tuple(error.problems)
            continue
        deal = placebo and not (spec.variant_of or spec.candidates_for or spec.pairing)
        dealt = placebo_task(task, draws, balanced=not withhold_labels) if deal else None
        tasks += [task] if dealt is None else [task, dealt]
    if not tasks:
        reasons = failed or without_files
        raise InvalidInput(dict.fromkeys(problem for problems in reasons.values() for problem in problems))
    manifest = write_folder(
        out,
        tasks,
        reading.sources(),
        title=title,
        seed=seed,
        partial=partial,
        synthetic=False,
        encoder=encoder,
        label_key=key,
    )
    if record is not None:
        record.write_text(reading.recorded().model_dump_json(indent=2) + "\n", encoding="utf-8")
    return Built(manifest, failed, tuple(without_files))


@dataclass
class Reading:
    """Upstream files as they are read, with what was found in each."""

    raw: Path
    seed: int
    files: dict[str, tuple[SourceSpec, SourceFile]] = field(default_factory=dict)
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    """Rows after the named steps, by ``<task id>.<domain>`` and split."""

    def find(self, place: str) -> Path | None:
        """Find a file under RAW (or RAW being the source's own folder), as it is, gzipped or zipped."""
        slug, _, inside = place.partition("/")
        own_folder = [self.raw / inside] if self.raw.resolve().name == slug else []
        for path in (self.raw / place, *own_folder):
            for form in (path, path.with_name(path.name + ".gz"), path.with_suffix(".zip")):
                if form.is_file():
                    return form
        return None

    def read(self, spec: TaskSpec, file: FileSpec, path: Path, takers: Sequence[tuple[DomainSpec, str]]) -> FileRead:
        """Read a file once for all the domains and splits that take rows from it."""
        consumers = [
            Consumer(f"{domain.name}/{split}", domain.transforms, self._sample(spec, domain, split))
            for domain, split in takers
        ]
        found = read_file(path, file.read, consumers, cache=cache_folder())
        recorded = upstream().files.get(file.path, FileFacts())
        place = str(Path(file.path).with_name(path.name))
        facts = SourceFile(path=place, sha256=found.sha256, rows=found.n_rows, recorded_rows=recorded.rows)
        self.files[file.path] = file.source, facts
        for name in file.beside:
            place = str(Path(file.path).with_name(name))
            self.files[place] = file.source, _facts_beside(path.with_name(name), place)
        return found

    def _sample(self, spec: TaskSpec, domain: DomainSpec, split: str) -> Sample | None:
        """Say what part of a file's rows a domain's split takes; None for all."""
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
        """Give what the manifest says of each source."""
        owners = dict.fromkeys(owner for owner, _ in self.files.values())
        return {
            owner.slug: SourceFacts(
                title=owner.title,
                url=owner.url,
                revision=owner.revision,
                licence=owner.licence,
                open_licence=owner.open_licence,
                citation=owner.citation,
                files=tuple(file for of, file in self.files.values() if of == owner),
            )
            for owner in owners
        }

    def recorded(self) -> Upstream:
        """Give the facts to record: rows by the file's place in the spec, the checksum by its own name."""
        facts: dict[str, FileFacts] = {}
        for place, (_, file) in self.files.items():
            facts[place] = FileFacts(rows=file.rows)
            facts[file.path] = facts.get(file.path, FileFacts()).model_copy(update={"sha256": file.sha256})
        return Upstream(files=facts, rows=self.rows)


def _facts_beside(path: Path, place: str) -> SourceFile:
    """Hash what a reader read beside its file: a file, or all files of a folder, each of them with its name."""
    if path.is_file():
        rows = path.read_bytes().count(b"\n")
        return SourceFile(path=place, sha256=file_sha256(path), rows=rows, recorded_rows=None)
    files = sorted(file for file in path.iterdir() if file.is_file())
    listed = "".join(f"{file_sha256(file)}  {file.name}\n" for file in files)
    digest = hashlib.sha256(listed.encode()).hexdigest()
    return SourceFile(path=place, sha256=digest, rows=len(files), recorded_rows=None)


def _read_task(spec: TaskSpec, reading: Reading, *, partial: bool, withhold: bool) -> AssembledTask:
    takers: dict[FileSpec, list[tuple[DomainSpec, str]]] = {}
    for domain in spec.domains:
        for split, files in domain.files.items():
            for file in files:
                takers.setdefault(file, []).append((domain, split))
    found = {file: path for file in takers if (partial or not file.partial) and (path := reading.find(file.path))}
    if not partial:
        _raise(_absent(spec, [file for file in takers if not file.partial and file not in found], reading.raw))
    if not found:
        raise _NoFilesError(_absent(spec, list(takers), reading.raw))
    rows: dict[str, dict[str, list[pl.DataFrame]]] = {}
    counts: dict[tuple[str, str, str], TransformCount] = {}
    for file, path in found.items():
        read = reading.read(spec, file, path, takers[file])
        for domain, split in takers[file]:
            taken = read.results[f"{domain.name}/{split}"]
            labelled = reading.rows.setdefault(f"{spec.id}.{domain.name}", {})
            labelled[split] = labelled.get(split, 0) + _n_labelled(taken)
            if domain.draw is not None and split in domain.draw.splits:
                taken = _after_draw(taken, domain.draw, path)
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
        domain.name: {split: pl.concat(frames) for split, frames in rows[domain.name].items()}
        for domain in spec.domains
        if domain.name in rows
    }
    if not partial:
        _raise(_differences(spec, reading, found))
    tally = list(counts.values())
    if spec.as_upstream:
        # Test labels that are withheld must not tell which copies leave (see builders.writing.withhold).
        alike = [*spec.inputs, "group"] if withhold else None
        tally += _drop_copies(domains, [(file, takers[file]) for file in found], alike, f"{reading.seed}/{spec.id}")
    # A domain of a square grid needs both splits; where one data set is trained on, others serve with what they have.
    enough = any if spec.as_upstream else all
    domains = {
        domain.name: domains[domain.name]
        for domain in spec.domains
        if enough(len(domains.get(domain.name, {}).get(split, ())) for split in domain.files if split != "validation")
    }
    if not domains:
        what = f"no domain of {spec.id} has rows of {'train or' if spec.as_upstream else 'both train and'} test"
        raise InvalidInput(Problem(what, str(reading.raw), cure="fetch more of the upstream files"))
    sources = {domain.name: tuple(source.slug for source in domain.sources) for domain in spec.domains}
    equal = not partial
    return assemble(spec, domains, sources, seed=reading.seed, equal=equal, counts=tally, withhold=withhold)


def _drop_copies(
    domains: Mapping[str, Splits],
    read: Iterable[tuple[FileSpec, Sequence[tuple[DomainSpec, str]]]],
    alike: Sequence[str] | None,
    key: str,
) -> Iterator[TransformCount]:
    """Drop the rows that files have in common which hold one release in part; where rows are kept, none else would.

    Copies are alike in these columns, None: in all.
    """
    files: dict[tuple[str, str], list[FileSpec]] = {}
    for file, takers in read:
        for domain, split in takers:
            files.setdefault((domain.name, split), []).append(file)
    for (name, split), of_split in files.items():
        if len(of_split) > 1 and any(file.partial for file in of_split):
            before = domains[name][split]
            after = equal_inputs_leave(before, alike, key) if alike else repeated_rows_leave(before)
            domains[name][split] = after
            yield TransformCount(domain=name, split=split, name="copies_leave", before=len(before), after=len(after))


def _after_draw(taken: Taken, draw: Draw, path: Path) -> Taken:
    """Let the rows drawn from a file through the steps that follow."""
    rows, counts = taken.rows, list(taken.counts)
    for step in draw.after:
        before, changed = len(rows), step.n_changed(rows)
        try:
            rows = step.apply(rows)
        except InvalidInput as refused:
            raise in_file(refused, path, None) from refused
        counts.append(StepCount(step.name, before, len(rows), changed))
    return Taken(rows, tuple(counts))


def _n_labelled(taken: Taken) -> int:
    """Rows that the named steps left, before any sampling."""
    return next(step.after for step in reversed(taken.counts) if step.name not in ("sample", "repeats_noticed_leave"))


def _absent(spec: TaskSpec, files: Sequence[FileSpec], raw: Path) -> list[Problem]:
    """Name the files that are missing, source by source, with the way to get them."""
    sources = dict.fromkeys(file.source for file in files)
    return [
        Problem(
            f"upstream files of {spec.id} are missing",
            str(raw),
            "no " + ", ".join(dict.fromkeys(file.path for file in files if file.source == source and not file.partial)),
            f"{source.instructions}; or give --partial to build what there is",
        )
        for source in sources
    ]


def _differences(spec: TaskSpec, reading: Reading, paths: Mapping[FileSpec, Path]) -> list[Problem]:
    """List what misses a recorded row count or checksum."""
    problems = []
    for file, path in paths.items():
        facts, recorded = reading.files[file.path][1], upstream().files.get(file.path, FileFacts())
        if recorded.rows is not None and facts.rows != recorded.rows:
            found = f"{facts.rows:,} rows, recorded {recorded.rows:,}"
            problems.append(Problem("the row count differs from the recorded one", str(path), found, _PARTIAL))
        checksum = upstream().files.get(facts.path, FileFacts()).sha256
        if checksum is not None and facts.sha256 != checksum:
            found = f"{facts.sha256}, recorded {checksum}"
            problems.append(Problem("the checksum differs from the recorded one", str(path), found, _PARTIAL))
    for domain in spec.domains:
        name = f"{spec.id}.{domain.name}"
        for split, n_recorded in upstream().rows.get(name, {}).items():
            n_rows = reading.rows[name][split]
            if n_rows != n_recorded:
                what = f"the row count of {name}, split {split}, differs from the recorded one"
                where = str(paths[domain.files[split][0]])
                problems.append(Problem(what, where, f"{n_rows:,} rows, recorded {n_recorded:,}", _PARTIAL))
    return problems


def _raise(problems: Sequence[Problem]) -> None:
    if problems:
        raise InvalidInput(problems)


def _with_files(benchmark: str) -> tuple[str, tuple[TaskSpec, ...]]:
    if known_benchmark(benchmark) in OTHERS:
        what, cure = "this benchmark is not built from upstream files", f"those that are: {', '.join(BENCHMARKS)}"
        raise InvalidInput(Problem(what, "command line", f"'{benchmark}'", cure))
    return BENCHMARKS[benchmark]


def _named(name: str, specs: tuple[TaskSpec, ...], benchmark: str) -> tuple[TaskSpec, ...]:
    """Give the task of a name, or of the name that a pairing has in the paper, or all tasks of candidates."""
    name = {spec.pairing.name: spec.name for spec in specs if spec.pairing}.get(name, name)
    candidates = tuple(spec for spec in specs if spec.candidates_for is not None)
    names = [*(spec.name for spec in specs), *([CANDIDATES] if candidates else [])]
    known = _known(name, names, f"task of {benchmark}")
    return candidates if known == CANDIDATES else (specs[names.index(known)],)


def _known(name: str, names: Sequence[str], what: str) -> str:
    if name not in names:
        raise InvalidInput(Problem(f"there is no such {what}", "command line", f"'{name}'", did_you_mean(name, names)))
    return name
