"""The HTML report of scored predictions: what ``shiftbench score --report`` writes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from builders.folder.reader import DatasetFolder
from leaderboard.scoring.shape import Scores
from leaderboard.views.report_page import report_html
from validation.cards import Card, read_card
from validation.prediction_files import read_predictions


def folder_report(predictions: Path, scores: Scores, folder: DatasetFolder) -> str:
    """Give the report of a prediction file for a dataset folder."""
    with TemporaryDirectory(prefix="shiftbench-report-") as place:
        rows = Path(place) / "predictions.parquet"
        read_predictions(predictions).write_parquet(rows)
        return report_html(predictions.name, scores, folder, rows, card=card_beside(predictions))


def card_beside(predictions: Path) -> Card | None:
    """Read the card that lies beside a prediction file, if one does."""
    path = predictions.with_name(f"{predictions.stem}.card.yaml")
    return read_card(path) if path.is_file() else None
