"""What somebody who wants upstream files must know of each: is it there, how large, on what terms, what brings it."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, Literal, NamedTuple, get_args

from rich.console import RenderableType
from rich.table import Table

from shiftbench.builders.building.build import BENCHMARKS, choose_tasks
from shiftbench.builders.building.check import CheckedFile, check_files
from shiftbench.builders.building.spec_tasks import OwnBenchmark
from shiftbench.builders.fetching.fetch import ALL, find_form
from shiftbench.builders.fetching.records import accepts_terms
from shiftbench.builders.specs.sources import Download, SourceSpec
from shiftbench.builders.specs.spec import RecordKind, TaskSpec, upstream
from shiftbench.validation.report import counted, format_size

Way = Literal["automatic", "terms", "by hand"]
"""``data fetch`` brings it; it does once terms are accepted; a person must ask, sign or click."""

WAYS = get_args(Way)
_PRESENT = {"whole": "present and right", "there": "present and other", "unverified": "present, no record"}
_MOST_NAMED = 3
STATUSES = (*_PRESENT.values(), *(f"missing: {way}" for way in WAYS))


class Readers(NamedTuple):
    """The source of a file, whether it holds the release in part alone, and the ids of the tasks that read it.

    ``main`` is the file beside which it is read, or itself.
    """

    source: SourceSpec
    partial: bool
    tasks: list[str]
    main: str


class Available(NamedTuple):
    """An upstream file: what was checked of it, and what brings it.

    Attributes:
        checked: the file beside its records.
        source: the release that it is of.
        partial: it holds rows of a release whose whole files are other ones; nobody needs it beside these.
        benchmarks: those that read it.
        way: how it is had.
        download: what brings it; None where nothing does by itself.
        brings: the command or the address that brings it.
        record: what its record is from.
    """

    checked: CheckedFile
    source: SourceSpec
    partial: bool
    benchmarks: tuple[str, ...]
    way: Way
    download: Download | None
    brings: str
    record: RecordKind

    @property
    def status(self) -> str:
        """Return whether it is there, and right, or how it is had."""
        return _PRESENT.get(self.checked.state) or f"missing: {self.way}"

    @property
    def is_missing(self) -> bool:
        """Return whether it is not there."""
        return self.checked.state not in _PRESENT

    @property
    def is_sound(self) -> bool:
        """Return whether it is there and no record contradicts it."""
        return self.checked.state in ("whole", "unverified")

    @property
    def size(self) -> int | None:
        """Return its bytes; of a missing file those that are recorded, None where none are or an archive holds it."""
        if self.is_missing:
            return self.download.size if self.download is not None and self.download.place is not None else None
        return self.checked.size

    @property
    def as_json(self) -> dict[str, Any]:
        """Return it for a program; ``state`` is the word of the former version for ``status``."""
        facts = {"status": self.status, "size": self.size, "licence": licence_word(self.source), "way": self.way}
        of = {"source": self.source.slug, "benchmarks": self.benchmarks, "brings": self.brings, "record": self.record}
        return self.checked._asdict() | facts | of


def available_files(benchmark: str | OwnBenchmark | None, task: str | None, raws: Sequence[Path]) -> list[Available]:
    """Check every file that tasks read, and find what brings it.

    Args:
        benchmark: one benchmark, or one that a spec describes; None checks those of all.
        task: one of its tasks, as for ``build``; None checks all.
        raws: folders of upstream files, searched in order.
    Returns: a row for each file, in the order of the specs.
    """
    specs = choose_tasks(benchmark, task)
    readers = find_readers(specs)
    found = []
    own = benchmark if isinstance(benchmark, OwnBenchmark) else None
    raws = own.folders(raws) if own else raws
    records = own.records() if own else upstream()
    for checked in check_files(specs, raws, records):
        source, partial, tasks, _ = readers[checked.path]
        download = next((each for each in source.downloads if find_form(each, checked.path)), None)
        way: Way = "by hand" if download is None else "terms" if source.terms else "automatic"
        benchmarks = tuple(dict.fromkeys(name.partition("/")[0] for name in tasks))
        of = [] if accepts_terms(raws, source) else [source.slug]
        brings = source.url if download is None else fetch_command(tasks[0], raws, of, own)
        record = records.record_kind(readers[checked.path].main)
        found.append(Available(checked, source, partial, benchmarks, way, download, brings, record))
    return found


def fetch_command(
    task: str | None, raws: Sequence[Path], accept: Sequence[str] = (), own: OwnBenchmark | None = None
) -> str:
    """Return the command that fetches what a task lacks.

    Args:
        task: a benchmark, or a task as ``dr/nli``; None for those of all benchmarks.
        raws: folders of upstream files.
        accept: sources whose terms it accepts.
        own: the benchmark that a spec describes, of which all is fetched.
    """
    what = ["data", "fetch", *(task.split("/") if task else ())]
    if own:
        what = ["build", "own", "--spec", str(own.path), "--fetch"]
    return shlex.join(["shiftbench", *what, *_folders(raws), *terms_options(accept)])


def terms_options(slugs: Sequence[str]) -> list[str]:
    """Return the words that accept the terms of sources: each by its name or, of many, ``all``."""
    names = slugs if len(slugs) <= _MOST_NAMED else (ALL,)
    return [word for name in names for word in ("--accept-terms", name)]


def check_command(task: str, raws: Sequence[Path], own: OwnBenchmark | None = None) -> str:
    """Return the command that checks the files of a task, such as ``dr/nli``, or of all that a spec describes."""
    what = ["own", "--spec", str(own.path)] if own else task.split("/")
    return shlex.join(["shiftbench", "build", *what, "--check", *_folders(raws)])


def _folders(raws: Sequence[Path]) -> list[str]:
    return [word for raw in raws for word in ("--raw", str(raw))]


def licence_word(source: SourceSpec) -> str:
    """Return a source's licence in one word: its SPDX identifier, or what kind of terms there are."""
    if source.spdx or source.open_licence:
        return source.spdx or "open"
    words = {"none stated": "none", "research": "research", "unclear": "unclear", "conflicting": "unclear"}
    return next((word for words_of_it, word in words.items() if words_of_it in source.licence), "restricted")


def format_sizes(sizes: Iterable[int | None]) -> str:
    """Format the bytes of downloads together; those of unknown size are counted."""
    sizes = list(sizes)
    known, unknown = format_size(sum(filter(None, sizes))), sizes.count(None)
    if unknown == len(sizes):
        return "unmeasured" if unknown else ""
    return known + (f" and {unknown} unmeasured" if unknown else "")


def available_lines(files: Sequence[Available]) -> Iterator[RenderableType]:
    """List the files, a line each, below what brings those of a source, and then their sums by benchmark."""
    folders = {file.source.slug: _common_folder(files, file.source) for file in files}
    names = {file.checked.path: file.checked.path.removeprefix(folders[file.source.slug]) for file in files}
    longest = max((len(name) for name in names.values()), default=0)
    for slug, folder in folders.items():
        of_source = [file for file in files if file.source.slug == slug]
        for brings in dict.fromkeys(file.brings for file in of_source if not file.is_sound) or [""]:
            yield f"{folder or slug}  {brings}".rstrip()
        for file in of_source:
            size = format_size(file.size) if file.size else ""
            name, licence = names[file.checked.path], licence_word(file.source)
            yield f"  {name:<{longest}}  {file.status:<18} {size:>8}  {file.record:<9}  {licence}"
            if file.checked.found:
                yield f"    {file.checked.found}"
            if file.status == _PRESENT["there"] and file.download is not None:
                yield "    to download it again, remove it first"
    yield ""
    yield _sums([file for file in files if not file.partial])
    yield record_line([file.record for file in files if not file.partial])
    if parts := sum(file.partial for file in files):
        yield f"and {counted(parts, 'file')} with releases in part, which --partial reads where whole ones are missing"


def record_line(records: Sequence[RecordKind]) -> str:
    """Count what the records of files are from; a file each."""
    measured, papers, none = (records.count(kind) for kind in get_args(RecordKind))
    return f"records: {measured} measured (all rows), {papers} papers (number of rows or checksum), {none} no record"


def find_readers(specs: Sequence[TaskSpec]) -> dict[str, Readers]:
    """Find the source of each file, and the tasks that read it; what lies beside a file is read with it."""
    readers: dict[str, Readers] = {}
    for spec in specs:
        for domain in spec.domains:
            for file in (file for split in domain.files.values() for file in split):
                for name in (PurePath(file.path).name, *file.beside):
                    place = str(PurePath(file.path).with_name(name))
                    # In one task a file may stand for the whole release, in another for a part of it.
                    if place not in readers or (readers[place].partial and not file.partial):
                        readers[place] = Readers(file.source, file.partial, [], file.path)
                    if readers[place].partial == file.partial:
                        readers[place].tasks.append(spec.id)
    return readers


def _common_folder(files: Sequence[Available], source: SourceSpec) -> str:
    """Return the folder that holds all files of a source, such as ``anli/anli_v1.0/``; empty where there is none."""
    parents = [PurePath(file.checked.path).parents for file in files if file.source.slug == source.slug]
    shared = next(folder for folder in parents[0] if all(folder in each for each in parents))
    return f"{shared}/" if shared.name else ""


def _sums(files: Sequence[Available]) -> Table:
    """Return the table of sums: a benchmark a row and, of several, all of them."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("", "files", *(status.replace(" ", "\n", 1) for status in STATUSES), "to\ndownload"):
        table.add_column(column, justify="right" if column else "left")
    read = {name for file in files for name in file.benchmarks}
    named = [*(name for name in BENCHMARKS if name in read), *sorted(read - {*BENCHMARKS})]
    for name in [*named, *(["all"] if len(named) > 1 else [])]:
        of = [file for file in files if name in file.benchmarks or name == "all"]
        counts = (sum(file.status == status for file in of) for status in STATUSES)
        downloads = {file.download.urls: file.download.size for file in of if file.is_missing and file.download}
        table.add_row(name, *(f"{n:,}" for n in (len(of), *counts)), format_sizes(downloads.values()))
    return table
