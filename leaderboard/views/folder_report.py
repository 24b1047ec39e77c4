"""The HTML report of scored predictions: what ``shiftbench score --report`` writes."""

from pathlib import Path
from tempfile import TemporaryDirectory

from builders.folder.reader import DatasetFolder
from leaderboard.scoring.shape import Scores
from leaderboard.views.report_page import report_html
from validation.cards import Card, read_card
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


def card_beside(predictions: Path) -> Card | None:
    """Read the card that lies beside a prediction file.

    Args:
        predictions: the file; its card is ``<name>.card.yaml``.
    Returns: the card; None where there is none.
    Raises: InvalidInput when it is no sound card.
    """
    path = predictions.with_name(f"{predictions.stem}.card.yaml")
    return read_card(path) if path.is_file() else None
