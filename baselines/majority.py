"""Majority: predict the most frequent label of the source's train split, whatever the text.

The floor that every model must beat: its drops show what class balance alone does across domains.
Leaves out: everything about the text.

    shiftbench train majority nli --data build/dr --out majority.parquet
"""

import numpy as np
import polars as pl
import typer
from numpy.typing import NDArray

from baselines.program import (
    Candidates,
    Data,
    Out,
    Seeds,
    Sources,
    Targets,
    TaskName,
    check_out_path,
    make_card,
    write_outputs,
)
from baselines.runs import Predict, Run, train_and_predict
from builders.folder.reader import DatasetFolder


def fit(run: Run) -> Predict:
    """Count labels; ties go to the label listed first. Neither validation rows nor the seed matter."""
    counts = np.bincount(run.train["label"].to_numpy())
    label, share = int(counts.argmax()), float(counts.max() / counts.sum())

    def predict(rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.full(len(rows), label), np.full(len(rows), share)

    return predict


def main(
    task: TaskName,
    data: Data,
    out: Out,
    source: Sources = None,
    target: Targets = None,
    seed: Seeds = None,
    candidates: Candidates = False,
) -> None:
    """Predict the source's most frequent label, whatever the text.

    Example: shiftbench train majority nli --data build/dr --out majority.parquet
    """
    check_out_path(out)
    folder = DatasetFolder.open(data)
    results = train_and_predict(fit, folder, task, sources=source, targets=target, seeds=seed, candidates=candidates)
    card = make_card(folder, name="Majority", family="majority", parameters=1, paradigm="other", licence="Apache-2.0")
    write_outputs(results.predictions, card, out)


if __name__ == "__main__":
    typer.run(main)
