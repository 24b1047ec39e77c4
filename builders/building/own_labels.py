"""Unify spellings of labels and domains in user data: case, spaces, and number formats; find misspelt labels.

pandas writes 1.0 for 1 as soon as one value of a column is missing, so related files may differ in this. Values with a
leading zero, such as 01, are codes, not numbers.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from difflib import SequenceMatcher

import polars as pl

_NUMBER = re.compile(r"[+-]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
MAX_SHOWN = 8
"""Maximum number of labels listed in a message."""
_LETTERS = re.compile(r"([^\W\d_]+)")


def number_of(text: str) -> Decimal | None:
    """Return the number written in a text; None if it is not a number, or a code such as 01.

    >>> number_of("1.0") == number_of(" 1") == number_of("+1e0"), number_of("1st"), number_of("nan"), number_of("01")
    (True, None, None, None)
    """
    return Decimal(text.strip()) if _NUMBER.fullmatch(text.strip()) else None


def spellings(words: Iterable[str], *, may_be_numbers: bool = True) -> dict[str, str]:
    """Find words with several spellings: different case or spaces, or the same number.

    Args:
        words: distinct labels or domains, the most frequent first.
        may_be_numbers: whether to compare numbers by value; False for domains, where versions 1.1 and 1.10 differ.
    Returns: a mapping of other spellings to the one to use: the shortest for numbers, otherwise the most frequent
        without surrounding spaces.

    >>> spellings(["0", "Good", "1", "1.0", "good ", "2.50", "2.5", "3.0"])
    {'1.0': '1', '2.50': '2.5', 'good ': 'Good'}
    """
    by_number: dict[Decimal, list[str]] = {}
    by_letters: dict[str, list[str]] = {}
    for word in words:
        if may_be_numbers and (number := number_of(word)) is not None:
            by_number.setdefault(number, []).append(word)
        else:
            by_letters.setdefault(fold(word), []).append(word)
    chosen: dict[str, str] = {}
    for alike in by_number.values():
        one = min(alike, key=lambda word: (len(word), word))
        chosen |= {word: one for word in alike if word != one}
    for alike in by_letters.values():
        one = min(alike, key=lambda word: word != word.strip())  # the most frequent one without blanks around it
        chosen |= {word: one for word in alike if word != one}
    return chosen


def fold(word: str) -> str:
    """Normalise case and spaces of a word."""
    return " ".join(word.casefold().split())


def respell(labels: pl.Series, known: Iterable[str]) -> pl.Series:
    """Replace labels by the known label that differs only in case, spaces or number format.

    Args:
        labels: labels, possibly in other spellings; nulls stay.
        known: the labels to use.
    Returns: the labels in the known spelling if exactly one known label matches; others are unchanged.

    >>> respell(pl.Series(["1.0", "0", "GOOD ", None, "bad"]), ["0", "1", "good"]).to_list()
    ['1', '0', 'good', None, 'bad']
    """
    known = list(known)
    by_number = {number: label for label in known if (number := number_of(label)) is not None}
    by_letters: dict[str, list[str]] = {}
    for label in known:
        by_letters.setdefault(fold(label), []).append(label)
    found = {}
    for label in labels.drop_nulls().unique().to_list():
        alike = by_letters.get(fold(label), [])
        if label not in known and (number := number_of(label)) is not None and number in by_number:
            found[label] = by_number[number]
        elif label not in known and len(alike) == 1:
            found[label] = alike[0]
    return labels.replace(found) if found else labels


def unite_spellings(values: pl.Series, what: str) -> tuple[dict[str, str], list[str]]:
    """Choose one spelling for each label or domain of all rows.

    Args:
        values: the values of all rows, as written; nulls and blank texts are ignored.
        what: ``label`` (numbers are compared by value) or ``domain``.
    Returns: a mapping of other spellings to the one to use; notes that list the merged
        spellings with their numbers of rows.
    """
    counts = dict(
        values.drop_nulls().value_counts(sort=True).sort("count", values.name, descending=[True, False]).rows()
    )
    chosen = spellings([word for word in counts if word.strip()], may_be_numbers=what == "label")
    numbers = {word: one for word, one in chosen.items() if fold(word) != fold(one)}
    words = {word: one for word, one in chosen.items() if word not in numbers}
    notes = []
    for why, group in (("are the same number", numbers), ("differ only in case or spaces", words)):
        parts = [f"{word!r} ({counts[word]:,}) as {one!r}" for word, one in sorted(group.items())]
        more = f" and {len(parts) - MAX_SHOWN:,} more" if len(parts) > MAX_SHOWN else ""
        if parts:
            notes.append(f"{what}s that {why} were merged: {', '.join(parts[:MAX_SHOWN])}{more} (rows)")
    return chosen, notes


def misspelt_labels(counts: Mapping[str, int]) -> dict[str, str]:
    """Find labels of one or two rows that are almost spelt like a much more frequent one.

    Words of at least five letters are compared that have the first letter in common and are one letter apart, or have
    two adjacent letters exchanged. More would find real classes: ``minimum`` and ``maximum``, ``hypotension`` and
    ``hypertension``.

    Args:
        counts: number of rows by label.
    Returns: the frequent label that is meant, by misspelt label.

    >>> misspelt_labels({"positive": 300, "postive": 1, "unhappy": 90, "happy": 2, "class b": 90, "class c": 1})
    {'postive': 'positive'}
    """
    found = {}
    frequent = {label: n for label, n in counts.items() if n >= 20}
    for label in (label for label, n in counts.items() if n <= 2):
        alike = (
            other for other, n in frequent.items() if n >= 20 * counts[label] and abs(len(other) - len(label)) <= 2
        )
        if meant := [other for other in alike if _is_misspelt(label, other)]:
            found[label] = max(meant, key=lambda other: counts[other])
    return found


def _is_misspelt(label: str, other: str) -> bool:
    ours, theirs = (_LETTERS.split(fold(word)) for word in (label, other))
    pairs = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
    if len(ours) != len(theirs) or len(pairs) != 1:
        return False
    one, two = pairs[0]
    # Five signs of a script without an alphabet are several words.
    if min(len(one), len(two)) < 5 or one[0] != two[0] or not (one + two).isalpha() or max(one + two) > "\u058f":
        return False
    if any(one == two[:at] + two[at + 1] + two[at] + two[at + 2 :] for at in range(len(two) - 1)):
        return True
    edits = SequenceMatcher(None, one, two, autojunk=False).get_opcodes()
    return sum(max(a2 - a1, b2 - b1) for kind, a1, a2, b1, b2 in edits if kind != "equal") == 1
