"""Size limits of prediction files, checked before memory is allocated."""

from shiftbench.validation.report import InvalidInput, Problem
from shiftbench.validation.vocabulary import TaskKind

MAX_ROWS = 20_000_000
MAX_FILE_BYTES = 2**30
MAX_COLUMNS = 50
MAX_TEXT_BYTES = 256 * 2**20
"""Maximum total bytes of all predictions, decompressed and without dictionary or run-length encoding."""
MEAN_TEXT_BYTES = {
    TaskKind.CLASSIFICATION: 200,
    TaskKind.TAGGING: 2_000,
    TaskKind.EXTRACTIVE_QA: 500,
    TaskKind.GENERATION: 4_000,
}
"""Maximum mean bytes per prediction by task kind; a single one may be as long as ``MAX_CHARACTERS``."""
SPARE_TEXT_BYTES = 2**20
"""Bytes allowed in addition to the mean, so that a few long predictions in a small file are accepted."""
MAX_LINE_BYTES = 2**20
"""Maximum bytes of one row of text, including quoted line ends."""
MAX_CHARACTERS = {
    "source": 1_000,
    "id": 300,
    "prediction": 20_000,
    "seed": 100,
    "confidence": 100,
    "probabilities": 25_000,
    "entry": 100,
    "card": 64 * 2**10,
}
"""Maximum characters of one value, by column.

A prediction may be the tags of a long document. ``entry`` and ``card`` are columns of an archive's list of entries.
"""
MAX_PROBABILITIES = 1_000
"""Maximum number of probabilities per row."""
MAX_LIST_ELEMENTS = 8_000_000
"""Maximum number of list elements per column; run-length encoding could fit more into a single row of a small file."""


def check_size(size: int, file: str) -> None:
    """Raise InvalidInput for a file of too many bytes."""
    if size > MAX_FILE_BYTES:
        cure = f"the limit is {MAX_FILE_BYTES // 2**20:,} MiB; Parquet is the most compact format"
        raise InvalidInput(Problem("the file is too large", file, f"{size:,} bytes", cure))


def check_row_count(rows: int, file: str, max_rows: int) -> None:
    """Raise InvalidInput for a file of too many rows."""
    if rows > max_rows:
        what, cure = "there are more rows than predictions of these tasks can have", f"the limit is {max_rows:,} rows"
        raise InvalidInput(Problem(what, file, f"{rows:,} rows", cure))


def check_column_count(columns: int, file: str) -> None:
    """Raise InvalidInput for a file of too many columns, before they are checked individually."""
    if columns > MAX_COLUMNS:
        cure = "keep only the columns of predictions"
        raise InvalidInput(Problem("there are too many columns", file, f"{columns:,} columns", cure))


def line_too_long(file: str, row: int, max_bytes: int = MAX_LINE_BYTES) -> Problem:
    """Return the problem of a row that is too long; ``row`` is 1-based."""
    cure = "end each row with a line break and close every quote"
    return Problem("this row is too long", file, f"more than {max_bytes:,} bytes", cure, row=row)


def too_long(file: str, column: str, row: int, found: str) -> Problem:
    """Return the problem of a value that is too long; ``row`` is 1-based."""
    cure = f"the limit is {MAX_CHARACTERS[column]:,} characters"
    return Problem("a value is too long", file, found, cure, column=column, row=row)


def too_much_text(file: str, n_bytes: int) -> Problem:
    """Return the problem of predictions that exceed the limit on total text."""
    cure = "send only labels, tags, answers or summaries, not what the model wrote before them"
    return Problem(
        "the predictions contain more text than these tasks need", file, f"more than {n_bytes:,} bytes", cure
    )
