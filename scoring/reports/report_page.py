"""A report of one prediction file's scores as a single, self-contained HTML file without scripts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.scoring.comparing.shape import Comparison
from shiftbench.scoring.reports.comparison import ComparisonPage, PairPage
from shiftbench.scoring.reports.frame.html import Markup
from shiftbench.scoring.reports.frame.site import notices, render, report_file
from shiftbench.scoring.reports.task_page import TaskPage, find_task, shown_tasks
from shiftbench.scoring.reports.titles import domain_key, domain_titles, rename_domains
from shiftbench.scoring.scores.examples import WrongExample, wrong_examples
from shiftbench.scoring.scores.score import checked_predictions
from shiftbench.scoring.scores.shape import Scores
from shiftbench.validation.cards import Card
from shiftbench.validation.prediction_files import PredictionInput

_ADDRESS = re.compile(r'(?: id="|href="#)[^"]+')
"""An anchor or a link to an anchor of the page. It never matches text, whose quotes are escaped."""


def report_html(
    title: str,
    scores: Scores,
    folder: DatasetFolder,
    predictions: Path,
    *,
    card: Card | None = None,
    own_ids: Mapping[str, str] | None = None,
) -> Markup:
    """Build the report as one self-contained HTML page: every task with the sections of an entry's page.

    Args:
        title: name of the scored predictions, such as the file's.
        scores: their scores.
        folder: the dataset.
        predictions: their prediction file as parquet, from which misclassified texts are taken.
        card: their card; None without one.
        own_ids: ids of the user's rows, shown instead of the dataset's ids, by the dataset's id.
    """
    titles = domain_titles(folder)
    names = {title: name for name, title in titles.items()}
    scores = rename_domains(scores, titles)
    examples = partial(_examples, predictions, folder, own_ids or {}, names)
    found = (find_task(scores, name) for name in shown_tasks(scores))
    shown = [TaskPage(scores, task, folder, examples, names=names) for task in found if task]
    tasks = [(each.task.task, _numbered(task_report(each), n)) for n, each in enumerate(shown, start=1)]
    body = render(
        "score_report.html",
        title=title,
        notices=notices([folder]),
        about=f"{folder.manifest.title}, {scores.version}, metrics version {scores.metric_version}",
        scores=scores,
        card=card_facts(card) if card else [],
        tasks=tasks,
        has_task_names=not own_ids,  # rows of a CSV are of one task, which has no name
    )
    return report_file(title, [body], "shiftbench score --report", class_="sb-entry")


def card_facts(card: Card) -> list[tuple[str, Any, str]]:
    """List a card's fields except the name.

    Args:
        card: the card.

    Returns: key, value, and the origin of the value; the origin is ``""`` if the card states the value.
    """
    return [(key, value, "") for key, value in card.as_dict().items() if key != "name"]


def task_report(it: TaskPage) -> Markup:
    """Render one task for a report, with all sections expanded."""
    return render("task_report.html", it=it)


def _numbered(report: Markup, number: int) -> Markup:
    """Make a task's anchors unique by adding its number to them; those of the first task stay unchanged."""
    return report if number == 1 else Markup(_ADDRESS.sub(rf"\g<0>-{number}", str(report)))


def _examples(
    predictions: Path,
    folder: DatasetFolder,
    own_ids: Mapping[str, str],
    names: Mapping[str, str],
    task: str,
    source: str,
    target: str,
) -> Sequence[WrongExample]:
    examples = wrong_examples(predictions, folder, task, domain_key(source, names), domain_key(target, names))
    return [replace(example, id=own_ids.get(example.id, example.id)) for example in examples]


def folder_report(
    predictions: Path | PredictionInput, scores: Scores, folder: DatasetFolder, card: Card | None = None
) -> str:
    """Build the report of a prediction file for a dataset folder, as one self-contained HTML page.

    Args:
        predictions: the file, and how to read it.
        scores: its scores.
        folder: the dataset.
        card: its card; None without one.
    """
    with TemporaryDirectory(prefix="shiftbench-report-") as place:
        rows = Path(place) / "predictions.parquet"
        checked = checked_predictions(predictions, folder, scores.subset)
        checked.drop("task", "target").write_parquet(rows)
        return report_html(PredictionInput.of(predictions).path.name, scores, folder, rows, card=card)


def comparison_report(pairs: Sequence[Comparison], names: Sequence[str], folder: DatasetFolder) -> str:
    """Build the report of a comparison as one self-contained HTML page.

    Args:
        pairs: comparisons of the first entry with each of the others.
        names: display names of the entries, the first entry first.
        folder: the dataset.
    """
    tasks = list(dict.fromkeys(shift.task for pair in pairs for shift in pair.shifts))
    where = f"{folder.manifest.benchmark}/{tasks[0]}" if len(tasks) == 1 else folder.manifest.benchmark
    page = ComparisonPage(
        [PairPage(pair, (names[0], name), where) for pair, name in zip(pairs, names[1:], strict=True)]
    )
    title = " and ".join(names)
    body = render(
        "comparison_report.html",
        it=page,
        title=title,
        about=f"{folder.manifest.title}, {folder.version}",
        notices=notices([folder]),
    )
    return report_file(title, [body], "shiftbench compare --report")
