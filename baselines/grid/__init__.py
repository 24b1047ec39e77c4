"""Grids: tasks x models x sources x seeds trained in one go.

Holds the grid file and its check (``plan``), one trained model as a process (``trial``, ``child``), code of the user's
own (``own``, ``own_check``), what starts trials (``local``), the grid from beginning to end (``progress``), and what
becomes of its trials (``collect``, ``kept``). A trial runs in a process of its own, so that a crash costs one trial. A
trial that is done is never run again, on whichever machine: its settings and rows are in its folder's name.

In: a grid file (TOML), the dataset folder that it names, and the programs of ``shiftbench train``.
Out: a prediction file and a card of each model on each task, and the folders and logs of the trials under ``runs``.
"""
