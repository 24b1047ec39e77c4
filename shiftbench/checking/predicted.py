"""Predictions of rows: computed by a model on a dataset folder, or given in the order of a table."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.baselines.models.classes import class_names
from shiftbench.baselines.models.loaded import LoadedModel
from shiftbench.baselines.models.parts import predict_in_parts
from shiftbench.baselines.runs import WorkFolder, choose_sources
from shiftbench.builders.building.own_tables import read_tables
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import as_frame, is_own
from shiftbench.checking.opened_data import OwnColumns
from shiftbench.validation.report import InvalidInput, Problem, UnknownChoice, did_you_mean, plural
from shiftbench.validation.vocabulary import ELSEWHERE, NO_SOURCE, SPLITS

_ROW = "row number"
"""Id column for a table whose predictions are given in row order."""


@dataclass(frozen=True)
class RowsToPredict:
    """Rows of one task.

    Attributes:
        folder: the dataset.
        task: its task.
        source: the model's training data.
        rows: as returned by ``DatasetFolder.split``.
    """

    folder: DatasetFolder
    task: str
    source: str
    rows: pl.DataFrame

    @classmethod
    def of(
        cls,
        folder: DatasetFolder,
        task: str | None,
        source: str,
        split: str = "test",
        subset: str = "all",
        targets: Sequence[str] | None = None,
    ) -> "RowsToPredict":
        """Select the rows.

        Args:
            folder: the dataset.
            task: its task; None if it has only one.
            source: a domain, several joined by ``+``, ``none`` or ``elsewhere``.
            split: ``train``, ``validation`` or ``test``.
            subset: the subset of test rows.
            targets: domains; None for all that have such rows.
        Raises: InvalidInput for an unknown name.
        """
        task = task or _only_task(folder)
        source = source if source in (NO_SOURCE, ELSEWHERE) else choose_sources(folder, task, [source])[0]
        return cls(folder, task, source, _rows_to_predict(folder, task, split, subset, targets))

    @property
    def info(self) -> TaskInfo:
        """Return the task's part of the manifest."""
        return self.folder.task(self.task)

    def predict(self, model: LoadedModel, seed: int = 0, work: WorkFolder | None = None) -> pl.DataFrame:
        """Predict the rows.

        Args:
            model: the model.
            seed: seed of its training run.
            work: folder for finished parts, so that an interrupted run can be resumed.
        Returns: columns source, id, prediction, seed and, if available, confidence and probabilities.
        Raises: RowFailure if the model fails at a row.
        """
        answers = predict_in_parts(model, self.rows, self.info.inputs, work=work)
        run = pl.lit(self.source).alias("source"), self.rows["id"], "prediction", pl.lit(seed, pl.Int64).alias("seed")
        return answers.select(*run, pl.exclude("prediction"))


def _only_task(folder: DatasetFolder) -> str:
    names = list(folder.manifest.tasks)
    if len(names) > 1:
        what, cure = "the folder has several tasks", f"choose one with --task: {', '.join(names)}"
        raise InvalidInput(Problem(what, str(folder.path), cure=cure))
    return names[0]


def _rows_to_predict(
    folder: DatasetFolder, task: str, split: str, subset: str, targets: Sequence[str] | None
) -> pl.DataFrame:
    """Read the rows to predict."""
    if split not in SPLITS:
        raise UnknownChoice(Problem("there is no such split", "--split", f"'{split}'", did_you_mean(split, SPLITS)))
    if split != "test" and subset != "all":
        what, cure = "subsets have test rows only", "omit --subset, or give --split test"
        raise InvalidInput(Problem(what, "--subset", f"'{subset}'", cure))
    there = [domain for domain, facts in folder.task(task).domains.items() if split in facts.splits]
    if unknown := [target for target in targets or () if target not in there]:
        what = f"no domain of this name has {split} rows"
        raise InvalidInput(
            Problem(what, "--target", f"'{name}'", did_you_mean(name, there) if there else "") for name in unknown
        )
    chosen = targets or there
    if not chosen:
        raise InvalidInput(Problem(f"no domain of task '{task}' has {split} rows", str(folder.path)))
    if split != "test":
        return pl.concat([folder.split(task, domain, split) for domain in chosen])
    return folder.test(task, subset).filter(pl.col("domain").is_in(chosen))


def add_row_ids(given: Any, data: Any, trained_on: str | None, columns: OwnColumns) -> tuple[Any, Any, OwnColumns]:
    """Convert predictions given as a plain list, one per row of a table, to a table with ids.

    Args:
        given: a list, an array or a series, of labels or of dicts of all labels' probabilities; other types are
            returned unchanged.
        data: the rows.
        trained_on: the source domain; None if it is not in the data.
        columns: how the rows are read.
    Returns: the predictions, the data (with an added column of ids if it had none), and how it is read.
    Raises: InvalidInput if the numbers of predictions and rows differ, or a given column is missing.
    """
    is_list = isinstance(given, list | tuple) or (hasattr(given, "__len__") and hasattr(given, "dtype"))
    if not is_list or _is_frame(given):
        return given, data, columns
    if not is_own(data):
        what, cure = "predictions for a dataset folder need ids", "give a table with columns id, prediction"
        raise InvalidInput(Problem(what, "predictions", "a list", cure))
    frame = read_tables([Path(data)])[0].frame if isinstance(data, str | Path) else as_frame(data, "data")
    values, chances = pl.Series(list(given)), pl.DataFrame()
    if isinstance(values.dtype, pl.Struct):
        chances = values.struct.unnest()
        names = pl.Series(chances.columns)
        values = names.gather(pl.Series(chances.fill_null(0).to_numpy().argmax(axis=1)))
        chances = chances.rename(lambda name: f"probability_{name}")
    if values.dtype.is_numeric() or values.dtype == pl.Boolean:  # numeric labels, written as in the rows
        values = pl.Series(class_names(values.to_numpy()))
    if len(values) != len(frame):
        found, cure = f"{plural(len(values), 'prediction')}, {plural(len(frame), 'row')}", "give one for each row"
        raise InvalidInput(Problem("the numbers of predictions and rows differ", "predictions", found, cure))
    texts = columns.get("text", ())
    named = [columns.get("domain"), columns.get("label"), columns.get("id"), columns.get("split"), columns.get("group")]
    named += [texts] if isinstance(texts, str) else texts
    # Checked before ids are added, because a problem lists the columns.
    if lacking := [name for name in named if name is not None and name not in frame.columns]:
        found = f"columns {', '.join(frame.columns)}"
        raise InvalidInput(
            Problem("this column is missing", "data", found, did_you_mean(name, frame.columns), column=name)
            for name in lacking
        )
    if "id" not in columns:
        frame = frame.with_columns(pl.int_range(1, pl.len() + 1).cast(pl.String).alias(_ROW))
        columns = {**columns, "id": _ROW}
    ids = frame[columns["id"]].cast(pl.String)
    source = pl.repeat(trained_on or ELSEWHERE, len(ids), eager=True)
    predicted = pl.DataFrame({"id": ids, "source": source, "prediction": values})
    return pl.concat([predicted, chances], how="horizontal"), frame, columns


def _is_frame(given: Any) -> bool:
    return isinstance(given, pl.DataFrame) or hasattr(given, "columns")
