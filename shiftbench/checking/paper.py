"""Several models on one dataset as a table for a paper, tested against the best model."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shiftbench.checking.opened_data import OpenedData
from shiftbench.scoring.comparing.files import Entrant, compare_entrants
from shiftbench.scoring.comparing.shape import Comparison, NoSharedShift, correct_p_values
from shiftbench.scoring.reports.paper_table import (
    PaperTable,
    best_model,
    paper_latex,
    paper_markdown,
    paper_table,
)
from shiftbench.scoring.reports.titles import rename_domains
from shiftbench.scoring.scores.score import score_predictions, token_encoder
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.command_line import TableFormat
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput

WRITERS = {
    TableFormat.MARKDOWN: paper_markdown,
    TableFormat.LATEX: paper_latex,
}


def models_table(
    opened: OpenedData,
    files: "Mapping[str, Path | PredictionInput]",
    *,
    task: str | None = None,
    margin: float | None = None,
) -> tuple[PaperTable, dict[str, Scores]]:
    """Score prediction files, test them against the best model of each task, and build a table.

    Args:
        opened: the dataset.
        files: prediction files by display name.
        task: only this task; by default all.
        margin: test whether no drop exceeds this fraction.
    Returns: the table, and the scores by display name, with the data's names of domains.
    Raises: InvalidInput listing every problem of every file.
    """
    checked = _check_files(opened, files)
    if task is not None:
        opened.folder.task(task)
        checked = {name: rows.filter(task=task) for name, rows in checked.items()}
    encoder = token_encoder(opened.folder)
    scores = {
        name: score_predictions(rows, opened.folder, opened.subset, encoder=encoder, margin=margin).scores
        for name, rows in checked.items()
    }
    pairs = _compare_with_best(opened, files, checked, scores)
    table = paper_table(list(scores.items()), pairs)
    return table, {name: rename_domains(each, opened.titles) for name, each in scores.items()}


def _check_files(opened: OpenedData, files: "Mapping[str, Path | PredictionInput]") -> dict[str, pl.DataFrame]:
    """Validate all files; InvalidInput lists the problems of all of them."""
    checked, problems = {}, []
    for name, path in files.items():
        try:
            checked[name] = opened.checked(path)
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(problems)
    opened.folder.refuse_withheld()
    return checked


def _compare_with_best(
    opened: OpenedData,
    files: "Mapping[str, Path | PredictionInput]",
    checked: Mapping[str, pl.DataFrame],
    scores: Mapping[str, Scores],
) -> dict[str, dict[str, Comparison]]:
    """Compare each task's best model with all models that share a shift with it; correct all p values together."""
    encoder = token_encoder(opened.folder)
    places: list[tuple[str, str]] = []
    comparisons: list[Comparison] = []
    for task in dict.fromkeys(task.task for each in scores.values() for task in each.tasks):
        there = [(name, each) for name, all_of in scores.items() for each in all_of.tasks if each.task == task]
        entrants = {
            name: Entrant(
                PredictionInput.of(files[name]).path,
                opened.folder,
                opened.subset,
                encoder,
                name,
                checked=checked[name].filter(task=task),
            )
            for name, _ in there
        }
        best = best_model(there)
        for name, other in entrants.items():
            if name == best:
                continue
            try:
                comparisons.append(compare_entrants(entrants[best], other))
            except NoSharedShift:
                continue  # no test for this row
            places.append((task, name))
    pairs: dict[str, dict[str, Comparison]] = {}
    for (task, name), pair in zip(places, correct_p_values(comparisons), strict=True):
        pairs.setdefault(task, {})[name] = pair
    return pairs


def format_table(table: PaperTable, form: TableFormat) -> str:
    """Format a table for a paper, in one of ``TableFormat``."""
    return table.csv if form == TableFormat.CSV else WRITERS[form](table)
