"""The configs of a dataset folder: what can be loaded of it by a name, from which files, with which columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shiftbench.builders.folder.manifest import Manifest, TaskInfo
from shiftbench.validation.vocabulary import GOLD, SPLITS, TOKENS, TaskKind, source_parts

LABEL = "label"
"""The type of a column that holds codes into a task's labels."""


class Column(NamedTuple):
    """A column: its name, its type (or, of a struct, those of its parts), and whether it holds lists of that."""

    name: str
    dtype: str = "string"
    is_list: bool = False
    parts: tuple["Column", ...] = ()


@dataclass(frozen=True)
class Config:
    """What loads under one name.

    Args:
        name: as ``load_dataset`` takes it.
        title: in words.
        task: whose rows or depths these are.
        paths: by split, a glob over the files.
        rows: by split, how many.
        columns: in the files' order.
        labels: of the task; the columns of type ``LABEL`` hold codes into them.
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
    """Return the name that a task is loaded by.

    Returns: a pairing's name in the paper (``SiS-3``), else the task's own.
    """
    return task.pairing.name if task.pairing is not None else name


def _rows_config(name: str, title: str, folder: str, task_name: str, task: TaskInfo) -> Config:
    """Describe the rows of the domains that a glob over a task's folders matches: all of them, or one."""
    splits = [facts.splits for domain, facts in task.domains.items() if folder in ("*", domain)]
    rows = {split: sum(each[split].rows for each in splits if split in each) for split in SPLITS}
    rows = {split: count for split, count in rows.items() if any(split in each for each in splits)}
    paths = {split: f"data/{task_name}/{folder}/{split}-*.parquet" for split in rows}
    return Config(name, title, task_name, paths, rows, _columns(task), task.labels)


def _depth_config(name: str, task: TaskInfo, *, target_train: bool) -> Config:
    """Describe the depth tables: each holds the train texts of its source and the texts of its target."""
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
    title = f"{task.title}: how deep texts lie in each source domain"
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
