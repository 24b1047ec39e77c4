"""The builds: a benchmark from upstream files, one's own data, synthetic data; the commands, their report, the bench.

In: specs and a folder of upstream files. Out: a dataset folder, and what is said of it on the terminal.
"""
