"""The HTML report of scored predictions: what ``shiftbench score --report`` writes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.reports.report_page import report_html
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card
from shiftbench.validation.prediction_files import PredictionInput


def folder_report(
    predictions: Path | PredictionInput, scores: Scores, folder: DatasetFolder, card: Card | None = None
) -> str:
    """Write the report of a prediction file for a dataset folder.

    Args:
        predictions: the file, which was checked and scored.
        scores: its scores.
        folder: the dataset.
        card: the predictions' card, if there is one.
    Returns: one HTML page that needs no other file.
    """
    with TemporaryDirectory(prefix="shiftbench-report-") as place:
        rows = Path(place) / "predictions.parquet"
        checked = checked_predictions(predictions, folder, scores.subset)
        checked.drop("task", "target").write_parquet(rows)
        return report_html(PredictionInput.of(predictions).path.name, scores, folder, rows, card=card)
