"""Grids: tasks x models x sources x seeds trained with one command.

The grid file (``plan``, ``search``), one trained model in its own process (``trial``, ``child``), user code (``own``,
``own_check``), the whole grid (``progress``, ``estimate``), and results of trials (``collect``, ``stored``). A crash
loses one trial. A finished trial is never run again, on any machine: its folder's name identifies settings and rows.
"""
