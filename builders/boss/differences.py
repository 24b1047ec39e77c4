"""What the authors' code does to each data set and what is done here, typed by a person into ``differences.toml``."""

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pydantic

from shiftbench.builders.folder.manifest import Difference

_FILE = Path(__file__).parent / "differences.toml"


@cache
def read_differences() -> Sequence[Difference]:
    """Read all lines, in the order of the file; data sets are named with their task, as in ``sa.amazon``."""
    return _LINES.validate_python(tomllib.loads(_FILE.read_text(encoding="utf-8")))["difference"]


def find_differences(task: str) -> tuple[Difference, ...]:
    """Return the lines of a task's data sets, which they name without the task.

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
