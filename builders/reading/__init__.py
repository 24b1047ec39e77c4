"""Read upstream files of any size in one streaming pass for several consumers, with sampling and resuming.

Input: a path and its consumers. Output: their (sampled) rows, the file's row count and checksum.
"""
