"""Logging to an experiment tracker: one adapter, called when a command is done.

A run has the settings of the model's card as parameters, figures with the ends of their intervals as metrics
(``nli/mean_st``, ``nli/mean_st_low``, ``nli/mean_st_high``; fractions), and pictures and reports as artifacts. Where it
goes is up to the tracker: MLflow reads ``MLFLOW_TRACKING_URI`` and ``MLFLOW_EXPERIMENT_NAME``, Trackio ``TRACKIO_DIR``
or ``TRACKIO_SPACE_ID``. Without these it is kept on this machine, and no network is needed.
"""

import contextlib
import inspect
import os
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.validation.command_line import require
from shiftbench.validation.credentials import WithoutCredentials
from shiftbench.validation.report import InvalidInput, Problem, first_line

if TYPE_CHECKING:
    from shiftbench.scoring.scores.shape import Scores
    from shiftbench.validation.cards import Card

PROJECT = "shiftbench"
"""The experiment (MLflow) or project (Trackio) of the runs, unless the environment names another."""


SERVER_SECONDS = 5
"""Seconds that a tracking server may take for an answer; MLflow itself would wait and try again for many minutes."""
_PATIENCE = {"MLFLOW_HTTP_REQUEST_TIMEOUT": str(SERVER_SECONDS), "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1"}
"""MLflow's own settings where the environment has none."""


class Tracker(StrEnum):
    """Where runs are logged."""

    TRACKIO = "trackio"
    MLFLOW = "mlflow"


LogToOption = Annotated[
    Tracker | None,
    typer.Option("--log-to", metavar="NAME", help="Log figures, settings and reports as a run: trackio or mlflow."),
]

Value = str | int | float | bool


@dataclass(frozen=True)
class LoggedRun:
    """Settings, figures and files of one model, as they are logged.

    Attributes:
        name: of the run.
        params: settings by name.
        metrics: figures by name.
        files: pictures (PNG) and reports by name.
    """

    name: str
    params: Mapping[str, Value] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, Path] = field(default_factory=dict)


def check_tracker(tracker: Tracker | None) -> None:
    """Refuse, before any work, a tracker that is not installed, or whose server does not answer.

    Raises: InvalidInput that names the extra to install, or the address that does not answer.
    """
    if tracker is None:
        return
    require(tracker.value, tracker.value)
    address = os.environ.get("MLFLOW_TRACKING_URI", "")
    if tracker is Tracker.MLFLOW and address.startswith(("http://", "https://")):
        _check_server(address)


def _check_server(address: str) -> None:
    """Check that a server answers in time; any answer counts, also one that asks for a login."""
    import httpx

    try:
        httpx.get(address, timeout=SERVER_SECONDS)
    except httpx.HTTPError as error:
        cure = "start it, or set MLFLOW_TRACKING_URI to another address; without one, runs are kept in this folder"
        found = first_line(error)
        raise InvalidInput(Problem("the MLflow server does not answer", address, found, cure)) from error


def log_run(tracker: Tracker, run: LoggedRun) -> None:
    """Log a run.

    Raises: InvalidInput when the tracker does not take it.
    """
    log = {Tracker.TRACKIO: _log_to_trackio, Tracker.MLFLOW: _log_to_mlflow}[tracker]
    # Trackers print where others expect a command's JSON, and their server's address with the password in it.
    shown = WithoutCredentials(sys.stderr)
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        log(run)


def log_scores(
    tracker: Tracker, name: str, scores: "Scores", card: "Card | None", files: Mapping[str, Path] | None = None,
    params: Mapping[str, Value] | None = None,
) -> None:  # fmt: skip
    """Log the scores of one model as a run, with a picture of each task.

    Args:
        tracker: where to.
        name: of the run.
        scores: the scores.
        card: of the model, where there is one.
        files: reports by name.
        params: further settings.
    """
    known = {**_score_params(scores), **(card_params(card) if card else {}), **(params or {})}
    with tempfile.TemporaryDirectory(prefix="shiftbench-") as folder:
        pictures = _draw_matrices(scores, Path(folder))
        log_run(tracker, LoggedRun(name, known, score_metrics(scores), {**pictures, **(files or {})}))


def score_metrics(scores: "Scores") -> dict[str, float]:
    """Return all figures of scores and the ends of their intervals, by names that trackers take."""
    from shiftbench.scoring.interchange.figures import figures_of

    metrics = {}
    for figure in figures_of(scores):
        # With dots, because MLflow's files take what stands before a slash for a folder.
        where = "" if figure.source is None else f".{figure.source}.{figure.target}"
        name = re.sub(r"[^\w./-]", "_", f"{figure.task}/{figure.name}{where}", flags=re.ASCII)
        ends = {"low": figure.estimate.low, "high": figure.estimate.high}
        if figure.total is not None:
            ends |= {"total_low": figure.total.low, "total_high": figure.total.high}
        metrics[name] = figure.value
        metrics |= {f"{name}_{end}": value for end, value in ends.items() if value is not None}
    return metrics


def card_params(card: "Card") -> dict[str, Value]:
    """Return the settings of a card by name, without the contact; parts of a setting as ``versions.<name>``."""
    params: dict[str, Value] = {}
    for key, value in card.model_copy(update={"contact": None}).as_dict().items():
        if isinstance(value, dict):
            params |= {f"{key}.{name}": part for name, part in value.items()}
        else:
            params[key] = ", ".join(value) if isinstance(value, list) else value
    return params


def _score_params(scores: "Scores") -> dict[str, Value]:
    facts = {
        "benchmark": scores.benchmark,
        "data": scores.data,
        "subset": scores.subset,
        "metric_version": scores.metric_version,
        "depth_encoder": scores.depth_encoder,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _draw_matrices(scores: "Scores", folder: Path) -> dict[str, Path]:
    """Draw the matrix of each task that has shifts."""
    from shiftbench.notebook.results import ScoreResult

    pictures = {}
    for task in scores.tasks:
        if task.shifts:
            path = folder / f"{task.task}-matrix.png"
            ScoreResult(scores).plot("matrix", task.task).savefig(path)
            pictures[path.stem] = path
    return pictures


def _log_to_mlflow(run: LoggedRun) -> None:
    for name, value in _PATIENCE.items():
        os.environ.setdefault(name, value)
    import mlflow
    from mlflow.exceptions import MlflowException

    typer.echo(f"logging {run.name} to {mlflow.get_tracking_uri()}; 'mlflow ui' shows it", err=True)
    try:
        mlflow.set_experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", PROJECT))
        with mlflow.start_run(run_name=run.name):
            mlflow.log_params(dict(run.params))
            mlflow.log_metrics(dict(run.metrics))
            for path in run.files.values():
                mlflow.log_artifact(str(path))
    except MlflowException as error:
        cure = "check MLFLOW_TRACKING_URI; the results of the command are saved"
        raise InvalidInput(Problem("MLflow did not accept the run", run.name, first_line(error), cure)) from error


def _log_to_trackio(run: LoggedRun) -> None:
    import trackio

    typer.echo(f"logging {run.name} to the project '{PROJECT}' of Trackio; 'trackio show' shows it", err=True)
    try:
        trackio.init(PROJECT, run.name, config=dict(run.params), embed=False, auto_log_cpu=False, auto_log_gpu=False)
        shown: dict[str, Any] = {name: _trackio_file(path) for name, path in run.files.items()}
        trackio.log({**run.metrics, **shown})
        trackio.finish()
    except (sqlite3.Error, OSError) as error:
        cure = "check TRACKIO_DIR; the results of the command are saved"
        raise InvalidInput(Problem("Trackio did not accept the run", run.name, first_line(error), cure)) from error


def _trackio_file(path: Path) -> Any:
    import trackio

    return trackio.Image(path) if path.suffix == ".png" else trackio.Html(path.read_text(encoding="utf-8"))


def log_files(tracker: Tracker, files: Sequence[Path], data: Path) -> None:
    """Score prediction files with their cards, and log each as a run; without figures where labels are withheld.

    Args:
        tracker: where to.
        files: the prediction files; one that is not there is passed over, as of a batch that waits.
        data: the dataset folder.
    """
    from shiftbench.builders.folder.reader import DatasetFolder
    from shiftbench.scoring.scores.score import score_file, token_encoder
    from shiftbench.validation.command_line import sound_card

    folder = DatasetFolder.open(data)
    for path in files:
        if not path.is_file():
            typer.echo(f"nothing to log: there is no {path}", err=True)
            continue
        card = sound_card(path)
        if folder.has_public_labels:
            subset = card.subset if card else "all"
            scores = score_file(path, folder, subset, encoder=token_encoder(folder))
            log_scores(tracker, card.name if card else path.stem, scores, card)
        else:
            log_run(tracker, LoggedRun(card.name if card else path.stem, card_params(card) if card else {}))


def with_log_option(
    command: Callable[..., None], files_of: Callable[[Mapping[str, Any]], tuple[Sequence[Path], Path]]
) -> Callable[..., None]:
    """Build a command that takes ``--log-to``, too, and then logs the prediction files that it wrote.

    Args:
        command: the command.
        files_of: from what was typed, by parameter, to the prediction files and the dataset folder they are for.
    """
    signature = inspect.signature(command)
    option = inspect.Parameter("log_to", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=LogToOption)

    def run(*args: Any, log_to: Tracker | None = None, **kwargs: Any) -> None:
        check_tracker(log_to)
        command(*args, **kwargs)
        if log_to is not None:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            log_files(log_to, *files_of(given.arguments))

    run.__doc__, run.__name__, run.__module__ = command.__doc__, command.__name__, command.__module__
    parameters = [*signature.parameters.values(), option]
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
