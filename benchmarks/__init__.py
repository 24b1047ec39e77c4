"""Benchmarks of shiftbench: its speed (``scores``, ``app``), and how often its claims are true (``coverage``).

Input: a scale. Output: timings compared with reference implementations, and coverage of the intervals.
"""
