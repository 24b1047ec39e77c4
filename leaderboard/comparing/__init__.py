"""Whether two models differ: swap tests of prediction files and of entries.

In: prediction files or stored entries over one dataset. Out: comparisons with corrected p values.
"""
