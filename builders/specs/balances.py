"""What the domains of a task have in like shares: labels, unanswerable questions, lengths."""

from collections.abc import Sequence

import polars as pl

from shiftbench.builders.specs.spec import COMMON, Balance
from shiftbench.validation.vocabulary import WORD

ANSWERED = pl.col("answers").struct.field("text").list.len() > 0
"""Whether a question has an answer: stratum 1 if so, else 0."""


def words(column: str) -> pl.Expr:
    """List the words of a text column in lower case.

    >>> pl.DataFrame({"text": ["Don't stop; it's 5 o'clock!"]}).select(words("text")).item().to_list()
    ["don't", 'stop', "it's", '5', "o'clock"]
    """
    return pl.col(column).str.to_lowercase().str.extract_all(WORD)


def by_label(labels: Sequence[str]) -> pl.Expr:
    """Return the stratum of each row: the number of its label.

    Returns: an expression over the column ``label``, whole numbers from 0.
    """
    codes = {label: code for code, label in enumerate(labels)}
    return pl.col("label").replace_strict(codes, return_dtype=pl.Int64)


def equal_labels(labels: Sequence[str]) -> Balance:
    """Return a balance with equally many rows of each label."""
    return Balance("equal_labels", by_label(labels), dict.fromkeys(range(len(labels)), 1 / len(labels)))


def common_lengths(width: int) -> Balance:
    """Return a balance with equally distributed target lengths in all domains.

    Args:
        width: words of a stratum: 1 to ``width`` words are the first one.
    Returns: a balance of ``target_text`` whose shares are the mean of the domains' own.
    """
    stratum = (words("target_text").list.len().cast(pl.Int64) - 1).floordiv(width)
    return Balance(f"common_lengths_by_{width}_words", stratum, COMMON)
