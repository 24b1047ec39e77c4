"""What the addresses of tables have in common: a question that is read from an address and written back into one."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from shiftbench.leaderboard.pages.addresses import BOARD, with_query

PAGE_ROWS = 50
MAX_SEARCH = 100
CROSS_AXES = {"": "in domain", "parameters": "parameters", "cost": "cost", "date": "date"}
"""What the picture above a table can have across, by its value in the address."""


@dataclass(frozen=True, kw_only=True)
class TableQuery:
    """A reader's question about a table. What was not asked is empty; ``notes`` say what was asked and is not known.

    ``x`` is what the picture has across, a key of ``CROSS_AXES``; ``intervals`` is 'full' where both ends of each
    interval are asked for.
    """

    q: str = ""
    sort: str = "rank"
    order: str = "asc"
    page: int = 1
    x: str = ""
    intervals: str = ""
    notes: tuple[str, ...] = ()

    def address(self, path: str = BOARD, **changes: Any) -> str:
        """Return the address of this question, or of one that differs in some fields, which begins at page 1."""
        asked = replace(self, **{"page": 1, **changes}) if changes else self
        pairs = []
        # What a table shows comes first, then how it is shown.
        own = [field for field in fields(self) if field.name not in _SHARED]
        for field in (*own, *fields(TableQuery)):
            name, value = field.name, getattr(asked, field.name)
            if name == "notes" or (value == field.default and (name != "order" or asked.sort == "rank")):
                continue
            pairs.append((name, ",".join(value) if isinstance(value, tuple) else str(value)))
        return with_query(path, pairs)


_SHARED = frozenset(field.name for field in fields(TableQuery))


def values_by_name(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Collect the values of an address by their names."""
    given: dict[str, list[str]] = {}
    for name, value in pairs:
        given.setdefault(name, []).append(value)
    return given


def how_it_is_shown(one: Mapping[str, str], first_orders: Mapping[str, str], notes: list[str]) -> dict[str, Any]:
    """Read search, order, page, intervals and the picture's axis; what is unknown is left out, with a note.

    Args:
        one: the last value of each name of an address.
        first_orders: what the table can be sorted by, with the order of a first click.
        notes: what was asked and is not known is added here.
    Returns: values of fields of ``TableQuery``.
    """
    sort = one.get("sort") or "rank"
    if sort not in first_orders:
        notes.append(f"the table cannot be sorted by '{sort[:40]}'")
        sort = "rank"
    order = one.get("order", "")
    page = one.get("page", "1")
    if not re.fullmatch("[0-9]{1,9}", page) or int(page) < 1:
        notes.append(f"there is no page '{page[:40]}'")
        page = "1"
    x = one.get("x", "")
    if x not in CROSS_AXES:
        notes.append(f"the picture has no axis '{x[:40]}'")
        x = ""
    return {
        "q": one.get("q", "")[:MAX_SEARCH],
        "sort": sort,
        "order": order if order in ("asc", "desc") else first_orders[sort],
        "page": int(page),
        "x": x,
        "intervals": "full" if one.get("intervals") == "full" else "",
    }
