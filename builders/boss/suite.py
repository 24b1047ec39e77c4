"""Shared by the tasks of BOSS: steps, and known differences from the authors' code (``differences.toml``)."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pydantic

from shiftbench.builders.folder.manifest import Difference
from shiftbench.builders.specs.spec import DomainSpec, TaskSpec
from shiftbench.builders.specs.transforms import group_by_text, keep_filled, one_space, select
from shiftbench.validation.vocabulary import TaskKind

_FILE = Path(__file__).parent / "differences.toml"
LABELLED_TEXT = select("text", "label")
TEXT = (one_space("text"), keep_filled("text"), group_by_text("text"))
AS_UPSTREAM = (
    "Tabs and runs of spaces become one space; otherwise texts are unchanged, including line breaks, white space at "
    "their ends and codes such as &amp;."
)


def suite_task(
    name: str, title: str, kind: TaskKind, metric: str, domains: tuple[DomainSpec, ...], **more: Any
) -> TaskSpec:
    """Build a task of the suite; its first data set is the in-distribution one."""
    return TaskSpec(
        benchmark="boss",
        name=name,
        title=title,
        kind=kind,
        metric=metric,
        domains=domains,
        as_upstream=True,
        id_domain=domains[0].name,
        differences=find_differences(name),
        **more,
    )


def candidates(task: TaskSpec, title: str, *domains: DomainSpec, **more: Any) -> TaskSpec:
    """Build the task whose domains are the candidate data sets for a task of the suite."""
    name = f"{task.name}_candidates"
    differences = find_differences(name)
    own = {"id_domain": None, "candidates_for": task.name, "notes": (), "differences": differences, **more}
    return replace(task, name=name, title=title, domains=domains, **own)


@cache
def read_differences() -> Sequence[Difference]:
    """Read all known differences from the authors' code, in file order; data sets are named ``<task>.<name>``."""
    return _LINES.validate_python(tomllib.loads(_FILE.read_text(encoding="utf-8")))["difference"]


def find_differences(task: str) -> tuple[Difference, ...]:
    """Return the known differences from the authors' code for a task; data sets are named without the task.

    Args:
        task: its name in the benchmark, such as ``sa_candidates``.
    """
    own = [
        (line, tuple(name.removeprefix(f"{task}.") for name in line.data_sets if name.startswith(f"{task}.")))
        for line in read_differences()
    ]
    return tuple(
        line.model_copy(
            update={
                "data_sets": names,
                "rows": {name: line.rows[f"{task}.{name}"] for name in names if f"{task}.{name}" in line.rows},
            }
        )
        for line, names in own
        if names
    )


_LINES = pydantic.TypeAdapter(dict[str, tuple[Difference, ...]])
