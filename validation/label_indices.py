"""Class numbers given instead of label names: reported with the names, or converted to names on request."""

from collections.abc import Sequence

import polars as pl

from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.report import Problem, plural
from shiftbench.validation.vocabulary import TaskKind

MAX_TABLE = 20
"""Maximum number of labels listed with their numbers in a problem."""
_WHOLE = r"^-?[0-9]{1,9}$"


def name_labels(rows: pl.DataFrame, tasks: Sequence[PredictionTask]) -> pl.DataFrame:
    """Convert 0-based label indices to label names.

    Args:
        rows: with columns task and prediction; tags are joined by spaces.
        tasks: the tasks of the dataset.
    Returns: the same rows; indices out of range and other texts are unchanged.
    """
    prediction = pl.col("prediction")
    for task in tasks:
        names = {str(number): label for number, label in enumerate(task.labels)}
        if task.kind is TaskKind.CLASSIFICATION:
            named = pl.col("prediction").replace(names)
        elif task.kind is TaskKind.TAGGING:
            named = pl.col("prediction").str.split(" ").list.eval(pl.element().replace(names)).list.join(" ")
        else:
            continue
        prediction = pl.when(pl.col("task") == task.name).then(named).otherwise(prediction)
    return rows.with_columns(prediction=prediction)


class ClassNumbers:
    """A collector of class numbers found instead of label names, which reports one problem per task.

    Args:
        file: the file's name, used in problems.
        labels_by_index: whether labels are given by index; numbers that could not be converted are then out of range.
    """

    def __init__(self, file: str, *, labels_by_index: bool = False) -> None:
        self._file, self._by_index = file, labels_by_index
        self._seen: dict[str, tuple[PredictionTask, int, dict[str, None], int]] = {}

    def without(self, bad: pl.DataFrame, task: PredictionTask) -> pl.DataFrame:
        """Record the class numbers among rows whose label is unknown, and return the other rows."""
        is_number = pl.col("prediction").str.contains(_WHOLE)
        numbers = bad.filter(is_number)
        if len(numbers):
            _, first, values, count = self._seen.get(task.name, (task, int(numbers["row"][0]), {}, 0))
            new = dict.fromkeys(numbers["prediction"].unique(maintain_order=True).head(4).to_list())
            self._seen[task.name] = (task, first, {**values, **new}, count + len(numbers))
        return bad.filter(~is_number)

    def problems(self) -> list[Problem]:
        """Return one problem per task for the numbers collected so far."""
        return [self._problem(*seen) for seen in self._seen.values()]

    def _problem(self, task: PredictionTask, row: int, values: dict[str, None], count: int) -> Problem:
        table = _table(task.labels)
        found = ", ".join(map(repr, list(values)[:4])) + f" ({plural(count, 'such value')})"
        if self._by_index:
            what, cure = "no label has this number", f"the labels of '{task.name}' are {table}"
        else:
            what = "predictions are class numbers, not label names"
            cure = f"write label names, not class numbers: {table}; if these are label indices, add "
            cure += "--labels-by-index, or tick 'Labels by index' in the form"
        return Problem(what, self._file, found, cure, column="prediction", row=row)


def _table(labels: Sequence[str]) -> str:
    listed = ", ".join(f"{number} is '{label}'" for number, label in enumerate(labels[:MAX_TABLE]))
    return listed + (f" ({len(labels) - MAX_TABLE} more)" if len(labels) > MAX_TABLE else "")
