"""The commands: check, compare, simulate, choose, analyse; serve and submit; rounds.

In: arguments. Out: tables on the terminal, JSON, files.
"""
