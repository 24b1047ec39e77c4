"""How fast (``scores``, ``app``) and how right (``coverage``) the leaderboard is.

In: a scale. Out: timings beside their yardsticks, and coverage of the intervals.
"""
