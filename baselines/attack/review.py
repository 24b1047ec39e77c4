"""The table that people fill in between attack and data set, and the authors' file form that comes out.

A spreadsheet takes a cell that begins with = + - or @ for a formula. Such cells, and those that begin with a tab, a
carriage return or an apostrophe, are written with an apostrophe before them; it is taken off again when the table is
read. Originals and labels are compared with the dataset folder, so that a reviewer's accidental edit is noticed.
"""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shiftbench.baselines.attack.search import Attacked
from shiftbench.validation.csv_text import csv_text, repeated_columns
from shiftbench.validation.output_files import check_file, replace_file
from shiftbench.validation.report import InvalidInput, Problem, and_more

COLUMNS = (
    "id",
    "original",
    "adversarial",
    "label",
    "victim_label",
    "p_gold_before",
    "p_gold_after",
    "changes",
    "keep",
    "reviewer",
)
ANSWERS = ("yes", "no")
HEADER = ("Text", "Label")

_NEEDED = ("id", "original", "adversarial", "label", "keep")
_GUARDED = ("=", "+", "-", "@", "\t", "\r", "'")


def guard_cell(cell: str) -> str:
    """Mark a cell with an apostrophe where a spreadsheet would read it as a formula.

    >>> guard_cell("=1+1"), guard_cell("'tis"), guard_cell("fine")
    ("'=1+1", "''tis", 'fine')
    """
    return f"'{cell}" if cell.startswith(_GUARDED) else cell


def unguard_cell(cell: str) -> str:
    """Remove the apostrophe that ``guard_cell`` added; a cell whose apostrophe a spreadsheet removed stays as it is.

    >>> unguard_cell("'=1+1"), unguard_cell("''tis"), unguard_cell("'tis")
    ('=1+1', "'tis", "'tis")
    """
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_GUARDED) else cell


def review_table(attacked: Sequence[Attacked], labels: Sequence[str]) -> str:
    """Format adversarial texts as CSV, one row each, with empty cells for reviewers to fill in.

    The text begins with a byte order mark, without which some spreadsheets misread letters with accents.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in attacked:
        before, after = f"{one.example.p_gold:.6f}", f"{one.p_gold:.6f}"
        gold, victim = labels[one.example.gold], labels[one.victim]
        texts = (one.example.id, one.example.text, one.text, gold, victim, before, after, "; ".join(one.changes))
        writer.writerow([*map(guard_cell, texts), "", ""])
    return "\ufeff" + buffer.getvalue()


def read_review(path: Path, rows: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Read a table that people filled in, and check it against the rows it was made from.

    Args:
        path: the CSV file.
        rows: test rows of the task: ``id``, ``text``, ``label`` (codes).
        labels: the task's labels.
    Returns: the rows to keep: ``id``, ``adversarial``, ``label`` (names).
    Raises: InvalidInput names every column and the first row of each kind of fault.
    """
    if not path.is_file():
        cure = "give the table that 'shiftbench attack make' wrote"
        raise InvalidInput(Problem("there is no such file", str(path), cure=cure))
    nothing = Problem("the file is empty", str(path), "no header")
    table = csv_text(path, lambda columns: _check_columns(columns, str(path)), nothing)
    table = table.with_columns(pl.Series(name, [unguard_cell(cell) for cell in table[name]]) for name in _NEEDED)
    table = table.with_columns(pl.col("keep").str.strip_chars().str.to_lowercase())
    names = pl.Series("gold", rows["label"]).replace_strict(dict(enumerate(labels)), return_dtype=pl.String)
    known = rows.select("id", gold_text="text").with_columns(names)
    joined = table.join(known, on="id", how="left", maintain_order="left")
    problems = _find_faults(joined, str(path))
    if problems:
        raise InvalidInput(problems)
    return joined.filter(pl.col("keep") == "yes").select("id", "adversarial", "label")


def release_file(kept: pl.DataFrame, labels: Sequence[str]) -> str:
    """Format rows as the authors' files are: text, tab, label as a number; a text with a quote in it is quoted.

    Tabs and line ends become spaces.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerow(HEADER)
    for text, label in kept.sort("id").select("adversarial", "label").iter_rows():
        writer.writerow((one_line(text), labels.index(label)))
    return buffer.getvalue()


def one_line(text: str) -> str:
    r"""Replace tabs and line breaks of a text by single spaces.

    >>> one_line("one\ttwo\r\nthree")
    'one two three'
    """
    return re.sub(r"[\t\r\n]+", " ", text)


def check_new_file(out: Path, *, overwrite: bool) -> None:
    """Raise InvalidInput, before any work, if an output would replace a file or cannot be written."""
    check_file(out, "--out")
    if out.exists() and not overwrite:
        cure = "give another file, or delete this one first"
        raise InvalidInput(Problem("the file exists, and people may have filled it in", str(out), cure=cure))


def write_whole(text: str, out: Path) -> None:
    """Write a file that appears whole or not at all."""
    with replace_file(out) as new:
        new.write_text(text, encoding="utf-8", newline="\n")


def _check_columns(columns: list[str], file: str) -> None:
    found = f"columns {', '.join(columns)}"
    problems = [
        Problem("a column is missing", file, found, f"leave '{name}' in the table", column=name)
        for name in _NEEDED
        if name not in columns
    ]
    problems += repeated_columns(columns, file)
    if problems:
        raise InvalidInput(problems)


def _find_faults(joined: pl.DataFrame, file: str) -> list[Problem]:
    """Find the faults of a filled-in table: the first row of each kind of fault, and how many more there are."""
    unknown = pl.col("gold").is_null()
    other_text = _collapse_space("original") != _collapse_space("gold_text")
    write = "write yes or no"
    put_back = "put back what 'shiftbench attack make' wrote"
    faults = (
        ("keep", pl.col("keep") == "", "a row is not reviewed yet", write),
        ("keep", ~pl.col("keep").is_in(["", *ANSWERS]), "this is neither yes nor no", write),
        ("id", unknown, "no test text of the task has this id", "give --data the folder that was attacked"),
        ("id", pl.col("id").is_duplicated(), "an id is repeated", "keep one of the rows"),
        ("original", other_text & ~unknown, "the original is not the test text of this id", put_back),
        ("label", (pl.col("label") != pl.col("gold")) & ~unknown, "the label differs from the test text's", put_back),
        ("adversarial", _collapse_space("adversarial") == "", "the adversarial text is empty", "answer no instead"),
    )
    problems = []
    for column, fault, what, cure in faults:
        bad = joined.select(fault.fill_null(value=False)).to_series().arg_true().to_list()
        if bad:
            cell = joined[column][bad[0]]
            found = "" if column in ("original", "adversarial") or not cell else repr(cell)
            problem = Problem(what + and_more(len(bad) - 1), file, found, cure, column=column, row=bad[0] + 1)
            problems.append(problem)
    return problems


def _collapse_space(column: str) -> pl.Expr:
    """Collapse white space to single spaces: spreadsheets change line ends."""
    return pl.col(column).str.replace_all(r"\s+", " ").str.strip_chars()
