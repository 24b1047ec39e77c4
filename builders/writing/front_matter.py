"""The YAML front matter of a dataset card, read by ``load_dataset`` and the Hub."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from shiftbench.builders.folder.citations import PAPERS, TASK_IDS, plain_task, task_category
from shiftbench.builders.folder.configs import LABEL, Column, Config, configs
from shiftbench.builders.folder.manifest import Manifest
from shiftbench.builders.writing.licences import hub_licence
from shiftbench.validation.vocabulary import PLACEBO


class _PlainDumper(yaml.SafeDumper):
    """A YAML dumper that repeats equal values instead of writing aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def front_matter(manifest: Manifest) -> str:
    """Build the YAML of a folder's card, with the ``---`` lines around it."""
    return fence_yaml(_content(manifest))


def fence_yaml(content: Mapping[str, Any]) -> str:
    """Format the YAML front matter of a README, with the ``---`` lines around it.

    Args:
        content: keys and values; equal values are repeated rather than written as YAML aliases.
    """
    front = yaml.dump(dict(content), Dumper=_PlainDumper, sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n"


def loading_keys(dataset_configs: Sequence[Config]) -> dict[str, Any]:
    """Build the front matter keys that define configs for ``load_dataset``.

    Args:
        dataset_configs: the configs; the first one is the default.
    Returns: ``configs`` and ``dataset_info``.
    """
    listed: list[dict[str, Any]] = [
        {"config_name": config.name, "data_files": _data_files(config)} for config in dataset_configs
    ]
    listed[0]["default"] = True
    features = [{"config_name": config.name, "features": _features(config)} for config in dataset_configs]
    return {"configs": listed, "dataset_info": features}


def languages(manifest: Manifest) -> list[str]:
    """Return the languages of a folder's texts; empty if unknown."""
    return ["en"] if manifest.benchmark in _ENGLISH else []


_ENGLISH = ("dr", "boss", "df1", "synthetic")


def _content(manifest: Manifest) -> dict[str, Any]:
    task_ids = _task_ids(manifest)
    may_hurt = any(source.may_hurt for source in manifest.sources_here)
    here = [name for name, task in manifest.tasks.items() if task.domains]
    return {
        "pretty_name": manifest.title,
        **({"language": spoken} if (spoken := languages(manifest)) else {}),
        **hub_licence(manifest.sources_here),
        "size_categories": [_size_category(manifest)],
        "task_categories": sorted({task_category(manifest, name) for name in here}),
        **({"task_ids": task_ids} if task_ids else {}),
        "tags": ["domain-shift", "robustness", "shiftbench", *(["not-for-all-audiences"] if may_hurt else [])],
        **loading_keys(configs(manifest)),
    }


def _data_files(config: Config) -> list[dict[str, str]]:
    return [{"split": split, "path": path} for split, path in config.paths.items()]


def _task_ids(manifest: Manifest) -> list[str]:
    """Return the Hub's ``task_ids`` of the tasks; empty for user data, whose task names may mean something else."""
    if manifest.benchmark not in PAPERS:
        return []
    here = {plain_task(name) for name, task in manifest.tasks.items() if task.domains}
    return sorted({TASK_IDS[name] for name in here if name in TASK_IDS})


def _size_category(manifest: Manifest) -> str:
    """Return the Hub's size category of a folder, not counting placebo tasks, which repeat the real rows."""
    rows = sum(
        split.rows
        for name, task in manifest.tasks.items()
        if not name.endswith(PLACEBO)
        for facts in task.domains.values()
        for split in facts.splits.values()
    )
    return size_category(rows)


_BOUNDS = (10**3, 10**4, 10**5, 10**6, 10**7, 10**8)
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B")


def size_category(rows: int) -> str:
    """Return the Hub's size category of a dataset with ``rows`` rows.

    >>> size_category(999), size_category(1_000), size_category(97_320)
    ('n<1K', '1K<n<10K', '10K<n<100K')
    """
    return _SIZES[bisect_right(_BOUNDS, rows)]


def _features(config: Config) -> list[dict[str, Any]]:
    return [_feature(column, config.labels) for column in config.columns]


def _feature(column: Column, labels: tuple[str, ...]) -> dict[str, Any]:
    if column.parts:
        return {"name": column.name, "struct": [_feature(part, labels) for part in column.parts]}
    dtype: Any = column.dtype
    if dtype == LABEL:
        dtype = {"class_label": {"names": {str(code): label for code, label in enumerate(labels)}}}
    return {"name": column.name, ("list" if column.is_list else "dtype"): dtype}
