"""A dataset folder written: rows, card, Croissant, and the two folders of withheld labels.

In: splits and a manifest. Out: a folder that ``shiftbench.builders.folder`` reads.
"""
