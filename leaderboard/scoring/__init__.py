"""From a prediction file to its scores: outcomes, replicates, intervals, summary, in the shape that JSON has.

In: checked predictions and a dataset folder. Out: ``Scores`` and the long table that is stored.
``unseen``, ``examples`` and ``disclosure`` decide what of scores is known and may be shown.
"""
