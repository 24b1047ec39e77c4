"""Pure metric functions: arrays in, numbers out. No files, no logging, no global random state.

Every metric is a function of *additive counts*: one row of counts per example (or per group of examples).
Weighting or excluding examples is then a weighted sum of the same counts, so that a point score, a
depth-weighted score and the influence of each text use the same formula.

Input: arrays of scores, counts or vectors. Output: numbers and arrays, as fractions.
"""

import lazy_loader

if __name__ != "shiftbench.metrics":
    raise ImportError("this folder is the package shiftbench.metrics; import it under that name", name=__name__)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
