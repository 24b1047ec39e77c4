"""Statistics of a task, checks of the benchmark's assumptions, a plot, and a section of the card.

Input: a task's rows and depths. Output: ``TaskStatistics``, checked assumptions, a PNG, a Markdown section.
"""
