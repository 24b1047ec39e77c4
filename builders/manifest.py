"""The manifest of a dataset folder, ``shiftbench.json``: what it holds, what it was made from, and its hashes."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pydantic

from validation.report import InvalidInput, Problem
from validation.vocabulary import TaskKind

FORMAT_VERSION = 1
MANIFEST = "shiftbench.json"


class _Facts(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class SplitFacts(_Facts):
    """Size and hashes of one split. Inputs and labels are hashed apart, so public and gold folders agree."""

    rows: int
    groups: int
    inputs_sha256: str
    labels_sha256: str


class DomainFacts(_Facts):
    """One domain: its splits, and which sources it was made from."""

    sources: tuple[str, ...]
    splits: dict[str, SplitFacts]


class TransformCount(_Facts):
    """How many rows a named transform was given and left."""

    domain: str
    split: str
    name: str
    before: int
    after: int


class TaskManifest(_Facts):
    """One task: what is predicted from what, its domains, and how rows came and went."""

    title: str
    kind: TaskKind
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    metric: str
    domains: dict[str, DomainFacts]
    absent_domains: tuple[str, ...] = ()
    subsets: dict[str, int]
    transforms: tuple[TransformCount, ...] = ()


class SourceFile(_Facts):
    """One upstream file as it was read."""

    path: str
    sha256: str
    rows: dict[str, int] = pydantic.Field(description="Labelled rows found, by domain and split")
    recorded_rows: dict[str, int] = pydantic.Field(description="The same as recorded for the whole upstream")


class SourceFacts(_Facts):
    """Where rows come from, and on what terms."""

    title: str
    url: str
    revision: str
    licence: str
    citation: str
    files: tuple[SourceFile, ...] = ()


class EncoderFacts(_Facts):
    """The encoder that depths were computed with."""

    id: str
    revision: str
    dimensions: int


class Manifest(_Facts):
    """The whole of ``shiftbench.json``."""

    format_version: int = FORMAT_VERSION
    builder_version: str
    benchmark: str
    title: str
    seed: int
    partial: bool
    synthetic: bool
    content_hash: str
    tasks: dict[str, TaskManifest]
    sources: dict[str, SourceFacts]
    encoder: EncoderFacts | None

    def write(self, folder: Path) -> None:
        """Write the manifest into a folder."""
        text = json.dumps(self.model_dump(mode="json"), indent=2, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read a folder's manifest; InvalidInput when there is none or it is of another format version."""
        path = folder / MANIFEST
        if not path.is_file():
            cure = "give the folder that 'shiftbench build' wrote"
            raise InvalidInput(Problem("this is not a dataset folder", str(folder), f"no {MANIFEST} in it", cure))
        try:
            content: Any = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InvalidInput(
                Problem("the manifest is not JSON", str(path), str(error), "build the folder again")
            ) from error
        found = content.get("format_version") if isinstance(content, dict) else None
        if found != FORMAT_VERSION:
            what = f"the folder has format version {found}, this program reads version {FORMAT_VERSION}"
            raise InvalidInput(Problem(what, str(path), cure="build the folder again, or install the matching version"))
        try:
            return cls.model_validate(content)
        except pydantic.ValidationError as error:
            raise InvalidInput(
                Problem("the manifest is damaged", str(path), str(error.errors()[0]), "build the folder again")
            ) from error


def file_sha256(path: Path) -> str:
    """Hash a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def rows_sha256(frame: pl.DataFrame, columns: Iterable[str]) -> str:
    """Hash rows by content: id and the given columns, in id order, whatever the file's bytes.

    >>> a = pl.DataFrame({"id": ["x", "y"], "text": ["1", "2"]})
    >>> rows_sha256(a, ["text"]) == rows_sha256(a.reverse(), ["text"])
    True
    """
    digest = hashlib.sha256()
    for row in frame.select("id", *columns).sort("id").iter_rows():
        digest.update(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def content_hash(tasks: dict[str, TaskManifest], benchmark: str) -> str:
    """Hash a folder's content: every split of every domain, inputs and labels, and the label names."""
    content = {
        name: {
            "labels": task.labels,
            "splits": {
                f"{domain}/{split}": [facts.inputs_sha256, facts.labels_sha256]
                for domain, domain_facts in task.domains.items()
                for split, facts in domain_facts.splits.items()
            },
        }
        for name, task in tasks.items()
    }
    canonical = json.dumps([FORMAT_VERSION, benchmark, content], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
