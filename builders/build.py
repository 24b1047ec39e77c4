"""Building a benchmark from its upstream files: find, check against what is recorded, assemble, write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from builders import dr
from builders.assemble import AssembledTask, Splits, assemble, full_sizes
from builders.encoder import Encoder
from builders.manifest import Manifest, SourceFacts, SourceFile, TransformCount, file_sha256
from builders.specs import DomainSpec, SourceSpec, TaskSpec, upstream
from builders.writer import check_out, write_folder
from validation.report import InvalidInput, Problem, did_you_mean

BENCHMARKS: Mapping[str, tuple[str, tuple[TaskSpec, ...]]] = {"dr": (dr.TITLE, dr.TASKS)}
"""Benchmarks that are built from upstream files."""
OTHERS = ("synthetic", "own")
"""Benchmarks that have modules of their own."""


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
) -> Manifest:
    """Build a benchmark, or one task of it, into a dataset folder.

    Args:
        benchmark: ``dr``.
        task_name: one task; None builds all.
        raw: folder that holds the upstream files at ``RAW/<slug>/``, or one such slug folder itself.
        out: the dataset folder to write.
        seed: decides which groups become validation and which rows fill a size.
        partial: build what there is when files are missing or short.
        overwrite: replace a dataset that is already at ``out``.
        encoder: computes the depth tables; None leaves them out.
    Returns: the manifest of what was written.
    Raises: InvalidInput naming every file that is missing, short or altered; nothing is written then.
    """
    title, specs = _with_files(benchmark)
    if task_name is not None:
        names = [spec.name for spec in specs]
        specs = (specs[names.index(_known(task_name, names, f"task of {benchmark}"))],)
    check_out(out, overwrite=overwrite)
    if not raw.is_dir():
        raise InvalidInput(
            Problem("there is no such folder of upstream files", str(raw), cure=specs[0].domains[0].source.instructions)
        )
    reading = Reading(raw)
    tasks = [_read_task(spec, reading, seed=seed, partial=partial) for spec in specs]
    return write_folder(
        out, tasks, reading.sources(), title=title, seed=seed, partial=partial, synthetic=False, encoder=encoder
    )


@dataclass
class Reading:
    """Upstream files as they are read: each once, with its checksum and the rows each domain took from it."""

    raw: Path
    frames: dict[tuple[Path, str], pl.DataFrame] = field(default_factory=dict)
    files: dict[Path, SourceFile] = field(default_factory=dict)
    owners: dict[Path, SourceSpec] = field(default_factory=dict)
    counts: dict[str, list[TransformCount]] = field(default_factory=dict)
    """What the transforms of each task did to row counts."""

    def find(self, places: Sequence[str]) -> tuple[str, Path] | None:
        """Find the first place that exists, under RAW or with RAW being the source's own folder."""
        for place in places:
            for path in (self.raw / place, self.raw / Path(place).name):
                if path.is_file():
                    return place, path
        return None

    def rows(self, task: str, domain: DomainSpec, split: str, place: str, path: Path) -> pl.DataFrame:
        """Read a file and apply a domain's transforms, counting rows before and after each."""
        key = (path, repr(vars(domain.read)) if hasattr(domain.read, "__dict__") else "")
        if key not in self.frames:
            self.frames[key] = domain.read(path)
        if path not in self.files:
            self.files[path] = SourceFile(path=place, sha256=file_sha256(path), rows={}, recorded_rows={})
            self.owners[path] = domain.source
        frame = self.frames[key]
        for transform in domain.transforms:
            before, frame = len(frame), transform.apply(frame)
            self.counts.setdefault(task, []).append(
                TransformCount(domain=domain.name, split=split, name=transform.name, before=before, after=len(frame))
            )
        return frame

    def sources(self) -> dict[str, SourceFacts]:
        """Give what the manifest says of each source."""
        found: dict[str, SourceFacts] = {}
        for path, owner in self.owners.items():
            facts = found.get(owner.slug) or SourceFacts(
                title=owner.title,
                url=owner.url,
                revision=owner.revision,
                licence=owner.licence,
                citation=owner.citation,
            )
            found[owner.slug] = facts.model_copy(update={"files": (*facts.files, self.files[path])})
        return found


def _read_task(spec: TaskSpec, reading: Reading, *, seed: int, partial: bool) -> AssembledTask:
    rows: dict[str, Splits] = {}
    problems: list[Problem] = []
    for domain in spec.domains:
        splits, wrong = _read_domain(spec, domain, reading)
        if not partial:
            problems += wrong
        if all(len(splits.get(split, ())) for split in domain.files):
            rows[domain.name] = splits
    if problems:
        raise InvalidInput(dict.fromkeys(problems))  # domains of one file share its checksum
    if not rows:
        cure = spec.domains[0].source.instructions
        raise InvalidInput(Problem(f"no domain of {spec.id} has its files here", str(reading.raw), cure=cure))
    sizes = None if partial else full_sizes(spec, upstream().rows)
    sources = {domain.name: (domain.source.slug,) for domain in spec.domains}
    return assemble(spec, rows, sources, seed=seed, sizes=sizes, counts=reading.counts[spec.id])


def _read_domain(spec: TaskSpec, domain: DomainSpec, reading: Reading) -> tuple[Splits, list[Problem]]:
    """Read a domain's splits, and list what misses a recorded row count or checksum."""
    splits: Splits = {}
    problems: list[Problem] = []
    name = f"{spec.id}.{domain.name}"
    for split, places in domain.files.items():
        found = reading.find(places)
        if found is None:
            what = f"no upstream file for {name}, split {split}"
            problems.append(Problem(what, str(reading.raw / places[0]), "no such file", domain.source.instructions))
            continue
        place, path = found
        splits[split] = reading.rows(spec.id, domain, split, place, path)
        recorded = upstream().rows[name][split]
        file = reading.files[path]
        file.rows[f"{name}/{split}"] = len(splits[split])
        file.recorded_rows[f"{name}/{split}"] = recorded
        cure = "fetch the whole file, or give --partial to build what there is"
        if len(splits[split]) != recorded:
            what = f"the row count of {name}, split {split}, differs from the recorded one"
            problems.append(Problem(what, str(path), f"{len(splits[split]):,} rows, recorded {recorded:,}", cure))
        expected = upstream().sha256.get(place)
        if expected is not None and file.sha256 != expected:
            problems.append(
                Problem(
                    "the checksum differs from the recorded one", str(path), f"{file.sha256}, recorded {expected}", cure
                )
            )
    return splits, problems


def _with_files(benchmark: str) -> tuple[str, tuple[TaskSpec, ...]]:
    if known_benchmark(benchmark) in OTHERS:
        what, cure = "this benchmark is not built from upstream files", f"those that are: {', '.join(BENCHMARKS)}"
        raise InvalidInput(Problem(what, "command line", f"'{benchmark}'", cure))
    return BENCHMARKS[benchmark]


def _known(name: str, names: Sequence[str], what: str) -> str:
    if name not in names:
        raise InvalidInput(Problem(f"there is no such {what}", "command line", f"'{name}'", did_you_mean(name, names)))
    return name
