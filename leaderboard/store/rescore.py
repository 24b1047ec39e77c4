"""Rescore every entry of a store under the current metric version, and report changes of ranks and intervals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rich.console import RenderableType

from shiftbench.builders.folder.reader import DatasetFolder
from shiftbench.leaderboard.store import Store, find_folder
from shiftbench.leaderboard.store.log import RESCORED, Draft
from shiftbench.scoring.reports.numbers import plain_points
from shiftbench.scoring.reports.plain_tables import PlainTable
from shiftbench.scoring.scores.coverage import covers_board
from shiftbench.scoring.scores.shape import METRIC_VERSION
from shiftbench.validation.json_text import parse_json
from shiftbench.validation.progress import progress
from shiftbench.validation.report import InvalidInput

Ends = tuple[float, float] | None
IntervalKey = tuple[str, str, str]
"""Entry, shift (empty for a mean) and score."""
_MEANS = {"mean_st": "mean ST", "average_drop": "average drop", "worst_td": "worst TD"}
_OF_SHIFTS = {"st": "ST", "sd": "SD", "td": "TD"}
_SAME = 1e-9
"""Bounds that differ by less are equal: last digits depend on the processor and the number of threads."""
_DROPS = ("average drop", "worst TD", "SD", "TD")


@dataclass(frozen=True)
class IntervalChange:
    """How a new metric version changes the intervals of one score on a board.

    A score has one value per entry or, for scores of shifts, one per entry and shift. ``values`` counts those scored
    under both versions. Widths are means over values with an interval under both, as fractions; ``clear`` counts
    significant drops, None for scores that are not drops.
    """

    figure: str
    values: int
    old_intervals: int
    new_intervals: int
    old_width: float | None
    new_width: float | None
    old_clear: int | None
    new_clear: int | None


def read_intervals(contents: Iterable[tuple[str, bytes]]) -> dict[tuple[str, str, str], dict[IntervalKey, Ends]]:
    """Read interval bounds (None without an interval) from stored scores of any version, by data, subset and task.

    Unreadable scores are skipped.
    """
    found: dict[tuple[str, str, str], dict[IntervalKey, Ends]] = {}
    for identity, content in contents:
        try:
            read = parse_json(content)
            for task in read["tasks"]:
                board = found.setdefault((read["data"], read["subset"], task["task"]), {})
                board |= {(identity, shift, figure): ends for shift, figure, ends in _task_intervals(task)}
        except (ValueError, KeyError, TypeError):
            continue  # the scores are damaged, or of an unknown old shape
    return found


def interval_changes(old: Mapping[IntervalKey, Ends], new: Mapping[IntervalKey, Ends]) -> tuple[IntervalChange, ...]:
    """Compare the intervals of one board; scores whose intervals are unchanged, up to rounding, are omitted."""
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
    known = [[ends for ends in side if ends is not None] for side in (old, new)]
    clear = [sum(low > 0 or high < 0 for low, high in side) if figure in _DROPS else None for side in known]
    return IntervalChange(figure, len(both), *map(len, known), *widths, *clear)


def _is_unchanged(before: Ends, after: Ends) -> bool:
    if before is None or after is None:
        return before is after
    return all(abs(old - new) < _SAME for old, new in zip(before, after, strict=True))


class BoardKey(NamedTuple):
    """One board: content hash of the data, subset, task."""

    data: str
    subset: str
    task: str


@dataclass(frozen=True)
class Change:
    """An entry whose rank on a board changed.

    Ranks are among complete entries (``shiftbench.scoring.scores.coverage``); values are mean ST as fractions. None:
    not scored under that version, not ranked, or undefined.
    """

    id: str
    name: str
    old_rank: int | None
    new_rank: int | None
    old_value: float | None
    new_value: float | None


@dataclass(frozen=True)
class Rescored:
    """Result of rescoring: ids that were ``scored`` and ``kept``, reasons of those that ``failed``.

    ``changes`` and ``intervals`` have every board, in order; ``against`` is the metric version compared with, None if
    there is none. ``forecast`` has ids whose accuracy was forecast, ``not_forecast`` the reasons why that failed, which
    does not affect scores.
    """

    version: str
    against: str | None
    scored: tuple[str, ...]
    kept: tuple[str, ...]
    failed: dict[str, str]
    changes: dict[str, tuple[Change, ...]]
    intervals: dict[str, tuple[IntervalChange, ...]]
    forecast: tuple[str, ...] = ()
    not_forecast: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)


def rescore(store: Store, folders: Sequence[DatasetFolder], *, every: bool = False) -> Rescored:
    """Score a store's entries under the current metric version, and compare with the newest other version in the store.

    Entries on withheld labels are skipped, since their released results never change. Entries for other data fail, with
    the reason. For a repository, the scores are uploaded.

    Args:
        store: the store.
        folders: the datasets to score on.
        every: rescore also entries that have current scores.
    """
    scored, kept, failed, names = [], [], {}, {}
    for identity in progress(store.ids(), desc="scoring", unit="entry"):
        try:
            entry = store.entry(identity)
            names[identity] = entry.card.name
            folder = find_folder(entry.card, folders)
            if not folder.has_public_labels or (not every and store.stored_scores(entry, folder) is not None):
                kept.append(identity)
            else:
                store.score_again(entry, folder)
                scored.append(identity)
        except InvalidInput as error:
            failed[identity] = str(error)
    forecast, not_forecast = _forecast(store, folders, [*kept, *scored], every=every)
    store.share_scores({*scored, *forecast})
    if scored:
        facts = {"metric_version": METRIC_VERSION, "scored": len(scored), "failed": len(failed)}
        store.note_event(Draft(RESCORED, facts=facts))
    against = next((version for version in store.versions() if version != METRIC_VERSION), None)
    changes, intervals = {}, {}
    if against is not None:
        old, new = (_standings(store, version) for version in (against, METRIC_VERSION))
        ends = [read_intervals(store.scores_of_version(version)) for version in (against, METRIC_VERSION)]
        for board, title in _possible_boards(folders).items():
            if board in new:
                changes[title] = tuple(_board_changes(old.get(board, {}), new[board], names))
            if board in ends[1]:
                intervals[title] = interval_changes(ends[0].get(board, {}), ends[1][board])
    return Rescored(
        METRIC_VERSION, against, tuple(scored), tuple(kept), failed, changes, intervals, forecast, not_forecast
    )


def _forecast(
    store: Store, folders: Sequence[DatasetFolder], ids: Sequence[str], *, every: bool
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Forecast the entries that lack forecasts, or all; return the forecast ids, and the reasons for failures."""
    made, failed = [], {}
    for identity in progress(ids, desc="forecasting", unit="entry"):
        try:
            entry = store.entry(identity)
            folder = find_folder(entry.card, folders)
            if folder.has_public_labels and (every or store.forecasts(identity) is None):
                store.forecast_again(entry, folder)
                made.append(identity)
        except InvalidInput as error:
            failed[identity] = str(error)
    return tuple(made), failed


class _Standing(NamedTuple):
    value: float | None
    ranked: bool


def _standings(store: Store, version: str) -> dict[BoardKey, dict[str, _Standing]]:
    """Read scores of any version for ranks, using only fields present in every version."""
    found: dict[BoardKey, dict[str, _Standing]] = {}
    for identity, content in store.scores_of_version(version):
        try:
            read = parse_json(content)
            for task in read["tasks"]:
                standing = _Standing(task["summary"]["mean_st"]["value"], _is_ranked(task))
                found.setdefault(BoardKey(read["data"], read["subset"], task["task"]), {})[identity] = standing
        except (ValueError, KeyError, TypeError):
            continue  # damaged scores are skipped: they are derived, and the entry itself is intact
    return found


def _is_ranked(task: Mapping[str, Any]) -> bool:
    """Return whether a task's scores, as JSON of any version, cover all shifts that its board ranks by."""
    summary = task["summary"]
    return covers_board(
        complete=bool(summary["complete"]),
        basis=summary.get("basis"),
        n_shifts=int(summary.get("n_shifts", 0)),
        n_domains=len(task.get("domains", ())),
        has_id_domain=task.get("id_ood") is not None,
    )


def _possible_boards(folders: Sequence[DatasetFolder]) -> dict[BoardKey, str]:
    """List the possible boards; candidates for a benchmark's data sets have none."""
    named = {}
    for folder in folders:
        for name, task in folder.manifest.tasks.items():
            for subset in () if task.candidates_for else task.subsets:
                suffix = "" if subset == "all" else f":{subset}"
                title = f"{folder.manifest.benchmark}/{name}{suffix}@{folder.content_hash[:8]}"
                named[BoardKey(folder.content_hash, subset, name)] = title
    return named


def _board_changes(
    old: Mapping[str, _Standing], new: Mapping[str, _Standing], names: Mapping[str, str]
) -> list[Change]:
    none = _Standing(None, False)
    old_ranks, new_ranks = _ranks(old), _ranks(new)
    every = [
        Change(
            identity,
            names.get(identity, identity),
            old_ranks.get(identity),
            new_ranks.get(identity),
            old.get(identity, none).value,
            standing.value,
        )
        for identity, standing in new.items()
    ]
    changed = [each for each in every if (each.old_rank, each.old_value) != (each.new_rank, each.new_value)]
    return sorted(changed, key=lambda each: (each.new_rank is None, each.new_rank or 0, each.name, each.id))


def _ranks(standings: Mapping[str, _Standing]) -> dict[str, int]:
    """Rank complete entries by mean ST; equal scores share a rank."""
    ranked = {id_: each.value for id_, each in standings.items() if each.ranked and each.value is not None}
    worst_first = enumerate(sorted(ranked.values()))
    n_worse_or_equal = {value: position + 1 for position, value in worst_first}
    return {identity: len(ranked) - n_worse_or_equal[value] + 1 for identity, value in ranked.items()}


def rescored_lines(rescored: Rescored) -> Iterator[str | RenderableType]:
    """Format what rescoring did, and tables of the changed ranks and intervals on each board."""
    done = f"{len(rescored.scored):,} scored, {len(rescored.kept):,} kept, {len(rescored.failed):,} failed"
    yield f"metric version {rescored.version}: {done}"
    yield from (f"  {identity}: {reason}" for identity, reason in rescored.failed.items())
    if rescored.forecast:
        yield f"accuracy forecast, entries: {len(rescored.forecast):,}"
    yield from (f"  {identity}: no forecast: {reason}" for identity, reason in rescored.not_forecast.items())
    if rescored.against is None:
        yield "there are no scores of another metric version to compare with"
    for board, changes in rescored.changes.items():
        title = f"{board}: metric version {rescored.against} -> {rescored.version}"
        rows = []
        for each in changes:
            rank = f"{each.old_rank or '-'} -> {each.new_rank or '-'}"
            change = f"{plain_points(each.old_value, 2)} -> {plain_points(each.new_value, 2)}"
            rows.append([each.name, each.id, rank, change])
        columns = ("entry", "id", "rank", "mean ST in points")
        yield PlainTable(title, columns, rows) if rows else f"\n{title}: all ranks and scores are unchanged"
        yield _interval_lines(rescored.intervals.get(board, ()), title)


def _interval_lines(changes: Sequence[IntervalChange], title: str) -> str | RenderableType:
    """Format the numbers and mean widths of 95% intervals before and after, and the numbers of significant drops."""
    if not changes:
        return f"{title}: all intervals are unchanged"
    rows = []
    for each in changes:
        widths = f"{plain_points(each.old_width, 2)} -> {plain_points(each.new_width, 2)}"
        clear = "" if each.old_clear is None else f"{each.old_clear} -> {each.new_clear}"
        rows.append([each.figure, str(each.values), f"{each.old_intervals} -> {each.new_intervals}", widths, clear])
    columns = (
        "95% intervals of",
        "values",
        "with an interval",
        "mean width in points",
        "significant drops",
    )
    return PlainTable(f"{title}, intervals", columns, rows)
