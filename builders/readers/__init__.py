"""Readers of upstream formats, one module a format.

In: an open upstream file of one format. Out: frames of its rows, or an error that names file and line.
"""
