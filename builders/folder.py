"""Reading a dataset folder: the one thing that baselines and the leaderboard know of the builders."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from builders.manifest import Manifest, TaskManifest, rows_sha256
from validation.predictions import TaskFacts
from validation.report import InvalidInput, Problem, did_you_mean
from validation.schemas import check_rows, depth_schema, example_schema
from validation.vocabulary import SPLITS


def split_path(task: str, domain: str, split: str) -> str:
    """Give a split's path inside a folder, as a glob over its shards."""
    return f"data/{task}/{domain}/{split}-*.parquet"


def depth_path(task: str, source: str, target: str) -> str:
    """Give a depth table's path inside a folder."""
    return f"depth/{task}/{source}--{target}.parquet"


def subset_path(task: str, subset: str) -> str:
    """Give a subset's path inside a folder."""
    return f"subsets/{task}/{subset}.parquet"


@dataclass(frozen=True)
class DatasetFolder:
    """A dataset folder on disk. Open it with ``DatasetFolder.open``; rows are read on call."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path | str) -> "DatasetFolder":
        """Open a folder; InvalidInput when it is not one or of another format version."""
        return cls(Path(path), Manifest.read(Path(path)))

    @property
    def content_hash(self) -> str:
        """Hash of all rows; prediction cards name it."""
        return self.manifest.content_hash

    @cached_property
    def has_depth(self) -> bool:
        """Whether the folder ships depth tables."""
        return self.manifest.encoder is not None

    def task(self, name: str) -> TaskManifest:
        """Give a task's facts; InvalidInput names the tasks there are."""
        if name not in self.manifest.tasks:
            raise InvalidInput(
                Problem(
                    "the folder has no such task",
                    str(self.path),
                    f"'{name}'",
                    did_you_mean(name, list(self.manifest.tasks)),
                )
            )
        return self.manifest.tasks[name]

    def split(self, task: str, domain: str, split: str) -> pl.DataFrame:
        """Read the rows of one split, sorted by id; ``label`` holds codes into the task's labels."""
        facts = self.task(task)
        if domain not in facts.domains:
            raise InvalidInput(
                Problem(
                    f"task '{task}' has no such domain",
                    str(self.path),
                    f"'{domain}'",
                    did_you_mean(domain, list(facts.domains)),
                )
            )
        if split not in facts.domains[domain].splits:
            raise InvalidInput(
                Problem(
                    f"domain '{domain}' has no such split",
                    str(self.path),
                    f"'{split}'",
                    f"it has {', '.join(facts.domains[domain].splits)}",
                )
            )
        return self._read(split_path(task, domain, split))

    def test(self, task: str, subset: str = "all") -> pl.DataFrame:
        """Read the test rows of all domains of a task that belong to a subset."""
        facts = self.task(task)
        rows = pl.concat(
            [self.split(task, domain, "test") for domain in facts.domains if "test" in facts.domains[domain].splits]
        )
        return rows.join(self.subset(task, subset), on="id", how="semi", maintain_order="left")

    def subset(self, task: str, name: str) -> pl.DataFrame:
        """Read the ids of a subset."""
        if name not in self.task(task).subsets:
            raise InvalidInput(
                Problem(
                    f"task '{task}' has no such subset",
                    str(self.path),
                    f"'{name}'",
                    did_you_mean(name, list(self.task(task).subsets)),
                )
            )
        return self._read(subset_path(task, name))

    def facts(self, task: str, subset: str = "all") -> TaskFacts:
        """Give what checking predictions needs."""
        info = self.task(task)
        ids = self.test(task, subset).select("id", "domain")
        domains = tuple(domain for domain in info.domains if domain in set(ids["domain"].unique()))
        return TaskFacts(self.manifest.benchmark, task, info.kind, info.labels, domains, ids)

    def depth(self, task: str, source: str, target: str) -> pl.DataFrame:
        """Read a depth table: id, source, depth, weight (null for the source's own train texts)."""
        return self._read(depth_path(task, source, target))

    def check(self) -> None:
        """Check every file against its schema and its hash; InvalidInput names all that differ."""
        problems: list[Problem] = []
        for name, task in self.manifest.tasks.items():
            schema = example_schema(task.kind, task.inputs, task.labels)
            for domain, facts in task.domains.items():
                for split, expected in facts.splits.items():
                    file = str(self.path / split_path(name, domain, split))
                    try:
                        frame = self.split(name, domain, split)
                        check_rows(frame, schema, file)
                    except InvalidInput as error:
                        problems += error.problems
                        continue
                    found = (len(frame), rows_sha256(frame, task.inputs), rows_sha256(frame, ["label"]))
                    if found != (expected.rows, expected.inputs_sha256, expected.labels_sha256):
                        problems.append(
                            Problem(
                                "rows differ from the manifest",
                                file,
                                f"{len(frame):,} rows, {expected.rows:,} in the manifest",
                                "build the folder again",
                            )
                        )
                # A source needs two train texts, a target one test text.
                if self.has_depth and "train" in facts.splits and facts.splits["train"].rows >= 2:
                    for target in (name for name, other in task.domains.items() if "test" in other.splits):
                        try:
                            check_rows(
                                self.depth(name, domain, target),
                                depth_schema(),
                                str(self.path / depth_path(name, domain, target)),
                            )
                        except InvalidInput as error:
                            problems += error.problems
            for subset, n_ids in task.subsets.items():
                file = str(self.path / subset_path(name, subset))
                try:
                    found_ids = len(self.subset(name, subset))
                except InvalidInput as error:
                    problems += error.problems
                    continue
                if found_ids != n_ids:
                    problems.append(
                        Problem(
                            "ids differ from the manifest",
                            file,
                            f"{found_ids:,} ids, {n_ids:,} in the manifest",
                            "build the folder again",
                        )
                    )
        if problems:
            raise InvalidInput(problems)

    def _read(self, pattern: str) -> pl.DataFrame:
        files = sorted(self.path.glob(pattern))
        if not files:
            raise InvalidInput(
                Problem(
                    "a file of the dataset folder is missing", str(self.path / pattern), cure="build the folder again"
                )
            )
        try:
            return pl.read_parquet(files)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InvalidInput(
                Problem(
                    "a file of the dataset folder cannot be read",
                    str(files[0]),
                    str(error)[:200],
                    "build the folder again",
                )
            ) from error


def ordered_splits(names: "set[str] | dict[str, object]") -> list[str]:
    """List split names in the order train, validation, test."""
    return [split for split in SPLITS if split in names]
