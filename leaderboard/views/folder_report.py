"""The HTML report of scored predictions: what ``shiftbench score --report`` writes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from builders.folder.reader import DatasetFolder
from leaderboard.scoring.shape import Scores
from leaderboard.views.report_page import report_html
from validation.cards import card_beside
from validation.prediction_files import read_predictions


def folder_report(predictions: Path, scores: Scores, folder: DatasetFolder) -> str:
    """Write the report of a prediction file for a dataset folder.

    Args:
        predictions: the file, which was checked and scored.
        scores: its scores.
        folder: the dataset.
    Returns: one HTML page that needs no other file.
    """
    with TemporaryDirectory(prefix="shiftbench-report-") as place:
        rows = Path(place) / "predictions.parquet"
        read_predictions(predictions).write_parquet(rows)
        return report_html(predictions.name, scores, folder, rows, card=card_beside(predictions))
