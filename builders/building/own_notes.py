"""What is odd about rows of one's own, and stops no build: repeats, labels in conflict, names that look alike."""

from collections.abc import Iterator, Sequence

import polars as pl

from shiftbench.builders.building.own_dates import count_spans, look_like_dates
from shiftbench.builders.building.own_labels import spellings
from shiftbench.builders.specs.transforms import as_texts
from shiftbench.validation.vocabulary import GOLD, TaskKind

SHOWN = 8
"""Row numbers that are listed."""
_SHEET_ERRORS = ("#REF!", "#N/A", "#VALUE!", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!")


def row_list(rows: Sequence[int]) -> str:
    """Format row numbers.

    >>> row_list([3]), row_list([3, 7]), row_list(range(1, 12))
    ('row 3', 'rows 3, 7', 'rows 1, 2, 3, 4, 5, 6, 7, 8 and 3 more')
    """
    more = f" and {len(rows) - SHOWN:,} more" if len(rows) > SHOWN else ""
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows[:SHOWN]))}{more}"


def date_cure(domains: pl.Series) -> str:
    """Return how to group domains that are dates; empty where they are none.

    >>> date_cure(pl.Series(["2024-01-05", "2024-02-06", "2024-02-07"]))
    'these are dates: group them with --domain-by month (2 domains), quarter (1) or year (1)'
    """
    if not look_like_dates(domains):
        return ""
    n = count_spans(domains)
    return (
        f"these are dates: group them with --domain-by month ({n['month']:,} domains), quarter ({n['quarter']:,}) "
        f"or year ({n['year']:,})"
    )


def odd_rows(frame: pl.DataFrame, inputs: tuple[str, ...], kind: TaskKind) -> Iterator[str]:
    """Find what is odd about sound rows and stops no build.

    Args:
        frame: rows as ``shiftbench.builders.building.own_rows.OwnRows`` has them.
        inputs: the input columns.
        kind: what is predicted.
    Returns: a line for each oddity, with its rows.
    """
    gold = GOLD[kind]
    numbered = frame.with_columns(
        pl.int_range(1, pl.len() + 1).alias("_row"),
        _inputs=as_texts(frame.select("domain", *inputs)),
        _gold=as_texts(frame.select(gold)),
    )
    again = numbered.filter(~pl.struct("_inputs", "_gold").is_first_distinct())["_row"].to_list()
    if again:
        yield f"dropped, because they repeat a row of their domain word for word: {row_list(again)}"
    torn = numbered.filter(pl.col("_gold").n_unique().over("_inputs") > 1)["_row"].to_list()
    if torn and kind is not TaskKind.GENERATION:
        word = "labels" if kind is TaskKind.CLASSIFICATION else gold
        yield f"equal texts of a domain have different {word}: {row_list(torn)}"
    texts = as_texts(frame.select(inputs[0]))
    away = numbered.with_columns(_text=texts).filter(pl.col("domain").n_unique().over("_text") > 1)["_row"].to_list()
    if away and kind is not TaskKind.EXTRACTIVE_QA:
        yield f"texts that are in more than one domain: {row_list(away)}"
    if cure := date_cure(frame["domain"]):
        yield f"{frame['domain'].n_unique():,} domains, {cure}"
    yield from _alike_names(frame, kind)
    if kind is TaskKind.CLASSIFICATION:
        for (domain,), rows in frame.group_by("domain", maintain_order=True):
            if rows["label"].n_unique() == 1:
                yield f"domain {domain!r} has only one label: {rows['label'][0]!r}"
        errors = frame.with_row_index("_row", 1).filter(pl.col("label").is_in(_SHEET_ERRORS))["_row"].to_list()
        if errors:
            yield f"labels that look like errors of a spreadsheet: {row_list(errors)}"
        rare = frame["label"].value_counts().filter(pl.col("count") == 1)["label"].sort().to_list()
        if rare:
            row = [int((frame["label"] == label).arg_true()[0]) + 1 for label in rare]
            yield f"labels that occur only once: {', '.join(map(repr, rare[:SHOWN]))} ({row_list(row)})"


def _alike_names(frame: pl.DataFrame, kind: TaskKind) -> Iterator[str]:
    """Find domains and labels that differ in case or spaces alone, and domains that are one number."""
    words = ["domain"] + (["label"] if kind is TaskKind.CLASSIFICATION else [])
    for name in words:
        by_folded: dict[str, list[str]] = {}
        for value in sorted(frame[name].unique().to_list()):
            by_folded.setdefault(" ".join(value.casefold().split()), []).append(value)
        for alike in by_folded.values():
            if len(alike) > 1:
                yield f"{name}s that differ only in case or spaces are kept apart: {', '.join(map(repr, alike))}"
    if twice := spellings(sorted(frame["domain"].unique().to_list())):
        pairs = ", ".join(f"{one!r} and {other!r}" for other, one in sorted(twice.items()))
        yield f"domains that are the same number are kept apart: {pairs}"
