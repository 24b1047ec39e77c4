"""Checking predictions against the test ids and labels of a dataset: nothing is ever scored around."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl

from validation.limits import (
    MAX_ROWS,
    MAX_TEXT_BYTES,
    MEAN_TEXT_BYTES,
    SPARE_TEXT_BYTES,
    too_much_text,
)
from validation.prediction_files import EXCEL_ROWS, PredictionFile
from validation.prediction_values import KEYS, Faults, shown
from validation.probabilities import PROBABILITIES, ProbabilityChecks
from validation.report import InvalidInput, Problem, and_more, counted, did_you_mean
from validation.runs import KnownIds, Run, RunLedger
from validation.schemas import check_rows, prediction_schema
from validation.vocabulary import OUTSIDE_SOURCES, SOURCE_JOINER, UNPARSED, ExampleId, TaskKind, source_parts

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
"""Predictions of a file that was checked, in file order: all test ids of every (task, source, target, seed).

The first six are those of ``validation.schemas.prediction_schema``; ``confidence`` and ``probabilities`` are there
where the file has them, and ``probabilities`` is null for unusable outputs and tasks without labels; of the others
``confidence`` alone may be null. ``target`` is the domain of the id, ``task`` its task.
"""
MAX_LISTED = 8
MAX_RUNS, MIN_RUNS = 20, 100
_CURES = {
    "source": "name the training domain, several joined by '+', 'none' for zero-shot, or 'elsewhere'",
    "id": "give the id of the test example",
    "seed": "number the runs from 0 up",
    "confidence": "give fractions from 0 to 1: 95% is 0.95",
}


@dataclass(frozen=True)
class TaskFacts:
    """What a dataset says of one task, as far as checking predictions needs it.

    ``domains`` are those with test rows in the subset, ``sources`` those that a model may be trained on. ``test`` has
    columns ``id`` and ``domain``, of tagging tasks also ``n_tokens``, and holds the test ids of the subset, each once;
    ``outside`` holds the task's other test ids. ``withheld`` are domains that the folder leaves out because their rows
    may not be published.
    """

    benchmark: str
    name: str
    kind: TaskKind
    labels: tuple[str, ...]
    domains: tuple[str, ...]
    test: pl.DataFrame
    sources: tuple[str, ...]
    subset: str = "all"
    outside: frozenset[str] = frozenset()
    withheld: tuple[str, ...] = ()


def check_predictions(frame: pl.DataFrame, tasks: Sequence[TaskFacts], file: str) -> pl.DataFrame:
    """Check a prediction frame against the dataset it is for.

    Args:
        frame: as ``read_predictions`` returns it.
        tasks: the tasks of the dataset folder.
        file: the file's name, for the report.
    Returns: the same rows in the same order, as ``CHECKED_PREDICTIONS`` has them; nothing is dropped.
    Raises: InvalidInput with every problem found: unknown or repeated ids, sources or labels, and every
        (task, source, target, seed) whose ids are not exactly the test ids.
    """
    keys = _Keys(tasks, file)
    return pl.concat(list(_sound_parts(iter([frame]), Faults(file), [keys, _Values(tasks, file, keys)])))


def check_prediction_file(path: Path, tasks: Sequence[TaskFacts], versions: str = "") -> pl.DataFrame:
    """Read a prediction file and check it.

    Args:
        path: as for ``read_predictions``.
        tasks: the tasks of the dataset folder.
        versions: says which version of the data there is, and which one the file names, for the case that they differ.
    Returns: rows in file order, as ``CHECKED_PREDICTIONS`` has them.
    Raises: as ``checked_parts``.
    """
    return pl.concat(list(checked_parts(path, tasks, versions)))


def checked_parts(path: Path, tasks: Sequence[TaskFacts], versions: str = "") -> Iterator[pl.DataFrame]:
    """Read a prediction file and check it, some ten thousand rows at a time.

    Of a parquet file, sources, ids and seeds are read first and checked by themselves, because its texts may unfold
    to much more than it has bytes. Reading stops after the first part with problems.

    Args:
        path: the file.
        tasks: the tasks of the dataset folder.
        versions: says which version of the data there is, and which one the file names, for the case that they differ.
    Returns: its rows in file order, as ``CHECKED_PREDICTIONS`` has them; sound only when the last part has come.
    Raises: InvalidInput with every problem that ``PredictionFile`` and ``check_predictions`` find in what was read.
    """
    file = PredictionFile(path, most_rows(tasks))
    keys = _Keys(tasks, str(path), versions)
    values = _Values(tasks, str(path), keys)
    if not file.is_parquet:
        yield from _sound_parts(file.parts(), file.faults, [keys, values])
        return
    for _ in _sound_parts(file.parts(KEYS), file.faults, [keys], KEYS):
        pass
    yield from _sound_parts(file.parts(most_bytes=keys.most_bytes), file.faults, [values])


def most_runs(facts: TaskFacts) -> int:
    """Return how many runs of a task a file may hold: every source ``MAX_RUNS`` times, or few sources more often."""
    return max(MIN_RUNS, MAX_RUNS * (len(facts.sources) + 1))


def most_rows(tasks: Sequence[TaskFacts]) -> int:
    """Return as many rows as a prediction file for these tasks can need."""
    return min(MAX_ROWS, sum(len(facts.test) * most_runs(facts) for facts in tasks))


def _sound_parts(
    parts: Iterator[pl.DataFrame], faults: Faults, checks: "list[_Keys | _Values]", columns: Sequence[str] | None = None
) -> Iterator[pl.DataFrame]:
    """Pass parts on with tasks and targets, as long as they are sound; what hangs on a bad value is not checked."""
    known, file, first = checks[0].known, faults.file, 0
    for part in parts:
        problems = faults.problems()
        try:
            check_rows(part, prediction_schema(holes=bool(problems), of=columns), file, _CURES, first)
        except InvalidInput as error:
            problems += error.problems
        # Without a row it is a column that is missing, unknown or of another type: nothing else can be checked.
        if any(problem.row is None for problem in problems):
            raise InvalidInput(problems)
        bad_columns = {problem.column for problem in problems}
        placed = known.placed(part).with_row_index("row", offset=first + 1)
        problems += [problem for check in checks for problem in check.part(placed, bad_columns)]
        first += len(part)
        if problems:
            raise InvalidInput(problems + _after(parts, checks, file, first))
        yield placed.select(name for name in CHECKED_PREDICTIONS if name in placed.columns)
    if problems := [problem for check in checks for problem in check.end()]:
        raise InvalidInput(problems)


def _after(parts: Iterator[pl.DataFrame], checks: "list[_Keys | _Values]", file: str, row: int) -> list[Problem]:
    """Find what else there is to tell after a part with problems, which may be the last one."""
    try:
        if next(parts, None) is None:
            return [problem for check in checks for problem in check.end()]
    except InvalidInput as error:
        return error.problems
    cure = "mend what comes before, and check the file again"
    return [Problem("the rest of the file was not checked", file, f"problems in the first {row:,} rows", cure)]


class _Keys:
    """Checks what rows are for: sources, ids and seeds."""

    def __init__(self, tasks: Sequence[TaskFacts], file: str, versions: str = "") -> None:
        self.known = KnownIds({facts.name: facts.test for facts in tasks})
        self._tasks, self._file, self._versions = tasks, file, versions
        self._ledger = RunLedger(self.known)
        self._rows = Counter[str]()
        self._runs: dict[str, set[Run]] = {facts.name: set() for facts in tasks}
        self._has_runs, self._has_repeats = True, False

    @property
    def most_bytes(self) -> int:
        """Bytes that the predictions of the rows so far may have together, by the kinds of their tasks."""
        mean = sum(self._rows[facts.name] * MEAN_TEXT_BYTES[facts.kind] for facts in self._tasks)
        return min(MAX_TEXT_BYTES, SPARE_TEXT_BYTES + mean)

    def part(self, placed: pl.DataFrame, bad_columns: set[str | None]) -> list[Problem]:
        """Check some rows with the columns row, task, target and number; ``bad_columns`` have a fault already."""
        strangers = placed.filter(pl.col("task").is_null() & (pl.col("id") != ""))
        none_known = len(strangers) == len(placed) and placed["row"][0] == 1
        problems = _unknown_ids(strangers, self.known, self._tasks, self._file, self._versions if none_known else "")
        for facts in self._tasks:
            rows = placed.filter(task=facts.name)
            self._rows[facts.name] += len(rows)
            problems += _unknown_sources(rows.filter(pl.col("source") != ""), facts, self._file)
            problems += self._too_many_runs(rows, facts)
        # With a bad source, id or seed, rows cannot be told apart by run.
        self._has_runs = self._has_runs and not bad_columns.intersection(KEYS)
        if self._has_runs and self._ledger.add(placed):
            problems.append(self._repeated())
        return problems

    def end(self) -> list[Problem]:
        """Find what only all rows together show: repeats, and test ids that are missing."""
        if not self._has_runs:
            return []
        repeated = [] if self._has_repeats or not len(self._ledger.repeats()) else [self._repeated()]
        return repeated + _incomplete(self._ledger, self._file)

    def _too_many_runs(self, rows: pl.DataFrame, facts: TaskFacts) -> list[Problem]:
        runs = self._runs[facts.name]
        runs.update(rows.select("source", "seed").unique().iter_rows())
        if len(runs) <= most_runs(facts):
            return []
        what = f"there are more runs of '{facts.name}' than any experiment has"
        cure = f"keep sources and seeds under {most_runs(facts):,} pairs"
        return [Problem(what, self._file, counted(len(runs), "run"), cure)]

    def _repeated(self) -> Problem:
        self._has_repeats = True
        rows = self._ledger.repeats()
        (source, seed), id_ = self._ledger.row(int(rows[0]))
        found = f"{id_!r} again for source {source!r}, seed {seed}" + and_more(len(rows) - 1, "repeat")
        cure = "give each id once per source and seed; for several runs add the column seed"
        return Problem("an id is repeated", self._file, found, cure, column="id", row=int(rows[0]) + 1)


class _Values:
    """Checks what was predicted, against the labels and tokens of the tasks."""

    def __init__(self, tasks: Sequence[TaskFacts], file: str, keys: _Keys) -> None:
        self.known = keys.known
        self._tasks, self._file, self._keys = tasks, file, keys
        self._text_bytes = 0
        self._probabilities = ProbabilityChecks(file)

    def part(self, placed: pl.DataFrame, bad_columns: set[str | None]) -> list[Problem]:
        """Check some rows, as ``_Keys.part`` does."""
        problems = []
        self._text_bytes += int(placed["prediction"].str.len_bytes().sum())
        for facts in self._tasks:
            rows = placed.filter(pl.col("task") == facts.name)
            if facts.kind is TaskKind.CLASSIFICATION:
                problems += _unknown_labels(rows, "label", facts.labels, self._file)
            elif facts.kind is TaskKind.TAGGING:
                problems += _wrong_tags(rows, facts, self._file)
            if PROBABILITIES in rows.columns and PROBABILITIES not in bad_columns:
                has_labels = facts.kind is TaskKind.CLASSIFICATION
                problems += self._probabilities.part(rows, facts, has_labels=has_labels)
        return problems

    def end(self) -> list[Problem]:
        """Find whether all predictions together are too long."""
        most = self._keys.most_bytes
        return [too_much_text(self._file, most)] if self._text_bytes > most else []


def _unknown_ids(
    bad: pl.DataFrame, known: KnownIds, tasks: Sequence[TaskFacts], file: str, versions: str
) -> list[Problem]:
    """Find test ids outside the subset, and ids that the dataset does not have; the first of each, and a count.

    ``versions`` is given where no id is known.
    """
    problems = []
    for facts in tasks:
        outside = bad.filter(pl.col("id").is_in(facts.outside))
        bad = bad.filter(~pl.col("id").is_in(facts.outside))
        if len(outside):
            what = f"a test id is outside the subset '{facts.subset}'"
            cure = f"predict the ids of '{facts.subset}' only, or name the subset that the predictions are for"
            found = _first_id(outside, "such id")
            problems.append(Problem(what, file, found, cure, column="id", row=int(outside["row"][0])))
    if len(bad):
        what, cure = _why_unknown(str(bad["id"][0]), str(known.frame["id"][0]), tasks, versions)
        found = _first_id(bad, "unknown id")
        problems.append(Problem(what, file, found, cure, column="id", row=int(bad["row"][0])))
    return problems


def _first_id(rows: pl.DataFrame, other: str) -> str:
    return f"{rows['id'][0]!r}" + and_more(len(rows) - 1, other)


def _why_unknown(text: str, example: str, tasks: Sequence[TaskFacts], versions: str) -> tuple[str, str]:
    """Say what is wrong with an id that is not in the dataset, and the cure."""
    try:
        parsed = ExampleId.parse(text)
    except ValueError as error:
        return "an id has the wrong form", str(error)
    what = "an id is unknown"
    facts = {task.name: task for task in tasks}.get(parsed.task)
    if facts is None or parsed.benchmark != facts.benchmark:
        here = "this dataset" if tasks[0].subset == "all" else f"the subset '{tasks[0].subset}' of this dataset"
        return (
            what,
            f"{here} has {', '.join(f'{task.benchmark}/{task.name}' for task in tasks)}; give the matching --data",
        )
    if parsed.split != "test":
        return what, f"it is a {parsed.split} id; predict the test split, as in {example!r}"
    if parsed.domain in facts.withheld:
        return _withheld(parsed.domain)
    if parsed.domain not in (*facts.domains, *facts.sources):
        return what, did_you_mean(parsed.domain, facts.domains)
    other = "the file seems made for another version of the data: none of its ids is a test id here"
    cure = "no test row of this dataset has it; were the predictions made for another version of the data?"
    return (other, versions) if versions else (what, cure)


def _withheld(domain: str) -> tuple[str, str]:
    """Say why nothing can be checked against a domain that the folder leaves out, and the cure."""
    what = f"this dataset folder leaves domain '{domain}' out, as its rows may not be published"
    return what, "build the domain yourself (the folder's README.md says how), and give that folder as --data"


def _unknown_sources(rows: pl.DataFrame, facts: TaskFacts, file: str) -> list[Problem]:
    known, bad = frozenset(facts.sources), []
    for source, row in rows.group_by("source", maintain_order=True).agg(pl.col("row").first()).iter_rows():
        parts = source_parts(source)
        # The parts of a sound source are known ones in order, each once.
        if not known.issuperset(parts) or any(one >= other for one, other in pairwise(parts)):
            bad.append((source, row))
    problems = [_wrong_source(source, row, facts, file) for source, row in bad[:MAX_LISTED]]
    if more := len(bad) - len(problems):
        problems.append(Problem(f"{counted(more, 'more source')} unknown or out of order", file, column="source"))
    return problems


def _wrong_source(source: str, row: int, facts: TaskFacts, file: str) -> Problem:
    parts = source_parts(source)
    unknown = [part for part in parts if part not in facts.sources]
    withheld = [part for part in unknown if part in facts.withheld]
    if withheld:
        what, cure = _withheld(withheld[0])
    elif unknown:
        what, cure = "a source is unknown", did_you_mean(unknown[0], [*facts.sources, *OUTSIDE_SOURCES])
    else:
        what = "joined sources must be alphabetical, each once"
        cure = f"write {shown(SOURCE_JOINER.join(sorted(set(parts))))}"
    return Problem(what, file, shown(source), cure, column="source", row=row)


def _unknown_labels(rows: pl.DataFrame, word: str, labels: Sequence[str], file: str) -> list[Problem]:
    bad = rows.filter(~pl.col("prediction").is_in([*labels, UNPARSED]))
    firsts = bad.group_by("prediction", maintain_order=True).agg(pl.col("row").first(), pl.len())
    problems = []
    for label, row, count in firsts.head(MAX_LISTED).iter_rows():
        found = shown(label) + (f" in {count:,} {'rows' if word == 'label' else 'places'}" if count > 1 else "")
        problems.append(
            Problem(f"a {word} is unknown", file, found, _label_cure(label, labels), column="prediction", row=row)
        )
    if len(firsts) > MAX_LISTED:
        what = f"{counted(len(firsts) - MAX_LISTED, f'more unknown {word}')}"
        problems.append(Problem(what, file, column="prediction", row=int(firsts["row"][MAX_LISTED])))
    return problems


def _wrong_tags(rows: pl.DataFrame, facts: TaskFacts, file: str) -> list[Problem]:
    """Find rows whose tags are not one per token, and tags that the task does not have."""
    usable = rows.filter(pl.col("prediction") != UNPARSED).join(
        facts.test.select("id", "n_tokens"), on="id", how="left", maintain_order="left"
    )
    # Tags are counted before they are split: a text may hold more of them than any test row has tokens.
    usable = usable.with_columns(n_tags=pl.col("prediction").str.count_matches(" ", literal=True) + 1)
    short = usable.filter(pl.col("n_tags") != pl.col("n_tokens"))
    problems = []
    if len(short):
        first = short.row(0, named=True)
        found = f"{first['n_tags']} tags for the {first['n_tokens']} tokens of {first['id']!r}"
        found += and_more(len(short) - 1)
        cure = f"give one tag a token, joined by single spaces; write '{UNPARSED}' where there is no usable output"
        problems.append(
            Problem("tags and tokens differ in number", file, found, cure, column="prediction", row=int(first["row"]))
        )
    whole = usable.filter(pl.col("n_tags") == pl.col("n_tokens"))
    single = whole.select("row", prediction=pl.col("prediction").str.split(" ")).explode("prediction")
    return problems + _unknown_labels(single, "tag", facts.labels, file)


def _label_cure(label: str, labels: Sequence[str]) -> str:
    folded = label.strip().casefold()
    if folded in ("", "nan", "none", "null", "na", "n/a") and folded not in {name.casefold() for name in labels}:
        return f"write '{UNPARSED}' where the model gave no usable output"
    if label.startswith("#") or label in ("TRUE", "FALSE"):
        return "a spreadsheet seems to have changed it: write the file again without opening it there"
    if label.lstrip("-").isdigit():
        return f"write label names, not class numbers: {did_you_mean(label, labels)}"
    return did_you_mean(label, labels)


def _incomplete(ledger: RunLedger, file: str) -> list[Problem]:
    """Find every (source, target, seed) that lacks test ids; too many can only be repeats or unknown ids."""
    listed, n = ledger.short_runs(MAX_LISTED)
    cure = (
        "the file ends where a spreadsheet runs out of rows: write it again without opening it there"
        if ledger.rows == EXCEL_ROWS
        else f"predict every test id; write '{UNPARSED}' where the model gave no usable output"
    )
    problems = []
    for short in listed:
        run = f"source {short.source!r}, seed {short.seed}"
        found = f"{short.given:,} of {short.size:,} test ids of {short.target!r} for {run}; first missing "
        found += repr(short.first_missing)
        problems.append(Problem("test ids are missing", file, found, cure, column="id"))
    if n > len(listed):
        what = f"test ids are missing in {counted(n - len(listed), 'more run')}"
        problems.append(Problem(what, file, column="id"))
    return problems
