"""The parts that every baseline program shares: options, card and output files; the training loop is in ``runs``."""

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
from shiftbench.validation.command_line import DataOption, PredictionOut, with_options
from shiftbench.validation.notices import heard_notes
from shiftbench.validation.output_files import check_place, refuse_folder, replace_file
from shiftbench.validation.report import InvalidInput, Problem

__all__ = [
    "AnswerOptions", "Candidates", "Data", "DomainOptions", "Out", "Probabilities", "RunOptions", "Seeds", "Sources",
    "Targets", "TaskName", "Validation", "check_out_path", "make_card", "open_work_folder", "run_alone", "train_runs",
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
        "pairing's whole source, or without these each domain in turn.",
    ),
]
Targets = Annotated[
    list[str] | None, typer.Option("--target", help="Predict this domain's test split; repeat for more. Default: all.")
]
Candidates = Annotated[
    bool,
    typer.Option("--candidates", help="Also predict the task's candidate data sets, for 'shiftbench study protocol'."),
]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="Also write the probabilities of all labels, a list per row.")
]
Validation = Annotated[
    bool,
    typer.Option(
        "--validation",
        help="Also predict the source's validation rows: NAME.validation.parquet, for 'shiftbench forecast'.",
    ),
]
Seeds = Annotated[
    list[int] | None,
    typer.Option("--seed", help="Seed of a run; repeat for more runs. Default: 0.", min=0, max=2**32 - 1),
]


@dataclass(frozen=True)
class DomainOptions:
    """The options of every program that trains: one run a source and seed, each predicting the targets."""

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
    """The options of a program whose answers have no probabilities."""

    candidates: Candidates = False
    validation: Validation = False

    def prediction_settings(self) -> dict[str, Any]:
        """Return what is predicted beside the test rows, and in what form."""
        return {"candidates": self.candidates, "validation": self.validation}

    def settings(self) -> Mapping[str, Any]:
        """Return the options that the predictions of a run depend on; its source and seed tell runs apart."""
        return {"task": self.task, "targets": self.target, **self.prediction_settings()}


@dataclass(frozen=True)
class RunOptions(AnswerOptions):
    """The options of a program that predicts labels."""

    probabilities: Probabilities = False

    def prediction_settings(self) -> dict[str, Any]:
        """Return what is predicted beside the test rows, and in what form."""
        return {**super().prediction_settings(), "probabilities": self.probabilities}


def open_work_folder(
    out: Path, program: str, folder: DatasetFolder, libraries: Sequence[str], **settings: Any
) -> WorkFolder:
    """Return the folder beside a prediction file where finished runs are kept, with all that they depend on.

    Args:
        out: the prediction file to be.
        program: name of the program.
        folder: the dataset.
        libraries: distributions whose versions count, beside our own.
        **settings: what else the predictions depend on, as JSON data; without the sources and seeds.
    """
    versions = {name: version(name) for name in ("shiftbench", *libraries)}
    return WorkFolder(out, {"program": program, "data": folder.content_hash, "versions": versions, **settings})


def train_runs(fit: Fit, folder: DatasetFolder, options: AnswerOptions, **more: Any) -> Results:
    """Train and predict what the options ask for.

    Args:
        fit: trains one run.
        folder: the dataset.
        options: task, sources, targets, seeds and what else is predicted.
        **more: further arguments of ``train_and_predict``.
    Returns: the predictions of all runs, with a record of each.
    Raises: InvalidInput as ``train_and_predict``.
    """
    named: dict[str, Any] = {"sources": options.source, "targets": options.target, "seeds": options.seed}
    return train_and_predict(fit, folder, options.task, **named, **options.prediction_settings(), **more)


def write_results(results: Results, card: Card, out: Path) -> None:
    """Write the prediction file of all runs, and that of validation rows where there is one, each with the card.

    Args:
        results: what the runs gave.
        card: the card of both.
        out: the prediction file; that of validation rows is ``<stem>.validation<ending>`` beside it.
    Raises: InvalidInput when a file cannot be written.
    """
    if results.validation is not None:
        write_outputs(results.validation, card, out.with_name(f"{out.stem}.validation{out.suffix}"))
    write_outputs(results.predictions, card, out)


def write_outputs(predictions: pl.DataFrame, card: Card, out: Path) -> Path:
    """Write a prediction file and, beside it, its card; both appear whole or not at all.

    Args:
        predictions: columns as ``shiftbench.validation.schemas.prediction_schema`` has them; tags may be lists.
        card: the card.
        out: the prediction file: .parquet, .jsonl or .csv.
    Returns: the card's path, ``<name>.card.yaml``.
    Raises: InvalidInput when ``out`` cannot be written.
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
        writers[out.suffix](predictions.rechunk(), new)  # bytes depend on chunks otherwise
        write_card(card, new_card)
    log.info("wrote %s (%s predictions) and %s", out, f"{len(predictions):,}", card_file)
    return card_file


def check_out_path(out: Path) -> None:
    """Raise InvalidInput, before any training, if an output cannot be written.

    Args:
        out: the prediction file to be: .parquet, .jsonl or .csv.
    Raises: InvalidInput when its ending is another one, or its folder cannot be written.
    """
    refuse_folder(out, "--out")
    check_place(out)
    if out.suffix not in (".parquet", ".jsonl", ".csv"):
        raise InvalidInput(
            Problem(
                "unknown kind of prediction file", str(out), f"'{out.suffix}'", "end --out in .parquet, .jsonl or .csv"
            )
        )


def make_card(folder: DatasetFolder, *, libraries: Sequence[str] = (), **facts: Any) -> Card:
    """Build a card with what every card says: command, versions of libraries, data, and hashes of the user's own code.

    Args:
        folder: the dataset.
        libraries: distributions whose versions count, beside our own, numpy and polars.
        **facts: the other keys of the card.
    Returns: the card.
    """
    versions = {name: version(name) for name in ("shiftbench", "numpy", "polars", *libraries)}
    own = {f"code {name}": f"sha256 {sha256}" for name, sha256 in program_files().items()}
    if own:
        facts["run"] = {**facts.get("run", {}), **own}
    return Card(
        command=typed_command(), versions=versions, data=folder.content_hash, settings=folder.version.settings, **facts
    )


def typed_command() -> str:
    """Return the command as it was typed.

    Returns: a shell command: ``shiftbench ...``, or ``python -m shiftbench.baselines...`` for a program alone.
    """
    program = Path(sys.argv[0])
    alone = program.resolve().parent == Path(__file__).resolve().parent
    start = ["python", "-m", f"shiftbench.baselines.{program.stem}"] if alone else ["shiftbench"]
    return shlex.join([*start, *sys.argv[1:]])


def run_alone(program: Callable[..., None]) -> None:
    """Run a program that was started by its file: its options are those of the command line, its notes are heard."""
    with heard_notes():
        typer.run(program)
