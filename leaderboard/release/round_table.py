"""What a round released, as text tables for a terminal."""

from rich.console import Console

from shiftbench.leaderboard.release import Round
from shiftbench.scoring.reports.terminal import print_table


def print_round(closed: Round, console: Console) -> None:
    """Print what a round released, a table a board, and what was left out."""
    for board in closed.boards:
        rows = [
            [
                str(each.place or "-"),
                "" if each.with_leader is None else "yes" if each.with_leader else "no",
                each.entry,
                each.account,
                "n/a" if each.mean is None else f"{100 * each.mean:.1f}",
                ", ".join(f"{target} {100 * score:.1f}" for target, score in each.targets.items()),
            ]
            for each in board.entries
        ]
        subset = "" if board.subset == "all" else f":{board.subset}"
        title = f"{board.benchmark}/{board.task}{subset}: round {closed.name}"
        print_table(
            console, title, ("place", "with the leader", "entry", "account", "mean ST in points", "by target"), rows
        )
    for out in closed.left_out:
        where = f"{out.task}/{out.target}" if out.target else out.task
        console.print(f"left out: {out.entry} of {out.account} on {where}: {out.why}", markup=False, highlight=False)
