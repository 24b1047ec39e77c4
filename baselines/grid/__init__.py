"""Grids: tasks x models x sources x seeds trained with one command.

Modules: ``plan`` (the grid file and its checks), ``trial`` and ``child`` (one trained model in its own process),
``own`` and ``own_check`` (user code), ``local`` (starts trials), ``progress`` (runs the whole grid), ``collect`` and
``kept`` (results of trials). Each trial runs in its own process, so that a crash costs only one trial. A finished trial
is never run again, on any machine: its folder's name identifies its settings and rows.

Input: a grid file (TOML), the dataset folder that it names, and the programs of ``shiftbench train``. Output: a
prediction file and a card for each model on each task, and the trials' folders and logs under ``runs``.
"""
