"""Cost of a grid before it runs: trials, optimizer steps and hours.

Fine-tuning programs are timed by a short training on this machine. For programs that train in a single step, the first
trial is timed in full. The time of prompting programs is unknown.

For a GPU that is not present, floating-point operations are counted per layer: products with weight matrices, and
attention, whose cost is quadratic in the length; a training step costs three forward passes. For large models, time is
the operations divided by a fixed share of the GPU's peak rate; small models are limited by launching a fixed number of
kernels per layer. Both constants are guesses from published training runs: expect the right order of magnitude.
"""

import json
import logging
import math
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup

from shiftbench.baselines.grid.collect import by_entry
from shiftbench.baselines.grid.stored import TRAINING
from shiftbench.baselines.grid.trial import LOG, Trial, failure_reason, start_trial, stop_trials
from shiftbench.baselines.own_code import PROGRAMS_GROUP, is_own
from shiftbench.baselines.training.options import (
    GENERATION_RECIPES,
    GENERATION_SWEEPS,
    RECIPES,
    SWEEPS,
    Hyperparameters,
    TrainingOptions,
)
from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.report import InvalidInput, Problem, did_you_mean
from shiftbench.validation.vocabulary import source_parts

if TYPE_CHECKING:
    from rich.console import RenderableType

log = logging.getLogger(__name__)
Settings = Sequence[Hyperparameters]
CALIBRATION_STEPS = 50
_START = 30.0
"""Assumed start-up time of a trial on a GPU, in seconds: imports, and loading the weights."""
_TIMED_WHOLE = ("majority", "tfidf-lr", "sbert-lr")
"""Programs without training steps: one trial is timed in full."""
_LEFT_OUT = ("--sweep", "--shots", "--keep-state", "--save-model", "--select", "--no-select", "--validation")


@dataclass(frozen=True)
class TrialWork:
    """The work of one trial: epochs and steps summed over a sweep's candidates, and rows read after each epoch."""

    rows: int
    epochs: float
    steps: int
    held_out: int
    predicted: int


class TrialRows(NamedTuple):
    """Row counts of a trial (training, validation, test), and the number of labels of its task."""

    train: int
    validation: int
    test: int
    labels: int


@dataclass(frozen=True)
class Rates:
    """Speed of one machine: seconds to start, per step and per predicted row.

    ``growth`` is the number of training examples per row: EDA adds copies, long contexts have several windows.
    """

    start: float
    step: float
    predicted: float
    growth: float = 1.0

    def seconds(self, work: TrialWork) -> float:
        """Return the seconds of a trial."""
        read = work.predicted + work.held_out * work.epochs
        return self.start + work.steps * self.growth * self.step + read * self.predicted


@dataclass(frozen=True)
class GridEstimate:
    """Estimated cost of an entry: number of trials, and number (``left``), steps and seconds of unfinished ones.

    ``steps`` is None if the program does not train in steps, ``seconds`` if the time is unknown.
    """

    model: str
    task: str
    trials: int
    left: int
    steps: int | None
    seconds: float | None


def estimate(
    trials: Sequence[Trial],
    waiting: Sequence[Trial],
    data: Path,
    programs: TyperGroup,
    *,
    threads: int,
    code: Path | None = None,
) -> list[GridEstimate]:
    """Estimate the cost of a grid's trials.

    Args:
        waiting: those of ``trials`` that are unfinished.
        programs: the command whose sub-commands are the programs (``shiftbench train``).
        code: base folder of the paths of user code.
    Returns: an estimate for each entry, in the grid's order.
    Raises: InvalidInput if a short training fails.
    """
    folder = DatasetFolder.open(data)

    def seconds_of(rest: Sequence[Trial], works: Sequence[TrialWork], settings: Settings) -> tuple[float | None, float]:
        if not works:
            timed = _time_trial(rest[0], data, threads, code)[0] if rest[0].program in _TIMED_WHOLE else None
            return None if timed is None else timed * len(rest), 1.0
        rates = _calibrate(rest[0], works[0], folder, settings[0], threads, code)
        return sum(rates.seconds(work) for work in works), rates.growth

    return _estimate_entries(trials, waiting, lambda trial: rows_of(trial, folder), programs, seconds_of)


def estimate_on_gpu(
    trials: Sequence[Trial],
    waiting: Sequence[Trial],
    rows: Callable[[Trial], TrialRows],
    programs: TyperGroup,
    gpu: str,
) -> list[GridEstimate]:
    """Estimate the cost of a grid's trials on a GPU that is not present.

    Args:
        waiting: those of ``trials`` that are unfinished.
        rows: counts the rows of a trial.
        programs: the command whose sub-commands are the programs (``shiftbench train``).
        gpu: name of a GPU in ``architectures.toml``.
    Returns: an estimate for each entry, in the grid's order; without seconds if a model's dimensions are unknown, or
        the program does not run on a GPU.
    Raises: InvalidInput if the GPU is not listed.
    """
    check_gpu(gpu)

    def seconds_of(rest: Sequence[Trial], works: Sequence[TrialWork], settings: Settings) -> tuple[float | None, float]:
        name = next((word.partition("=")[2] for word in rest[0].options if word.startswith("--model=")), "")
        shape = find_architecture(name) if settings else None
        if shape is None:
            return None, 1.0
        return sum(_gpu_seconds(shape, trial, rows(trial), settings, gpu) for trial in rest), 1.0

    return _estimate_entries(trials, waiting, rows, programs, seconds_of)


def _estimate_entries(
    trials: Sequence[Trial],
    waiting: Sequence[Trial],
    rows: Callable[[Trial], TrialRows],
    programs: TyperGroup,
    seconds_of: Callable[[Sequence[Trial], Sequence[TrialWork], Settings], tuple[float | None, float]],
) -> list[GridEstimate]:
    """Estimate each entry; ``seconds_of`` returns the seconds of unfinished trials, and examples per training row."""
    left, estimates = set(waiting), []
    for entry in by_entry(trials):
        rest = [trial for trial in entry if trial in left]
        settings = _candidate_hyperparameters(entry[0], programs)
        works = [_trial_work(trial, rows(trial), settings) for trial in rest] if settings else []
        seconds, growth = seconds_of(rest, works, settings) if rest else (0.0, 1.0)
        steps = round(sum(work.steps for work in works) * growth) if settings else None
        estimates.append(GridEstimate(entry[0].model, entry[0].task, len(entry), len(rest), steps, seconds))
    return estimates


def _gpu_seconds(
    shape: "Architecture", trial: Trial, rows: TrialRows, settings: Sequence[Hyperparameters], gpu: str
) -> float:
    """Estimate a trial's seconds if texts have the maximum length; a sweep's candidates differ in batch size."""
    seconds = _START
    for number, each in enumerate(settings):
        n, longest = each.batch_size, each.max_length
        work = _trial_work(trial, rows if number == 0 else rows._replace(test=0), [each])
        rates = Rates(0.0, step_seconds(shape, n, longest, gpu), row_seconds(shape, n, longest, gpu))
        seconds += rates.seconds(work)
    return seconds


def _candidate_hyperparameters(trial: Trial, programs: TyperGroup) -> list[Hyperparameters]:
    """Return the candidate settings of a fine-tuning program's trial; an empty list for other programs."""
    if not trial.program.startswith("finetune-") or is_own(trial.program, PROGRAMS_GROUP):
        return []
    command: Any = programs.get_command(typer.Context(programs), trial.program)
    options = ["TASK", "--data=data", "--out=out.parquet", *trial.options]
    typed = command.make_context(trial.program, options).params
    names = [name for name in TrainingOptions.__dataclass_fields__ if name in typed]
    writes = trial.program == "finetune-seq2seq"
    tables = (GENERATION_RECIPES, GENERATION_SWEEPS) if writes else (RECIPES, SWEEPS)
    return TrainingOptions(**{name: typed[name] for name in names}).candidates(*tables)


def rows_of(trial: Trial, folder: DatasetFolder) -> TrialRows:
    """Count the rows of a trial in its dataset folder."""
    info = folder.task(trial.task)
    splits = [info.domains[part].splits for part in source_parts(trial.source) if part in info.domains]
    return TrialRows(
        sum(split["train"].rows for split in splits if "train" in split),
        sum(split["validation"].rows for split in splits if "validation" in split),
        sum(facts.splits["test"].rows for facts in info.domains.values() if "test" in facts.splits),
        len(info.labels),
    )


def _trial_work(trial: Trial, rows: TrialRows, settings: Sequence[Hyperparameters]) -> TrialWork:
    n = rows.train
    for word in trial.options:
        name, _, value = word.partition("=")
        if name == "--train-size":
            n = min(n, int(value))
        elif name == "--shots":
            n = min(n, int(value) * max(1, rows.labels))
    held_out = 0 if "--no-select" in trial.options else rows.validation
    steps = sum(math.ceil(math.ceil(n / each.batch_size) * each.epochs) for each in settings)
    return TrialWork(n, sum(each.epochs for each in settings), steps, held_out, rows.test)


def _calibrate(
    trial: Trial, work: TrialWork, folder: DatasetFolder, settings: Hyperparameters, threads: int, code: Path | None
) -> Rates:
    """Time a trial of a few steps that predicts only one target."""
    domains = folder.task(trial.task).domains
    n_test = {name: facts.splits["test"].rows for name, facts in domains.items() if "test" in facts.splits}
    target = min(n_test, key=lambda name: n_test[name])
    n_rows = min(work.rows, CALIBRATION_STEPS * settings.batch_size)
    kept = [word for word in trial.options if word.partition("=")[0] not in _LEFT_OUT]
    short = (*kept, f"--train-size={n_rows}", "--epochs=1", "--no-select", f"--target={target}")
    whole, record = _time_trial(replace(trial, options=short), folder.path, threads, code)
    growth = record["examples"] / n_rows
    step = record["seconds"] / record["steps"]
    predicted = record["prediction_seconds"] / n_test[target]
    begin = whole - record["seconds"] - record["prediction_seconds"]
    return Rates(begin, step, predicted, growth)


def _time_trial(trial: Trial, data: Path, threads: int, code: Path | None) -> tuple[float, dict[str, Any]]:
    """Run a trial in a temporary folder; return its seconds and its training record."""
    log.info("timing: %s", trial)
    with tempfile.TemporaryDirectory(prefix="shiftbench-") as temporary:
        folder = Path(temporary)
        began = time.perf_counter()
        child = start_trial(trial, folder, data, threads, code=code)
        try:
            exit_code = child.wait()
        finally:
            stop_trials([child])
        seconds = time.perf_counter() - began
        why = failure_reason(folder, exit_code)
        if why is not None:
            typed = (folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()[0]
            cure = "fix the cause, or remove this model from the grid"
            raise InvalidInput(Problem(f"{trial} failed during timing", typed, why, cure))
        file = folder / TRAINING
        return seconds, parse_json(file.read_text(encoding="utf-8"))[0] if file.is_file() else {}


def estimate_lines(
    estimates: Sequence[GridEstimate], at_once: int, gpu: str | None = None
) -> "Iterator[str | RenderableType]":
    """Format the estimated cost of a grid: a table with a row per entry, and totals below.

    Args:
        at_once: number of concurrent trials.
        gpu: the GPU of the estimate; None: this machine.
    Yields: the table (of rich), then lines of text.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("model", "task", "trials", "left", "steps", "hours", box=SIMPLE_HEAD)
    for column in table.columns[2:]:
        column.justify = "right"
    for each in estimates:
        steps = "-" if each.steps is None else f"{each.steps:,}"
        hours = "unknown" if each.seconds is None else f"{each.seconds / 3600:.2f}"
        table.add_row(each.model, each.task, str(each.trials), str(each.left), steps, hours)
    yield table
    total = sum(each.seconds or 0.0 for each in estimates)
    basis = f"timed on this machine, {CALIBRATION_STEPS} steps per model and task"
    if gpu is not None:
        basis = f"{gpu}, by layers, width and architecture, all texts at maximum length; not calibrated on a real GPU"
    yield f"{duration(total)} in total, trials run one by one ({basis})"
    if at_once > 1:
        yield f"{duration(total / at_once)} with {at_once} trials in parallel"
    if any(each.seconds is None for each in estimates):
        what = "unlisted models, prompting programs" if gpu else "prompting programs"
        yield f"time unknown for {what} and programs with their own training loop"


def duration(seconds: float) -> str:
    """Format a duration in its two largest units.

    >>> duration(8.4), duration(95), duration(3 * 3600 + 125), duration(50 * 3600)
    ('8 s', '1 min 35 s', '3 h 2 min', '2 d 2 h')
    """
    whole = round(seconds)
    for unit, name, below, part in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= unit:
            rest = whole % unit // below
            return f"{whole // unit} {name}" + (f" {rest} {part}" if rest else "")
    return f"{whole} s"


UTILISATION = 0.35
"""Assumed utilisation: the share of the GPU's peak rate that these programs reach in training."""
LAYER_OVERHEAD = 0.4e-3
"""Seconds to launch the kernels of a plain layer in a step: forward, backward and optimizer."""
_CONFIG_KINDS = {"deberta-v2": "deberta", "t5": "encoder-decoder", "bart": "encoder-decoder"}


@dataclass(frozen=True)
class Architecture:
    """A model's dimensions; ``layers`` includes encoder and decoder; ``attention`` 0 stands for the hidden width."""

    kind: str
    layers: int
    width: int
    inner: int
    attention: int = 0

    def operations(self, rows: int, length: int) -> float:
        """Count the floating-point operations of a forward pass over ``rows`` sequences of ``length`` word pieces."""
        kind, heads = _data()["kinds"][self.kind], self.attention or self.width
        weights = kind["projections"] * self.width * heads + 2 * self.width * self.inner
        return float(self.layers * rows * length * (2 * weights + kind["attention"] * 4 * length * heads))

    @property
    def least_seconds(self) -> float:
        """Return the seconds needed to launch the kernels of a training step."""
        return float(self.layers * LAYER_OVERHEAD * _data()["kinds"][self.kind]["kernels"])


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("architectures.toml").read_text(encoding="utf-8"))


def find_architecture(model: str) -> Architecture | None:
    """Return the dimensions of a listed model, or of a local model from its ``config.json``; None for others."""
    if model in _data()["models"]:
        return Architecture(**_data()["models"][model])
    config = Path(model) / "config.json"
    if not config.is_file():
        return None
    facts = json.loads(config.read_text(encoding="utf-8"))
    kind = _CONFIG_KINDS.get(facts.get("model_type"), "encoder")
    names = (
        ("num_hidden_layers", "n_layers", "num_layers", "encoder_layers"), ("hidden_size", "dim", "d_model"),
        ("intermediate_size", "hidden_dim", "d_ff", "encoder_ffn_dim"),
    )  # fmt: skip
    layers, width, inner = (next((facts[name] for name in each if name in facts), 0) for each in names)
    if not (layers and width and inner):
        return None
    return Architecture(kind, layers * (2 if kind == "encoder-decoder" else 1), width, inner)


def step_seconds(model: Architecture, rows: int, length: int, gpu: str) -> float:
    """Estimate the seconds of a training step on ``rows`` texts of ``length`` word pieces, including padding."""
    return max(3 * model.operations(rows, length) / _rate(gpu), model.least_seconds)


def row_seconds(model: Architecture, rows: int, length: int, gpu: str) -> float:
    """Estimate the seconds to predict one row, in batches of ``rows``."""
    return max(model.operations(rows, length) / _rate(gpu), model.least_seconds / 3) / rows


def check_gpu(gpu: str) -> None:
    """Raise InvalidInput if a GPU is not listed."""
    known = _data()["gpus"]
    if gpu not in known:
        raise InvalidInput(Problem("unknown GPU", "--gpu", f"'{gpu}'", did_you_mean(gpu, list(known))))


def _rate(gpu: str) -> float:
    """Return a GPU's assumed floating-point operations per second."""
    return float(_data()["gpus"][gpu]) * 1e12 * UTILISATION
