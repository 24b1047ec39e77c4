"""The results on withheld test labels that a server releases; no other information about these labels leaves it.

halves     assign each group of texts to the feedback half or the ranking half, by a secret key
measuring  the score of a file on a target: mean ST on one half
ladder     whether and how that score is released to its submitter: pure functions
history    the scores that an account received, counted by label, independent of row ids
looks      feedback from the feedback half, and its rate limit
rounds     nominations, and the quarterly, permanent rankings on the ranking half
ranking    one board of a round: a few yes-or-no questions, whose answers separate entries
releases   the records in the store: feedback, nominations and results of rounds
meter      public upper bound on what pooling all feedback so far could have gained

Input: entries of a store and the gold folder. Output: what submitters and the public may know.
"""

from shiftbench.leaderboard.release.halves import refuse_split_twice, released_tasks, too_small_lines
from shiftbench.leaderboard.release.history import LOOKS_PER_YEAR
from shiftbench.leaderboard.release.looks import TargetFeedback, feedback
from shiftbench.leaderboard.release.meter import Meter, read_meter
from shiftbench.leaderboard.release.releases import (
    LeftOut,
    Released,
    ReleasedBoard,
    Round,
    closed_rounds,
    last_release,
)
from shiftbench.leaderboard.release.rounds import (
    close_round,
    entry_tasks,
    nominate,
    nominated_entries,
    round_lines,
    round_of_quarter,
)

__all__ = [
    "LOOKS_PER_YEAR", "LeftOut", "Meter", "Released", "ReleasedBoard", "Round", "TargetFeedback", "close_round",
    "closed_rounds", "entry_tasks", "feedback", "last_release", "nominate", "nominated_entries", "read_meter",
    "refuse_split_twice", "released_tasks", "round_lines", "round_of_quarter", "too_small_lines",
]  # fmt: skip
