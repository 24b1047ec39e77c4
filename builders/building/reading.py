"""Upstream files as a build reads them: found, looked at, compared with what is recorded of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from shiftbench.builders.building.from_hub import hub_revision
from shiftbench.builders.building.records import facts_beside, with_records
from shiftbench.builders.cache import cache_folder, cache_key
from shiftbench.builders.folder.manifest import SourceFacts, SourceFile
from shiftbench.builders.reading.forms import check_form
from shiftbench.builders.reading.intake import Consumer, FileRead, Sample, read_file
from shiftbench.builders.reading.places import find_file
from shiftbench.builders.specs.sources import SourceSpec
from shiftbench.builders.specs.spec import DomainRecord, DomainSpec, FileFacts, FileSpec, TaskSpec, Upstream
from shiftbench.validation.report import Problem


@dataclass
class Reading:
    """Upstream files as they are read, with what was found in each."""

    raws: tuple[Path, ...]
    seed: int
    store: Path
    """A folder for rows that are too many to be held."""
    records: Upstream
    """What is recorded of upstream files."""
    other_revisions: bool = False
    files: dict[tuple[FileSpec, str], SourceFile] = field(default_factory=dict)
    """What was read, by file and place: its own, and those of what its reader read beside it."""
    rows: dict[str, dict[str, int]] = field(default_factory=dict)
    """Rows after the named steps, by ``<task id>.<domain>`` and split."""
    domains: dict[str, DomainRecord | None] = field(default_factory=dict)
    """What tells the rows of upstream splits from others, by ``<task id>.<domain>``."""
    malformed: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    """What is wrong with files that a partial build left out, by ``<task>.<domain>``."""

    @property
    def place(self) -> str:
        """Return the folders of upstream files as one text, for a report."""
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
        self.files[file, file.path] = with_records(file.path, facts, self.records, partial=file.partial)
        for name in file.beside:
            place = str(Path(file.path).with_name(name))
            beside = facts_beside(path.with_name(name), place)
            self.files[file, place] = with_records(place, beside, self.records, partial=file.partial)
        return file_read

    def _sample(self, spec: TaskSpec, domain: DomainSpec, split: str) -> Sample | None:
        """Return which sample of a file's rows a domain's split takes; None for all rows."""
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
        """Return what the manifest says of each source."""
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
                files=tuple(files.values()),
            )
            for owner, files in by_owner.items()
        }

    def recorded(self, specs: Sequence[TaskSpec]) -> Upstream:
        """Return the facts to record: rows by the file's place in the spec, the checksum by its own name.

        Every domain of the tasks is in it; those without a whole file have nothing that tells their rows from others.
        Where readers take different rows from one file, as from two folders of an archive, it has no number of rows.
        """
        counts: dict[str, set[int]] = {}
        for (_, place), file in self.files.items():
            counts.setdefault(place, set()).add(file.rows)
        facts = {place: FileFacts(rows=n_rows.pop() if len(n_rows) == 1 else None) for place, n_rows in counts.items()}
        for file in self.files.values():
            facts[file.path] = facts.get(file.path, FileFacts()).model_copy(update={"sha256": file.sha256})
        names = [f"{spec.id}.{domain.name}" for spec in specs for domain in spec.domains]
        return Upstream(files=facts, rows=self.rows, domains={name: self.domains.get(name) for name in names})


def _store_key(file: FileSpec) -> str:
    """Return a folder's name for the rows of a file as one reader takes them: others may take others from it."""
    return cache_key({"file": repr(file)})[:16]
