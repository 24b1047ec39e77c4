"""What a dataset is, as typed by a person: sources, domains, tasks. Measured facts live in ``upstream.json``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import polars as pl
import pydantic

from validation.vocabulary import TaskKind

Reader = Callable[[Path], pl.DataFrame]


@dataclass(frozen=True)
class Transform:
    """A named step ``frame -> frame``; the build counts rows before and after it."""

    name: str
    apply: Callable[[pl.DataFrame], pl.DataFrame]


@dataclass(frozen=True)
class SourceSpec:
    """An upstream release: where it comes from, on what terms, and how to fetch it by hand."""

    slug: str
    title: str
    url: str
    revision: str
    licence: str
    citation: str
    instructions: str


@dataclass(frozen=True)
class DomainSpec:
    """One domain of a task: which files it reads, and what happens to the rows.

    ``files`` lists, by upstream split, the places under RAW where the rows may lie; the first that exists is read.
    After ``transforms`` the frame holds the task's inputs, what is to be predicted (labels and tags by name; see
    ``GOLD``) and ``group``.
    """

    name: str
    source: SourceSpec
    files: Mapping[str, tuple[str, ...]]
    read: Reader
    transforms: tuple[Transform, ...]


@dataclass(frozen=True)
class TaskSpec:
    """One task of a benchmark. ``train`` and ``validation`` are the largest sizes a domain may have."""

    benchmark: str
    name: str
    title: str
    kind: TaskKind
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    metric: str
    train: int
    validation: int
    domains: tuple[DomainSpec, ...]
    fewshot_domains: tuple[str, ...] = ()
    fewshot_size: int = 200
    notes: tuple[str, ...] = field(default=())

    @property
    def id(self) -> str:
        """The task's name with its benchmark, as in ``dr/nli``."""
        return f"{self.benchmark}/{self.name}"


class Upstream(pydantic.BaseModel):
    """Facts about whole upstream releases, recorded once and compared with on every build."""

    rows: dict[str, dict[str, int]]
    """Labelled rows by ``<task id>.<domain>`` and split."""
    sha256: dict[str, str]
    """Checksums of files by their path under RAW, where known."""


@cache
def upstream() -> Upstream:
    """Read the recorded facts."""
    return Upstream.model_validate_json((Path(__file__).parent / "upstream.json").read_text(encoding="utf-8"))
