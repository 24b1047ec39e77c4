"""Words of a text, as every count of words in the builders understands them."""

import polars as pl

from shiftbench.validation.vocabulary import WORD


def words(column: str) -> pl.Expr:
    """List the words of a text column in lower case.

    Args:
        column: the text.
    Returns: an expression, a list of words for each row; what a word is, ``shiftbench.validation.vocabulary.WORD``
        says.

    >>> pl.DataFrame({"text": ["Don't stop; it's 5 o'clock!"]}).select(words("text")).item().to_list()
    ["don't", 'stop', "it's", '5', "o'clock"]
    """
    return pl.col(column).str.to_lowercase().str.extract_all(WORD)
