"""Write dataset folders: rows, card, Croissant, and the two folders of withheld labels.

Input: splits and a manifest. Output: a folder that ``shiftbench.builders.folder`` reads.
"""
