"""Grids: tasks x models x sources x seeds trained in one go, on this machine or on a Ray cluster.

Holds the grid file and its check (``plan``), one trained model as a process (``trial``, ``child``), code of the user's
own (``own``), the two engines that start trials (``local``, ``cluster``), the grid from beginning to end
(``progress``), and what becomes of its trials (``collect``, ``kept``). A trial runs in a process of its own, so that a
crash costs one trial and both engines do the same. A trial that is done is never run again: its settings are in its
folder's name.

In: a grid file (TOML), the dataset folder that it names, and the programs of ``shiftbench train``.
Out: a prediction file and a card of each model on each task, and the folders and logs of the trials under ``runs``.
"""
