"""Benchmarks of the leaderboard: its speed (``scores``, ``app``) and how often its claims are true (``coverage``).

In: a scale. Out: timings beside their yardsticks, and coverage of the intervals.
"""
