"""The figures of entries on withheld test labels that a server releases; nothing else about these labels leaves it.

halves     each group of texts belongs to the feedback half or to the ranking half, by a secret key
measuring  the one number of a file on a target: its mean score under shift, on one half
ladder     what of that number its sender is told: pure functions
history    what an account was told of labels, whatever id they have
looks      feedback on the feedback half, and how often an account may ask
rounds     nominations, and four times a year the ranking half's figures, frozen
ranking    one board of a round: figures, places and the leading set
releases   what rounds released, as the store has it
ties       which entries of a round can be told apart
ledger     records of the store, which keep all this

In: entries of a store and the gold folder. Out: what their senders, and everybody, may know.
"""

from leaderboard.release.halves import refuse_split_twice, released_tasks
from leaderboard.release.history import LOOKS_A_YEAR
from leaderboard.release.looks import Told, feedback
from leaderboard.release.releases import LeftOut, Released, ReleasedBoard, Round, last_release
from leaderboard.release.rounds import close_round, entry_tasks, nominate, nominated

__all__ = [
    "LOOKS_A_YEAR", "LeftOut", "Released", "ReleasedBoard", "Round", "Told", "close_round", "entry_tasks", "feedback",
    "last_release", "nominate", "nominated", "refuse_split_twice", "released_tasks",
]  # fmt: skip
