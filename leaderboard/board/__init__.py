"""All entries of a store as columns: the data of boards, filters and searches.

index   what the store holds now, with the rows of each board
boards  which tables there are, their rows, and what an index found at one look
overall   a benchmark's overall board: one line for each model of a submitter, with ranks
rows    an entry's scores as one flat row a task
ranks   ranks and their intervals
copies  entries with the same predictions, and with nearly the same ones
places  where an entry stands: its rank on each day, and its score above the line of the others, on logits
domains the hardest target and the best source over all models of a board
rank_intervals  intervals of ranks, computed in the background from snapshots
index_cache  rows and intervals on disk, so that a server starts without reading every entry again
forecasts  forecasts of all entries: kept, computed in the background, compared board by board
submission  submitting: a file and a card's text in, a plain answer out
analysed  entries for the papers' figures, from files and a store, with the boards that they are on

In: a store and dataset folders. Out: boards with their rows, ranks and intervals of ranks.
"""

from shiftbench.leaderboard.board.boards import Board, Unscored, find_board
from shiftbench.leaderboard.board.index import Index, public_message
from shiftbench.leaderboard.board.overall import Benchmark, find_benchmark

__all__ = ["Benchmark", "Board", "Index", "Unscored", "find_benchmark", "find_board", "public_message"]
