"""Benchmarks of shiftbench: its speed (``scores``, ``app``), and how often its claims are true (``coverage``).

Input: a problem size or a number of simulations. Output: timings compared with reference implementations, and coverage
of the intervals.
"""
