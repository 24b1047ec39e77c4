"""Words of a text, as every count of words in the builders understands them."""

import polars as pl

from validation.vocabulary import WORD


def words(column: str) -> pl.Expr:
    """List the words of a text column in lower case.

    >>> pl.DataFrame({"text": ["Don't stop; it's 5 o'clock!"]}).select(words("text")).item().to_list()
    ["don't", 'stop', "it's", '5', "o'clock"]
    """
    return pl.col(column).str.to_lowercase().str.extract_all(WORD)
