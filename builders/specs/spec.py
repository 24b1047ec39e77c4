"""What a dataset is, as typed by a person: domains and tasks. Measured facts live in ``upstream.json``."""

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
"""Reads an upstream file from start to end, in frames of text (or lists of it) that share their columns."""


@dataclass(frozen=True)
class Transform:
    """A named step ``frame -> frame``; the build counts rows before and after it.

    A step sees a part of the rows at a time where a file is large, so it must treat each row by itself. ``changes``
    is true of the rows that it keeps and mends, where these are to be counted, too.
    """

    name: str
    apply: Callable[[pl.DataFrame], pl.DataFrame]
    changes: pl.Expr | None = None

    def n_changed(self, frame: pl.DataFrame) -> int:
        """Count the rows of a frame that the step will mend; 0 where that is not counted."""
        return 0 if self.changes is None else int(frame.select(self.changes.sum()).item())


@dataclass(frozen=True)
class FileSpec:
    """A file of a source at its place under RAW, and how to read it.

    The file may also lie there as ``<path>.gz``, or as a zip of the same name that holds it alone. Files marked
    ``partial`` hold the same rows in part: only builds with ``--partial`` read them, beside what else there is.
    ``beside`` names what else its reader reads: files, or folders of files, in the same folder. ``slug`` names the
    source where it is not the first folder of the path; ``release`` is the source where ``sources.toml`` has none.
    """

    path: str
    read: Reader
    partial: bool = False
    beside: tuple[str, ...] = ()
    slug: str = ""
    release: SourceSpec | None = None

    @property
    def source(self) -> SourceSpec:
        """Return the release that it is a file of."""
        return self.release or find_source(self.slug or self.path.partition("/")[0])


def files_of(read: Reader, **places: str | Sequence[str]) -> dict[str, tuple[FileSpec, ...]]:
    """List the files of upstream splits that are all read in one way.

    Args:
        read: reads each.
        places: by split, the place of its file under RAW, or the places of several.
    """
    listed = {split: (paths,) if isinstance(paths, str) else paths for split, paths in places.items()}
    return {split: tuple(FileSpec(path, read) for path in paths) for split, paths in listed.items()}


@dataclass(frozen=True)
class Draw:
    """Rows drawn from each file while it is read: of each ``stratum`` so many, by a keyed hash of ``identity``.

    Rows that agree in ``identity`` (default: the task's inputs) are drawn once a stratum. When all files are read,
    texts that were drawn with several labels leave, and repeats. ``after`` are steps on the rows drawn; ``splits`` are
    the upstream splits it is for.
    """

    size: int
    stratum: pl.Expr = field(default_factory=lambda: pl.lit(0))
    identity: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train",)
    after: tuple[Transform, ...] = ()


@dataclass(frozen=True)
class DomainSpec:
    """One domain of a task: which files it reads, and what happens to the rows.

    ``files`` lists by upstream split the files whose rows together make it; where upstream has no test split, one
    is cut from ``train``: ``test_share`` of it where the task keeps rows as upstream has them. After ``transforms``
    (and those of ``draw``, which samples each file) the frame holds the task's inputs, what is to be predicted
    (labels and tags by name; see ``GOLD``) and ``group``. ``train_per_label`` cuts the train rows of each label.
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
        """Return the sources of its files, each once."""
        return tuple(dict.fromkeys(file.source for files in self.files.values() for file in files))


COMMON: Literal["common"] = "common"
NATURAL: Literal["natural"] = "natural"


@dataclass(frozen=True)
class Balance:
    """What all domains of a task have in like shares, so that a shift is not one of priors (DR appendix D.2).

    ``stratum`` gives each row's stratum as a whole number. ``shares`` are those every split is filled in:
    ``COMMON`` for the mean of the domains' own, where a property (such as the length of the target) has no share
    that one could name; ``NATURAL`` for each domain's own.
    """

    name: str
    stratum: pl.Expr
    shares: Mapping[int, float] | Literal["common", "natural"]


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """One task of a benchmark.

    ``train``, ``validation`` and ``test`` are the largest sizes a domain may have; a test split that upstream has
    is never cut. ``sample`` is set where upstream files are too large to be held: that many rows of each domain and
    stratum (where the balance names shares) are kept while reading, chosen by a keyed hash of the inputs, each text
    once. ``distinct`` names the columns that no two rows may share before splits are cut. Splits of a ``variant_of``
    another task are cut along the same groups as that one's.

    ``as_upstream`` keeps the rows of splits that upstream has as they are: repeated rows stay, and groups that are
    in two splits, and no domain is cut to another's size. ``id_domain`` is the domain that models are to be trained
    on, where all others are out of distribution; ``candidates_for`` names the task whose data sets might have been
    chosen from this task's domains, which have its inputs. ``label_folds``: a prediction of the first label counts as
    the second one on a domain whose rows are never of the first.
    Domains of own data with fewer test texts than ``min_texts`` are left out of means. With ``equal_sizes`` all domains
    are cut to the size of the smallest.

    Of a ``pairing``, source texts are drawn from the rows of all domains that have a train split, and target texts
    from those that have a test split: without regard to labels, each text once, no group of the target in the source.
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
        """Return the task's name with its benchmark, as in ``dr/nli``."""
        return f"{self.benchmark}/{self.name}"


class FileFacts(pydantic.BaseModel):
    """What is recorded of an upstream file: rows as read, before any step, and its checksum."""

    rows: int | None = None
    sha256: str | None = None


class Fingerprint(pydantic.BaseModel):
    """What tells the rows that a split takes from a file, after the named steps, from all others.

    A row's hash covers its inputs and gold alone, so rows agree whatever carrier brought them.

    Attributes:
        rows: how many there are.
        labels: rows by label; of tags tokens by tag, of extractive answers rows with and without one, of texts nothing.
        hashes: of ten rows: the smallest hashes, each once, ascending, 16 hex digits each.
        total: the hashes of all rows, added up: 16 hex digits.
        groups: the same, each times a number that the row's group decides.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    rows: int = 0
    labels: dict[str, int] = {}
    hashes: tuple[str, ...] = ()
    total: str = "0" * 16
    groups: str = "0" * 16


class DomainRecord(pydantic.BaseModel):
    """What is recorded of a domain's rows as upstream has them.

    Attributes:
        splits: by upstream split and path of the file; None where no whole file was at hand to measure.
        overlaps: by two splits, as ``test in train``: rows of the first whose inputs are in the second. Pairs with a
            split that is sampled, or that lacks a whole file, are not in it.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    splits: dict[str, dict[str, Fingerprint | None]]
    overlaps: dict[str, int] = {}


class TotalFacts(pydantic.BaseModel):
    """What is recorded of files whose rows are known together alone."""

    model_config = pydantic.ConfigDict(frozen=True)

    files: tuple[str, ...]
    rows: int


RecordKind = Literal["measured", "papers", "no record"]
"""Rows were measured on the file itself; their number or a checksum is from a paper, a release page or a library; or
nothing is recorded."""


class Upstream(pydantic.BaseModel):
    """Facts about whole upstream releases, recorded once and compared with on every build."""

    files: dict[str, FileFacts]
    """By path under RAW; checksums by the path of the form that was hashed, such as ``<path>.gz``."""
    totals: tuple[TotalFacts, ...] = ()
    rows: dict[str, dict[str, int]]
    """Rows after the named steps, by ``<task id>.<domain>`` and split."""
    domains: dict[str, DomainRecord | None] = {}
    """By ``<task id>.<domain>``; None where no whole file of it was at hand to measure."""

    def total_of(self, path: str) -> TotalFacts | None:
        """Return the total that a file is a part of; None where it is of none."""
        return next((total for total in self.totals if path in total.files), None)

    def fingerprint(self, domain: str, split: str, path: str) -> Fingerprint | None:
        """Return what was measured of the rows that a domain's split takes from a file; None where nothing was."""
        record = self.domains.get(domain)
        return None if record is None else record.splits.get(split, {}).get(path)

    def record_kind(self, path: str) -> RecordKind:
        """Return what the record of a file, by its path under RAW as specs have it, is from."""
        splits = (files for each in self.domains.values() if each is not None for files in each.splits.values())
        if any(files.get(path) is not None for files in splits):
            return "measured"
        forms = (path, f"{path}.gz", str(Path(path).with_suffix(".zip")))
        return "papers" if any(self.is_recorded(path, form) for form in forms) else "no record"

    def is_recorded(self, path: str, form: str) -> bool:
        """Test whether there is anything to compare a whole file with.

        Args:
            path: its path under RAW, as the spec has it.
            form: its path as it lies there, ``path`` itself or with an ending such as ``.gz``.
        """
        rows = self.files.get(path, FileFacts()).rows
        checksum = self.files.get(form, FileFacts()).sha256
        return rows is not None or checksum is not None or self.total_of(path) is not None


@cache
def upstream() -> Upstream:
    """Read the recorded facts of whole releases, ``upstream.json``, once.

    Returns: row counts and checksums by file, rows by domain and split, and what tells these rows from others; those of
        the papers' benchmarks and of the ones in ``benchmarks/``.
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
