"""The figures of entries on withheld test labels that a server releases; nothing else about these labels leaves it.

halves     each group of texts belongs to the feedback half or to the ranking half, by a secret key
measuring  the one number of a file on a target: its mean score under shift, on one half
ladder     whether and how that number is released to its submitter: pure functions
history    the figures that an account received, by label whatever its id
looks      feedback on the feedback half, and the limit on it
rounds     nominations, and four times a year what the ranking half tells of them, for good
ranking    one board of a round: a few yes-or-no answers, and which entries they tell apart
releases   records of the store, which hold all of this
meter      what pooling all answers so far could have gained, in public

In: entries of a store and the gold folder. Out: what their submitters, and everybody, may know.
"""

from shiftbench.leaderboard.release.halves import refuse_split_twice, released_tasks
from shiftbench.leaderboard.release.history import LOOKS_A_YEAR
from shiftbench.leaderboard.release.looks import TargetFeedback, feedback
from shiftbench.leaderboard.release.meter import Meter, read_meter
from shiftbench.leaderboard.release.releases import LeftOut, Released, ReleasedBoard, Round, last_release
from shiftbench.leaderboard.release.rounds import (
    close_round,
    entry_tasks,
    nominate,
    nominated_entries,
    round_lines,
    round_of_quarter,
)

__all__ = [
    "LOOKS_A_YEAR", "LeftOut", "Meter", "Released", "ReleasedBoard", "Round", "TargetFeedback", "close_round",
    "entry_tasks", "feedback", "last_release", "nominate", "nominated_entries", "read_meter", "refuse_split_twice",
    "released_tasks", "round_lines", "round_of_quarter",
]  # fmt: skip
