"""Reader of dataset folders, the interface of the builders used by baselines and the leaderboard."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.builders.folder.compared_files import compare_files, find_changed_files, find_missing_files
from shiftbench.builders.folder.configs import depth_path, repeats_path, split_path, subset_path
from shiftbench.builders.folder.hashes import (
    content_hash,
    groups_sha256,
    ids_sha256,
    labels_sha256,
    rows_sha256,
    settings_hash,
)
from shiftbench.builders.folder.manifest import MANIFEST, Manifest, SplitFacts, TaskInfo
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.schemas import check_examples, check_rows, depth_schema
from shiftbench.validation.versions import DataVersion
from shiftbench.validation.vocabulary import GOLD, PLACEBO, TOKENS, TaskKind

SUBSET_IDS = pl.Schema({"id": pl.String()})
"""The ids of a subset's test rows: unique, sorted, no nulls."""
REPEATED_TESTS = pl.Schema({"id": pl.String(), "near": pl.Boolean(), "exact": pl.Boolean()})
"""Test rows that repeat a train text of their own domain, sorted by id, no nulls: ``near``: a similar text in another
group (``shiftbench.builders.folder.statistics.SIMILAR``); ``exact``: an equal text; at least one is true."""


@dataclass(frozen=True)
class DatasetFolder:
    """A dataset folder on disk. Open it with ``DatasetFolder.open``; rows are read lazily."""

    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path | str) -> "DatasetFolder":
        """Open a folder.

        Its files are compared with the checksums in the manifest when it is first opened on this machine, later only
        those that changed.

        Args:
            path: the folder.
        Raises: InvalidInput if it is not a dataset folder, has another format version, or contains changed files.
        """
        folder = cls.unchecked(path)
        compare_files(folder.path, folder.manifest)
        return folder

    @classmethod
    def unchecked(cls, path: Path | str) -> "DatasetFolder":
        """Open a folder without comparing checksums, so that ``check`` can list all its problems.

        Args:
            path: the folder.
        Raises: InvalidInput if it is not a dataset folder or has another format version.
        """
        return cls(Path(path), Manifest.read(Path(path)))

    def __repr__(self) -> str:
        """Return a one-line summary; the full manifest has hundreds of lines."""
        tasks = ", ".join(self.manifest.tasks)
        return f"DatasetFolder({str(self.path)!r}: {tasks}; {self.version})"

    @property
    def content_hash(self) -> str:
        """Return the hash of all rows, as stated in prediction cards."""
        return self.manifest.content_hash

    def tasks_hash(self, tasks: Iterable[str]) -> str:
        """Hash the folder's rows of some tasks, independent of its other tasks.

        Args:
            tasks: names of the tasks.
        Returns: the content hash of a folder with only these tasks, 64 hex digits; withheld test labels are included,
            withheld domains are not.
        Raises: InvalidInput if there is no such task.
        """
        here = {name: self.task(name).model_copy(update={"withheld": {}}) for name in tasks}
        return content_hash(here, self.manifest.benchmark)

    @property
    def version(self) -> DataVersion:
        """Return the hashes of rows and settings, as stated in cards, scores and claims."""
        return self.manifest.version

    @property
    def has_public_labels(self) -> bool:
        """Return whether the test labels are public; otherwise only ``shiftbench.leaderboard.release`` may report
        results.
        """
        return self.manifest.has_public_labels

    @cached_property
    def has_depth(self) -> bool:
        """Return whether the folder has depth tables."""
        return self.manifest.encoder is not None

    def task(self, name: str) -> TaskInfo:
        """Return the manifest's entry of a task.

        Args:
            name: the task, such as ``nli`` or ``nli.placebo``.
        Raises: InvalidInput, suggesting the nearest name, if there is no such task.
        """
        if name not in self.manifest.tasks:
            raise self._unknown_name("the folder has no such task", name, did_you_mean(name, list(self.manifest.tasks)))
        return self.manifest.tasks[name]

    def split(self, task: str, domain: str, split: str) -> pl.DataFrame:
        """Read the rows of one split.

        Args:
            task, domain: names of the task and the domain.
            split: ``train``, ``validation`` or ``test``.
        Returns: rows with schema ``shiftbench.validation.schemas.example_schema``, sorted by id; withheld gold is null
            (see ``refuse_withheld``).
        Raises: InvalidInput if there is no such task, domain or split, or the domain is withheld from publication.
        """
        facts = self.task(task)
        if domain in facts.withheld:
            raise InvalidInput(self._withheld_domain(task, domain))
        if domain not in facts.domains:
            cure = did_you_mean(domain, list(facts.domains))
            raise self._unknown_name(f"task '{task}' has no such domain", domain, cure)
        if split not in facts.domains[domain].splits:
            cure = f"it has {', '.join(facts.domains[domain].splits)}"
            raise self._unknown_name(f"domain '{domain}' has no such split", split, cure)
        return self._read_files(split_path(task, domain, split))

    def test(self, task: str, subset: str = "all", columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Read the test rows of all domains of a task that belong to a subset.

        Args:
            task: the task.
            subset: ``all``, or another subset of the task.
            columns: the columns to read, including ``id``; None reads all.
        Returns: rows with schema ``shiftbench.validation.schemas.example_schema``, by domain in the manifest's order,
            sorted by id within domains.
        Raises: InvalidInput if there is no such task or subset, or the subset needs rows missing in this folder.
        """
        ids = self.subset(task, subset)
        domains = [domain for domain, facts in self.task(task).domains.items() if "test" in facts.splits]
        rows = self._read_files([split_path(task, domain, "test") for domain in domains], columns)
        return rows.join(ids, on="id", how="semi", maintain_order="left")

    def subset(self, task: str, name: str) -> pl.DataFrame:
        """Read the ids of a subset.

        Args:
            task: the task.
            name: ``all``, or another subset of the task.
        Returns: the columns of ``SUBSET_IDS``.
        Raises: InvalidInput if there is no such task or subset, or the subset needs rows missing in this folder.
        """
        info = self.task(task)
        if name in info.withheld_subsets:
            lost = [domain for domain, facts in info.withheld.items() if "test" in facts.splits]
            what = f"subset '{name}' is not in this folder, because it needs rows that may not be published"
            cure = f"build it yourself: {self.manifest.build_command(task)}"
            raise InvalidInput(Problem(what, str(self.path), f"'{task}' without {', '.join(lost)}", cure))
        if name not in info.subsets:
            raise self._unknown_name(f"task '{task}' has no such subset", name, did_you_mean(name, list(info.subsets)))
        return self._read_files(subset_path(task, name))

    def prediction_task(self, task: str, subset: str = "all") -> PredictionTask:
        """Return the task description used to validate prediction files.

        Candidate data sets test models of another task, so the domains of that task are valid sources too.

        Args:
            subset: the subset that predictions cover.
        Returns: kind, labels, sources and test ids of the task.
        Raises: InvalidInput, see ``subset``.
        """
        info = self.task(task)
        main = self.manifest.tasks.get(info.candidates_for or "")
        trainable = info.domains | (main.domains if main else {})
        counted = [TOKENS] if info.kind is TaskKind.TAGGING else []
        rows = self.test(task, subset, ["id", "domain", *counted])
        n_tokens = (pl.col(name).list.len().alias("n_tokens") for name in counted)
        every = [] if subset == "all" else self.test(task, columns=["id"])["id"].to_list()
        others = [name for name in info.subsets if name != "all" and name not in info.withheld_subsets]
        return PredictionTask(
            self.manifest.benchmark,
            task,
            info.kind,
            info.labels,
            domains=tuple(domain for domain in info.domains if domain in set(rows["domain"].unique())),
            test=rows.select("id", "domain", *n_tokens),
            sources=tuple(domain for domain, facts in trainable.items() if "train" in facts.splits),
            subset=subset,
            withheld=tuple(info.withheld),
            outside=frozenset(every) - frozenset(rows["id"]),
            subsets={name: self.subset(task, name)["id"] for name in others} if subset == "all" else {},
        )

    def depth(self, task: str, source: str, target: str) -> pl.DataFrame:
        """Read a depth table.

        Args:
            task: the task.
            source: a training domain, or several joined by ``+``.
            target: the domain whose texts are tested.
        Returns: rows with schema ``shiftbench.validation.schemas.depth_schema``.
        """
        return self._read_files(depth_path(task, source, target))

    def depths(self, task: str, sources: Sequence[str], target: str) -> dict[str, pl.DataFrame]:
        """Read the depth tables of several sources at once.

        Args:
            task: the task.
            sources: training domains.
            target: the domain whose texts are tested.
        Returns: the columns id, source and depth of ``shiftbench.validation.schemas.depth_schema``, by source.
        """
        rows = self._read_files([depth_path(task, source, target) for source in sources], ["id", "source", "depth"])
        return {str(source): part for (source,), part in rows.partition_by("source", as_dict=True).items()}

    def repeated_tests(self, task: str) -> pl.DataFrame | None:
        """Read which test rows repeat, nearly or exactly, a train text of their own domain.

        Args:
            task: the task.
        Returns: the columns of ``REPEATED_TESTS``; None for a placebo, which has the rows of another task, and for
            folders of builder version 0.1.0.
        """
        if not self.manifest.lists_repeats or task.endswith(PLACEBO):
            return None
        return self._read_files(repeats_path(task))

    def deepest_of_pool(self, task: str, parts: Sequence[str]) -> float | None:
        """Return the depth of the deepest train text of a pool of domains (DF1 equation 2).

        A text's depth in the pool is the mean over the pool's other texts, which equals the mean of its depths in the
        parts, weighted by their numbers of train texts (excluding the text itself).

        Args:
            task: the task.
            parts: the pool's domains, at least two.
        Returns: a depth in [0, 2]; None if the depth tables lack the target's train texts
            (``Manifest.target_train_depths``), or a part has no test texts and so no tables (sources of a pairing).
        """
        pairs = set(self.task(task).depth_pairs)
        if not self.manifest.target_train_depths or any((a, b) not in pairs for a in parts for b in parts):
            return None
        own = {part: self.split(task, part, "train")["id"] for part in parts}
        n_pool = sum(map(len, own.values()))
        deepest = -1.0
        for part, ids in own.items():
            tables = self.depths(task, parts, part)
            total = np.zeros(len(ids))
            for other in parts:
                table = pl.DataFrame({"id": ids}).join(tables[other], on="id", how="left", maintain_order="left")
                total += (len(own[other]) - (other == part)) * table["depth"].to_numpy()
            deepest = max(deepest, float(total.max()) / (n_pool - 1))
        return deepest

    def refuse_withheld(self) -> None:
        """Raise InvalidInput if test labels are withheld."""
        if self.manifest.withholds_labels:
            what = "test labels are withheld in this folder"
            cure = f"score with the gold folder of the same version ({self.version}), "
            raise InvalidInput(Problem(what, str(self.path), cure=cure + "or submit to the leaderboard"))

    def check(self) -> None:
        """Check every file against its schema and hash; raise InvalidInput listing all problems."""
        problems = list(find_changed_files(self.path, self.manifest))
        for name in self.manifest.tasks:
            # Subsets are ids of test rows, so they can only be checked if the rows are valid.
            problems += self._check_splits(name) or self._check_subsets(name) + self._check_repeats(name)
            problems += self._check_depth(name) + self._check_withheld(name)
        if self.content_hash != content_hash(self.manifest.tasks, self.manifest.benchmark):
            what, cure = "the content hash does not match the splits in the manifest", "build the folder again"
            problems.append(Problem(what, str(self.path / MANIFEST), self.content_hash[:12], cure))
        if self.manifest.settings_hash not in (None, settings_hash(self.manifest.tasks, self.manifest.encoder)):
            what, cure = "the settings hash does not match the settings in the manifest", "build the folder again"
            problems.append(Problem(what, str(self.path / MANIFEST), str(self.version), cure))
        if problems:
            raise InvalidInput(problems)

    def _check_splits(self, name: str) -> list[Problem]:
        task, problems = self.task(name), []
        for domain, facts in task.domains.items():
            for split, expected in facts.splits.items():
                file = str(self.path / split_path(name, domain, split))
                try:
                    frame = self.split(name, domain, split)
                    withheld = expected.withheld_labels
                    check_examples(frame, task.kind, task.inputs, task.labels, file, withheld=withheld)
                except InvalidInput as error:
                    problems += error.problems
                    continue
                if found := _difference(
                    frame, task, domain, expected, self.manifest.label_key if split == "test" else None
                ):
                    problems.append(Problem("rows differ from the manifest", file, found, "build the folder again"))
        return problems

    def _check_subsets(self, name: str) -> list[Problem]:
        problems = []
        for subset, n_ids in self.task(name).subsets.items():
            try:
                ids = self.subset(name, subset)
                counts = len(ids), len(self.test(name, subset))
            except InvalidInput as error:
                problems += error.problems
                continue
            if counts != (n_ids, n_ids):
                found = f"{counts[0]:,} ids, {counts[1]:,} of them of test rows, {n_ids:,} in the manifest"
                file = str(self.path / subset_path(name, subset))
                problems.append(Problem("ids differ from the manifest", file, found, "build the folder again"))
            elif self.task(name).subset_hashes.get(subset) not in (None, ids_sha256(ids["id"])):
                file = str(self.path / subset_path(name, subset))
                problems.append(Problem("ids differ from the manifest", file, cure="build the folder again"))
        return problems

    def _check_repeats(self, name: str) -> list[Problem]:
        """Find listed repeats that are not test rows of the folder, for example of a withheld domain."""
        try:
            repeats = self.repeated_tests(name)
        except InvalidInput as error:
            return error.problems
        if repeats is None:
            return []
        has_tests = "all" in self.task(name).subsets
        n_known = len(repeats.join(self.test(name, columns=["id"]), on="id", how="semi")) if has_tests else 0
        if n_known == len(repeats) and repeats["id"].is_unique().all():
            return []
        what = f"{len(repeats):,} ids, {n_known:,} of them of test rows"
        file = str(self.path / repeats_path(name))
        return [Problem("the list of repeated test rows does not match the rows", file, what, "build the folder again")]

    def _check_depth(self, name: str) -> list[Problem]:
        problems: list[Problem] = []
        for source, target in self.task(name).depth_pairs if self.has_depth else ():
            try:
                table = self.depth(name, source, target)
                check_rows(table, depth_schema(), str(self.path / depth_path(name, source, target)))
            except InvalidInput as error:
                problems += error.problems
        return problems

    def _check_withheld(self, name: str) -> list[Problem]:
        """Find files of withheld domains, which must not be distributed with the folder."""
        left_out = [
            path
            for domain in self.task(name).withheld
            for pattern in (f"data/{name}/{domain}/*", f"depth/{name}/{domain}--*", f"depth/{name}/*--{domain}.*")
            for path in sorted(self.path.glob(pattern))
        ]
        what, cure = (
            "the folder contains a file of a domain that may not be published",
            "delete it, or build the folder again",
        )
        return [Problem(what, str(path), cure=cure) for path in dict.fromkeys(left_out)]

    def _unknown_name(self, what: str, name: str, cure: str) -> InvalidInput:
        return InvalidInput(Problem(what, str(self.path), f"'{name}'", cure))

    def _withheld_domain(self, task: str, domain: str) -> Problem:
        facts = self.task(task).withheld[domain]
        return Problem(
            f"domain '{domain}' of task '{task}' is not in this folder: {self.manifest.why_withheld(facts)}",
            str(self.path),
            cure=f"build it yourself: {self.manifest.build_command(task)}",
        )

    def files(self, pattern: str) -> list[Path]:
        """List the files at a path inside the folder, such as the result of ``split_path``.

        Args:
            pattern: a path inside the folder, or a glob over the shards of a split.
        Raises: InvalidInput if there are none, or they differ from the manifest's list.
        """
        if problems := list(find_missing_files(self.path, self.manifest, pattern)):
            raise InvalidInput(problems)
        files = sorted(self.path.glob(pattern))
        if not files:
            what, cure = "a file of the dataset folder is missing", "build the folder again"
            raise InvalidInput(Problem(what, str(self.path / pattern), cure=cure))
        for file in files:
            if not file.is_file():  # reading a pipe, for example, would block forever
                what, cure = "a file of the dataset folder is not a regular file", "build the folder again"
                raise InvalidInput(Problem(what, str(file), cure=cure))
        return files

    def _read_files(self, patterns: str | Sequence[str], columns: Sequence[str] | None = None) -> pl.DataFrame:
        each = [patterns] if isinstance(patterns, str) else patterns
        files = [file for pattern in each for file in self.files(pattern)]
        try:
            # A folder may be named [1].
            return pl.read_parquet(files, columns=list(columns) if columns else None, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InvalidInput(
                Problem(
                    "a file of the dataset folder cannot be read",
                    str(files[0]),
                    str(error)[:200],
                    "build the folder again",
                )
            ) from error


def _difference(frame: pl.DataFrame, task: TaskInfo, domain: str, expected: SplitFacts, key: str | None) -> str:
    """Return how a split's rows differ from the manifest; ``""`` if they do not."""
    if len(frame) != expected.rows:
        return f"{len(frame):,} rows, {expected.rows:,} in the manifest"
    same = {
        "inputs or ids": rows_sha256(frame, task.inputs) == expected.inputs_sha256,
        "labels": expected.withheld_labels or labels_sha256(frame, GOLD[task.kind], key) == expected.labels_sha256,
        "groups": frame["group"].n_unique() == expected.groups
        and expected.groups_sha256 in (None, groups_sha256(frame, task.inputs)),
        "domains": bool((frame["domain"] == domain).all()),
    }
    changed = [name for name, is_same in same.items() if not is_same]
    return f"different {', different '.join(changed)}" if changed else ""
