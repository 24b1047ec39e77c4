"""Properties balanced across the domains of a task: labels, unanswerable questions, lengths."""

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
    """Return an expression for each row's stratum: the index of its label.

    Returns: an integer expression over the column ``label``, from 0.
    """
    codes = {label: code for code, label in enumerate(labels)}
    return pl.col("label").replace_strict(codes, return_dtype=pl.Int64)


def equal_labels(labels: Sequence[str]) -> Balance:
    """Return a balance with the same number of rows of each label."""
    return Balance("equal_labels", by_label(labels), dict.fromkeys(range(len(labels)), 1 / len(labels)))


def common_lengths(width: int) -> Balance:
    """Return a balance with the same distribution of target lengths in all domains.

    Args:
        width: width of the strata in words; the first one is 1 to ``width`` words.
    Returns: a balance of ``target_text`` with the mean proportions of the domains.
    """
    stratum = (words("target_text").list.len().cast(pl.Int64) - 1).floordiv(width)
    return Balance(f"common_lengths_by_{width}_words", stratum, COMMON)
