"""Labels of one's own data that are numbers: the same number in several spellings is one label.

pandas writes 1.0 for 1 as soon as one value of a column is missing, so that files which belong together differ in it.
What begins with a zero, as 01, is a code and no number.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

import polars as pl

_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
MAX_SHOWN = 8
"""Labels that a message lists."""


def number_of(text: str) -> Decimal | None:
    """Return the number that a text spells; None where it spells none, or is a code such as 01.

    >>> number_of("1.0") == number_of(" 1") == number_of("+1e0"), number_of("1st"), number_of("nan"), number_of("01")
    (True, None, None, None)
    """
    return Decimal(text.strip()) if _NUMBER.fullmatch(text.strip()) else None


def spellings(labels: Iterable[str]) -> dict[str, str]:
    """Find numbers that are spelt in more than one way.

    Args:
        labels: distinct labels.
    Returns: the spelling to use by each of the others: the shortest, which of whole numbers has no decimal places.

    >>> spellings(["0", "1", "1.0", "one", "2.50", "2.5", "3.0"])
    {'1.0': '1', '2.50': '2.5'}
    """
    by_number: dict[Decimal, list[str]] = {}
    for label in labels:
        if (number := number_of(label)) is not None:
            by_number.setdefault(number, []).append(label)
    chosen: dict[str, str] = {}
    for alike in by_number.values():
        one = min(alike, key=lambda label: (len(label), label))
        chosen |= {label: one for label in alike if label != one}
    return chosen


def respell(labels: pl.Series, known: Iterable[str]) -> pl.Series:
    """Write numbers as labels that are known write them; other labels stay.

    Args:
        labels: labels, perhaps in other spellings; nulls stay.
        known: the labels to use.
    Returns: the labels, each in the spelling of the known label that is the same number.

    >>> respell(pl.Series(["1.0", "0", "good", None]), ["0", "1"]).to_list()
    ['1', '0', 'good', None]
    """
    known = list(known)
    by_number = {number: label for label in known if (number := number_of(label)) is not None}
    others = labels.drop_nulls().unique().to_list()
    found = {
        label: by_number[number]
        for label in others
        if label not in known and (number := number_of(label)) is not None and number in by_number
    }
    return labels.replace(found) if found else labels


def spelling_note(labels: pl.Series, chosen: Mapping[str, str]) -> str:
    """Format the note that spellings of one number were taken together.

    Args:
        labels: the labels of all rows as they are written.
        chosen: as ``spellings`` returns it.
    Returns: a sentence with the rows of each spelling that was replaced.
    """
    counts = dict(labels.value_counts().iter_rows())
    parts = [f"{label!r} ({counts[label]:,}) as {one!r}" for label, one in sorted(chosen.items())]
    more = f" and {len(parts) - MAX_SHOWN:,} more" if len(parts) > MAX_SHOWN else ""
    return f"labels that are the same number are one label: {', '.join(parts[:MAX_SHOWN])}{more} (rows)"
