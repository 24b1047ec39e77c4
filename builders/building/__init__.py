"""Builds from upstream files, user data and synthetic data; their commands, reports and benchmarks.

Input: specs and a folder of upstream files. Output: a dataset folder and a report on the terminal.
"""
