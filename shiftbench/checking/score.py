"""Scores of one model's predictions, on a dataset folder or user data; used by the command and the Python API."""

from pathlib import Path

from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.checking.inputs import find_subset
from shiftbench.checking.opened_data import OwnFile
from shiftbench.checking.own_data import own_report, score_own_data
from shiftbench.scoring.reports.titles import domain_titles, rename_domains
from shiftbench.scoring.scores.score import score_file, token_encoder
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.command_line import read_valid_card, write_report
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
    """Score predictions, and write the report if requested.

    Args:
        predictions: the file.
        data: an opened dataset folder, or a user file.
        own: how to read the file.
        subset: the subset of a folder that the predictions cover; None: inferred from their ids.
        reference: predictions whose TT is used if ``predictions`` have none; only for a folder.
        encoder: encoder for BERTScore on a folder, or for depths on a file; by default this machine's.
        has_depth: whether to score a file with training rows by depth; implied by ``encoder``.
        margin: test whether no drop exceeds this fraction.
        report: the HTML page to write.
    Returns: the scores, with a file's names of domains.
    Raises: InvalidInput listing every problem with the rows or the predictions.
    """
    if isinstance(data, DatasetFolder):
        tokens = token_encoder(data, encoder)
        chosen = subset or find_subset(predictions, data)
        scores = score_file(predictions, data, chosen, encoder=tokens, reference=reference, margin=margin)
        if report is not None:
            from shiftbench.scoring.reports.report_page import folder_report

            card = read_valid_card(predictions.path)
            write_report(report, lambda: folder_report(predictions, scores, data, card))
        return scores
    asked = {"subset": subset not in (None, "all"), "reference": reference is not None}
    if of_folder := [name for name in asked if asked[name]]:
        what = "this option is for a dataset folder, but the data is a user table"
        raise InvalidInput(Problem(what, name, cure="omit it") for name in of_folder)
    vectors = Encoder(encoder) if encoder or has_depth else None
    with score_own_data(
        predictions, data, own.columns, kind=own.kind, min_texts=own.min_texts, encoder=vectors, margin=margin
    ) as scored:
        write_report(report, lambda: own_report(predictions.path, data, scored, read_valid_card(predictions.path)))
        return rename_domains(scored.scores, domain_titles(scored.folder))
