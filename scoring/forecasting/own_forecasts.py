"""User-supplied forecasts by any method: a CSV with task, source, target, seed, value, low and high."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shiftbench.scoring.forecasting.comparison import Forecasted
from shiftbench.scoring.forecasting.methods import TITLES
from shiftbench.scoring.forecasting.shape import Forecast, ShiftForecast, TaskForecast
from shiftbench.validation.csv_text import csv_text, repeated_columns
from shiftbench.validation.report import InvalidInput, Problem, and_more, did_you_mean

KEYS = ("task", "source", "target", "seed")
NUMBERS = ("value", "low", "high")
OWN_FORECASTS = pl.Schema(
    {
        "task": pl.String(), "source": pl.String(), "target": pl.String(), "seed": pl.Int64(), "value": pl.Float64(),
        "low": pl.Float64(), "high": pl.Float64(),
    }
)  # fmt: skip
"""One forecast per row, each (task, source, target, seed) once; fractions; ends are null without an interval."""


def read_own_forecasts(path: Path) -> pl.DataFrame:
    """Read a file of forecasts.

    Args:
        path: a CSV; without an interval, ``low`` and ``high`` are empty, or both columns are omitted.

    Returns: rows in file order, with the columns of ``OWN_FORECASTS``.

    Raises: InvalidInput with every problem found: columns, numbers, reversed ends, repeated rows.
    """
    file = str(path)
    if not path.is_file():
        raise InvalidInput(Problem("there is no such file of forecasts", file, cure="check the path"))
    cure = "write the header task,source,target,seed,value,low,high and one row per run and target"
    text = csv_text(path, lambda columns: _check_columns(columns, file), Problem("the file is empty", file, cure=cure))
    text = text.with_columns(pl.lit(None, pl.String).alias(name) for name in NUMBERS if name not in text.columns)
    blank = pl.all().str.strip_chars().replace("", None)
    rows = text.select(OWN_FORECASTS.names()).with_columns(blank)
    typed = rows.with_columns(pl.col(name).cast(dtype, strict=False) for name, dtype in OWN_FORECASTS.items())
    problems = []
    for name in OWN_FORECASTS.names():
        unread = typed[name].is_null() & rows[name].is_not_null()
        missing = typed[name].is_null() & rows[name].is_null() if name not in ("low", "high") else unread
        problems += _find_first("this is not a number", name, unread, rows, file, "give fractions; seeds are integers")
        problems += _find_first("a value is missing", name, missing & ~unread, rows, file, "fill it in")
    for name in NUMBERS:
        outside = ~typed[name].is_between(0, 1) & typed[name].is_not_null()
        problems += _find_first(
            "a forecast is not between 0 and 1", name, outside, rows, file, "give fractions, not points"
        )
    half = typed["low"].is_null() != typed["high"].is_null()
    problems += _find_first("an interval has only one end", "low", half, rows, file, "give both ends or neither")
    order = (typed["low"] > typed["value"]) | (typed["high"] < typed["value"])
    problems += _find_first("the forecast is outside its interval", "low", order.fill_null(value=False), rows, file, "")
    again = ~typed.select(key=pl.struct(KEYS))["key"].is_first_distinct()
    problems += _find_first("the same run and target occur twice", "task", again, rows, file, "give each once")
    if problems:
        raise InvalidInput(problems)
    return typed


def add_own_forecasts(found: Sequence[Forecasted], path: Path) -> list[Forecasted]:
    """Add the forecasts of a file to all others, with the file's stem as the method's name.

    Args:
        found: forecasts of one model.
        path: see ``read_own_forecasts``.

    Raises: InvalidInput as ``read_own_forecasts`` and ``with_own_forecasts``; or for an unknown task, or a file named
        like one of the methods.
    """
    if path.stem in TITLES:
        raise InvalidInput(Problem("this is the name of a method", str(path), f"'{path.stem}'", "rename the file"))
    rows, tasks = read_own_forecasts(path), [each.task.task for each in found]
    strange = rows.with_row_index("row", 1).filter(~pl.col("task").is_in(tasks))
    if len(strange):
        text = strange["task"][0]
        what, row = "the predictions have no such task", int(strange["row"][0])
        raise InvalidInput(Problem(what, str(path), f"'{text}'", did_you_mean(text, tasks), column="task", row=row))
    return [each._replace(task=with_own_forecasts(each.task, rows, path.stem, str(path))) for each in found]


def with_own_forecasts(task: TaskForecast, rows: pl.DataFrame, name: str, file: str) -> TaskForecast:
    """Add user-supplied forecasts to all others of a task.

    Args:
        task: the forecasts of all methods.
        rows: the output of ``read_own_forecasts``.
        name: the method's name.
        file: the file, for error messages.

    Returns: the task with an additional method; values and ends are means over seeds, as for all others.

    Raises: InvalidInput if a shift of the task, or one of its seeds, has no forecast, or if a forecast is for
        an unknown shift.
    """
    mine = rows.filter(pl.col("task") == task.task)
    by_shift = {
        (str(source), str(target)): part
        for (source, target), part in mine.partition_by("source", "target", as_dict=True).items()
    }
    known = {(shift.source, shift.target) for shift in task.shifts}
    strange = [place for place in by_shift if place not in known]
    lacking = [
        f"{shift.source} to {shift.target}"
        for shift in task.shifts
        if len(by_shift.get((shift.source, shift.target), ())) != shift.n_runs
    ]
    problems = []
    if strange:
        found = f"'{strange[0][0]}' to '{strange[0][1]}'" + and_more(len(strange) - 1, "shift")
        cure = did_you_mean(strange[0][1], sorted({target for _, target in known}))
        problems.append(Problem(f"task '{task.task}' has no such shift among the predictions", file, found, cure))
    if lacking:
        found = lacking[0] + and_more(len(lacking) - 1, "shift")
        cure = "forecast every run (source and seed) on every target that the predictions have"
        problems.append(Problem(f"task '{task.task}' has missing or surplus forecasts", file, found, cure))
    if problems:
        raise InvalidInput(problems)
    shifts = [_add_to_shift(shift, by_shift[shift.source, shift.target], name) for shift in task.shifts]
    return task.model_copy(update={"shifts": tuple(shifts)})


def _add_to_shift(shift: ShiftForecast, rows: pl.DataFrame, name: str) -> ShiftForecast:
    ends = [None if rows[end].has_nulls() else float(rows[end].to_numpy().mean()) for end in ("low", "high")]
    one = Forecast(method=name, value=float(rows["value"].to_numpy().mean()), low=ends[0], high=ends[1])
    return shift.model_copy(update={"forecasts": (*shift.forecasts, one)})


def _check_columns(columns: list[str], file: str) -> None:
    problems = repeated_columns(columns, file)
    wanted = [*KEYS, "value"]
    for name in [each for each in wanted if each not in columns]:
        cure = f"the columns are {', '.join(OWN_FORECASTS.names())}"
        problems.append(Problem("a column is missing", file, f"columns {', '.join(columns)}", cure, column=name))
    for name in [each for each in columns if each not in OWN_FORECASTS.names()]:
        cure = did_you_mean(name, OWN_FORECASTS.names())
        problems.append(Problem("unknown column", file, f"'{name}'", cure, column=name))
    if problems:
        raise InvalidInput(problems)


def _find_first(what: str, column: str, bad: pl.Series, rows: pl.DataFrame, file: str, cure: str) -> list[Problem]:
    if not bad.any():
        return []
    row = int(bad.arg_true()[0])
    found = repr(rows[column][row])[:80] + and_more(int(bad.sum()) - 1)
    return [Problem(what, file, found, cure, column=column, row=row + 1)]
