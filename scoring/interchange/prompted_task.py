"""A task of a dataset folder with its prompts, as other tools run it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.validation.output_files import check_place
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

Message = Mapping[str, str]
"""One turn: ``role`` and ``content``."""

GOLD_ANSWER = "gold_answer"
"""The column with the gold answer as a model is to write it; inputs may have the name ``answer``."""


@dataclass(frozen=True)
class PromptedTask:
    """One task: its test rows by domain, and the prompts for a model.

    Attributes:
        benchmark: the dataset's.
        task: its name in the folder.
        kind: what is predicted.
        labels: its labels or tags.
        metric: the folder's metric of the task, such as ``macro_f1``.
        inputs: its input columns.
        rows: by domain, the test rows of the folder: ``id``, ``domain``, their input columns, gold, and
            ``GOLD_ANSWER``.
        messages: builds the turns for one row, without demonstrations: a user turn, perhaps after a system turn.
        ends_open: whether the user turn ends where the answer begins, as in "Sentiment:".
        max_tokens: tokens that any answer may have.
    """

    benchmark: str
    task: str
    kind: TaskKind
    labels: tuple[str, ...]
    metric: str
    inputs: tuple[str, ...]
    rows: Mapping[str, pl.DataFrame]
    messages: Callable[[Mapping[str, Any]], Sequence[Message]]
    ends_open: bool
    max_tokens: int

    @property
    def name(self) -> str:
        """Return the name of the task in other tools: ``shiftbench_dr_nli``."""
        return f"shiftbench_{self.benchmark}_{self.task}".replace("-", "_").replace(".", "_")

    def domain_name(self, domain: str) -> str:
        """Return the name of a domain in other tools: ``shiftbench_dr_nli_fiction``."""
        return f"{self.name}_{domain.replace('-', '_')}"


def check_export_folder(out: Path) -> None:
    """Raise InvalidInput for a folder that is not empty, before anything is written."""
    check_place(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        cure = "choose a new folder, or empty this one"
        raise InvalidInput(Problem("--out exists and is not empty", str(out), cure=cure))
