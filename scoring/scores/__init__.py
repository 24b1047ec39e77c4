"""Scoring of a prediction file: outcomes, figures with their precision, summary, in the shape that JSON has.

In: checked predictions and a dataset folder. Out: ``Scores`` and the long table that is stored.
``examples`` finds texts that were predicted wrong.
"""
