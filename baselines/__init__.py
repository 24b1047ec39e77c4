"""Reference models, one program a file.

In: a dataset folder. Out: a prediction file, and the card that says how it was made.
"""

if __name__ != "shiftbench.baselines":
    raise ImportError("this folder is the package shiftbench.baselines; import it under that name", name=__name__)
