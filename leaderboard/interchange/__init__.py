"""Formats of other tools: their logs in, our tasks and results out. No module here imports one of these tools.

log              what is kept of an evaluation log, whichever tool wrote it
lm_eval, inspect_ai, helm   readers of one tool's logs each, from its files alone
reader           opens any log: finds out which tool wrote it
joining          logs of one benchmark as scores of the same items; comparison: these tested and put into words
"""
