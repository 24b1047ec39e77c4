"""Building blocks of data set specs: sources, files, transforms, balances and tags.

Input: text files. Output: spec classes, instantiated in the benchmarks' packages and built by ``building``.
"""
