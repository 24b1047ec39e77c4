"""Scoring of a prediction file: outcomes, replicates, intervals, summary, in the shape that JSON has.

In: checked predictions and a dataset folder. Out: ``Scores`` and the long table that is stored.
``unseen`` and ``examples`` find how far scores depend on pretraining, and texts that were predicted wrong.
"""
