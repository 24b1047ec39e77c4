"""The HTML report of scored predictions: what ``shiftbench score --report`` writes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from builders.folder.reader import DatasetFolder
from leaderboard.own_data import OwnScores
from leaderboard.scoring.shape import Scores
from leaderboard.views.report_page import report_html
from validation.cards import Card, read_card
from validation.prediction_files import read_predictions


def folder_report(predictions: Path, scores: Scores, folder: DatasetFolder) -> str:
    """Give the report of a prediction file for a dataset folder."""
    with TemporaryDirectory(prefix="shiftbench-report-") as place:
        rows = Path(place) / "predictions.parquet"
        read_predictions(predictions).write_parquet(rows)
        return report_html(predictions.name, scores, folder, rows, card=_card_beside(predictions))


def own_report(predictions: Path, csv: Path, found: OwnScores) -> str:
    """Give the report of a prediction file for a CSV, while its scores' context lasts."""
    title, card = f"{predictions.name} on {csv.name}", _card_beside(predictions)
    return report_html(title, found.scores, found.folder, found.predictions, card=card, own_ids=found.own_ids)


def _card_beside(predictions: Path) -> Card | None:
    path = predictions.with_name(f"{predictions.stem}.card.yaml")
    return read_card(path) if path.is_file() else None
