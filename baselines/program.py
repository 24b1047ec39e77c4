"""Options, card and output files shared by all baseline programs; the training loop is in ``runs``."""

import logging
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import polars.selectors as cs
import typer

from shiftbench.baselines.own_code import program_files
from shiftbench.baselines.runs import Fit, Results, WorkFolder, train_and_predict
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.cards import Card, card_path, write_card
from shiftbench.validation.command_line import DataOption, PredictionOut, option, with_options
from shiftbench.validation.notices import notes_on_stderr
from shiftbench.validation.output_files import check_output_path, refuse_folder, replace_file
from shiftbench.validation.report import InvalidInput, Problem

__all__ = [
    "AnswerOptions", "Data", "DomainOptions", "Out", "Probabilities", "RunOptions", "Seeds", "Sources",
    "Targets", "TaskName", "check_out_path", "make_card", "open_work_folder", "run_alone", "train_runs",
    "typed_command", "with_options", "write_outputs", "write_results",
]  # fmt: skip
log = logging.getLogger(__name__)
TaskName = Annotated[str, typer.Argument(metavar="TASK", help="Task of the dataset folder, such as 'nli'.")]
Data = DataOption
Out = PredictionOut
Sources = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        help="Train on this domain; repeat for more models, join domains with '+'. Default: the ID domain, a "
        "pairing's joined source, or else each domain in turn.",
    ),
]
Targets = Annotated[
    list[str] | None, typer.Option("--target", help="Predict this domain's test split; repeat for more. Default: all.")
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Also write the probabilities of all labels, a list per row.")
]
Seeds = Annotated[
    list[int] | None,
    typer.Option("--seed", help="Seed of a run; repeat for more runs. Default: 0.", min=0, max=2**32 - 1),
]


@dataclass(frozen=True)
class DomainOptions:
    """Options of every program that trains: one run per source and seed, each predicting the targets."""

    task: TaskName
    data: Data
    out: Out
    source: Sources = None
    target: Targets = None
    seed: Seeds = None

    def open_folder(self) -> DatasetFolder:
        """Open the dataset folder, after checking that the output can be written."""
        check_out_path(self.out)
        return DatasetFolder.open(self.data)


@dataclass(frozen=True)
class AnswerOptions(DomainOptions):
    """Options of a program whose predictions have no probabilities."""

    candidates: bool = option(False, "Also predict the task's candidate data sets, for 'shiftbench study protocol'.")
    validation: bool = option(
        False, "Also predict the source's validation rows: NAME.validation.parquet, for 'shiftbench forecast'."
    )

    def prediction_settings(self) -> dict[str, Any]:
        """Return the options that determine what is predicted, as keyword arguments of ``train_and_predict``."""
        return {"candidates": self.candidates, "validation": self.validation}

    def settings(self) -> Mapping[str, Any]:
        """Return the options that a run's predictions depend on, except source and seed."""
        return {"task": self.task, "targets": self.target, **self.prediction_settings()}


@dataclass(frozen=True)
class RunOptions(AnswerOptions):
    """Options of a program that predicts labels."""

    probabilities: Probabilities = False

    def prediction_settings(self) -> dict[str, Any]:
        """Return the options that determine what is predicted, as keyword arguments of ``train_and_predict``."""
        return {**super().prediction_settings(), "probabilities": self.probabilities}


def open_work_folder(
    out: Path, program: str, folder: DatasetFolder, libraries: Sequence[str], **settings: Any
) -> WorkFolder:
    """Return the folder for finished runs, next to a prediction file; runs with other settings are not reused.

    Args:
        libraries: distributions whose versions matter, in addition to shiftbench.
        **settings: everything else that the predictions depend on, as JSON data, except sources and seeds.
    """
    versions = {name: version(name) for name in ("shiftbench", *libraries)}
    return WorkFolder(out, {"program": program, "data": folder.content_hash, "versions": versions, **settings})


def train_runs(fit: Fit, folder: DatasetFolder, options: AnswerOptions, **more: Any) -> Results:
    """Train and predict according to the options.

    Args:
        **more: further arguments of ``train_and_predict``.
    Returns: the predictions of all runs, with a record of each.
    """
    named: dict[str, Any] = {"sources": options.source, "targets": options.target, "seeds": options.seed}
    return train_and_predict(fit, folder, options.task, **named, **options.prediction_settings(), **more)


def write_results(results: Results, card: Card, out: Path) -> None:
    """Write the prediction file of all runs, and the one of validation rows if there are any, each with the card.

    Args:
        out: the prediction file; validation rows are written to ``<stem>.validation<suffix>`` next to it.
    """
    if results.validation is not None:
        write_outputs(results.validation, card, out.with_name(f"{out.stem}.validation{out.suffix}"))
    write_outputs(results.predictions, card, out)


def write_outputs(predictions: pl.DataFrame, card: Card, out: Path) -> Path:
    """Write a prediction file and its card atomically.

    Args:
        predictions: columns of ``shiftbench.validation.schemas.prediction_schema``; tags may be lists.
        out: the prediction file: .parquet, .jsonl or .csv.
    Returns: the card's path, ``<name>.card.yaml``.
    Raises: InvalidInput if ``out`` cannot be written.
    """
    writers: dict[str, Callable[[pl.DataFrame, Path], object]] = {
        ".parquet": lambda frame, path: frame.write_parquet(path),
        ".jsonl": lambda frame, path: frame.write_ndjson(path),
        # CSV has no lists: tags and probabilities are joined by spaces.
        ".csv": lambda frame, path: frame.with_columns(cs.list().cast(pl.List(pl.String)).list.join(" ")).write_csv(
            path
        ),
    }
    check_out_path(out)
    card_file = card_path(out)
    with replace_file(card_file) as new_card, replace_file(out) as new:
        writers[out.suffix](predictions.rechunk(), new)  # otherwise the bytes depend on the chunks
        write_card(card, new_card)
    log.info("wrote %s (%s predictions) and %s", out, f"{len(predictions):,}", card_file)
    return card_file


def check_out_path(out: Path) -> None:
    """Raise InvalidInput, before any training, if the suffix is not supported or the folder is not writable."""
    refuse_folder(out, "--out")
    check_output_path(out)
    if out.suffix not in (".parquet", ".jsonl", ".csv"):
        raise InvalidInput(Problem("unknown file format", str(out), f"'{out.suffix}'", "use .parquet, .jsonl or .csv"))


def make_card(folder: DatasetFolder, *, libraries: Sequence[str] = (), **facts: Any) -> Card:
    """Build a card with the common fields: command, versions of libraries, data, and hashes of user code.

    Args:
        libraries: distributions whose versions matter, in addition to shiftbench, numpy and polars.
    """
    versions = {name: version(name) for name in ("shiftbench", "numpy", "polars", *libraries)}
    own = {f"code {name}": f"sha256 {sha256}" for name, sha256 in program_files().items()}
    if own:
        facts["run"] = {**facts.get("run", {}), **own}
    return Card(
        command=typed_command(), versions=versions, data=folder.content_hash, settings=folder.version.settings, **facts
    )


def typed_command() -> str:
    """Return the command as typed: ``shiftbench ...``, or ``python -m ...`` for a program run by itself."""
    program = Path(sys.argv[0])
    alone = program.resolve().parent == Path(__file__).resolve().parent
    start = ["python", "-m", f"shiftbench.baselines.{program.stem}"] if alone else ["shiftbench"]
    return shlex.join([*start, *sys.argv[1:]])


def run_alone(program: Callable[..., None]) -> None:
    """Run a program started from its own file: parse the command line, and show its log messages."""
    with notes_on_stderr():
        typer.run(program)
