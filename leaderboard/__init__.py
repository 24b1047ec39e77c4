"""What a Space shows and keeps: entries, boards, pages, the web application.

In: dataset folders, prediction files and cards. Out: boards, pages, archives. Floors, from the top:

app                          the web application
pages                        its pages
board, archive               all entries as columns, with ranks; all entries as one dataset folder
release                      what a server shows of entries on withheld labels
store                        entries that never change
"""

if __name__ != "shiftbench.leaderboard":
    raise ImportError("this folder is the package shiftbench.leaderboard; import it under that name", name=__name__)
