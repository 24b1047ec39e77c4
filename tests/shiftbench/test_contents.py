"""What a file or a folder covers, and the command that comes next."""

from pathlib import Path

import polars as pl

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


def test_predictions_are_covered_by_task_source_target_and_seed(synthetic: DatasetFolder, tmp_path: Path) -> None:
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
    task, untested, others = prediction_lines(checked, synthetic)
    assert task.startswith(f"  nli: trained on {first}, and none; tested on ")
    assert task.endswith("2 seeds (3, 5); 4 of 4 pairs of source and target")
    assert untested.startswith("    nothing on ")
    assert others == "  no predictions of sa"


def test_what_comes_next_can_be_typed(synthetic: DatasetFolder) -> None:
    data = Path("my data")
    assert next_for_predictions(Path("p.csv"), data, None) == "next: shiftbench score p.csv --data 'my data'"
    assert "shiftbench submit p.csv" in next_for_predictions(Path("p.csv"), data, Path("p.card.yaml"))
    assert next_for_folder(synthetic, data).startswith("next: shiftbench train majority nli --data 'my data'")
    lines = list(folder_lines(synthetic))
    assert len(lines) == len(synthetic.manifest.tasks)
    assert "4 with train rows, 4 with test rows (240)" in lines[0]
