"""Problems of predictions that do not match a dataset: ids, sources, labels and tags, with suggested fixes."""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from shiftbench.validation.label_indices import ClassNumbers
from shiftbench.validation.prediction_files import EXCEL_ROWS
from shiftbench.validation.prediction_task import PredictionTask
from shiftbench.validation.prediction_values import format_value
from shiftbench.validation.report import Problem, and_more, did_you_mean, plural
from shiftbench.validation.runs import KnownIds, RunLedger
from shiftbench.validation.vocabulary import OUTSIDE_SOURCES, SOURCE_JOINER, UNPARSED, ExampleId, source_parts

MAX_LISTED = 8
"""Maximum number of sources, labels and runs listed individually; the rest is only counted."""


def unknown_ids(
    bad: pl.DataFrame, known: KnownIds, tasks: Sequence[PredictionTask], file: str, versions: str
) -> list[Problem]:
    """Report test ids outside the subset, and ids that are not in the dataset.

    Args:
        bad: rows (with a row number) whose id is not a test id of the subset.
        known: the valid test ids.
        tasks: the tasks of the dataset folder.
        file: the file's name, used in problems.
        versions: text on the dataset's version and the version stated in the file, if no id is known; otherwise empty.
    Returns: one problem per kind, with its first row and the number of others.
    """
    problems = []
    for task in tasks:
        outside = bad.filter(pl.col("id").is_in(task.outside))
        bad = bad.filter(~pl.col("id").is_in(task.outside))
        if len(outside):
            what = f"a test id is outside the subset '{task.subset}'"
            cure = f"predict the ids of '{task.subset}' only, or name the subset that the predictions are for"
            found = _first_id(outside, "such id")
            problems.append(Problem(what, file, found, cure, column="id", row=int(outside["row"][0])))
    if len(bad):
        what, cure = _why_unknown(str(bad["id"][0]), str(known.frame["id"][0]), tasks, versions)
        found = _first_id(bad, "unknown id")
        problems.append(Problem(what, file, found, cure, column="id", row=int(bad["row"][0])))
    return problems


def _first_id(rows: pl.DataFrame, other: str) -> str:
    return f"{rows['id'][0]!r}" + and_more(len(rows) - 1, other)


def _why_unknown(text: str, example: str, tasks: Sequence[PredictionTask], versions: str) -> tuple[str, str]:
    """Return the message and the suggested fix for an id that is not in the dataset."""
    try:
        parsed = ExampleId.parse(text)
    except ValueError as error:
        return "an id is malformed", str(error)
    what = "unknown id"
    task = {task.name: task for task in tasks}.get(parsed.task)
    if task is None or parsed.benchmark != task.benchmark:
        here = "this dataset" if tasks[0].subset == "all" else f"the subset '{tasks[0].subset}' of this dataset"
        return (
            what,
            f"{here} contains {', '.join(f'{task.benchmark}/{task.name}' for task in tasks)}; give the matching --data",
        )
    if parsed.split != task.split:
        return what, f"this is a {parsed.split} id; predict the {task.split} split, as in {example!r}"
    if parsed.domain in task.withheld:
        return _withheld_domain(parsed.domain)
    if parsed.domain not in (*task.domains, *task.sources):
        return what, did_you_mean(parsed.domain, task.domains)
    other = f"the file seems to be for another version of the data: none of its ids is a {task.split} id here"
    cure = f"no {tasks[0].split} row has this id; were the predictions made for another version of the data?"
    return (other, versions) if versions else (what, cure)


def _withheld_domain(domain: str) -> tuple[str, str]:
    """Return the message and the suggested fix for a domain that the folder omits because of its licence."""
    what = f"domain '{domain}' is not in this dataset folder, because its rows may not be published"
    return what, "build the domain yourself (the folder's README.md says how), and give that folder with --data"


def unknown_sources(rows: pl.DataFrame, task: PredictionTask, file: str) -> list[Problem]:
    """Report unknown sources, and joined sources that are not in alphabetical order.

    Args:
        rows: rows of the task, with a row number.
        task: the task.
        file: the file's name, used in problems.
    Returns: up to ``MAX_LISTED`` problems with the first row of each source, and the number of others.
    """
    known, bad = frozenset(task.sources), []
    for source, row in rows.group_by("source", maintain_order=True).agg(pl.col("row").first()).iter_rows():
        parts = source_parts(source)
        # A valid source has known parts in strictly increasing order.
        if not known.issuperset(parts) or any(one >= other for one, other in pairwise(parts)):
            bad.append((source, row))
    problems = [_wrong_source(source, row, task, file) for source, row in bad[:MAX_LISTED]]
    if more := len(bad) - len(problems):
        problems.append(Problem(f"{plural(more, 'more source')} unknown or out of order", file, column="source"))
    return problems


def _wrong_source(source: str, row: int, task: PredictionTask, file: str) -> Problem:
    parts = source_parts(source)
    unknown = [part for part in parts if part not in task.sources]
    withheld = [part for part in unknown if part in task.withheld]
    if withheld:
        what, cure = _withheld_domain(withheld[0])
    elif unknown:
        what, cure = "unknown source", did_you_mean(unknown[0], [*task.sources, *OUTSIDE_SOURCES])
    else:
        what = f"domains joined by '{SOURCE_JOINER}' must be in alphabetical order, each once"
        cure = f"write {format_value(SOURCE_JOINER.join(sorted(set(parts))))}"
    return Problem(what, file, format_value(source), cure, column="source", row=row)


def unknown_labels(
    rows: pl.DataFrame, word: str, task: PredictionTask, file: str, numbers: ClassNumbers
) -> list[Problem]:
    """Report predictions that are not labels of the task.

    Args:
        rows: rows of the task, with a row number and one label each.
        word: name of a label in messages: label or tag.
        task: the task.
        file: the file's name, used in problems.
        numbers: collects class numbers, which are reported separately.
    Returns: up to ``MAX_LISTED`` problems with the first row of each label, and the number of others.
    """
    labels = task.labels
    bad = numbers.without(rows.filter(~pl.col("prediction").is_in([*labels, UNPARSED])), task)
    firsts = bad.group_by("prediction", maintain_order=True).agg(pl.col("row").first(), pl.len())
    problems = []
    for label, row, count in firsts.head(MAX_LISTED).iter_rows():
        found = format_value(label) + (
            f" in {count:,} {'rows' if word == 'label' else 'positions'}" if count > 1 else ""
        )
        problems.append(
            Problem(f"unknown {word}", file, found, _label_cure(label, labels), column="prediction", row=row)
        )
    if len(firsts) > MAX_LISTED:
        what = f"{plural(len(firsts) - MAX_LISTED, f'more unknown {word}')}"
        problems.append(Problem(what, file, column="prediction", row=int(firsts["row"][MAX_LISTED])))
    return problems


def wrong_tags(rows: pl.DataFrame, task: PredictionTask, file: str, numbers: ClassNumbers) -> list[Problem]:
    """Report rows whose numbers of tags and tokens differ, and unknown tags.

    Args:
        rows: rows of a tagging task, with a row number.
        task: the task.
        file: the file's name, used in problems.
        numbers: as for ``unknown_labels``.
    Returns: a problem with the first row whose numbers differ and the number of others, and unknown tags as
        ``unknown_labels`` reports them.
    """
    usable = rows.filter(pl.col("prediction") != UNPARSED).join(
        task.test.select("id", "n_tokens"), on="id", how="left", maintain_order="left"
    )
    # Count tags before splitting: a malicious text may contain far more tags than any test row has tokens.
    usable = usable.with_columns(n_tags=pl.col("prediction").str.count_matches(" ", literal=True) + 1)
    short = usable.filter(pl.col("n_tags") != pl.col("n_tokens"))
    problems = []
    if len(short):
        first = short.row(0, named=True)
        found = f"{first['n_tags']} tags for the {first['n_tokens']} tokens of {first['id']!r}"
        found += and_more(len(short) - 1)
        cure = f"give one tag per token, joined by single spaces; write '{UNPARSED}' if the model gave no usable output"
        problems.append(
            Problem(
                "the numbers of tags and tokens differ", file, found, cure, column="prediction", row=int(first["row"])
            )
        )
    whole = usable.filter(pl.col("n_tags") == pl.col("n_tokens"))
    single = whole.select("row", prediction=pl.col("prediction").str.split(" ")).explode("prediction")
    return problems + unknown_labels(single, "tag", task, file, numbers)


def _label_cure(label: str, labels: Sequence[str]) -> str:
    folded = label.strip().casefold()
    if folded in ("", "nan", "none", "null", "na", "n/a") and folded not in {name.casefold() for name in labels}:
        return f"write '{UNPARSED}' if the model gave no usable output"
    if label.startswith("#") or label in ("TRUE", "FALSE"):
        return "a spreadsheet program seems to have changed it: write the file again, and do not open it in one"
    return did_you_mean(label, labels)


def short_runs(ledger: RunLedger, tasks: Sequence[PredictionTask], file: str) -> list[Problem]:
    """Report every run (source, target, seed) with missing test ids; extra ids are reported as repeated or unknown.

    Args:
        ledger: filled with all rows.
        tasks: the tasks of the dataset folder.
        file: the file's name, used in problems.
    Returns: up to ``MAX_LISTED`` problems, and the number of others; a single problem for a task whose ids are those
        of another subset.
    """
    split = tasks[0].split
    listed, n = ledger.short_runs(MAX_LISTED)
    covered = covered_subsets(ledger.ids(), tasks) if n else {}
    if covered:
        listed, n = ledger.short_runs(MAX_LISTED, without=covered)
    cure = (
        "the file ends at the row limit of spreadsheet programs: write it again, and do not open it in one"
        if ledger.rows == EXCEL_ROWS
        else f"predict every {split} id; write '{UNPARSED}' if the model gave no usable output"
    )
    problems = [_other_subset(file, task, subset) for task, subset in covered.items()]
    for short in listed:
        run = f"source {short.source!r}, seed {short.seed}"
        found = f"{short.given:,} of {short.size:,} {split} ids of {short.target!r} for {run}; first missing "
        found += repr(short.first_missing)
        problems.append(Problem(f"{split} ids are missing", file, found, cure, column="id"))
    if n > len(listed):
        what = f"{split} ids are missing in {plural(n - len(listed), 'more run')}"
        problems.append(Problem(what, file, column="id"))
    return problems


def covered_subsets(given: pl.DataFrame, tasks: Sequence[PredictionTask]) -> dict[str, str]:
    """Find tasks for which the file has exactly the test ids of another subset, within the predicted domains.

    Args:
        given: the file's ids, with columns id, task and target.
        tasks: the tasks of the dataset folder.
    Returns: name of the subset by task, without tasks whose test ids are complete.
    """
    covered = {}
    for task in tasks:
        rows = given.filter(task=task.name)
        targets = rows["target"].unique().implode()
        ids, tests = set(rows["id"]), task.test.filter(pl.col("domain").is_in(targets))
        if not ids or len(ids) == len(tests):
            continue
        for name, subset in task.subsets.items():
            if ids == set(tests.filter(pl.col("id").is_in(subset.implode()))["id"]):
                covered[task.name] = name
    return covered


def _other_subset(file: str, task: str, subset: str) -> Problem:
    what = f"the predictions for '{task}' cover the subset '{subset}', not all test ids"
    cure = f"write 'subset: {subset}' in the card, or predict the other test ids, too"
    return Problem(what, file, cure=cure, column="id")
