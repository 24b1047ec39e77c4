"""Check of one model, domain by domain, on user data, for ``shiftbench check`` and ``shiftbench.check``.

The model's predictions are computed, or read from a file.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from shiftbench.baselines.models.loaded import LoadedModel
from shiftbench.builders.encoder import Encoder
from shiftbench.builders.folder.manifest import TaskInfo
from shiftbench.checking.check_data import CheckData, check_data
from shiftbench.checking.check_predictions import (
    as_own_predictions,
    forecast_unlabelled,
    model_doubts,
    predict_rows,
    predict_unlabelled,
)
from shiftbench.checking.found_domains import DomainSearch
from shiftbench.checking.history import WITHOUT_TIME, Follower, TimeOptions, opened_history
from shiftbench.checking.inputs import read_own_predictions
from shiftbench.checking.opened_data import OwnFile
from shiftbench.checking.step_commands import CommandFormatter, StepFiles, step_command
from shiftbench.scoring.forecasting.shape import Forecasts
from shiftbench.scoring.reports.check import CheckShown, check_html, with_evidence
from shiftbench.scoring.reports.titles import domain_titles, rename_domains
from shiftbench.scoring.scores.by_domain import check_domains
from shiftbench.scoring.scores.examples import WrongExample, wrong_examples
from shiftbench.scoring.scores.next_steps import MARGIN
from shiftbench.scoring.scores.score import score_predictions, token_encoder
from shiftbench.scoring.scores.shape import DomainCheck, Scores
from shiftbench.validation.prediction_files import PredictionInput
from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import ELSEWHERE, TaskKind

PROBED = 5_000
"""Maximum rows for which probes are trained by default: 8 s of CPU time for five domains of texts of 170 characters."""

Loader = Callable[[TaskInfo], LoadedModel]
"""Loads a model for a task."""


@dataclass(frozen=True)
class PredictionPaths:
    """Files for the predictions on rows with and without labels, so that an interrupted check can be resumed."""

    predictions: Path
    unlabelled: Path


@dataclass(frozen=True)
class Checked:
    """Results of a check.

    Attributes:
        found: scores by domain, differences, verdicts.
        scores: the scores of the predictions.
        predictions: predictions on rows with labels, with the file's ids if it has a column of ids.
        unlabelled: predictions on rows of domains without labels; None if all domains have labels.
        forecasts: forecasts for the domains without labels; None if all domains have labels.
        doubts: warnings about the model, one sentence each.
        html: the report, a self-contained HTML page.
    """

    found: DomainCheck
    scores: Scores
    predictions: pl.DataFrame
    unlabelled: pl.DataFrame | None
    forecasts: Forecasts | None
    doubts: tuple[str, ...]
    html: str

    @property
    def has_alarm(self) -> bool:
        """Return whether a period fell below the reference, now or in an earlier analysis."""
        course = self.found.over_time
        return course is not None and course.alarm is not None and course.alarm.at is not None

    def as_json(self) -> dict[str, Any]:
        """Return the contents of ``--json``: results, scores and forecasts, as fractions."""
        parts = {"scores": self.scores, "forecasts": self.forecasts}
        more = {name: part and part.model_dump(mode="json") for name, part in parts.items()}
        return self.found.model_dump(mode="json") | more


def run_check(
    model: Loader | PredictionInput,
    data: Path,
    own: OwnFile,
    places: PredictionPaths,
    *,
    trained_on: str | None = None,
    task: str | None = None,
    train_file: Path | None = None,
    probes: bool | None = None,
    encoder: Encoder | None = None,
    called: str | None = None,
    margin: float | None = None,
    again: CommandFormatter,
    time: TimeOptions = WITHOUT_TIME,
    is_searched: bool = False,
    write_domains: Path | None = None,
) -> Checked:
    """Score one model on each domain of a dataset.

    Args:
        model: function that loads the model for the task; or a prediction file with a single source, which is the
            source domain if ``trained_on`` is None.
        data: a dataset folder, or a user file.
        own: how to read the file.
        places: files for the model's predictions.
        trained_on: the model's source domain as named in the file; ``elsewhere`` or None if it is not in the data.
        task: the folder's task; None if it has only one.
        train_file: the model's training texts.
        probes: whether to train cheap models on each domain, to distinguish harder domains from a shift; None: for
            classification with at most ``PROBED`` rows.
        encoder: embeds texts for one of the probes, and for depths, which need training texts and a source domain.
        called: name of the data in the report; by default the name of the file or folder.
        margin: drop below which a domain is accepted, a fraction fixed beforehand; by default ``MARGIN``.
        again: formats the follow-up commands.
        time: options for domains that are periods. The history is written last, so a failed check adds nothing to it.
        is_searched: whether to search for unnamed domains (slices); the file then needs no column of domains.
        write_domains: file for the rows with the domains found, if any; None writes none.
    Returns: the results; predictions are also in the files of ``places``.
    Raises: InvalidInput listing every problem with the rows, the options, the model or the predictions.
    """
    margin = MARGIN if margin is None else margin
    if not 0 < margin < 1:
        cure = "give points above 0, such as 5 (in Python a fraction, 0.05)"
        raise InvalidInput(Problem("this is not a valid margin", "--margin", f"{100 * margin:g} points", cure))
    source = None
    if isinstance(model, PredictionInput):
        source = _one_source(read_own_predictions(model, own.columns)["source"], str(model), trained_on)
        trained_on = trained_on or source
    has_depth = train_file is not None and trained_on not in (None, ELSEWHERE)
    # With a history, a file may contain a single new period.
    vectors, least = encoder if has_depth else None, 2 if time.history is None else 1
    with (
        opened_history(time) as before,
        check_data(
            data, trained_on, task, own, train_file, vectors, min_domains=least, has_domains=not is_searched
        ) as rows,
    ):
        folder, titles = rows.folder, domain_titles(rows.folder)
        follower = Follower(time, {name: text for text, name in rows.in_order.items()}, rows.info.labels, before)
        forecasts, on_unlabelled = None, None
        doubts: tuple[str, ...] = ()
        if isinstance(model, PredictionInput):
            # Read again with the labels, which determine the order of probabilities.
            given = read_own_predictions(model, own.columns, rows.info.labels, is_again=True).filter(source=source)
            name, (frame, on_unlabelled) = model.path.name, rows.checked(given, model)
        else:
            loaded = model(rows.info)
            name, frame = loaded.name, predict_rows(loaded, rows, places.predictions)
            doubts = model_doubts(loaded, rows, frame)
            on_unlabelled = predict_unlabelled(loaded, rows, places.unlabelled) if rows.unlabelled else None
        scores = score_predictions(frame, folder, encoder=token_encoder(folder)).scores
        trained = None
        if probes or (probes is None and _is_probed(rows)):
            from shiftbench.checking.check_probes import run_probes  # importing scikit-learn takes a second

            trained = run_probes(rows, encoder)
        more = _unlabelled_texts(rows)
        search = DomainSearch(rows, encoder) if is_searched else None
        found = check_domains(
            name,
            scores,
            frame,
            folder,
            rows.source_domain,
            trained,
            titles,
            margin,
            list(more),
            follower.follow,
            search,
        )
        # Rows of a file without a column of ids have no names that the user knows.
        known = dict(rows.own_ids) if rows.own else {row: row for each in found.steps for row in each.rows}
        steps = tuple(
            each.model_copy(update={"rows": tuple(known[row] for row in each.rows if row in known)})
            for each in found.steps
        )
        found = found.model_copy(update={"leaks": rows.leaks, "notes": (*rows.notes, *found.notes), "steps": steps})
        given_file = str(model) if isinstance(model, PredictionInput) else None
        # Without a column of ids, predictions cannot be matched to rows; and gate would report removed rows as missing.
        is_whole = rows.leaks is None or not {**rows.leaks.exact, **rows.leaks.near}
        is_kept = rows.own is None or (bool(rows.own_ids) and is_whole)
        files = StepFiles(
            given_file or (str(places.predictions) if is_kept else None),
            given_file or (str(places.unlabelled) if rows.own_ids else None),
            more,
            given_file is not None,
        )
        found = with_evidence(found, lambda step: step_command(step, found, again, files))
        if on_unlabelled is not None:
            forecasts = forecast_unlabelled(name, rows, frame, on_unlabelled)
        shown = CheckShown(
            found,
            called or data.name,
            folder,
            rename_domains(scores, titles).tasks[0],
            _wrong_examples(rows, scores, frame, titles),
            warnings=doubts,
            forecasts=forecasts,
        )
        named = as_own_predictions(frame, rows.own_ids)
        unlabelled = None if on_unlabelled is None else as_own_predictions(on_unlabelled, {})
        checked = Checked(found, scores, named, unlabelled, forecasts, doubts, check_html(shown))
        if search is not None and write_domains is not None:
            search.write(write_domains)
        follower.save()
        return checked


def _unlabelled_texts(rows: CheckData) -> dict[str, int]:
    """Count the texts of the domains without labels, by the domains' names in the file."""
    if rows.unlabelled is None:
        return {}
    counts = dict(rows.unlabelled.frame.group_by("domain").len().iter_rows())
    return {title: counts[name] for name, title in rows.unlabelled.titles.items()}


def _is_probed(rows: CheckData) -> bool:
    """Return whether to train probes by default; they compare domains, so at least two are needed."""
    n_rows = sum(split.rows for facts in rows.info.domains.values() for split in facts.splits.values())
    return rows.info.kind is TaskKind.CLASSIFICATION and n_rows <= PROBED and len(rows.in_order) > 1


def _one_source(given: pl.Series, file: str, trained_on: str | None) -> str:
    """Return the source of the checked model; its predictions must have only one."""
    sources: list[str] = given.unique().sort().to_list()
    if trained_on in sources:
        return trained_on
    if len(sources) > 1:
        what, cure = "one model is checked at a time", "choose one with --trained-on"
        raise InvalidInput(Problem(what, file, f"models trained on {', '.join(sources)}", cure, column="source"))
    return sources[0]


def _wrong_examples(
    rows: CheckData, scores: Scores, predictions: pl.DataFrame, titles: Mapping[str, str]
) -> dict[str, Sequence[WrongExample]]:
    """Return misclassified texts, by the domains' names in the file."""
    examples: dict[str, Sequence[WrongExample]] = {}
    with TemporaryDirectory(prefix="shiftbench-check-") as place:
        file = Path(place) / "predictions.parquet"
        predictions.drop("task", "target").write_parquet(file)
        for domain in scores.tasks[0].domains:
            wrong = wrong_examples(file, rows.folder, rows.task, rows.source_domain or ELSEWHERE, domain)
            own = [replace(each, id=rows.own_ids.get(each.id, each.id)) for each in wrong]
            examples[titles.get(domain, domain)] = own
    return examples
