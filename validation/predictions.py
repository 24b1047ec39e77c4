"""Checking predictions against the test ids and labels of a dataset: nothing is ever scored around."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from validation.limits import MAX_ROWS
from validation.prediction_files import EXCEL_ROWS, read_with_problems
from validation.report import InvalidInput, Problem, and_more, counted, did_you_mean
from validation.schemas import check_rows, prediction_schema
from validation.vocabulary import NO_SOURCE, SOURCE_JOINER, UNPARSED, ExampleId, TaskKind, source_parts

CHECKED_PREDICTIONS = pl.Schema(
    {
        "source": pl.String(),
        "id": pl.String(),
        "prediction": pl.String(),
        "seed": pl.Int64(),
        "confidence": pl.Float64(),
        "target": pl.String(),
        "task": pl.String(),
    }
)
"""Predictions of a file that was checked, in file order: all test ids of every (task, source, target, seed).

The first five are those of ``validation.schemas.prediction_schema``; ``confidence`` is there where the file has it, and
alone may be null. ``target`` is the domain of the id, ``task`` its task.
"""
MAX_LISTED = 8
MAX_RUNS = 20
_CURES = {
    "source": "name the training domain, several joined by '+', or 'none' for zero-shot",
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
    return _checked(frame, tasks, file, [])


def check_prediction_file(path: Path, tasks: Sequence[TaskFacts], versions: str = "") -> pl.DataFrame:
    """Read a prediction file and check it: problems of its values and those against the dataset come at once.

    Args:
        path: as for ``read_predictions``.
        tasks: the tasks of the dataset folder.
        versions: says which version of the data there is, and which one the file names, for the case that they differ.
    Returns: rows in file order, as ``CHECKED_PREDICTIONS`` has them.
    Raises: InvalidInput with every problem that ``read_predictions`` and ``check_predictions`` find.
    """
    frame, problems = read_with_problems(path, most_rows(tasks))
    return _checked(frame, tasks, str(path), problems, versions)


def most_rows(tasks: Sequence[TaskFacts]) -> int:
    """Give as many rows as a prediction file for these tasks can need: every source, in ``MAX_RUNS`` runs.

    Few sources may have more runs, and small datasets as many as they like.
    """
    one_run = sum(len(facts.test) * (len(facts.sources) + 1) for facts in tasks)
    return min(MAX_ROWS, max(1_000_000, MAX_RUNS * one_run))


def _checked(
    frame: pl.DataFrame, tasks: Sequence[TaskFacts], file: str, told: list[Problem], versions: str = ""
) -> pl.DataFrame:
    """Check a frame whose nulls, if any, are ``told`` already; what hangs on a bad value is left out."""
    problems = list(told)
    try:
        check_rows(frame, prediction_schema(holes=bool(told)), file, _CURES)
    except InvalidInput as error:
        problems += error.problems
    # Without a row it is a column that is missing, unknown or of another type: nothing else can be checked.
    if any(problem.row is None for problem in problems):
        raise InvalidInput(problems)
    bad_columns = {problem.column for problem in problems}
    known = pl.concat(
        [facts.test.select("id", target="domain", task=pl.lit(facts.name)) for facts in tasks], how="vertical"
    )
    joined = frame.with_row_index("row", offset=1).join(known, on="id", how="left", maintain_order="left")
    strangers = joined.filter(pl.col("task").is_null() & (pl.col("id") != ""))
    none_known = len(strangers) == len(frame)
    problems += _unknown_ids(strangers, known, tasks, file, versions if none_known else "")
    # With a bad source, id or seed, rows cannot be told apart by run.
    has_runs = not bad_columns & {"source", "id", "seed"}
    if has_runs:
        problems += _repeated(joined, file)
    for facts in tasks:
        rows = joined.filter(task=facts.name)
        if len(rows):
            problems += _unknown_sources(rows.filter(pl.col("source") != ""), facts, file)
            if facts.kind is TaskKind.CLASSIFICATION:
                problems += _unknown_labels(rows, "label", facts.labels, file)
            elif facts.kind is TaskKind.TAGGING:
                problems += _wrong_tags(rows, facts, file)
            if has_runs:
                problems += _incomplete(rows, facts, file, cut_off=len(frame) == EXCEL_ROWS)
    if problems:
        raise InvalidInput(problems)
    return joined.select(name for name in CHECKED_PREDICTIONS if name in joined.columns)


def _unknown_ids(
    bad: pl.DataFrame, known: pl.DataFrame, tasks: Sequence[TaskFacts], file: str, versions: str
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
        what, cure = _why_unknown(str(bad["id"][0]), str(known["id"][0]), tasks, versions)
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


def _repeated(joined: pl.DataFrame, file: str) -> list[Problem]:
    again = joined.filter(~pl.struct("source", "seed", "id").is_first_distinct())
    if again.is_empty():
        return []
    first = again.row(0, named=True)
    found = f"{first['id']!r} again for source {first['source']!r}, seed {first['seed']}"
    cure = "give each id once per source and seed; for several runs add the column seed"
    return [
        Problem(
            "an id is repeated",
            file,
            found + and_more(len(again) - 1, "repeat"),
            cure,
            column="id",
            row=int(first["row"]),
        )
    ]


def _unknown_sources(rows: pl.DataFrame, facts: TaskFacts, file: str) -> list[Problem]:
    problems = []
    for source, row in rows.group_by("source", maintain_order=True).agg(pl.col("row").first()).iter_rows():
        if source == NO_SOURCE:
            continue
        parts = source_parts(source)
        unknown = [part for part in parts if part not in facts.sources]
        withheld = [part for part in unknown if part in facts.withheld]
        if withheld:
            what, cure = _withheld(withheld[0])
            problems.append(Problem(what, file, repr(source), cure, column="source", row=row))
        elif unknown:
            cure = did_you_mean(unknown[0], [*facts.sources, NO_SOURCE])
            problems.append(Problem("a source is unknown", file, repr(source), cure, column="source", row=row))
        elif tuple(sorted(set(parts))) != parts:
            right = SOURCE_JOINER.join(sorted(set(parts)))
            problems.append(
                Problem(
                    "joined sources must be alphabetical, each once",
                    file,
                    repr(source),
                    f"write '{right}'",
                    column="source",
                    row=row,
                )
            )
    more = len(problems) - MAX_LISTED
    rest = (
        [Problem(f"{counted(more, 'more source')} unknown or out of order", file, column="source")] if more > 0 else []
    )
    return problems[:MAX_LISTED] + rest


def _unknown_labels(rows: pl.DataFrame, word: str, labels: Sequence[str], file: str) -> list[Problem]:
    bad = rows.filter(~pl.col("prediction").is_in([*labels, UNPARSED]))
    firsts = bad.group_by("prediction", maintain_order=True).agg(pl.col("row").first(), pl.len())
    problems = []
    for label, row, count in firsts.head(MAX_LISTED).iter_rows():
        found = f"{label!r}" + (f" in {count:,} {'rows' if word == 'label' else 'places'}" if count > 1 else "")
        problems.append(
            Problem(f"a {word} is unknown", file, found, _label_cure(label, labels), column="prediction", row=row)
        )
    if len(firsts) > MAX_LISTED:
        what = f"{counted(len(firsts) - MAX_LISTED, f'more unknown {word}')}"
        problems.append(Problem(what, file, column="prediction", row=int(firsts["row"][MAX_LISTED])))
    return problems


def _wrong_tags(rows: pl.DataFrame, facts: TaskFacts, file: str) -> list[Problem]:
    """Find rows whose tags are not one per token, and tags that the task does not have."""
    usable = rows.filter(pl.col("prediction") != UNPARSED).with_columns(tags=pl.col("prediction").str.split(" "))
    counted = usable.join(facts.test.select("id", "n_tokens"), on="id", how="left", maintain_order="left")
    short = counted.filter(pl.col("tags").list.len() != pl.col("n_tokens"))
    problems = []
    if len(short):
        first = short.row(0, named=True)
        found = f"{len(first['tags'])} tags for the {first['n_tokens']} tokens of {first['id']!r}"
        found += and_more(len(short) - 1)
        cure = f"give one tag a token, joined by single spaces; write '{UNPARSED}' where there is no usable output"
        problems.append(
            Problem("tags and tokens differ in number", file, found, cure, column="prediction", row=int(first["row"]))
        )
    single = usable.select("row", prediction="tags").explode("prediction")
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


def _incomplete(rows: pl.DataFrame, facts: TaskFacts, file: str, *, cut_off: bool) -> list[Problem]:
    """Find every (source, target, seed) that lacks test ids; too many can only be repeats or unknown ids."""
    sizes = facts.test.group_by("domain").agg(size=pl.len())
    counts = rows.group_by("source", "target", "seed", maintain_order=True).agg(given=pl.col("id").n_unique())
    short = counts.join(sizes, left_on="target", right_on="domain").filter(pl.col("given") < pl.col("size"))
    problems = []
    for source, target, seed, given, size in short.sort("source", "target", "seed").head(MAX_LISTED).iter_rows():
        have = rows.filter(source=source, target=target, seed=seed)["id"]
        missing = facts.test.filter((pl.col("domain") == target) & ~pl.col("id").is_in(have.implode()))["id"].sort()
        run = f"source {source!r}, seed {seed}"
        found = f"{given:,} of {size:,} test ids of {target!r} for {run}; first missing {missing[0]!r}"
        cure = (
            "the file ends where a spreadsheet runs out of rows: write it again without opening it there"
            if cut_off
            else f"predict every test id; write '{UNPARSED}' where the model gave no usable output"
        )
        problems.append(Problem("test ids are missing", file, found, cure, column="id"))
    if len(short) > MAX_LISTED:
        problems.append(
            Problem(f"test ids are missing in {counted(len(short) - MAX_LISTED, 'more run')}", file, column="id")
        )
    return problems
