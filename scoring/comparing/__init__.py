"""Significance tests between models, from prediction files or stored entries.

Input: prediction files or stored entries over one dataset. Output: comparisons with corrected p values.

cells      scores of an entry's runs, per cell; figures: which figures of a task are compared
testing    a figure's difference between two entries, and its tests; shape: schema of results; words: text summary
files, entries   comparison of prediction files, and of stored entries
claims     comparisons in a format that others can reproduce, and their verification
item_scores   models compared by scores on the same items, without source or shift; runs: several runs of each model
unit_ranks    ranking of any table of scores: ties for first place, significant differences
"""
