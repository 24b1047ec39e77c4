"""Reference models, one program per file.

Input: a dataset folder. Output: a prediction file, and a card that records how it was made.
"""

if __name__ != "shiftbench.baselines":
    raise ImportError("this folder is the package shiftbench.baselines; import it under that name", name=__name__)
