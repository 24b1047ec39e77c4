"""The vocabulary that data sets are written in: sources, files, transforms, balances, tags and words.

In: nothing but files of text. Out: specs, which the rooms of the benchmarks fill in and ``building`` carries out.
"""
