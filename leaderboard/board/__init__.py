"""Leaderboard data: the entries of a store as polars frames, for tables, filters and searches.

index   the current rows of every board of a store
boards  the boards, their rows, and the snapshot read at one refresh
overall   a benchmark's overall board: one line per submitter and model, with ranks
rows    an entry's scores as one flat row per task
ranks   ranks and their intervals
copies  entries with identical or nearly identical predictions
places  an entry's rank, and its effective robustness on the logit scale
domains the hardest target and the best source over all models of a board
rank_intervals  intervals of ranks, computed in the background from snapshots
index_cache  cached rows and intervals, so that a server starts without reading every entry again
forecasts  cached forecasts of all entries, computed in the background, and their comparison by board
submission  checks and stores a submitted file and card; returns a plain dict
analysed  entries for analyses, from files and a store, with their boards

Input: a store and dataset folders. Output: boards with their rows, ranks and intervals of ranks.
"""

from shiftbench.leaderboard.board.boards import Board, Unscored, find_board
from shiftbench.leaderboard.board.index import Index, public_message
from shiftbench.leaderboard.board.overall import Benchmark, find_benchmark

__all__ = ["Benchmark", "Board", "Index", "Unscored", "find_benchmark", "find_board", "public_message"]
