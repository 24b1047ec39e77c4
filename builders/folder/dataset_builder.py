"""A ``datasets`` builder for a dataset folder, created from its manifest: no code from the Hub is executed.

It yields the same rows as ``load_dataset``, because it subclasses the Parquet builder of ``datasets``. In addition it
knows its splits and sizes in advance, prepares files on first use, and caches by content: rebuilding a folder at the
same path never returns old rows. Local files are compared with the checksums in the manifest, and a file with an
unexpected number of rows is an error.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
from datasets.data_files import DataFilesPatternsDict
from datasets.packaged_modules.parquet.parquet import Parquet, ParquetConfig

from shiftbench.builders.cache import cache_key
from shiftbench.builders.checksums import file_state
from shiftbench.builders.folder.citations import papers_to_cite
from shiftbench.builders.folder.compared_files import compare_files
from shiftbench.builders.folder.configs import LABEL, Column, Config, config_name, configs
from shiftbench.builders.folder.hub_folder import names_repository
from shiftbench.builders.folder.manifest import MANIFEST, Manifest
from shiftbench.builders.hub_access import reaching_hub
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean

_SHARD = re.compile(r"(?P<split>data/[^/]+/[^/]+/[^/]+)-(?P<number>[0-9]{5})-of-(?P<of>[0-9]{5})\.parquet$")


@dataclass
class FolderConfig(ParquetConfig):  # type: ignore[misc]
    """A config of a dataset folder, with row counts by split and (``split_rows``) by path."""

    rows: dict[str, int] = field(default_factory=dict)
    split_rows: dict[str, int] = field(default_factory=dict)
    citation: str = ""


class FolderBuilder(Parquet):  # type: ignore[misc]
    """Base of the classes created by ``dataset_builder``, one per folder, with the folder's configs."""

    BUILDER_CONFIG_CLASS = FolderConfig

    def _info(self) -> datasets.DatasetInfo:
        splits = datasets.SplitDict(dataset_name=self.dataset_name)
        for name, rows in self.config.rows.items():
            splits.add(datasets.SplitInfo(name, num_examples=rows))
        return datasets.DatasetInfo(
            description=self.config.description,
            citation=self.config.citation,
            features=self.config.features,
            splits=splits,
        )

    def _generate_tables(self, files: Any, row_groups_list: Any) -> Iterator[Any]:
        """Yield tables; raise, even when streaming, if a file's number of rows differs from the manifest."""
        counts = dict.fromkeys(range(len(files)), 0)
        for key, table in super()._generate_tables(files, row_groups_list):
            counts[key.original_shard_id] += len(table)
            yield key, table
        # Filters and selected row groups return fewer rows than the file has.
        if self.config.filters is None:
            for (place, n_rows), row_groups in zip(counts.items(), row_groups_list, strict=True):
                if row_groups is None:
                    self._check_rows(str(files[place]), n_rows)

    def _check_rows(self, file: str, n_rows: int) -> None:
        """Check a file's number of rows against its split, which is divided evenly into shards.

        Files with other names are downloaded copies, whose rows ``datasets`` counts itself.
        """
        named = _SHARD.search(file)
        if named is None or named["split"] not in self.config.split_rows:
            return
        rows, number, n_shards = self.config.split_rows[named["split"]], int(named["number"]), int(named["of"])
        expected = rows * (number + 1) // n_shards - rows * number // n_shards
        if n_rows != expected:
            found = f"{n_rows:,} rows, {expected:,} in the manifest"
            raise InvalidInput(Problem("rows differ from the manifest", file, found, "build the folder again"))

    def as_dataset(self, split: Any = None, **options: Any) -> Any:
        """Return all splits or one, like any ``datasets`` builder; files are prepared on the first call."""
        self.download_and_prepare()
        return super().as_dataset(split, **options)


def dataset_builder(
    folder: Path | str, config: str | None = None, *, revision: str = "main", cache_dir: Path | str | None = None
) -> FolderBuilder:
    """Return the builder of one config of a dataset folder; only that config's files are listed and read.

        dataset_builder("build/dr", "nli.fiction").as_dataset(split="test")
        dataset_builder("ORG/domain-robustness", "nli").as_streaming_dataset(split="train")

    Args:
        folder: a folder on disk, or ``ORG/NAME`` of a dataset repository on the Hub.
        config: ``<task>``, ``<task>.<domain>`` or ``<task>.depth``; by default the first task.
        revision: branch, tag or commit of the repository; ignored for a folder on disk.
        cache_dir: folder for prepared rows; by default the cache of ``datasets``.
    Returns: a ``datasets`` builder with splits, features and citation.
    Raises: InvalidInput if there is no such folder or config, the domain is withheld from publication, or files of the
        config were changed.
    """
    where, manifest, base = _open(folder, revision)
    config_of = {each.name: each for each in configs(manifest)}
    name = config or next(iter(config_of))
    if name not in config_of:
        raise InvalidInput(_no_config(where, manifest, name, list(config_of)))
    content = {"manifest": manifest.model_dump(mode="json")}
    if not names_repository(folder):
        patterns = list(config_of[name].paths.values())
        compare_files(Path(folder), manifest, patterns)
        if not manifest.files:  # written before manifests had checksums: detect changes from the files themselves
            paths = sorted(path for pattern in patterns for path in Path(folder).glob(pattern))
            content["files"] = {str(path): file_state(path) for path in paths}
    papers = "\n\n".join(papers_to_cite(manifest.benchmark, depths=manifest.encoder is not None))
    members = {
        "BUILDER_CONFIGS": [_config(each, papers, manifest) for each in config_of.values()],
        "__module__": __name__,
    }
    # ``datasets`` reads configs from the class, so each folder needs a class of its own.
    made = type("FolderBuilder", (FolderBuilder,), members)
    builder: FolderBuilder = made(
        cache_dir=str(cache_dir) if cache_dir else None,
        dataset_name=manifest.benchmark,
        config_name=name,
        base_path=base,
        hash=cache_key(content)[:16],
    )
    return builder


def _open(folder: Path | str, revision: str) -> tuple[str, Manifest, str]:
    """Return the folder's name for messages, its manifest, and the base of the manifest's relative paths."""
    if not names_repository(folder):
        path = Path(folder)
        return str(path), Manifest.read(path), str(path.resolve())
    from huggingface_hub import HfApi

    repo_id = str(folder)
    cure = "check the name, or give a dataset folder on this machine"
    with reaching_hub(repo_id, cure):
        head = HfApi().repo_info(repo_id, repo_type="dataset", revision=revision).sha
        file = HfApi().hf_hub_download(repo_id, MANIFEST, repo_type="dataset", revision=head)
    # Pin one commit, because the repository may change between two calls.
    return repo_id, Manifest.read(Path(file).parent), f"hf://datasets/{repo_id}@{head}"


def _no_config(where: str, manifest: Manifest, name: str, names: list[str]) -> Problem:
    for task, info in manifest.tasks.items():
        config = config_name(task, info)
        for domain, facts in info.withheld.items():
            if name in (config, f"{config}.{domain}"):
                what = f"config '{name}' is not in this folder: {manifest.why_withheld(facts)}"
                return Problem(what, where, cure=f"build it yourself: {manifest.build_command(task)}")
    return Problem("the folder has no such config", where, f"'{name}'", did_you_mean(name, names))


def _config(config: Config, citation: str, manifest: Manifest) -> FolderConfig:
    split_rows = {
        f"data/{task}/{domain}/{split}": facts.rows
        for task, info in manifest.tasks.items()
        for domain, domain_facts in info.domains.items()
        for split, facts in domain_facts.splits.items()
    }
    return FolderConfig(
        name=config.name,
        description=config.title,
        data_files=DataFilesPatternsDict.from_patterns({split: [path] for split, path in config.paths.items()}),
        features=datasets.Features({column.name: _feature(column, config.labels) for column in config.columns}),
        rows=dict(config.rows),
        split_rows=split_rows,
        citation=citation,
    )


def _feature(column: Column, labels: tuple[str, ...]) -> Any:
    if column.parts:
        return {part.name: _feature(part, labels) for part in column.parts}
    one = datasets.ClassLabel(names=list(labels)) if column.dtype == LABEL else datasets.Value(column.dtype)
    return datasets.List(one) if column.is_list else one
