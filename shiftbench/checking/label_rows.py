"""User texts that may be sampled for labelling: their domains, groups, and one model's predictions."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.builders.building.own_columns import Columns, FoundColumns, infer_kind
from shiftbench.builders.building.own_dates import group_dates
from shiftbench.builders.building.own_labels import respell, unite_spellings
from shiftbench.builders.building.own_tables import OwnTable
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.checking.inputs import read_own_predictions, select_known_rows
from shiftbench.checking.unlabelled_rows import is_blank
from shiftbench.metrics.priors import adjust_to_prior, fit_temperature
from shiftbench.validation.notices import DataWarning, warn
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.predictions import check_predictions
from shiftbench.validation.report import InvalidInput, Problem, and_more
from shiftbench.validation.vocabulary import GOLD, TaskKind, source_parts

LEAST_LABELLED = 50
"""Minimum labelled rows for calibration: a temperature from fewer would be mostly noise."""
_LABEL = GOLD[TaskKind.CLASSIFICATION]
_EVEN = (0.5, 0.5)


@dataclass(frozen=True)
class LabelRows:
    """Labelled and unlabelled rows of a file.

    Attributes:
        frame: columns ``id``, ``domain`` (as in the file), ``label`` (null if missing), the inputs, ``group`` and
            ``row`` (1-based row of the file); no other nulls.
        inputs: the input columns.
        names: the file's own name of each column.
        file: the file.
        columns: roles of the file's columns, and of columns of prediction files.
    """

    frame: pl.DataFrame
    inputs: tuple[str, ...]
    names: dict[str, str]
    file: str
    columns: Columns = field(default_factory=Columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the distinct labels of the rows."""
        return tuple(self.frame["label"].drop_nulls().unique().sort())

    def prediction_task(self, predictions: pl.DataFrame) -> PredictionTask:
        """Return the task description for validation: unlabelled rows need predictions, other rows may have some.

        Predictions may be any label.
        """
        domains = tuple(self.frame["domain"].unique().sort())
        parts = {part for source in predictions["source"].unique() for part in source_parts(source)}
        labels = tuple(sorted({*self.labels, *predictions["prediction"]}))
        wanted = pl.col("label").is_null() | pl.col("id").is_in(predictions["id"].implode())
        tests = self.frame.filter(wanted).select("id", "domain")
        sources = tuple(sorted({*domains, *parts}))  # a model may have been trained on domains outside the file
        return PredictionTask("own", "own", TaskKind.CLASSIFICATION, labels, domains, tests, sources)


def read_rows(table: OwnTable, columns: Columns, kind: TaskKind | None = None) -> LabelRows:
    """Read the rows of a file; a missing label column means that no row has a label.

    Args:
        table: the file, already read. Without a column of domains, all of its rows are one domain.
        columns: roles of its columns. Without a column of groups, identical texts are a group.
        kind: kind of task; by default inferred from the file or its columns.
    Raises: InvalidInput if a column is missing, an id repeats, or a row lacks an id, a domain or a text.
    """
    if (kind or table.kind or infer_kind(table.frame.columns)) is not TaskKind.CLASSIFICATION:
        cure = "give the columns of label and text with --columns label=NAME,text=NAME"
        raise InvalidInput(Problem("only texts with a single label can be sampled", table.name, cure=cure))
    if columns.id is None:
        cure = "give the column of ids with --columns id=NAME, and use these ids in the prediction file"
        raise InvalidInput(Problem("rows to be labelled need a column of ids", table.name, cure=cure))
    if (columns.label or _LABEL) not in table.frame.columns:
        empty = pl.lit(None, pl.String).alias(columns.label or _LABEL)
        table = replace(table, frame=table.frame.with_columns(empty))
    if columns.domain is None and table.domain is None and table.path is not None:
        table = replace(table, domain=table.path.stem)
    file_columns = FoundColumns(table, columns, TaskKind.CLASSIFICATION)
    if file_columns.problems:
        raise InvalidInput(file_columns.problems)
    names = {"id" if use == "own_id" else use: name for use, name in file_columns.names.items()}
    frame = table.frame.select(pl.col(name).alias(use) for use, name in names.items())
    if "domain" not in names:
        frame = frame.with_columns(domain=pl.lit(table.domain))
    if columns.domain_by is not None:
        frame = frame.with_columns(domain=group_dates(frame["domain"], columns.domain_by, table.name, names["domain"]))
    for word in ("domain", "label"):
        chosen, notes = unite_spellings(frame[word], word)
        frame = frame.with_columns(pl.col(word).replace(chosen))
        for note in notes:
            warn(note, DataWarning)
    frame = frame.with_row_index("row", offset=1).with_columns(pl.when(~is_blank("label")).then("label"))
    if "split" in names:
        frame = frame.filter((pl.col("split") == "test") | pl.col("label").is_not_null()).drop("split")
    rows = LabelRows(frame, file_columns.inputs, names, table.name, columns)
    _check_rows(rows)
    if "group" not in names:
        rows = replace(rows, frame=frame.with_columns(group=as_texts(frame.select("domain", *file_columns.inputs))))
    return rows


def _check_rows(rows: LabelRows) -> None:
    """Check that required values are present, and ids are unique."""
    problems = []
    for name in ("id", "domain", *rows.inputs, "group"):
        if name in rows.frame.columns:
            blank = rows.frame.filter(is_blank(name))["row"]
            problems += _problem(rows, name, blank, "a value is missing", "fill it in or drop the row")
    repeated = rows.frame.filter(~pl.col("id").is_first_distinct())["row"]
    problems += _problem(rows, "id", repeated, "an id is repeated", "give every row a unique id")
    if problems:
        raise InvalidInput(problems)


def _problem(rows: LabelRows, name: str, bad: pl.Series, what: str, cure: str) -> list[Problem]:
    if bad.is_empty():
        return []
    column, more = rows.names.get(name, name), and_more(len(bad) - 1)
    return [Problem(what + more, rows.file, cure=cure, column=column, row=int(bad[0]))]


def join_predictions(rows: LabelRows, path: Path) -> pl.DataFrame:
    """Read one model's predictions, and join them to the rows.

    Args:
        rows: the rows.
        path: the prediction file.
    Returns: the rows of ``LabelRows.frame`` with a prediction, with ``source``, ``prediction`` and ``confidence``;
        confidences are calibrated on the labelled rows (``calibrate_confidences``).
    Raises: InvalidInput if predictions do not match the rows, there are several sources or seeds, or a confidence is
        missing.
    """
    frame = read_own_predictions(path, rows.columns)
    frame = select_known_rows(frame, rows.frame["id"], str(path), f"column '{rows.names['id']}' of {rows.file}")
    frame = frame.with_columns(respell(frame["prediction"], rows.labels))
    # Probabilities are not used, and their number may differ from that of the labels in the file.
    frame = _check_one_run(
        check_predictions(frame.drop("probabilities", strict=False), [rows.prediction_task(frame)], str(path)), path
    )
    joined = rows.frame.join(
        frame.select("id", "source", "prediction", "confidence"), on="id", how="inner", maintain_order="left"
    )
    return joined.with_columns(confidence=calibrate_confidences(joined))


def _check_one_run(predictions: pl.DataFrame, path: Path) -> pl.DataFrame:
    file = str(path)
    runs = predictions.select("source", "seed").unique(maintain_order=True)
    if len(runs) > 1:
        found = (
            f"{len(runs)} runs, such as {' and '.join(f'{source!r} {seed}' for source, seed in runs.head(2).rows())}"
        )
        cure = "keep the rows of one source and seed"
        raise InvalidInput(Problem("texts are sampled for one model", file, found, cure, column="source"))
    if "confidence" not in predictions.columns:
        cure = "add the probability of the prediction to each row; 'shiftbench predict' writes it"
        raise InvalidInput(Problem("there are no confidences", file, cure=cure, column="confidence"))
    missing = predictions["confidence"].is_null()
    if missing.any():
        what = "a confidence is missing" + and_more(int(missing.sum()) - 1)
        row = int(missing.arg_true()[0]) + 1
        raise InvalidInput(Problem(what, file, cure="give every row a confidence", column="confidence", row=row))
    return predictions


def calibrate_confidences(rows: pl.DataFrame) -> NDArray[np.float64]:
    """Calibrate confidences by a temperature fitted on the labelled rows.

    A confidence is treated as the probability that the prediction is correct.

    Args:
        rows: columns ``confidence``, ``prediction`` and ``label`` (null if missing).
    Returns: the confidences of all rows; unchanged if fewer than ``LEAST_LABELLED`` rows have a label.
    """
    sure = rows["confidence"].to_numpy()
    known = rows.filter(pl.col("label").is_not_null())
    if len(known) < LEAST_LABELLED:
        return sure
    of_known = known["confidence"].to_numpy()
    wrong = (known["label"] != known["prediction"]).cast(pl.Int64).to_numpy()
    temperature = fit_temperature(np.column_stack([of_known, 1 - of_known]), wrong)
    # With equal priors only the temperature is applied.
    return adjust_to_prior(np.column_stack([sure, 1 - sure]), _EVEN, _EVEN, temperature)[:, 0]
