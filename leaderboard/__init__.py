"""Everything about scores: from a prediction file to a rank on the board.

In: dataset folders, prediction files and cards. Out: scores, comparisons, boards, pages. Floors, from the top:

commands                     what a person types
bench                        how fast, how right
analysis, app, protocol      the papers' figures; the web application; the choice of data sets
interchange                  logs, tasks and results in other tools' formats
views                        scores as pages, pictures and tables
board                        all entries as columns, with ranks
release                      what a server shows of entries on withheld labels
store, comparing             entries that never change; tests between two models
scoring                      a prediction file to its scores
metrics                      pure functions
"""

if __name__ != "shiftbench.leaderboard":
    raise ImportError("this folder is the package shiftbench.leaderboard; import it under that name", name=__name__)
