"""The leaderboard room: entries, boards, pages, the web application.

Input: dataset folders, prediction files and cards. Output: boards, pages, archives. Layers, from the top:

app                          the web application
pages                        its pages
board, archive               boards with ranks; all shareable entries as one dataset folder
release                      what a server releases about entries on withheld labels
store                        entries, which never change
"""

if __name__ != "shiftbench.leaderboard":
    raise ImportError("this folder is the package shiftbench.leaderboard; import it under that name", name=__name__)
