"""Availability of upstream files: presence, size, terms and how to get each of them."""

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
from shiftbench.validation.report import format_size, plural

Way = Literal["automatic", "terms", "by hand"]
"""How to get a file: by ``data fetch``; by ``data fetch`` after accepting terms; or by hand (form, login)."""

WAYS = get_args(Way)
_PRESENT = {"whole": "present, agrees", "there": "present, differs", "unverified": "present, no record"}
_MOST_NAMED = 3
STATUSES = (*_PRESENT.values(), *(f"missing: {way}" for way in WAYS))


class Readers(NamedTuple):
    """Source of a file, whether the file contains only part of the release, and ids of the tasks that read it.

    ``main``: for a companion file, the file it is read together with; otherwise the file itself.
    """

    source: SourceSpec
    partial: bool
    tasks: list[str]
    main: str


class Available(NamedTuple):
    """An upstream file: the result of checking it, and how to get it.

    Attributes:
        checked: the file compared with its records.
        source: the release it belongs to.
        partial: whether it contains only part of a release; complete files make it superfluous.
        benchmarks: the benchmarks that read it.
        way: how it can be obtained.
        download: the automatic download; None if there is none.
        brings: the command that downloads the file, or its URL.
        record: origin of the recorded row count and checksum.
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
        """Return the display status: present and checked, or how to get the missing file."""
        return _PRESENT.get(self.checked.state) or f"missing: {self.way}"

    @property
    def is_missing(self) -> bool:
        """Return whether the file is missing."""
        return self.checked.state not in _PRESENT

    @property
    def is_sound(self) -> bool:
        """Return whether the file is present and no record contradicts it."""
        return self.checked.state in ("whole", "unverified")

    @property
    def size(self) -> int | None:
        """Return the size in bytes; for a missing file the recorded size, None if unknown or if it is in an archive."""
        if self.is_missing:
            return self.download.size if self.download is not None and self.download.place is not None else None
        return self.checked.size

    @property
    def as_json(self) -> dict[str, Any]:
        """Return the JSON representation; ``state`` is the former name of ``status``."""
        facts = {"status": self.status, "size": self.size, "licence": licence_word(self.source), "way": self.way}
        of = {"source": self.source.slug, "benchmarks": self.benchmarks, "brings": self.brings, "record": self.record}
        return self.checked._asdict() | facts | of


def available_files(benchmark: str | OwnBenchmark | None, task: str | None, raws: Sequence[Path]) -> list[Available]:
    """Check every file that tasks read, and find out how to get it.

    Args:
        benchmark: a built-in benchmark, or one described by a spec; None checks all built-in ones.
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
    """Return the command that fetches a task's missing files.

    Args:
        task: a benchmark, or a task such as ``dr/nli``; None: all benchmarks.
        raws: folders of upstream files.
        accept: sources whose terms the command accepts.
        own: a benchmark described by a spec; all of its files are fetched.
    """
    what = ["data", "fetch", *(task.split("/") if task else ())]
    if own:
        what = ["build", "own", "--spec", str(own.path), "--fetch"]
    return shlex.join(["shiftbench", *what, *_folders(raws), *terms_options(accept)])


def terms_options(slugs: Sequence[str]) -> list[str]:
    """Return the options that accept the terms of sources: each by name or, if there are many, ``all``."""
    names = slugs if len(slugs) <= _MOST_NAMED else (ALL,)
    return [word for name in names for word in ("--accept-terms", name)]


def check_command(task: str, raws: Sequence[Path], own: OwnBenchmark | None = None) -> str:
    """Return the command that checks the files of a task, such as ``dr/nli``, or of a spec's benchmark."""
    what = ["own", "--spec", str(own.path)] if own else task.split("/")
    return shlex.join(["shiftbench", "build", *what, "--check", *_folders(raws)])


def _folders(raws: Sequence[Path]) -> list[str]:
    return [word for raw in raws for word in ("--raw", str(raw))]


def licence_word(source: SourceSpec) -> str:
    """Return a source's licence in one word: its SPDX identifier, or the kind of terms."""
    if source.spdx or source.open_licence:
        return source.spdx or "open"
    words = {"none stated": "none", "research": "research", "unclear": "unclear", "conflicting": "unclear"}
    return next((word for words_of_it, word in words.items() if words_of_it in source.licence), "restricted")


def format_sizes(sizes: Iterable[int | None]) -> str:
    """Format the total size of downloads, and the number of downloads of unknown size."""
    sizes = list(sizes)
    known, unknown = format_size(sum(filter(None, sizes))), sizes.count(None)
    if unknown == len(sizes):
        return "unmeasured" if unknown else ""
    return known + (f" and {unknown} of unknown size" if unknown else "")


def available_lines(files: Sequence[Available]) -> Iterator[RenderableType]:
    """Format upstream files for the terminal: grouped by source, with how to get them, and totals per benchmark.

    Args:
        files: from ``available_files``.
    Yields: lines and tables for rich.
    """
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
                yield "    to download it again, delete it first"
    yield ""
    yield _sums([file for file in files if not file.partial])
    yield record_line([file.record for file in files if not file.partial])
    if parts := sum(file.partial for file in files):
        yield (
            f"and {plural(parts, 'file')} with parts of releases, which --partial reads if the complete ones are "
            "missing"
        )


def record_line(records: Sequence[RecordKind]) -> str:
    """Format how many files have each kind of record; ``records`` has one element per file."""
    measured, papers, none = (records.count(kind) for kind in get_args(RecordKind))
    known = f"{measured} measured (all rows), {papers} from papers (row count or checksum)"
    return f"records: {known}, {none} without a record"


def find_readers(specs: Sequence[TaskSpec]) -> dict[str, Readers]:
    """Find the source of each file, and the tasks that read it, including companion files read with another."""
    readers: dict[str, Readers] = {}
    for spec in specs:
        for domain in spec.domains:
            for file in (file for split in domain.files.values() for file in split):
                for name in (PurePath(file.path).name, *file.beside):
                    place = str(PurePath(file.path).with_name(name))
                    # A file may be the whole release for one task, and part of it for another.
                    if place not in readers or (readers[place].partial and not file.partial):
                        readers[place] = Readers(file.source, file.partial, [], file.path)
                    if readers[place].partial == file.partial:
                        readers[place].tasks.append(spec.id)
    return readers


def _common_folder(files: Sequence[Available], source: SourceSpec) -> str:
    """Return the common folder of a source's files, such as ``anli/anli_v1.0/``; ``""`` if there is none."""
    parents = [PurePath(file.checked.path).parents for file in files if file.source.slug == source.slug]
    shared = next(folder for folder in parents[0] if all(folder in each for each in parents))
    return f"{shared}/" if shared.name else ""


def _sums(files: Sequence[Available]) -> Table:
    """Return the table of totals: one row per benchmark and, if there are several, one for all."""
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
