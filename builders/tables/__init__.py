"""Mappings of documents and subreddits to domains, made for this project because the papers' are not public.

Both were written manually: the domain of each of SQuAD's titles, and the domain of each subreddit with a tier
(``core``: the topic itself, ``extended``: related).
Input: two CSV files in this folder. Output: the names of a domain's documents or subreddits.
"""

from functools import cache
from pathlib import Path
from urllib.parse import unquote

import polars as pl


def squad_titles(domain: str) -> tuple[str, ...]:
    """List the documents of a domain by title, percent signs decoded.

    Args:
        domain: one of the domains of DR QA.
    Returns: the titles, sorted.
    """
    table = _table("squad_title_domains.csv")
    return tuple(sorted(unquote(title) for title in _rows_of_domain(table, domain)["title"]))


def subreddits(domain: str) -> tuple[str, ...]:
    """List the subreddits of a domain.

    Args:
        domain: one of the domains of DR AS.
    Returns: their names, sorted.
    """
    return tuple(sorted(_rows_of_domain(_table("tldr_subreddit_domains.csv"), domain)["subreddit"]))


def _rows_of_domain(table: pl.DataFrame, domain: str) -> pl.DataFrame:
    return table.filter(pl.col("domain").str.to_lowercase() == domain)


@cache
def _table(name: str) -> pl.DataFrame:
    return pl.read_csv(Path(__file__).parent / name, infer_schema=False)
