"""Domains that are periods of time, or ordered otherwise: their positions on a time axis, and ranges of periods.

2025-03-31   a day        2025-W03   a week of ISO 8601        2025-01   a month
2025-Q1      a quarter    2025       a year
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from shiftbench.validation.report import InvalidInput, Problem

_DAY = timedelta(days=1)
RANGE = ".."
"""Separator of the first and the last period of a range."""


@dataclass(frozen=True)
class _Unit:
    """A kind of period: pattern of its names, first day of a period, index of the period, minimum length in days."""

    form: re.Pattern[str]
    begin: Callable[[Sequence[int]], date]
    place: Callable[[date], int]
    days: int


def _first_of_month(parts: Sequence[int]) -> date:
    return date(parts[0], parts[1], 1)


def _first_of_quarter(parts: Sequence[int]) -> date:
    return date(parts[0], 3 * parts[1] - 2, 1)


_UNITS: Mapping[str, _Unit] = {
    "day": _Unit(re.compile(r"(\d{4})-(\d\d)-(\d\d)"), lambda parts: date(*parts), date.toordinal, 1),
    "week": _Unit(
        re.compile(r"(\d{4})-?W(\d\d)", re.IGNORECASE),
        lambda parts: date.fromisocalendar(parts[0], parts[1], 1),
        lambda day: (day.toordinal() - 1) // 7,  # ordinal 1 (1 January of year 1) is a Monday
        7,
    ),
    "month": _Unit(re.compile(r"(\d{4})-(\d\d)"), _first_of_month, lambda day: 12 * day.year + day.month, 28),
    "quarter": _Unit(
        re.compile(r"(\d{4})-?Q(\d)", re.IGNORECASE),
        _first_of_quarter,
        lambda day: 4 * day.year + (day.month - 1) // 3,
        90,
    ),
    "year": _Unit(re.compile(r"((?:19|20)\d\d)"), lambda parts: date(parts[0], 1, 1), lambda day: day.year, 365),
}
OTHER = "period"
"""Unit of names that are not dates."""


@dataclass(frozen=True)
class Timeline:
    """Ordered periods.

    Attributes:
        unit: ``day``, ``week``, ``month``, ``quarter``, ``year``, or ``period`` if the names are not dates.
        places: position of each period on the time axis, an integer in units, keyed by name, in order.
    """

    unit: str
    places: Mapping[str, int]

    def range(self, typed: str) -> tuple[str, ...]:
        """List the periods that begin in a range, such as ``2025-01..2025-06`` or ``2025-q1``.

        The ends of the range may have another unit than the periods.

        Raises: InvalidInput if it is not a valid range, or contains no period.
        """
        first, _, last = (part.strip() for part in typed.partition(RANGE))
        ends = (first, last or first)
        names = list(self.places)
        if self.unit == OTHER:
            if not set(ends) <= set(names):
                missing = next(end for end in ends if end not in names)
                raise _invalid_range(typed, f"'{missing}' is not a period of the data", names)
            chosen = names[names.index(ends[0]) : names.index(ends[1]) + 1]
        else:
            found = [_read(end) for end in ends]
            if None in found:
                raise _invalid_range(typed, "not a date", names)
            (_, begin), (unit, end) = (each for each in found if each is not None)
            begins = {name: each[1] for name in names if (each := _read(name)) is not None}
            chosen = [name for name, day in begins.items() if begin <= day < _next(unit, end)]
        if not chosen:
            raise _invalid_range(typed, "no period starts in this range", names)
        return tuple(chosen)


def _invalid_range(typed: str, found: str, names: Sequence[str]) -> InvalidInput:
    cure = f"give the first and last period, such as {names[0]}{RANGE}{names[min(len(names) - 1, 5)]}"
    return InvalidInput(Problem("this is not a range of periods", "--reference", f"'{typed}': {found}", cure))


def _read(name: str) -> tuple[str, date] | None:
    """Return the unit and the first day of a period; None if the name is not a date."""
    for word, unit in _UNITS.items():
        if match := unit.form.fullmatch(name.strip()):
            try:
                return word, unit.begin([int(part) for part in match.groups()])
            except ValueError:
                return None
    return None


def _next(unit: str, day: date) -> date:
    """Return the first day of the following period."""
    kind, after = _UNITS[unit], day + _UNITS[unit].days * _DAY
    while kind.place(after) == kind.place(day):
        after += _DAY
    return after


def find_timeline(names: Sequence[str], *, is_ordered: bool = False) -> Timeline | None:
    """Order domains in time.

    Args:
        names: names of the domains, each once, in the order of the file.
        is_ordered: whether names that are not dates are ordered: numbers by value, other names as in the file.
    Returns: the order; None if the names are not dates of one unit and ``is_ordered`` is False.

    >>> find_timeline(["2025-02", "2024-12"]).places
    {'2024-12': 24300, '2025-02': 24302}
    >>> find_timeline(["10", "9.5"], is_ordered=True).places, find_timeline(["books", "toys"])
    ({'9.5': 0, '10': 1}, None)
    """
    read = [_read(name) for name in names]
    units = {each[0] for each in read if each is not None}
    if names and None not in read and len(units) == 1:
        (unit,) = units
        begins = sorted((each[1], name) for each, name in zip(read, names, strict=True) if each is not None)
        places = {name: _UNITS[unit].place(day) for day, name in begins}
        if all(one != other for one, other in pairwise(places.values())):
            return Timeline(unit, places)
    if not is_ordered:
        return None
    try:
        ordered = sorted(names, key=float)
    except ValueError:
        ordered = list(names)
    return Timeline(OTHER, {name: place for place, name in enumerate(ordered)})
