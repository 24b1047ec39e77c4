"""Tests of whether two models differ: of prediction files and of entries.

In: prediction files or stored entries over one dataset. Out: comparisons with corrected p values.

cells      scores of an entry's runs, cell by cell; figures: which figures of a task are compared
testing    figures of two entries and their tests; shape: what comes out; words: in a sentence
files, entries   what prediction files and stored entries are compared by
claims     a comparison that others can check, and what checking it again finds
item_scores   models by their scores of the same items, where no source and no shift is known; runs: several of each
unit_ranks    any table of scores ranked: who is tied for first, and what is decided
"""
