"""Validate the outputs of user models, and turn them into predictions: probabilities, labels, tags, answers, texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.models.classes import class_names
from shiftbench.baselines.models.labels import LabelMatch
from shiftbench.baselines.models.loaded import refuse_row
from shiftbench.validation.probabilities import SUM_TOLERANCE
from shiftbench.validation.vocabulary import UNPARSED


def frame_of_probabilities(values_by_row: Any, match: LabelMatch, name: str) -> pl.DataFrame:
    """Build predictions from probabilities, shape (n, n_outputs); RowFailure at the first row that is not such."""
    values = np.asarray(values_by_row, dtype=np.float64)
    sums = values.sum(axis=1)
    faults = (
        (~np.isfinite(values).all(axis=1), "the model's output is not a number", "check how the model computes it"),
        (
            ((values < -SUM_TOLERANCE) | (values > 1 + SUM_TOLERANCE)).any(axis=1) | (np.abs(sums - 1) > SUM_TOLERANCE),
            "the model's output is not a list of probabilities",
            "give probabilities of all labels after the softmax: from 0 to 1, with the sum 1",
        ),
    )
    safe = np.where(np.isfinite(values), np.clip(values, 0, 1), 0.0)
    predictions = match.frame(safe / np.where(safe.sum(axis=1) > 0, safe.sum(axis=1), 1)[:, None])
    for bad, what, cure in faults:
        if bad.any():
            row = int(bad.argmax())
            found = f"{np.round(values[row], 4).tolist()[:12]}, {int(bad.sum()):,} such rows of {len(values):,}"
            raise refuse_row(name, what, row, found, cure, predictions[:row])
    return predictions


def predict_labels(estimator: Any, rows: Any, match: LabelMatch, name: str) -> pl.DataFrame:
    """Build the predictions of a scikit-learn classifier, with probabilities if it has them; it may get no rows."""
    if not len(rows):
        return match.frame(np.zeros((0, len(match.codes))))
    if hasattr(estimator, "predict_proba"):
        return frame_of_probabilities(estimator.predict_proba(rows), match, name)
    names = class_names(estimator.classes_)
    return frame_of_labels(class_names(estimator.predict(rows)), names, match, name)


def frame_of_labels(labels_by_row: Sequence[str], names: Sequence[str], match: LabelMatch, name: str) -> pl.DataFrame:
    """Build predictions from the model's labels (``names``, or ``__unparsed__``); RowFailure at the first other one."""
    labels = [*match.labels, UNPARSED]
    of_name = {own: labels[code] for own, code in zip(names, match.codes, strict=True)} | {UNPARSED: UNPARSED}
    predictions = pl.DataFrame({"prediction": pl.Series([of_name.get(own) for own in labels_by_row], dtype=pl.String)})
    lost = predictions["prediction"].is_null()
    if lost.any():
        row = int(lost.arg_true()[0])
        found, cure = f"'{labels_by_row[row]}', {int(lost.sum()):,} such rows", f"give one of {', '.join(names)}"
        raise refuse_row(name, "the model gives a label that it does not have", row, found, cure, predictions[:row])
    return predictions


def array_by_name(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> NDArray[np.float64]:
    """Build an array from probabilities by name, shape (n, n_names); 0 for names missing from a row."""
    return np.array([[float(row.get(name, 0.0)) for name in names] for row in rows]).reshape(len(rows), len(names))
