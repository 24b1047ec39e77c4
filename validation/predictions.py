"""Validation of predictions against the test ids and labels of a dataset: any problem refuses the whole file."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from shiftbench.validation.label_indices import ClassNumbers, name_labels
from shiftbench.validation.limits import (
    MAX_ROWS,
    MAX_TEXT_BYTES,
    MEAN_TEXT_BYTES,
    SPARE_TEXT_BYTES,
    too_much_text,
)
from shiftbench.validation.prediction_files import PredictionFile, PredictionInput
from shiftbench.validation.prediction_problems import (
    short_runs,
    unknown_ids,
    unknown_labels,
    unknown_sources,
    wrong_tags,
)
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.prediction_values import KEYS, Faults, number_problem
from shiftbench.validation.probabilities import PROBABILITIES, ProbabilityChecks
from shiftbench.validation.report import InvalidInput, Problem, and_more, plural
from shiftbench.validation.runs import KnownIds, Run, RunLedger
from shiftbench.validation.schemas import check_rows, prediction_schema
from shiftbench.validation.vocabulary import TaskKind

CHECKED_PREDICTIONS = pl.Schema(
    {
        "source": pl.String(),
        "id": pl.String(),
        "prediction": pl.String(),
        "seed": pl.Int64(),
        "confidence": pl.Float64(),
        "probabilities": pl.List(pl.Float64),
        "target": pl.String(),
        "task": pl.String(),
    }
)
"""Schema of validated predictions, in file order: all test ids of every (task, source, target, seed).

The first six columns are those of ``shiftbench.validation.schemas.prediction_schema``; ``confidence`` and
``probabilities`` are present if the file has them. Only these two may be null; ``probabilities`` is null for unusable
outputs and for tasks without labels. ``task`` and ``target`` are the task and domain of the id.
"""
MAX_RUNS, MIN_RUNS = 20, 100
_CURES = {
    "source": "give the training domain (several joined by '+'), 'none' for zero-shot, or 'elsewhere'",
    "id": "give the id of the test example",
    "seed": "number the runs from 0",
    "confidence": "give fractions from 0 to 1: 95% is 0.95",
}


def check_predictions(
    frame: pl.DataFrame, tasks: Sequence[PredictionTask], file: str | PredictionInput
) -> pl.DataFrame:
    """Check a prediction frame against its dataset.

    Args:
        frame: the result of ``read_predictions``.
        tasks: the tasks of the dataset folder.
        file: the file that it was read from, or a name used in problems.
    Returns: the same rows in the same order, with the schema ``CHECKED_PREDICTIONS``.
    Raises: InvalidInput with every problem found: unknown or repeated ids, sources or labels, and every
        (task, source, target, seed) whose ids are not exactly the test ids.
    """
    keys = _Keys(tasks, str(file))
    values = _Values(tasks, file, keys)
    return pl.concat(list(_valid_parts(iter([frame]), Faults(str(file)), [keys, values])))


def check_prediction_file(
    file: Path | PredictionInput, tasks: Sequence[PredictionTask], versions: str = ""
) -> pl.DataFrame:
    """Read a prediction file and check it.

    Args:
        file: as for ``read_predictions``.
        tasks: the tasks of the dataset folder.
        versions: text on the dataset's version and the version stated in the file, if they differ.
    Returns: rows in file order, with the schema ``CHECKED_PREDICTIONS``.
    Raises: as ``checked_parts``.
    """
    return pl.concat(list(checked_parts(file, tasks, versions)))


def checked_parts(
    file: Path | PredictionInput, tasks: Sequence[PredictionTask], versions: str = ""
) -> Iterator[pl.DataFrame]:
    """Read a prediction file and check it in parts of tens of thousands of rows.

    For a parquet file, sources, ids and seeds are read and checked first, because its texts may decompress to much
    more than the size of the file. Reading stops after the first part with problems, except for unknown columns and
    class numbers, which every row may have.

    Args:
        file: as for ``read_predictions``.
        tasks: the tasks of the dataset folder.
        versions: text on the dataset's version and the version stated in the file, if they differ.
    Returns: its rows in file order, with the schema ``CHECKED_PREDICTIONS``; the file is valid only once the iterator
        is exhausted.
    Raises: InvalidInput with every problem that ``PredictionFile`` and ``check_predictions`` find in the parts read.
    """
    given = PredictionInput.of(file)
    parts = PredictionFile(given.path, most_rows(tasks))
    keys = _Keys(tasks, str(given), versions)
    values = _Values(tasks, given, keys)
    if not parts.is_parquet:
        yield from _valid_parts(parts.parts(), parts.faults, [keys, values])
        return
    problems = _problems_of(parts.parts(KEYS), parts.faults, [keys], KEYS)
    if problems and problems != parts.faults.columns:
        again = PredictionFile(given.path, most_rows(tasks))
        most = keys.most_bytes
        problems += _problems_of(again.parts(most_bytes=most), again.faults, [values])
        # Rows with unknown ids do not raise the limit, so "too much text" may be a consequence of other problems.
        raise InvalidInput(each for each in dict.fromkeys(problems) if each != too_much_text(str(given), most))
    yield from _valid_parts(parts.parts(most_bytes=keys.most_bytes), parts.faults, [values])


def _problems_of(
    parts: Iterator[pl.DataFrame], faults: Faults, checks: "list[_Keys | _Values]", columns: Sequence[str] | None = None
) -> list[Problem]:
    """Check all parts, and list every problem."""
    try:
        for _ in _valid_parts(parts, faults, checks, columns):
            pass
    except InvalidInput as error:
        return error.problems
    return []


def most_runs(task: PredictionTask) -> int:
    """Return the maximum number of runs per task: ``MAX_RUNS`` per source, but at least ``MIN_RUNS``."""
    return max(MIN_RUNS, MAX_RUNS * (len(task.sources) + 1))


def most_rows(tasks: Sequence[PredictionTask]) -> int:
    """Return the maximum number of rows of a prediction file for these tasks."""
    return min(MAX_ROWS, sum(len(task.test) * most_runs(task) for task in tasks))


def _valid_parts(
    parts: Iterator[pl.DataFrame], faults: Faults, checks: "list[_Keys | _Values]", columns: Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """Yield valid parts with task and target added; checks that depend on an invalid value are skipped."""
    known, file, first = checks[0].known, faults.file, 0
    for part in parts:
        problems = faults.problems()
        try:
            check_rows(part, prediction_schema(holes=bool(problems), of=columns), file, _CURES, first)
        except InvalidInput as error:
            problems += error.problems
        # A problem without a row concerns a whole column (missing, unknown, wrong type): stop here.
        if any(problem.row is None for problem in problems):
            raise InvalidInput(problems)
        bad_columns = {problem.column for problem in problems}
        placed = known.locate_ids(part).with_row_index("row", offset=first + 1)
        numbers = (faults.take_numbers() + 1).implode()
        placed = placed.with_columns(is_number=pl.col("row").is_in(numbers))
        for check in checks:
            placed = check.replace_numbers(placed)
            problems += check.part(placed, bad_columns)
        first += len(part)
        if problems:
            raise InvalidInput(faults.columns + problems + _problems_after(parts, checks, file, first))
        yield placed.select(name for name in CHECKED_PREDICTIONS if name in placed.columns)
    if problems := faults.columns + [problem for check in checks for problem in (*check.notes(), *check.end())]:
        raise InvalidInput(problems)


def _problems_after(
    parts: Iterator[pl.DataFrame], checks: "list[_Keys | _Values]", file: str, row: int
) -> list[Problem]:
    """Collect the problems that follow a part with problems.

    If that part was the last, these are the problems of the final checks; otherwise, a note that the rest is unchecked.
    """
    notes = [problem for check in checks for problem in check.notes()]
    try:
        if next(parts, None) is None:
            return notes + [problem for check in checks for problem in check.end()]
    except InvalidInput as error:
        return notes + error.problems
    cure = "correct these problems and check the file again"
    return [*notes, Problem("the rest of the file was not checked", file, f"problems in the first {row:,} rows", cure)]


class _Keys:
    """Checks of sources, ids and seeds."""

    def __init__(self, tasks: Sequence[PredictionTask], file: str, versions: str = "") -> None:
        self.known = KnownIds({task.name: task.test for task in tasks})
        self._tasks, self._file, self._versions = tasks, file, versions
        self._ledger = RunLedger(self.known)
        self._rows = Counter[str]()
        self._runs: dict[str, set[Run]] = {task.name: set() for task in tasks}
        self._has_runs, self._has_repeats = True, False

    @property
    def most_bytes(self) -> int:
        """Return the maximum total bytes of predictions for the rows so far, given the kinds of their tasks."""
        mean = sum(self._rows[task.name] * MEAN_TEXT_BYTES[task.kind] for task in self._tasks)
        return min(MAX_TEXT_BYTES, SPARE_TEXT_BYTES + mean)

    def part(self, placed: pl.DataFrame, bad_columns: set[str | None]) -> list[Problem]:
        """Check rows with columns row, task, target and number; problems of ``bad_columns`` are already reported."""
        strangers = placed.filter(pl.col("task").is_null() & (pl.col("id") != ""))
        none_known = len(strangers) == len(placed) and placed["row"][0] == 1
        problems = unknown_ids(strangers, self.known, self._tasks, self._file, self._versions if none_known else "")
        for task in self._tasks:
            rows = placed.filter(task=task.name)
            self._rows[task.name] += len(rows)
            problems += unknown_sources(rows.filter(pl.col("source") != ""), task, self._file)
            problems += self._too_many_runs(rows, task)
        # An invalid source, id or seed leaves a row without a run, so runs cannot be checked any more.
        self._has_runs = self._has_runs and not bad_columns.intersection(KEYS)
        if self._has_runs and self._ledger.add(placed):
            problems.append(self._repeat_problem())
        return problems

    def replace_numbers(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Return the rows unchanged, because these checks do not use labels."""
        return placed

    def notes(self) -> list[Problem]:
        """Return an empty list: every problem of these checks ends the reading of the file."""
        return []

    def end(self) -> list[Problem]:
        """Find problems that require all rows: repeated and missing test ids."""
        if not self._has_runs:
            return []
        repeated = [] if self._has_repeats or not len(self._ledger.repeats()) else [self._repeat_problem()]
        return repeated + short_runs(self._ledger, self._tasks, self._file)

    def _too_many_runs(self, rows: pl.DataFrame, task: PredictionTask) -> list[Problem]:
        runs = self._runs[task.name]
        runs.update(rows.select("source", "seed").unique().iter_rows())
        if len(runs) <= most_runs(task):
            return []
        what = f"there are too many runs of '{task.name}' (pairs of source and seed)"
        cure = f"the limit is {most_runs(task):,} pairs"
        return [Problem(what, self._file, plural(len(runs), "run"), cure)]

    def _repeat_problem(self) -> Problem:
        self._has_repeats = True
        rows = self._ledger.repeats()
        (source, seed), id_ = self._ledger.row(int(rows[0]))
        found = f"{id_!r} again for source {source!r}, seed {seed}" + and_more(len(rows) - 1, "repeat")
        cure = "give each id once per source and seed; for several runs, add a column 'seed'"
        return Problem("an id is repeated", self._file, found, cure, column="id", row=int(rows[0]) + 1)


class _Values:
    """Checks of predictions against the labels and tokens of the tasks."""

    def __init__(self, tasks: Sequence[PredictionTask], given: str | PredictionInput, keys: _Keys) -> None:
        self.known = keys.known
        self._by_index = isinstance(given, PredictionInput) and given.labels_by_index
        file = str(given)
        self._numbers = ClassNumbers(file, labels_by_index=self._by_index)
        self._tasks, self._file, self._keys = tasks, file, keys
        self._text_bytes = 0
        self._probabilities = ProbabilityChecks(file)

    def replace_numbers(self, placed: pl.DataFrame) -> pl.DataFrame:
        """Replace class numbers by label names if labels are given by index."""
        return name_labels(placed, self._tasks) if self._by_index else placed

    def notes(self) -> list[Problem]:
        """Report the class numbers found so far; they do not stop reading, because every row may have one."""
        return self._numbers.problems()

    def part(self, placed: pl.DataFrame, bad_columns: set[str | None]) -> list[Problem]:
        """Check rows as ``_Keys.part`` does; ``is_number`` marks predictions that are numbers instead of text."""
        problems = []
        self._text_bytes += int(placed["prediction"].str.len_bytes().sum())
        for task in self._tasks:
            rows = placed.filter(pl.col("task") == task.name)
            if task.kind is TaskKind.CLASSIFICATION:
                problems += unknown_labels(rows, "label", task, self._file, self._numbers)
            elif task.kind is TaskKind.TAGGING:
                problems += wrong_tags(rows, task, self._file, self._numbers)
            elif len(numbers := rows.filter("is_number")):
                row, text = numbers.select("row", "prediction").row(0)
                problems.append(number_problem(self._file, row, text, len(numbers)))
            if PROBABILITIES in rows.columns and PROBABILITIES not in bad_columns:
                has_labels = task.kind is TaskKind.CLASSIFICATION
                problems += self._probabilities.part(rows, task, has_labels=has_labels)
        return problems

    def end(self) -> list[Problem]:
        """Check the total length of all predictions."""
        most = self._keys.most_bytes
        return [too_much_text(self._file, most)] if self._text_bytes > most else []
