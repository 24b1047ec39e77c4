"""Pure metric functions: arrays in, numbers out. No files, no logging, no global random state.

Every metric is a function of *additive counts*: one row of counts per example (or per group of examples).
Weighting an example, or leaving texts out, is then a weighted sum of the same counts, so a point score, a
depth-weighted score and the influence of each text all go through one formula.

In: arrays of scores, counts or vectors. Out: numbers and arrays, as fractions.
"""

import lazy_loader

if __name__ != "shiftbench.metrics":
    raise ImportError("this folder is the package shiftbench.metrics; import it under that name", name=__name__)

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
