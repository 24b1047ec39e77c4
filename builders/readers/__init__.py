"""Readers of upstream formats, one module per format.

Input: an open upstream file. Output: frames of its rows, or an error with file and line.
"""
