"""Manually written specs of data sets: domains and tasks. Measured facts are in ``upstream.json``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import polars as pl
import pydantic

from shiftbench.builders.folder.manifest import Difference, Pairing, Provenance
from shiftbench.builders.specs.benchmarks import spec_files
from shiftbench.builders.specs.sources import SourceSpec, find_source
from shiftbench.builders.specs.upstream_file import UpstreamFile
from shiftbench.validation.vocabulary import TaskKind

Reader = Callable[[UpstreamFile], Iterator[pl.DataFrame]]
"""Reads an upstream file from start to end, in frames with identical columns of text (or lists of text)."""


@dataclass(frozen=True)
class Transform:
    """A named step ``frame -> frame``; the build counts rows before and after it.

    Large files are processed in parts, so a step must treat each row independently. ``changes`` is an optional
    expression that is true for rows modified by the step, which are then counted too.
    """

    name: str
    apply: Callable[[pl.DataFrame], pl.DataFrame]
    changes: pl.Expr | None = None

    def n_changed(self, frame: pl.DataFrame) -> int:
        """Count the rows that the step will modify.

        Args:
            frame: the rows before the step.
        Returns: number of rows for which ``changes`` is true; 0 without ``changes``.
        """
        return 0 if self.changes is None else int(frame.select(self.changes.sum()).item())


@dataclass(frozen=True)
class FileSpec:
    """A file of a source, its path under RAW, and its reader.

    The file may also be stored as ``<path>.gz``, or as a zip of the same name that contains only it. Files marked
    ``partial`` contain only some rows of a release: only builds with ``--partial`` read them, along with other files.
    ``beside`` lists companion files or folders that its reader also reads from the same folder. ``slug`` is the source
    if it is not the first folder of the path; ``release`` is the source if it is not in ``sources.toml``.
    """

    path: str
    read: Reader
    partial: bool = False
    beside: tuple[str, ...] = ()
    slug: str = ""
    release: SourceSpec | None = None

    @property
    def source(self) -> SourceSpec:
        """Return the release that contains the file."""
        return self.release or find_source(self.slug or self.path.partition("/")[0])


def files_of(read: Reader, **places: str | Sequence[str]) -> dict[str, tuple[FileSpec, ...]]:
    """Return the files of upstream splits that share a reader.

    Args:
        read: the reader of all files.
        places: path under RAW of the file (or files) of each split.
    """
    listed = {split: (paths,) if isinstance(paths, str) else paths for split, paths in places.items()}
    return {split: tuple(FileSpec(path, read) for path in paths) for split, paths in listed.items()}


@dataclass(frozen=True)
class Draw:
    """Sampling of each file while it is read: ``size`` rows per ``stratum``, by a keyed hash of ``identity``.

    Rows with equal ``identity`` (default: the task's inputs) are sampled once per stratum. After all files are read,
    repeated texts, and texts sampled with different labels, are dropped. ``after``: steps on the sampled rows;
    ``splits``: the upstream splits to sample.
    """

    size: int
    stratum: pl.Expr = field(default_factory=lambda: pl.lit(0))
    identity: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train",)
    after: tuple[Transform, ...] = ()


@dataclass(frozen=True)
class DomainSpec:
    """One domain of a task: its files, and the processing of their rows.

    ``files``: the files whose rows are concatenated, by upstream split; if upstream has no test split, part of
    ``train`` becomes the test split (the fraction ``test_share`` if the task keeps upstream's splits). After
    ``transforms`` (and the steps of ``draw``, which samples each file) the frame has the task's inputs, the gold
    (labels and tags as names; see ``GOLD``) and ``group``. ``train_per_label`` limits the train rows of each label.
    """

    name: str
    files: Mapping[str, tuple[FileSpec, ...]]
    transforms: tuple[Transform, ...]
    draw: Draw | None = None
    test_share: float | None = None
    train_per_label: int | None = None
    provenance: Provenance | None = None

    @property
    def sources(self) -> tuple[SourceSpec, ...]:
        """Return the distinct sources of its files."""
        return tuple(dict.fromkeys(file.source for files in self.files.values() for file in files))


COMMON: Literal["common"] = "common"
NATURAL: Literal["natural"] = "natural"


@dataclass(frozen=True)
class Balance:
    """A property balanced across the domains of a task, to avoid label shift (DR appendix D.2).

    ``stratum``: integer expression for each row's stratum. ``shares``: target proportions of the strata in every split:
    ``COMMON`` for the mean over domains, if a property (such as target length) has no given proportions; ``NATURAL``
    for each domain's own proportions.
    """

    name: str
    stratum: pl.Expr
    shares: Mapping[int, float] | Literal["common", "natural"]


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task of a benchmark.

    ``train``, ``validation`` and ``test`` are maximum sizes per domain; upstream's test split is never cut. ``sample``
    is set if upstream files do not fit in memory: that many rows per domain and stratum (if the balance has given
    proportions) are sampled while reading, by a keyed hash of the inputs, without repeated texts. ``distinct``: of
    the rows that agree in all of these columns, at most one is kept before splits are created. A ``variant_of`` another
    task is split by the same groups as that task.

    ``as_upstream`` keeps upstream's splits unchanged: repeated rows, and groups that occur in two splits, stay, and
    domains are not cut to equal size. ``id_domain`` is the domain that models are trained on, if all others are out of
    distribution; ``candidates_for`` is the task, with the same inputs, for which this task's domains are candidate data
    sets. ``label_folds`` maps labels to labels: on domains without the first label, a prediction of the first counts as
    the second. Domains of user data with fewer test texts than ``min_texts`` are excluded from means. With
    ``equal_sizes`` all domains are cut to the size of the smallest.

    For a ``pairing``, source texts are sampled from all domains with a train split, and target texts from those with a
    test split: independent of labels, without repeated texts, and without groups of the target in the source.
    """

    benchmark: str
    name: str
    title: str
    kind: TaskKind
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    metric: str
    train: int = 0
    validation: int = 0
    test: int = 0
    domains: tuple[DomainSpec, ...]
    balance: Balance | None = None
    sample: int | None = None
    distinct: tuple[str, ...] = ()
    variant_of: str | None = None
    as_upstream: bool = False
    id_domain: str | None = None
    candidates_for: str | None = None
    label_folds: Mapping[str, str] = field(default_factory=dict, hash=False)
    pairing: Pairing | None = None
    min_texts: int | None = None
    equal_sizes: bool = True
    fewshot_domains: tuple[str, ...] = ()
    fewshot_size: int = 200
    notes: tuple[str, ...] = field(default=())
    differences: tuple[Difference, ...] = ()

    @property
    def id(self) -> str:
        """Return the task's name with its benchmark, such as ``dr/nli``."""
        return f"{self.benchmark}/{self.name}"


class FileFacts(pydantic.BaseModel):
    """The record of an upstream file: number of rows before any step, and checksum."""

    rows: int | None = None
    sha256: str | None = None


class Fingerprint(pydantic.BaseModel):
    """Fingerprint of the rows that a split takes from a file, after the named steps.

    A row's hash covers only its inputs and gold, so it does not depend on the file format.

    Attributes:
        rows: number of rows.
        labels: number of rows by label; for tags, tokens by tag; for extractive QA, rows with and without an answer;
            empty for generation.
        hashes: the ten smallest distinct row hashes, ascending, 16 hex digits each.
        total: sum of all row hashes, 16 hex digits.
        groups: sum of the row hashes, each multiplied by a number derived from the row's group.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    rows: int = 0
    labels: dict[str, int] = {}
    hashes: tuple[str, ...] = ()
    total: str = "0" * 16
    groups: str = "0" * 16


class DomainRecord(pydantic.BaseModel):
    """The record of a domain's upstream rows.

    Attributes:
        splits: fingerprints by upstream split and path of the file; None if no complete file was available.
        overlaps: number of rows of one split whose inputs are in another, by name such as ``test in train``. Pairs with
            a sampled or incomplete split are omitted.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    splits: dict[str, dict[str, Fingerprint | None]]
    overlaps: dict[str, int] = {}


class TotalFacts(pydantic.BaseModel):
    """The record of files of which only the total number of rows is known."""

    model_config = pydantic.ConfigDict(frozen=True)

    files: tuple[str, ...]
    rows: int


RecordKind = Literal["measured", "papers", "no record"]
"""Measured on the file itself; number of rows or checksum from a paper, a release page or a library; no record."""


class Upstream(pydantic.BaseModel):
    """Facts about complete upstream releases, recorded once and compared in every build."""

    files: dict[str, FileFacts]
    """Facts by path under RAW; checksums by the path that was hashed, such as ``<path>.gz``."""
    totals: tuple[TotalFacts, ...] = ()
    rows: dict[str, dict[str, int]]
    """Rows after the named steps, by ``<task id>.<domain>`` and split."""
    domains: dict[str, DomainRecord | None] = {}
    """Records by ``<task id>.<domain>``; None if no complete file was available."""

    def total_of(self, path: str) -> TotalFacts | None:
        """Return the total that includes a file; None if there is none."""
        return next((total for total in self.totals if path in total.files), None)

    def fingerprint(self, domain: str, split: str, path: str) -> Fingerprint | None:
        """Return the recorded fingerprint of the rows that a domain's split takes from a file, or None."""
        record = self.domains.get(domain)
        return None if record is None else record.splits.get(split, {}).get(path)

    def record_kind(self, path: str) -> RecordKind:
        """Return the origin of a file's record; ``path`` as in the specs."""
        splits = (files for each in self.domains.values() if each is not None for files in each.splits.values())
        if any(files.get(path) is not None for files in splits):
            return "measured"
        forms = (path, f"{path}.gz", str(Path(path).with_suffix(".zip")))
        return "papers" if any(self.is_recorded(path, form) for form in forms) else "no record"

    def is_recorded(self, path: str, form: str) -> bool:
        """Return whether there is a record to compare a complete file with.

        Args:
            path: its path under RAW in the spec.
            form: its actual path, ``path`` or with a suffix such as ``.gz``.
        """
        rows = self.files.get(path, FileFacts()).rows
        checksum = self.files.get(form, FileFacts()).sha256
        return rows is not None or checksum is not None or self.total_of(path) is not None


@cache
def upstream() -> Upstream:
    """Read and cache the recorded facts of complete releases, ``upstream.json``.

    Returns: row counts and checksums by file, and row counts and fingerprints by domain and split, for the papers'
        benchmarks and those in ``benchmarks/``.
    """
    locks = (path.with_suffix(".lock.json") for path in spec_files())
    every = [Path(__file__).parent / "upstream.json", *(lock for lock in locks if lock.is_file())]
    records = [Upstream.model_validate_json(path.read_text(encoding="utf-8")) for path in every]
    return Upstream(
        files={place: facts for each in records for place, facts in each.files.items()},
        totals=tuple(total for each in records for total in each.totals),
        rows={name: rows for each in records for name, rows in each.rows.items()},
        domains={name: domain for each in records for name, domain in each.domains.items()},
    )
