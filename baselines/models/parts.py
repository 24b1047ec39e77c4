"""Prediction in parts of rows with similar length; finished parts are saved, so that a run can be resumed."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import polars as pl

from shiftbench.baselines.models.loaded import LoadedModel, RowFailure, TextCounts
from shiftbench.baselines.runs import WorkFolder
from shiftbench.validation.progress import progress
from shiftbench.validation.report import Problem
from shiftbench.validation.vocabulary import TOKENS

_PLACE = "row_of_all"


def predict_in_parts(
    model: LoadedModel, rows: pl.DataFrame, inputs: Sequence[str], *, work: WorkFolder | None = None
) -> pl.DataFrame:
    """Predict rows in parts, and save each finished part.

    Args:
        rows: n rows with the input columns, in any order; an ``id`` column is used in error messages.
        work: folder for finished parts; existing parts are reused. The caller clears it.
    Returns: n predictions in the order of the rows, as ``LoadedModel.predict`` returns them.
    Raises: RowFailure with the row's index in ``rows``; the predictions made before are saved, and included in the
        error.
    """
    # Parts of similar length need little padding, and running out of memory shows in the first one.
    ordered = rows.with_row_index(_PLACE).sort(_length(inputs, rows), _PLACE, descending=[True, False])
    frames: list[pl.DataFrame] = []
    start = 0
    with progress(total=len(rows), desc="predicting", unit="row") as bar:
        while start < len(ordered):
            part = _kept_part(model, start, work)
            if part is None:
                part = _new_part(model, ordered, start, work, frames)
            frames.append(part)
            start += len(part)
            bar.update(len(part))
    if not frames:
        return model.predict(rows)
    return _join_parts(frames).with_columns(ordered[_PLACE]).sort(_PLACE).drop(_PLACE)


def _new_part(
    model: LoadedModel, ordered: pl.DataFrame, start: int, work: WorkFolder | None, before: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """Predict the next part and save it; if the model fails, save the predictions made before the failure."""
    part_rows = ordered.slice(start, model.part_rows)
    earlier = replace(model.counts)
    try:
        part = model.predict(part_rows)
    except RowFailure as failure:
        if work and len(failure.done):
            work.write_finished(_part_name(start), 0, failure.done, {})
        row = part_rows.row(failure.row, named=True)
        done = _join_parts([*before, failure.done])
        raise RowFailure(_with_id(failure.problems[0], row, n_kept=len(done)), row[_PLACE], done) from failure
    if work:
        work.write_finished(_part_name(start), 0, part, asdict(model.counts.since(earlier)))
    return part


def _kept_part(model: LoadedModel, start: int, work: WorkFolder | None) -> pl.DataFrame | None:
    """Read a saved part, and add its rows to the counts; None if there is none."""
    kept = work.read_finished(_part_name(start), 0) if work else None
    if kept is None:
        return None
    part, record = kept
    model.counts.add(TextCounts(**record) if record else TextCounts(len(part)))
    return part


def _join_parts(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate parts; a part without rows may lack columns."""
    filled = [frame for frame in frames if len(frame)]
    return pl.concat(filled, how="diagonal") if filled else frames[-1]


def _length(inputs: Sequence[str], rows: pl.DataFrame) -> pl.Expr:
    """Return an expression for the length of a row: characters of its inputs, or number of tokens."""
    lengths = [pl.col(name).list.len() if name == TOKENS else pl.col(name).str.len_chars() for name in inputs]
    return pl.sum_horizontal(lengths)


def _with_id(problem: Problem, row: dict[str, Any], *, n_kept: int) -> Problem:
    named = f" (id {row['id']})" if "id" in row else ""
    kept = f"; {n_kept:,} predictions were made before it" if n_kept else ""
    return replace(problem, found=f"{problem.found}{named}{kept}")


def _part_name(start: int) -> str:
    return f"part-{start}"
