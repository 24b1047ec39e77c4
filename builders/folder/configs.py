"""The configs of a dataset folder: loadable parts with their name, files and columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.validation.vocabulary import GOLD, SPLITS, TOKENS, TaskKind, source_parts

LABEL = "label"
"""The type of a column of indices into a task's labels."""


class Column(NamedTuple):
    """A column: its name, its type (for a struct, its parts), and whether its values are lists of that type."""

    name: str
    dtype: str = "string"
    is_list: bool = False
    parts: tuple["Column", ...] = ()


@dataclass(frozen=True)
class Config:
    """A part of a dataset folder that can be loaded by name.

    Args:
        name: config name for ``load_dataset``.
        title: display name.
        task: the task of these rows or depths.
        paths: glob of the files, by split.
        rows: number of rows, by split.
        columns: columns, in file order.
        labels: the task's labels; columns of type ``LABEL`` contain indices into them.
    """

    name: str
    title: str
    task: str
    paths: Mapping[str, str]
    rows: Mapping[str, int]
    columns: tuple[Column, ...]
    labels: tuple[str, ...] = ()


def configs(manifest: Manifest) -> list[Config]:
    """List the configs of a folder.

    Returns: the configs, the default one first; withheld domains have none.
    """
    listed = []
    for name, task in manifest.tasks.items():
        if not task.domains:
            continue
        config = config_name(name, task)
        listed.append(_rows_config(config, f"{task.title}: all domains", "*", name, task))
        listed += [
            _rows_config(f"{config}.{domain}", f"{task.title}: {domain}", domain, name, task) for domain in task.domains
        ]
        if manifest.encoder is not None and task.depth_pairs:
            listed.append(_depth_config(name, task, target_train=manifest.target_train_depths))
    return listed


def config_name(name: str, task: TaskInfo) -> str:
    """Return the config name of a task for ``load_dataset``.

    Args:
        name: the task's name in the folder.
        task: its manifest entry.
    Returns: a pairing's name in the paper (``SiS-3``), else the task's own.
    """
    return task.pairing.name if task.pairing is not None else name


def _rows_config(name: str, title: str, folder: str, task_name: str, task: TaskInfo) -> Config:
    """Return the config of a task's rows, of all domains or (by a glob over its folders) of one."""
    splits = [facts.splits for domain, facts in task.domains.items() if folder in ("*", domain)]
    rows = {split: sum(each[split].rows for each in splits if split in each) for split in SPLITS}
    rows = {split: count for split, count in rows.items() if any(split in each for each in splits)}
    paths = {split: f"data/{task_name}/{folder}/{split}-*.parquet" for split in rows}
    return Config(name, title, task_name, paths, rows, _columns(task), task.labels)


def _depth_config(name: str, task: TaskInfo, *, target_train: bool) -> Config:
    """Return the config of the depth tables: train texts of the source and texts of the target."""
    sizes = {
        domain: {split: facts.rows for split, facts in each.splits.items()} for domain, each in task.domains.items()
    }
    rows = sum(
        sum(sizes[part]["train"] for part in source_parts(source))
        + sizes[target]["test"]
        + (sizes[target].get("train", 0) if target_train and target not in source_parts(source) else 0)
        for source, target in task.depth_pairs
    )
    columns = (Column("id"), Column("source"), Column("depth", "float64"), Column("weight", "float64"))
    title = f"{task.title}: depth of texts in each source domain"
    return Config(
        f"{config_name(name, task)}.depth", title, name, {"test": f"depth/{name}/*.parquet"}, {"test": rows}, columns
    )


def _columns(task: TaskInfo) -> tuple[Column, ...]:
    gold = GOLD[task.kind]
    golds = {
        TaskKind.CLASSIFICATION: Column(gold, LABEL),
        TaskKind.TAGGING: Column(gold, LABEL, is_list=True),
        TaskKind.EXTRACTIVE_QA: Column(
            gold, parts=(Column("text", is_list=True), Column("answer_start", "int32", is_list=True))
        ),
        TaskKind.GENERATION: Column(gold),
    }
    return (
        *(Column(name) for name in ("id", "domain", "group")),
        *(Column(name, is_list=name == TOKENS) for name in task.inputs),
        golds[task.kind],
    )


def split_path(task: str, domain: str, split: str) -> str:
    """Return a split's path inside a dataset folder.

    Returns: a relative path with slashes, a glob over the split's shards.
    """
    return f"data/{task}/{domain}/{split}-*.parquet"


def depth_path(task: str, source: str, target: str) -> str:
    """Return a depth table's path inside a dataset folder.

    Args:
        source: a training domain, or several joined by ``+``.
    """
    return f"depth/{task}/{source}--{target}.parquet"


def subset_path(task: str, subset: str) -> str:
    """Return the path of a subset's ids inside a dataset folder."""
    return f"subsets/{task}/{subset}.parquet"


def repeats_path(task: str) -> str:
    """Return the path of the list of a task's repeated test rows inside a dataset folder."""
    return f"repeats/{task}.parquet"
