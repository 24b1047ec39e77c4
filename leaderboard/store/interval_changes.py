"""Changes of 95% intervals between two metric versions, board by board: their number, and their width."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench.validation.json_text import parse_json

Ends = tuple[float, float] | None
Place = tuple[str, str, str]
"""Entry, shift (empty of a mean) and figure."""
_MEANS = {"mean_st": "mean ST", "average_drop": "average drop", "worst_td": "worst TD"}
_OF_SHIFTS = {"st": "ST", "sd": "SD", "td": "TD"}
_SAME = 1e-9
"""Ends closer than this are the same: last digits depend on the processor and the number of threads."""
_DROPS = ("average drop", "worst TD", "SD", "TD")


@dataclass(frozen=True)
class IntervalChange:
    """The intervals of one figure on a board before and after: of entries, or of entries' shifts.

    Attributes:
        figure: such as ``mean ST`` or ``SD``.
        values: how many values were scored under both versions.
        old_intervals, new_intervals: how many of them had an interval, and have one.
        old_width, new_width: mean width of those that have one under both, a fraction; None without any.
        old_clear, new_clear: drops whose interval excludes 0; None of scores.
    """

    figure: str
    values: int
    old_intervals: int
    new_intervals: int
    old_width: float | None
    new_width: float | None
    old_clear: int | None
    new_clear: int | None


def read_intervals(contents: Iterable[tuple[str, bytes]]) -> dict[tuple[str, str, str], dict[Place, Ends]]:
    """Read the intervals of stored scores of any version, by data, subset and task.

    Args:
        contents: id of an entry and its scores as JSON; what cannot be read says nothing of the entry.
    Returns: ends of each known value's interval, None where it has none.
    """
    found: dict[tuple[str, str, str], dict[Place, Ends]] = {}
    for identity, content in contents:
        try:
            read = parse_json(content)
            for task in read["tasks"]:
                board = found.setdefault((read["data"], read["subset"], task["task"]), {})
                board |= {(identity, shift, figure): ends for shift, figure, ends in _task_intervals(task)}
        except (ValueError, KeyError, TypeError):
            continue  # the scores are damaged, or of an unknown old shape
    return found


def interval_changes(old: Mapping[Place, Ends], new: Mapping[Place, Ends]) -> tuple[IntervalChange, ...]:
    """Compare the intervals of one board; figures whose intervals are unchanged, up to rounding, are left out.

    Args:
        old: ends by entry, shift and figure.
        new: the same, of the current version.
    """
    found = []
    for figure in (*_MEANS.values(), *_OF_SHIFTS.values()):
        both = [(old[place], ends) for place, ends in new.items() if place[2] == figure and place in old]
        if not all(_is_unchanged(*pair) for pair in both):
            found.append(_change(figure, both))
    return tuple(found)


def _task_intervals(task: Mapping[str, Any]) -> Iterator[tuple[str, str, Ends]]:
    for name, figure in _MEANS.items():
        yield from _ends("", figure, task["summary"][name])
    for shift in task["shifts"]:
        for name, figure in _OF_SHIFTS.items():
            yield from _ends(f"{shift['source']} -> {shift['target']}", figure, shift[name])


def _ends(shift: str, figure: str, estimate: Mapping[str, Any]) -> Iterator[tuple[str, str, Ends]]:
    if estimate["value"] is not None:
        low, high = estimate["low"], estimate["high"]
        yield shift, figure, None if low is None or high is None else (float(low), float(high))


def _change(figure: str, both: list[tuple[Ends, Ends]]) -> IntervalChange:
    old, new = ([pair[side] for pair in both] for side in (0, 1))
    pairs = [(before, after) for before, after in both if before is not None and after is not None]
    widths = [float(np.mean([pair[side][1] - pair[side][0] for pair in pairs])) if pairs else None for side in (0, 1)]
    clear = [sum(_excludes_zero(ends) for ends in side) if figure in _DROPS else None for side in (old, new)]
    counts = [sum(ends is not None for ends in side) for side in (old, new)]
    return IntervalChange(figure, len(both), *counts, *widths, *clear)


def _is_unchanged(before: Ends, after: Ends) -> bool:
    if before is None or after is None:
        return before is after
    return all(abs(old - new) < _SAME for old, new in zip(before, after, strict=True))


def _excludes_zero(ends: Ends) -> bool:
    return ends is not None and (ends[0] > 0 or ends[1] < 0)
