"""Reference models, one program a file.

In: a dataset folder. Out: a prediction file, and the card that says how it was made.
"""
