"""The front door: the names that a notebook imports."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from builders.folder.dataset_builder import dataset_builder
    from builders.folder.reader import DatasetFolder
    from leaderboard.scoring.score import score_file

__all__ = ["DatasetFolder", "dataset_builder", "score_file"]

_LAZY = {
    "DatasetFolder": "builders.folder.reader",
    "dataset_builder": "builders.folder.dataset_builder",
    "score_file": "leaderboard.scoring.score",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shiftbench' has no attribute {name!r}")
