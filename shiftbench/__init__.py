"""The front door: what a notebook imports, each name explained in ``shiftbench/README.md``.

    import shiftbench as sb

    data = sb.open_dataset("build/dr")
    scores = sb.score("preds.parquet", data)

Nothing heavier than this file is imported until a name is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiftbench import metrics
    from shiftbench.builders.folder.dataset_builder import dataset_builder
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.notebook.api import build_own, compare, open_dataset, score, submit, validate
    from shiftbench.notebook.results import ComparisonResult, ScoreResult
    from shiftbench.scoring.scores.score import score_file
    from shiftbench.validation.cards import Card
    from shiftbench.validation.report import InvalidInput

    __version__: str

__all__ = [
    "Card",
    "ComparisonResult",
    "DatasetFolder",
    "InvalidInput",
    "ScoreResult",
    "__version__",
    "build_own",
    "compare",
    "dataset_builder",
    "metrics",
    "open_dataset",
    "score",
    "score_file",
    "submit",
    "validate",
]

_HOMES = {
    "Card": "shiftbench.validation.cards",
    "ComparisonResult": "shiftbench.notebook.results",
    "DatasetFolder": "shiftbench.builders.folder.reader",
    "InvalidInput": "shiftbench.validation.report",
    "ScoreResult": "shiftbench.notebook.results",
    "build_own": "shiftbench.notebook.api",
    "compare": "shiftbench.notebook.api",
    "dataset_builder": "shiftbench.builders.folder.dataset_builder",
    "open_dataset": "shiftbench.notebook.api",
    "score": "shiftbench.notebook.api",
    "score_file": "shiftbench.scoring.scores.score",
    "submit": "shiftbench.notebook.api",
    "validate": "shiftbench.notebook.api",
}
"""The module that each name is imported from on first use."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name == "metrics":
        value = importlib.import_module("shiftbench.metrics")
    elif name == "__version__":
        from importlib.metadata import version

        value = version("shiftbench")
    else:
        raise AttributeError(f"module 'shiftbench' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, used or not, for completion."""
    return sorted({*globals(), *__all__})
