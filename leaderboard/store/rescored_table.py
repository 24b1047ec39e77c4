"""What scoring a store again did, as text tables for a terminal."""

from collections.abc import Sequence

from rich.console import Console

from shiftbench.leaderboard.store.interval_changes import IntervalChange
from shiftbench.leaderboard.store.rescore import Rescored
from shiftbench.scoring.reports.numbers import plain_points
from shiftbench.scoring.reports.terminal import print_table


def print_rescored(rescored: Rescored, console: Console) -> None:
    """Print what scoring again did, and a table of the places that changed on each board.

    Args:
        rescored: what ``shiftbench.leaderboard.store.rescore.rescore`` returned.
        console: where it is printed.
    """
    done = f"{len(rescored.scored):,} scored, {len(rescored.kept):,} kept, {len(rescored.failed):,} failed"
    console.print(f"metric version {rescored.version}: {done}", highlight=False)
    for identity, reason in rescored.failed.items():
        console.print(f"  {identity}: {reason}", markup=False, highlight=False, soft_wrap=True)
    if rescored.forecast:
        console.print(f"accuracy forecast, entries: {len(rescored.forecast):,}", highlight=False)
    for identity, reason in rescored.not_forecast.items():
        console.print(f"  {identity}: no forecast: {reason}", markup=False, highlight=False, soft_wrap=True)
    if rescored.against is None:
        console.print("there are no scores of another metric version to compare with", highlight=False)
    for board, changes in rescored.changes.items():
        title = f"{board}: metric version {rescored.against} -> {rescored.version}"
        rows = []
        for each in changes:
            rank = f"{each.old_rank or '-'} -> {each.new_rank or '-'}"
            change = f"{plain_points(each.old_value, 2)} -> {plain_points(each.new_value, 2)}"
            rows.append([each.name, each.id, rank, change])
        if rows:
            print_table(console, title, ("entry", "id", "rank", "mean ST in points"), rows)
        else:
            console.print(f"\n{title}: all places and scores are the same", markup=False, highlight=False)
        _print_intervals(rescored.intervals.get(board, ()), title, console)


def _print_intervals(changes: Sequence[IntervalChange], title: str, console: Console) -> None:
    """Print how many 95% intervals there were and are, how wide, and how many drops they tell from 0."""
    if not changes:
        console.print(f"{title}: all intervals are the same", markup=False, highlight=False)
        return
    rows = []
    for each in changes:
        widths = f"{plain_points(each.old_width, 2)} -> {plain_points(each.new_width, 2)}"
        clear = "" if each.old_clear is None else f"{each.old_clear} -> {each.new_clear}"
        rows.append([each.figure, str(each.values), f"{each.old_intervals} -> {each.new_intervals}", widths, clear])
    columns = ("95% intervals of", "values", "with an interval", "mean width in points", "drops that exclude 0")
    print_table(console, f"{title}, intervals", columns, rows)
