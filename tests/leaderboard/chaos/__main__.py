"""Kills at random moments of everything that writes: nothing acknowledged is lost, doubled or half, no figure changes.

    python -m tests.leaderboard.chaos --acts 400 --seed 1 --state /tmp/chaos.jsonl

An act starts one or two processes, kills them (SIGKILL, some servers SIGTERM), and looks at what is left: at the store
with 12,000 withheld tickets, at backups, archives, scores, repositories of the loopback Hub. In some acts the victim's
files cannot grow, or its folders are read-only; its clock jumps. Meanwhile a process that is not killed reads and
submits. Each act is a line of the state file; run again, the command goes on after the last one, with the same store,
which lies in a folder beside. In the end it prints a table of the kills.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tests.leaderboard.chaos.suite import KINDS, Suite, table


def main(words: Sequence[str] | None = None) -> int:
    """Run the suite; exit code 1 where anything was lost, doubled, half or changed."""
    parser = argparse.ArgumentParser(prog="python -m tests.leaderboard.chaos", description=__doc__)
    parser.add_argument("--acts", type=int, required=True, help="how many acts there are in the end")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, required=True, help="the state file; .work beside it is the folder")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), help="these kinds of acts, in turn")
    asked = parser.parse_args(words)
    suite = Suite(asked.state, asked.seed)
    try:
        suite.run(asked.acts, asked.only)
    finally:
        acts = [*suite.acts, suite.whole_store()]
        print(table(acts))
    wrong = [act for act in acts if act.is_wrong]
    for act in wrong:
        print(f"act {act.number} ({act.kind}): {asdict(act)}"[:600])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
