"""The HTML report of scored predictions: what ``shiftbench score --report`` writes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.report_page import report_html
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card


def folder_report(
    predictions: Path, scores: Scores, folder: DatasetFolder, card: Card | None = None, *, labels_by_index: bool = False
) -> str:
    """Write the report of a prediction file for a dataset folder.

    Args:
        predictions: the file, which was checked and scored.
        scores: its scores.
        folder: the dataset.
        card: the predictions' card, if there is one.
        labels_by_index: whole numbers in the file stand for labels.
    Returns: one HTML page that needs no other file.
    """
    with TemporaryDirectory(prefix="shiftbench-report-") as place:
        rows = Path(place) / "predictions.parquet"
        checked = checked_predictions(predictions, folder, scores.subset, labels_by_index=labels_by_index)
        checked.drop("task", "target").write_parquet(rows)
        return report_html(predictions.name, scores, folder, rows, card=card)
