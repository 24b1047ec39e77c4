"""Scores of one model's predictions, on a dataset folder or on rows of one's own: what the command and notebook run."""

from pathlib import Path

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import find_subset
from shiftbench.checking.opened_data import OwnFile
from shiftbench.checking.own_data import own_report, score_own_data
from shiftbench.scoring.reports.titles import domain_titles, with_titles
from shiftbench.scoring.scores.score import score_file, token_encoder
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.command_line import sound_card, write_report
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem


def run_score(
    predictions: PredictionInput,
    data: Path | DatasetFolder,
    own: OwnFile,
    *,
    subset: str | None = None,
    reference: Path | None = None,
    encoder: str | None = None,
    has_depth: bool = False,
    margin: float | None = None,
    report: Path | None = None,
) -> Scores:
    """Score predictions, and write the report where one is asked for.

    Args:
        predictions: the file.
        data: an opened dataset folder, or a file of one's own.
        own: how a file is read.
        subset: the subset of a folder that the predictions cover; None finds it from their ids.
        reference: predictions whose TT stands in where these have none; for a folder.
        encoder: of BERTScore's tokens in a folder, of depths on a file; by default the machine's.
        has_depth: whether a file with train rows is scored by depth, too; an encoder that is named asks for it.
        margin: test whether no drop is above this fraction.
        report: the page to write.
    Returns: the scores; domains of a file are called as it calls them.
    Raises: InvalidInput with everything that is wrong with the rows or the predictions.
    """
    if isinstance(data, DatasetFolder):
        tokens = token_encoder(data, encoder)
        chosen = subset or find_subset(predictions, data)
        scores = score_file(predictions, data, chosen, encoder=tokens, reference=reference, margin=margin)
        if report is not None:
            from shiftbench.scoring.reports.report_page import folder_report

            card = sound_card(predictions.path)
            write_report(report, lambda: folder_report(predictions, scores, data, card))
        return scores
    asked = {"subset": subset not in (None, "all"), "reference": reference is not None}
    if of_folder := [name for name in asked if asked[name]]:
        what = "this is for a dataset folder, but the data is rows of your own"
        raise InvalidInput(Problem(what, name, cure="leave it out") for name in of_folder)
    vectors = Encoder(encoder) if encoder or has_depth else None
    with score_own_data(
        predictions, data, own.columns, kind=own.kind, min_texts=own.min_texts, encoder=vectors, margin=margin
    ) as scored:
        write_report(report, lambda: own_report(predictions.path, data, scored, sound_card(predictions.path)))
        return with_titles(scored.scores, domain_titles(scored.folder))
