"""Scoring of prediction files: outcomes, scores with intervals and their summary, in the schema of the JSON output.

Input: checked predictions and a dataset folder. Output: ``Scores`` and the long table of scores that is stored.
``examples`` finds misclassified texts.
"""
