"""Statistics of a task: figures, whether they keep what is assumed, their picture and part of the card.

In: a task's rows and depths. Out: ``TaskStatistics``, whether the paper's assumptions hold, a picture, a section.
"""
