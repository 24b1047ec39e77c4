"""A ``datasets`` builder of a dataset folder, made in Python from its manifest: nothing of the Hub's is executed.

It yields what ``load_dataset`` yields, as its reading is the one of ``datasets``' own Parquet builder. Beyond that it
knows its splits and their sizes before it reads them, is prepared when it is first asked for rows, and keeps its cache
by content: a folder that is built anew at the same path is never answered from old rows.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import datasets
from datasets.data_files import DataFilesPatternsDict
from datasets.packaged_modules.parquet.parquet import Parquet, ParquetConfig

from builders.folder.configs import LABEL, Column, Config, config_name, configs
from builders.folder.hub_folder import names_repository
from builders.folder.manifest import MANIFEST, Manifest
from builders.folder.papers import papers_to_cite
from builders.hub_access import reaching_hub
from validation.report import InvalidInput, Problem, did_you_mean


@dataclass
class FolderConfig(ParquetConfig):  # type: ignore[misc]
    """A config of a dataset folder: ``rows`` says how many each split has."""

    rows: dict[str, int] = field(default_factory=dict)
    citation: str = ""


class FolderBuilder(Parquet):  # type: ignore[misc]
    """Base of the classes that ``dataset_builder`` makes, one a folder, with the folder's configs."""

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

    def as_dataset(self, split: Any = None, **options: Any) -> Any:
        """Return rows of all splits or of one, as ``datasets`` builders do; files are prepared on the first call."""
        self.download_and_prepare()
        return super().as_dataset(split, **options)


def dataset_builder(
    folder: Path | str, config: str | None = None, *, revision: str = "main", cache_dir: Path | str | None = None
) -> FolderBuilder:
    """Return the builder of one config of a dataset folder; only that config's files are listed and read.

        dataset_builder("build/dr", "nli.fiction").as_dataset(split="test")
        dataset_builder("ORG/domain-robustness", "nli").as_streaming_dataset(split="train")

    Args:
        folder: a folder on disk, or else ``ORG/NAME`` of a dataset repository on the Hub.
        config: ``<task>``, ``<task>.<domain>`` or ``<task>.depth``; by default the first task.
        revision: branch, tag or commit of the repository; of no meaning to a folder on disk.
        cache_dir: where prepared rows are kept; by default where ``datasets`` keeps them.
    Returns: a ``datasets`` builder that knows its splits, features and citation.
    Raises: InvalidInput when there is no such folder or config, or when the domain may not be published and is not in
        it.
    """
    where, manifest, base = _open(folder, revision)
    config_of = {each.name: each for each in configs(manifest)}
    name = config or next(iter(config_of))
    if name not in config_of:
        raise InvalidInput(_no_config(where, manifest, name, list(config_of)))
    papers = "\n\n".join(papers_to_cite(manifest.benchmark, depths=manifest.encoder is not None))
    members = {"BUILDER_CONFIGS": [_config(each, papers) for each in config_of.values()], "__module__": __name__}
    made = type("FolderBuilder", (FolderBuilder,), members)
    content = hashlib.sha256(manifest.model_dump_json().encode()).hexdigest()
    builder: FolderBuilder = made(
        cache_dir=str(cache_dir) if cache_dir else None,
        dataset_name=manifest.benchmark,
        config_name=name,
        base_path=base,
        hash=content[:16],
    )
    return builder


def _open(folder: Path | str, revision: str) -> tuple[str, Manifest, str]:
    """Return the folder's place in words, its manifest, and the path that the manifest's paths are relative to."""
    if not names_repository(folder):
        path = Path(folder)
        return str(path), Manifest.read(path), str(path.resolve())
    from huggingface_hub import HfApi

    repo_id = str(folder)
    cure = "check the name, or give a dataset folder on this machine"
    with reaching_hub(repo_id, cure):
        head = HfApi().repo_info(repo_id, repo_type="dataset", revision=revision).sha
        file = HfApi().hf_hub_download(repo_id, MANIFEST, repo_type="dataset", revision=head)
    # At one commit: between two calls the repository may move on.
    return repo_id, Manifest.read(Path(file).parent), f"hf://datasets/{repo_id}@{head}"


def _no_config(where: str, manifest: Manifest, name: str, names: list[str]) -> Problem:
    for task, info in manifest.tasks.items():
        config = config_name(task, info)
        for domain, facts in info.withheld.items():
            if name in (config, f"{config}.{domain}"):
                what = f"config '{name}' is not in this folder: {manifest.why_withheld(facts)}"
                return Problem(what, where, cure=f"build it yourself: {manifest.build_command(task)}")
    return Problem("the folder has no such config", where, f"'{name}'", did_you_mean(name, names))


def _config(config: Config, citation: str) -> FolderConfig:
    return FolderConfig(
        name=config.name,
        description=config.title,
        data_files=DataFilesPatternsDict.from_patterns({split: [path] for split, path in config.paths.items()}),
        features=datasets.Features({column.name: _feature(column, config.labels) for column in config.columns}),
        rows=dict(config.rows),
        citation=citation,
    )


def _feature(column: Column, labels: tuple[str, ...]) -> Any:
    if column.parts:
        return {part.name: _feature(part, labels) for part in column.parts}
    one = datasets.ClassLabel(names=list(labels)) if column.dtype == LABEL else datasets.Value(column.dtype)
    return datasets.List(one) if column.is_list else one
