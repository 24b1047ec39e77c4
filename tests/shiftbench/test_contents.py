"""What a file or a folder covers, and the command that comes next."""

from pathlib import Path

import polars as pl
from syrupy.assertion import SnapshotAssertion

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.contents import (
    coverage_of,
    folder_lines,
    next_for_folder,
    next_for_predictions,
    prediction_lines,
)
from shiftbench.scoring.scores.score import checked_predictions
from tests.leaderboard.conftest import predict


def test_predictions_are_covered_by_task_source_target_and_seed(
    synthetic: DatasetFolder, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    first, second, *_ = synthetic.task("nli").domains
    rows = predict(synthetic, [first, "none"], 0.1).filter(pl.col("id").str.contains(f"/({first}|{second})/"))
    both = pl.concat([rows.with_columns(seed=pl.lit(seed)) for seed in (3, 5)])
    both.write_parquet(tmp_path / "preds.parquet")
    checked = checked_predictions(tmp_path / "preds.parquet", synthetic)
    assert coverage_of(checked)["nli"] == {
        "sources": sorted([first, "none"]),
        "targets": sorted([first, second]),
        "seeds": [3, 5],
    }
    assert list(prediction_lines(checked, synthetic)) == wording


def test_what_comes_next_can_be_typed(synthetic: DatasetFolder, wording: SnapshotAssertion) -> None:
    data = Path("my data")
    assert [
        next_for_predictions(Path("p.csv"), data, None),
        next_for_predictions(Path("p.csv"), data, Path("p.card.yaml")),
        next_for_folder(synthetic, data),
        *folder_lines(synthetic),
    ] == wording
