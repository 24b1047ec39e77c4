"""Majority: predict the most frequent label of the source's train split.

The baseline that every model must beat: its drops show the effect of class balance alone. The text is not used.

    shiftbench train majority nli --data build/dr --out majority.parquet
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shiftbench.baselines.program import RunOptions, make_card, run_alone, train_runs, with_options, write_results
from shiftbench.baselines.runs import Predict, Run


def fit(run: Run) -> Predict:
    """Find the most frequent training label (the first in a tie); seed and validation rows are not used."""
    counts = np.bincount(run.train["label"].to_numpy())
    label, shares = int(counts.argmax()), counts / counts.sum()

    def predict(rows: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.full(len(rows), label), np.tile(shares, (len(rows), 1))

    return predict


@with_options
def main(runs: RunOptions) -> None:
    """Predict the source's most frequent label.

    Example: shiftbench train majority nli --data build/dr --out majority.parquet
    """
    folder = runs.open_folder()
    results = train_runs(fit, folder, runs)
    about = {"name": "Majority", "family": "majority", "paradigm": "other", "licence": "Apache-2.0"}
    card = make_card(folder, parameters=1, tuning_trials=1, **about)
    write_results(results, card, runs.out)


if __name__ == "__main__":
    run_alone(main)
